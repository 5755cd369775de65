//! `sprag.toml`: the settings of a project, and their defaults.

mod rules;
mod suite;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::rules::{Fault, did_you_mean};
use crate::{Error, refuse};
use sprag_base::files::read_bounded;
use sprag_base::toml::{TomlError, TomlText};
use sprag_formats::OutputFormat;
use sprag_model::foreign::DEFAULT_VARIANT;
use sprag_model::{Benchmark, schema};

pub use crate::config::rules::{MetricRule, MetricTrend, Parameters, Rules, SensitivityName, TrendSettings};
pub use crate::config::suite::{GpuProfile, Suite, SuiteKind};
pub use sprag_base::text::nearest;

pub const FILE_NAME: &str = "sprag.toml";

/// The branch of records of a repository that has none on a branch of its code.
pub const RECORDS_BRANCH: &str = "sprag-history";

/// Suites of Sprag's own kernels, which need no entry in the file.
const KERNEL_SUITES: [(&str, SuiteKind); 2] = [("cpu", SuiteKind::Cpu), ("gpu", SuiteKind::Gpu)];

/// Needs no entry in the file: its engine comes from the command line.
const TRT_SUITE: &str = "trt";

/// Many times what settings take.
const MOST_BYTES: usize = 1 << 20;

/// The configuration of a project. Every field has a default, so a project without a file works.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub project: ProjectSettings,
    /// The benchmark suites by name. Without any, `cpu` and `gpu` with Sprag's own kernels run where they are asked for.
    pub suites: BTreeMap<String, Suite>,
    /// Suites that run only if asked for by name.
    #[serde(skip)]
    pub on_request: BTreeMap<String, Suite>,
    /// How the gate judges metrics.
    pub rules: Rules,
    /// Which changes of the history are reported.
    pub trend: TrendSettings,
    pub bisect: BisectSettings,
    pub history: History,
    pub schedule: Schedule,
    pub machine: MachineName,
    pub site: SiteSettings,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Project")]
