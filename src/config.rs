//! `sprag.toml`: what a project says about itself, and what holds where it says nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The name of the file at the root of a project.
pub const FILE_NAME: &str = "sprag.toml";

/// The configuration of a project. Every field has a default, so a project without a file works.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What the project is called.
    pub project: Project,
    /// The suites, by name; `cpu` and `gpu` where the file names none.
    pub suites: BTreeMap<String, Suite>,
    /// How verdicts are reached.
    pub rules: Rules,
    /// Where records go.
    pub history: History,
    /// How often a run is due.
    pub schedule: Schedule,
    /// What this computer is called.
    pub machine: MachineName,
    /// Where the site goes.
    pub site: Site,
}

/// What the project is called.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// Shown on every page.
    pub name: String,
}

/// A suite of benchmarks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// What runs it.
    pub kind: SuiteKind,
    /// Only benchmarks whose id contains one of these texts; all where absent.
    #[serde(default)]
    pub include: Vec<String>,
    /// Worker processes of an ordinary run; five where absent.
    #[serde(default)]
    pub processes: Option<u32>,
}

/// What runs a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuiteKind {
    /// The built-in CPU kernels.
    Cpu,
    /// The built-in CUDA kernels.
    Gpu,
}

/// How verdicts are reached.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// The settings of the rule `tolerance`: allowed is `value * (1 + ratio) + abs`.
    pub tolerance: Tolerance,
}

/// The tolerances that `baseline emit` writes into a new baseline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerance {
    /// Allowed relative worsening.
    pub ratio: f64,
    /// Allowed absolute worsening on top, in the base unit of the metric.
    pub abs: f64,
}

/// Where records go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// A branch for records alone; the current branch where absent.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
}

/// How often a run is due.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Days between two scheduled builds.
    pub every_days: u32,
}

/// What this computer is called.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineName {
    /// Takes the place of a digest of the hardware; `SPRAG_MACHINE` goes before it.
    pub name: Option<String>,
}

/// Where the site goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// The folder, relative to the root of the project.
    pub out: PathBuf,
    /// Where the site is published, such as `https://example.org/kernels/`.
    pub url: Option<String>,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {error}", .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file does not say what it must.
    #[error("{}:{line}:{column}: {message}{}", .path.display(), hint_text(.suggestion))]
    Content {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
        /// A known word close to the one written.
        suggestion: Option<String>,
    },
}

/// Processes of an ordinary run: the fewest with which an interval over processes means something.
const DEFAULT_PROCESSES: u32 = 5;

/// The most processes a suite may ask for; beyond it lies a slip of the pen.
const MOST_PROCESSES: u32 = 100;

/// A quarter: on a shared machine a single session's medians move by up to 12 % (cached kernels), so less cries wolf.
const DEFAULT_TOLERANCE: f64 = 0.25;

impl Config {
    /// Reads `sprag.toml` in `root`, or takes the built-in configuration where there is none.
    ///
    /// # Errors
    /// Names the file, line and column, and the nearest known word for a misspelt one.
    pub fn load(root: &Path) -> Result<Config, ConfigError> {
        let path = root.join(FILE_NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => Config::parse(&text, &path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default().with_built_in_suites()),
            Err(error) => Err(ConfigError::Read { path, error }),
        }
    }

    /// Reads the text of a `sprag.toml`; `path` is for messages.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let content = |offset: usize, message: String, suggestion| {
            let before = text.get(..offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
            ConfigError::Content { path: path.to_owned(), line, column, message, suggestion }
        };
        let config: Config = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let message = error.message().trim().replace('\n', " ");
            let suggestion = suggestion(&message);
            content(offset, message, suggestion)
        })?;
        if let Some((word, fault)) = config.fault() {
            return Err(content(text.find(word).unwrap_or(0), fault, None));
        }
        Ok(config.with_built_in_suites())
    }

    /// The suites to run, by name.
    ///
    /// # Errors
    /// The first name in `asked` that is no suite, with the nearest one that is.
    pub fn select(&self, asked: &[String]) -> Result<Vec<(&str, &Suite)>, String> {
        for name in asked {
            if !self.suites.contains_key(name) {
                let known: Vec<&str> = self.suites.keys().map(String::as_str).collect();
                let list = known.join("`, `");
                let hint = nearest(name, &known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(format!("there is no suite `{}` (there is `{list}`){hint}", name.escape_debug()));
            }
        }
        let wanted = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
        Ok(self.suites.iter().filter(|(name, _)| wanted(name)).map(|(name, suite)| (name.as_str(), suite)).collect())
    }

    fn with_built_in_suites(mut self) -> Config {
        if self.suites.is_empty() {
            for (name, kind) in [("cpu", SuiteKind::Cpu), ("gpu", SuiteKind::Gpu)] {
                let suite = Suite { kind, include: Vec::new(), processes: None };
                self.suites.insert(name.to_owned(), suite);
            }
        }
        self
    }

    /// The first value that TOML allows and we do not: a word to find it by, and what is wrong.
    fn fault(&self) -> Option<(&'static str, String)> {
        let tolerance = self.rules.tolerance;
        if !(tolerance.ratio.is_finite() && (0.0..=100.0).contains(&tolerance.ratio)) {
            let message =
                format!("`rules.tolerance.ratio` is {}, from 0 to 100 is allowed (0.25 is a quarter)", tolerance.ratio);
            return Some(("ratio", message));
        }
        if !(tolerance.abs.is_finite() && tolerance.abs >= 0.0) {
            return Some(("abs", format!("`rules.tolerance.abs` is {}, zero or more is allowed", tolerance.abs)));
        }
        if !(1..=366).contains(&self.schedule.every_days) {
            let message = format!("`schedule.every_days` is {}, from 1 to 366 is allowed", self.schedule.every_days);
            return Some(("every_days", message));
        }
        if self.project.name.trim().is_empty() {
            return Some(("name", "`project.name` is empty".to_owned()));
        }
        if self.machine.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Some((
                "name",
                "`machine.name` is empty; leave it out to know the machine by its hardware".to_owned(),
            ));
        }
        for (name, suite) in &self.suites {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            if name.is_empty() || name.len() > 50 || name.starts_with(['-', '_']) || !name.chars().all(fine) {
                let message = format!(
                    "the suite `{}` must be named with lower-case letters, digits, `-` and `_`, as it names a folder",
                    name.escape_debug()
                );
                return Some(("suites", message));
            }
            if suite.kind == SuiteKind::Gpu && (suite.processes.is_some() || !suite.include.is_empty()) {
                let word = if suite.processes.is_some() { "processes" } else { "include" };
                let message = format!("`suites.{name}.{word}` has no effect: no kernel of the kind `gpu` runs yet");
                return Some((word, message));
            }
            if !(1..=MOST_PROCESSES).contains(&suite.processes()) {
                let message = format!(
                    "`suites.{name}.processes` is {}, from 1 to {MOST_PROCESSES} is allowed",
                    suite.processes()
                );
                return Some(("processes", message));
            }
        }
        None
    }
}

impl Suite {
    /// Worker processes of an ordinary run.
    pub fn processes(&self) -> u32 {
        self.processes.unwrap_or(DEFAULT_PROCESSES)
    }
}

impl Default for Project {
    fn default() -> Project {
        Project { name: "this project".to_owned() }
    }
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { ratio: DEFAULT_TOLERANCE, abs: 0.0 }
    }
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { every_days: 7 }
    }
}

impl Default for Site {
    fn default() -> Site {
        Site { out: PathBuf::from("_site"), url: None }
    }
}

/// The word of `known` closest to `word`, where one is close enough to be meant.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), candidate);
    known.iter().copied().min_by_key(|candidate| distance(candidate)).filter(|near| {
        let longest = word.chars().count().max(near.chars().count());
        distance(near) * 3 <= longest + 1
    })
}