pub struct ProjectSettings {
    /// The title of the site. Default: `this project`.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// The branch that holds the records. Default: `sprag-history`; in a repository that has records on a branch of its code,
    /// the current branch.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The folder with the snapshots of `sprag history archive`, relative to the root of the project. Default: none.
    pub archive: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Bisect")]
pub struct BisectSettings {
    /// How likely commits that change these paths are to blame, as factors above 0, such as `"src/kernels/**" = 5`. `*` is any
    /// text without `/`, `**` is any text, and a folder is all below it.
    pub prior: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Days between scheduled runs, 1 to 366; a suite without a run for longer is stale. Default: 7.
    pub every_days: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineName {
    /// The name of this machine; the variable `SPRAG_MACHINE` overrides it. Default: a digest of the hardware.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Site")]
pub struct SiteSettings {
    /// The folder of the site, relative to the root of the project. Default: `_site`.
    pub out: PathBuf,
    /// The address that the site is published at, such as `https://example.org/kernels/`. Feeds need it.
    pub url: Option<String>,
    /// The address of a commit at a forge, such as `https://example.org/kernels/commit/{sha}`. Pages of commits and events link
    /// to it.
    pub commit_url: Option<String>,
    /// Which series have a page of their own: `all`, or with `changed` those with a change and those of `series`. Default: `auto`,
    /// which is `all` up to 500 series, above it `changed`.
    pub pages: SitePages,
    /// Where not all have one, other series that do: all whose `<benchmark id> <metric>` contains one of these texts.
    pub series: Vec<String>,
    /// Publishes all values with the pages, as CSV, JSON Lines and Parquet. Default: false.
    pub downloads: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SitePages {
    #[default]
    Auto,
    All,
    Changed,
}

impl Default for ProjectSettings {
    fn default() -> ProjectSettings {
        ProjectSettings { name: "this project".to_owned() }
    }
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { every_days: 7 }
    }
}

impl Default for SiteSettings {
    fn default() -> SiteSettings {
        let (pages, series) = (SitePages::default(), Vec::new());
        SiteSettings { out: PathBuf::from("_site"), url: None, commit_url: None, pages, series, downloads: false }
    }
}

impl Config {
    /// The JSON Schema of `sprag.toml`.
    pub fn schema() -> serde_json::Value {
        schema::for_input::<Config>()
    }

    /// Reads `sprag.toml` in `root`, or takes the built-in configuration where there is none.
    pub fn load(root: &Path) -> crate::Result<Config> {
        let path = root.join(FILE_NAME);
        match text(&path) {
            Ok(text) => Config::parse(&text, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Config::default().with_built_in_suites()),
            Err(error) => Err(unreadable(&path, error)),
        }
    }

    /// The section `[rules]` of a file that has nothing else.
    pub fn load_rules(path: &Path) -> crate::Result<Rules> {
        let text = text(path).map_err(|error| unreadable(path, error))?;
        let config = Config::parse(&text, path)?;
        let name = path.display().to_string();
        let text = TomlText::new(&name, &text);
        let table: toml::Table = text.parse().map_err(content_error)?;
        match table.keys().find(|key| *key != "rules") {
            Some(key) => Err(content_error(text.error_at_key(&[key], format!("`{key}` is not part of a policy")))),
            None if table.is_empty() => Err(content_error(text.error(0, "there is no section `[rules]`".to_owned()))),
            None => Ok(config.rules),
        }
    }

    /// `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> crate::Result<Config> {
        let name = path.display().to_string();
        let text = TomlText::new(&name, text);
        let mut config: Config = text.parse().map_err(content_error)?;
        for (name, suite) in &mut config.suites {
            suite.timed = timed(name).filter(|_| suite.format() == OutputFormat::Time);
        }
        if let Some(fault) = config.fault() {
            let keys: Vec<&str> = fault.keys.iter().map(String::as_str).collect();
            return Err(content_error(text.error_at_key(&keys, fault.message)));
        }
        Ok(config.with_built_in_suites())
    }

    fn fault(&self) -> Option<Fault> {
        let fault = |keys: &[&str], message: String| Some(Fault::new(keys, message));
        if let Some(fault) = self.rules.fault().or_else(|| self.trend.fault()) {
            return Some(fault);
        }
        if !(1..=366).contains(&self.schedule.every_days) {
            let message = format!("`schedule.every_days` is {}, from 1 to 366 is allowed", self.schedule.every_days);
            return fault(&["schedule", "every_days"], message);
        }
        if let Some((path, weight)) = self.bisect.prior.iter().find(|(_, weight)| !(1e-6..=1e6).contains(*weight)) {
            let message = format!("`bisect.prior` gives a factor of {weight}; one from 0.000001 to 1000000 is allowed");
            return fault(&["bisect", "prior", path], message);
        }
        if let Err(error) = sprag_report::check_url(self.site.url.as_deref()) {
            return fault(&["site", "url"], error.to_string());
        }
        if let Err(error) = sprag_report::check_commit_url(self.site.commit_url.as_deref()) {
            return fault(&["site", "commit_url"], error.to_string());
        }
        if self.site.series.iter().any(|text| text.trim().is_empty()) {
            let message =
                "`site.series` has an empty text, which every series contains; `pages = \"all\"` gives each a page";
            return fault(&["site", "series"], message.to_owned());
        }
        if self.project.name.trim().is_empty() {
            return fault(&["project", "name"], "`project.name` is empty".to_owned());
        }
        if self.machine.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            let message = "`machine.name` is empty; leave it out to identify the machine by its hardware";
            return fault(&["machine", "name"], message.to_owned());
        }
        for (name, suite) in &self.suites {
            let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
            if name.is_empty() || name.len() > 50 || name.starts_with(['-', '_']) || !name.chars().all(fine) {
                let message = format!(
                    "the suite `{}` must be named with lower-case letters, digits, `-` and `_`, as it names a folder",
                    name.escape_debug()
                );
                return fault(&["suites", name], message);
            }
            if is_device(name) {
                let message = format!("the suite `{name}` cannot be named so: Windows keeps that name for a device");
                return fault(&["suites", name], message);
            }
            if let Some(fault) = suite.fault(name) {
                return Some(fault);
            }
        }
        None
    }

    /// Checks a suite that is in no file.
    pub fn check_suite(name: &str, suite: &Suite) -> crate::Result<()> {
        let config = Config { suites: BTreeMap::from([(name.to_owned(), suite.clone())]), ..Config::default() };
        config.fault().map_or(Ok(()), |fault| Err(Error::message(fault.message)))
    }

    pub fn all_suites(&self) -> impl Iterator<Item = (&str, &Suite)> {
        self.suites.iter().chain(&self.on_request).map(|(name, suite)| (name.as_str(), suite))
    }

    pub fn select(&self, asked: &[String]) -> crate::Result<Vec<(&str, &Suite)>> {
        let all: Vec<&str> = self.all_suites().map(|(name, _)| name).collect();
        if let Some(name) = asked.iter().find(|name| !all.contains(&name.as_str())) {
            // Those on request would send the reader to kernels of Sprag and to a tool that most projects lack.
            let listed: Vec<&str> =
                if self.suites.is_empty() { all.clone() } else { self.suites.keys().map(String::as_str).collect() };
            let (list, near) = (listed.join("`, `"), did_you_mean(name, &all));
            let name = name.escape_debug();
            return Err(Error::message(format!("there is no suite `{name}` (there is `{list}`){near}")));
        }
        let is_wanted = |name: &str| match asked {
            [] => self.suites.contains_key(name),
            asked => asked.iter().any(|one| one == name),
        };
        let selected: Vec<(&str, &Suite)> = self.all_suites().filter(|(name, _)| is_wanted(name)).collect();
        if selected.is_empty() {
            return refuse(
                format!("`{FILE_NAME}` is missing or has no suite"),
                "`sprag init` finds the benchmarks of this repository and configures them; `--suite cpu` asks for Sprag's \
                 own kernels",
            );
        }
        Ok(selected)
    }

    fn with_built_in_suites(mut self) -> Config {
        if self.suites.is_empty() {
            self.on_request.extend(KERNEL_SUITES.map(|(name, kind)| (name.to_owned(), Suite::of_kind(kind))));
        }
        if !self.suites.contains_key(TRT_SUITE) {
            self.on_request.insert(TRT_SUITE.to_owned(), Suite::of_kind(SuiteKind::Trt));
        }
        self
    }
}

/// The benchmark of a suite whose command is timed.
pub(crate) fn timed(suite: &str) -> Option<Benchmark> {
    Benchmark::new(suite, "run", &[], DEFAULT_VARIANT).ok()
}

/// Windows takes such a folder for a device, so its records could not be read.
fn is_device(name: &str) -> bool {
    let numbered = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    matches!(name, "con" | "nul" | "aux" | "prn") || numbered.is_some_and(|n| matches!(n.as_bytes(), [b'0'..=b'9']))
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::from(error).context(format!("cannot read `{}`", path.display()))
}

/// The fault with its place; a suggestion where serde says "unknown field `x`, expected one of `a`, `b`".
pub(crate) fn content_error(error: TomlError) -> Error {
    let TomlError { path, line, column, message } = error;
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let near = match &words[..] {
        [unknown, others @ ..] if is_unknown => did_you_mean(unknown, others),
        ["kind"] => "; `kind = \"command\"` is a suite that runs a program".to_owned(),
        ["reference"] => "; name a kernel, a program or files to compare with; `\"none\"` checks nothing".to_owned(),
        _ => list_instead(&message).unwrap_or_default(),
    };
    // The word that is meant says more than all that there are.
    let message = match message.split_once(", expected one of ") {
        Some((unknown, _)) if is_unknown && !near.is_empty() => unknown.to_owned(),
        _ => plain_types(message),
    };
    Error::message(format!("{path}:{line}:{column}: {message}{near}"))
}

/// The types that serde names, in words.
fn plain_types(message: String) -> String {
    const TYPES: [(&str, &str); 6] = [
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number of 0 or more"),
        ("f64", "a number"),
        ("a sequence", "a list"),
        ("a map", "a table"),
        ("path string", "a path"),
    ];
    let word = TYPES.iter().find_map(|(of, word)| {
        Some(format!("{}, expected {word}", message.strip_suffix(&format!(", expected {of}"))?))
    });
    word.unwrap_or(message)
}

/// A suggestion where serde says `invalid type: string "a b", expected a sequence`.
fn list_instead(message: &str) -> Option<String> {
    let (text, wanted) = message.strip_prefix("invalid type: string ")?.rsplit_once(", expected ")?;
    let text: String = serde_json::from_str(text).ok().filter(|_| wanted == "a sequence")?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(format!("; did you mean `{}`?", serde_json::to_string(&words).ok()?.replace("\",\"", "\", \"")))
}

fn text(path: &Path) -> io::Result<String> {
    let bytes = read_bounded(path, MOST_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_formats::OutputFormat;
    use sprag_measure::gpu::settings::AskedDtype;
    use sprag_model::{Choice, Rule};

    pub(super) fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("sprag.toml")).map_err(|error| error.to_string())
    }