/// Reads the unknown word and the known ones out of serde's message "unknown field `x`, expected one of `a`, `b`".
fn suggestion(message: &str) -> Option<String> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next()?;
    let known: Vec<&str> = words.collect();
    nearest(unknown, &known).map(str::to_owned)
}

fn hint_text(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("sprag.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_the_built_in_configuration() {
        let config = parse("").expect("nothing is a valid configuration");
        assert_eq!(config.suites.keys().map(String::as_str).collect::<Vec<_>>(), ["cpu", "gpu"]);
        assert_eq!(config.schedule.every_days, 7);
        assert_eq!(config.suites["cpu"].processes(), 5);
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            "[project]\nname = \"p\"\n[suites.small]\nkind = \"cpu\"\ninclude = [\"tile\"]\nprocesses = 2\n\
             [rules.tolerance]\nratio = 0.1\nabs = 1e-6\n[history]\nref = \"perf\"\n\
             [schedule]\nevery_days = 1\n[machine]\nname = \"m\"\n[site]\nout = \"public\"\nurl = \"https://x.org/\"\n",
        )
        .expect("all keys are known");
        assert_eq!(config.project.name, "p");
        let suite = Suite { kind: SuiteKind::Cpu, include: vec!["tile".into()], processes: Some(2) };
        assert_eq!(config.suites, BTreeMap::from([("small".to_owned(), suite)]));
        assert_eq!(config.rules.tolerance, Tolerance { ratio: 0.1, abs: 1e-6 });
        assert_eq!(config.history.reference.as_deref(), Some("perf"));
        assert_eq!(config.schedule.every_days, 1);
        assert_eq!(config.machine.name.as_deref(), Some("m"));
        assert_eq!(config.site, Site { out: PathBuf::from("public"), url: Some("https://x.org/".into()) });
    }

    #[test]
    fn a_fault_names_its_place_and_the_nearest_word() {
        let check = |text: &str, place: &str, words: &[&str]| {
            let error = parse(text).expect_err("the text is faulty");
            assert!(error.starts_with(&format!("sprag.toml:{place}: ")), "{error}");
            for word in words {
                assert!(error.contains(word), "{error}");
            }
        };
        check("[projct]\nname = \"x\"\n", "1:2", &["unknown field `projct`", "did you mean `project`?"]);
        check("[schedule]\nevery_day = 7\n", "2:1", &["did you mean `every_days`?"]);
        check("[rules.tolerence]\nratio = 0.1\n", "1:8", &["did you mean `tolerance`?"]);
        check("[suites.cpu]\nkind = \"cpy\"\n", "2:8", &["did you mean `cpu`?"]);
        check("[suites.gpu]\nkind = \"gpu\"\nprocesses = 3\n", "3:1", &["no effect"]);
        check("[machine]\nname = \" \"\n", "2:1", &["`machine.name` is empty"]);
        check("[rules.tolerance]\nratio = -0.5\n", "2:1", &["`rules.tolerance.ratio` is -0.5"]);
        check("[rules.tolerance]\nratio = nan\n", "2:1", &["NaN"]);
        check("[schedule]\nevery_days = 0\n", "2:1", &["from 1 to 366"]);
        check("[suites.\"a/b\"]\nkind = \"cpu\"\n", "1:2", &["names a folder"]);
        check("[suites.cpu]\nkind = \"cpu\"\nprocesses = 0\n", "3:1", &["from 1 to 100"]);
        check("[project\n", "1:9", &[]);
        check("[project]\nname = 3\n", "2:8", &["invalid type"]);
    }

    #[test]
    fn an_unknown_suite_is_named_with_the_nearest() {
        let config = parse("").expect("nothing is a valid configuration");
        let error = config.select(&["cpy".to_owned()]).expect_err("there is no such suite");
        assert_eq!(error, "there is no suite `cpy` (there is `cpu`, `gpu`); did you mean `cpu`?");
        assert_eq!(config.select(&["gpu".to_owned()]).map(|suites| suites.len()), Ok(1));
    }
}