    #[track_caller]
    pub(super) fn refused(text: &str, place: &str, words: &[&str]) {
        let error = parse(text).expect_err("the text is faulty");
        assert!(error.starts_with(&format!("sprag.toml:{place}: ")), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }

    #[test]
    fn every_key_is_read_and_has_a_default() {
        let config = parse("").expect("nothing is a valid configuration");
        assert_eq!(config.on_request.keys().map(String::as_str).collect::<Vec<_>>(), ["cpu", "gpu", "trt"]);
        assert_eq!((config.schedule.every_days, config.on_request["cpu"].processes()), (7, 5));
        assert!(config.suites.is_empty());
        let config = parse(
            "[project]\nname = \"p\"\n[suites.small]\nkind = \"cpu\"\ninclude = [\"tile\"]\nprocesses = 2\n\
             [rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = 0.1\nabs = 1e-6\n[history]\nref = \"perf\"\n\
             [trend]\nleast = 0.01\nmost = 3\n[schedule]\nevery_days = 1\n[machine]\nname = \"m\"\n[site]\nout = \"public\"\nurl = \"https://x.org/\"\ncommit_url = \"https://x.org/{sha}\"\npages = \"changed\"\nseries = [\"infer\"]\ndownloads = true\n",
        )
        .expect("all keys are known");
        let tolerance = config.rules.choice(config.rules.default_rule(), &Parameters::default());
        assert_eq!(tolerance, Choice::Fixed(Rule::Tolerance { ratio: 0.1, abs: 1e-6 }));
        insta::assert_debug_snapshot!("every_key", config);
    }

    #[test]
    fn every_setting_of_a_suite_is_read_and_has_a_default() {
        let config = parse(
            "[suites.x]\nkind = \"command\"\ncommand = [\"a\", \"b c\"]\ncwd = \"d\"\nenv = { E = \"1\" }\nbuild = [\"f\"]\n\
             timeout_seconds = 2\nbuild_timeout_seconds = 3\nmax_output_bytes = 4\nprocesses = 6\n\
             format = \"criterion\"\noutput = \"g\"\ninclude = [\"h\"]\n[suites.y]\nkind = \"command\"\ncommand = [\"z\"]\n\
             [suites.trt]\nkind = \"trt\"\nengine = \"m.plan\"\nshape_cases = [\"a=2\"]\nplugin_lib = \"p.so\"\n\
             trtexec = \"t\"\nwarmup_milliseconds = 0\niterations = 5\nduration_seconds = 0\ntimeout_seconds = 9\n\
             [suites.engine]\nkind = \"trt\"\nengine = \"n.plan\"\n[suites.all]\nkind = \"gpu\"\n\
             [suites.large]\nkind = \"gpu\"\nprofiles = [\"large\"]\ndtypes = [\"fp8\"]\n\
             include = [\"tile\"]\nprocesses = 3\n",
        )
        .expect("all keys are known");
        let plain = &config.suites["y"];
        let limits = (plain.timeout_seconds(), plain.build_timeout_seconds(), plain.max_output_bytes());
        assert_eq!(limits, (600, 600, 16 << 20));
        assert_eq!((plain.format(), plain.output(), plain.processes()), (OutputFormat::Custom, None, 5));
        // Formats are shown by addresses.
        assert_eq!(config.suites["x"].format, OutputFormat::named("criterion"));
        let suite = Suite { format: None, ..config.suites["x"].clone() };
        insta::assert_debug_snapshot!("suites_with_every_setting", (suite, &config.suites["trt"]));
        assert!(config.on_request.is_empty(), "the file names a suite `trt`");
        let plain = &config.suites["engine"];
        assert_eq!((plain.warmup_milliseconds(), plain.iterations(), plain.duration_seconds()), (500, 100, 3));
        let (all, large) = (&config.suites["all"], &config.suites["large"]);
        assert_eq!(all.profiles(), [GpuProfile::Fixed, GpuProfile::Large]);
        assert_eq!(all.dtypes(), [AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32]);
        assert_eq!((large.profiles(), large.dtypes()), (vec![GpuProfile::Large], vec![AskedDtype::Fp8]));
        assert_eq!((large.include.len(), large.processes()), (1, 3));
    }

    /// After `== ` the place of the fault and words of the refusal of the text below; settings without a table are of a suite.
    #[test]
    fn a_fault_names_its_place_and_the_nearest_word() {
        // It has the same keys, so finding the first of a name is not enough.
        let other =
            "[suites.a]\nkind = \"command\"\ncommand = [\"b\"]\ntimeout_seconds = 5\nenv = { E = \"\" }\n[suites.x]\n";
        for case in include_str!("faults.txt").split("== ").skip(1) {
            let (heading, text) = case.split_once('\n').expect("a text follows");
            let (place, words) = heading.split_once(' ').unwrap_or((heading, ""));
            let before = if text.starts_with('[') { "" } else { other };
            refused(&format!("{before}{text}"), place, &words.split(" … ").collect::<Vec<_>>());
        }
    }

    #[test]
    fn suites_are_selected_by_name() {
        let config = parse("").expect("nothing is a valid configuration");
        let error = config.select(&["cpy".to_owned()]).expect_err("there is no such suite");
        assert_eq!(error.to_string(), "there is no suite `cpy` (there is `cpu`, `gpu`, `trt`); did you mean `cpu`?");
        let names = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            let selected = config.select(&asked).expect("all are known");
            selected.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([names(&["trt"]), names(&["gpu", "cpu"])], ["trt", "cpu gpu"]);
        let error = config.select(&[]).expect_err("nobody asked for a suite").to_string();
        assert!(error.starts_with("`sprag.toml` is missing or has no suite"), "{error}");
        let config = parse("[suites.b]\nkind = \"gpu\"\n[suites.a]\nkind = \"cpu\"\n").expect("both are known");
        let selected = config.select(&[]).expect("all are meant");
        assert_eq!(selected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b"]);
    }
}
