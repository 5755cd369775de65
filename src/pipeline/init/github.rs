//! The workflows, the action and the files of releases that a project gets with `--ci`.
//!
//! The workflows and the action are our own, adapted: parts between two marks are ours alone, and lines that differ are
//! listed here. Settings that a project made in them are carried over to the new files.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{MOST_BYTES, Planned};
use crate::config::{Config, SuiteKind};
use sprag_base::digest::is_hex;
use sprag_base::files::read_bounded;

const BASELINES: &str = include_str!("../../../templates/project/baselines/README.md");
const CHECKLIST: &str = include_str!("../../../templates/project/release/checklist.toml");
const RELEASES: &str = include_str!("../../../templates/project/release/releases.toml");
const OWNERS: &str = include_str!("../../../templates/project/CODEOWNERS");
const OWNERS_PATH: &str = ".github/CODEOWNERS";
const LINTER: &str = include_str!("../../../.github/actionlint.yaml");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ci {
    /// The gate of pull requests, the check of the history and the scheduled build.
    Github,
    /// With the gate on a GPU, and the workflow and the files of releases.
    GithubFull,
}

#[derive(Clone, Debug)]
pub struct CiOptions {
    pub ci: Ci,
    pub download_from: Option<String>,
    pub sha256: Option<String>,
}

#[derive(Default)]
pub(super) struct Workflows {
    pub planned: Vec<Planned>,
    /// What the user does next.
    pub steps: Vec<String>,
}

pub(super) fn plan(root: &Path, config: &Config, options: &CiOptions) -> Workflows {
    let mut facts = Facts::from_config(config);
    let existing = Existing::read(root, options, &mut facts);
    let mut workflows = Workflows { planned: files(options.ci, &facts, &existing), steps: steps(&facts) };
    // GitHub reads the first of them alone.
    if ![OWNERS_PATH, "CODEOWNERS", "docs/CODEOWNERS"].iter().any(|path| root.join(path).exists()) {
        let (text, purpose) = (OWNERS.to_owned(), "who reviews what the gate judges by");
        workflows.planned.push(Planned { path: OWNERS_PATH, text, purpose, ..Planned::default() });
        let step = "Name a reviewer in `.github/CODEOWNERS`, and require reviews from code owners of the branch.";
        workflows.steps.insert(workflows.steps.len() - 1, step.to_owned());
    }
    workflows
}

fn files(ci: Ci, facts: &Facts, existing: &Existing) -> Vec<Planned> {
    let planned = |path, text, purpose| Planned { path, text, purpose, is_replaceable: true, ..Planned::default() };
    let theirs = |path, text, purpose| Planned { path, text, purpose, ..Planned::default() };
    let is_full = ci == Ci::GithubFull;
    let mut all = vec![
        planned("baselines/README.md", BASELINES.to_owned(), "explains the folder of baselines"),
        Planned {
            keeps: existing.pins.clone(),
            ..planned(ACTION_PATH, action(ACTION, facts), "downloads and checks Sprag")
        },
    ];
    if is_full {
        all.push(theirs("release/checklist.toml", checklist(facts), "what a release needs"));
        all.push(theirs("release/releases.toml", RELEASES.to_owned(), "the list of releases"));
        all.push(planned(".github/actionlint.yaml", LINTER.to_owned(), "declares the label `gpu` for linters"));
    }
    let wanted = WORKFLOWS.into_iter().filter(|(path, ..)| is_full || !FULL.contains(path));
    all.extend(wanted.map(|(path, text, purpose)| {
        let Values { text, keeps, adds } = existing.values(path, &file(text, facts));
        Planned { keeps, adds, ..planned(path, text, purpose) }
    }));
    all
}

fn steps(facts: &Facts) -> Vec<String> {
    let mut steps = Vec::new();
    if facts.gated.is_empty() {
        let how = "then `sprag init --ci github --force`: pull requests are gated by it.";
        steps.push(format!("Name a suite of the kind `command` in sprag.toml, {how}"));
    }
    if facts.download_from.is_empty() || facts.sha256.is_empty() {
        let command = "`sprag init --ci github --force --download-from OWNER/NAME --sha256 DIGEST`";
        steps.push(format!("{command} names the release of Sprag that workflows use."));
    }
    if !facts.version.is_empty() {
        let (used, ours) = (&facts.version, env!("CARGO_PKG_VERSION"));
        let command = "`sprag init --ci github --force --sha256 DIGEST`";
        steps.push(format!("The workflows use {used}: {command} takes v{ours}, whose digest that is."));
    }
    steps.push(
        "What benchmarks need on a runner, such as a Python package, is installed by `build` of the suite.".to_owned(),
    );
    steps.push("Require the check `perf gate` of the branch.".to_owned());
    steps.push("On GitHub: Settings, Pages, Source: GitHub Actions. docs/CI.md of Sprag has the rest.".to_owned());
    steps
}

fn checklist(facts: &Facts) -> String {
    let item = |suite: &String| {
        format!(
            "\n[[item]]\nid = \"suite-{suite}\"\ntitle = \"Nothing of the suite {suite} got slower\"\nrule = \"suite_verdict\"\n\
             suite = \"{suite}\"\nproducer = \"sprag weekly\"\n"
        )
    };
    CHECKLIST.replace("{items}\n", &facts.hosted.iter().map(item).collect::<String>())
}

/// Only characters that GitHub allows: the text becomes part of an address.
pub fn repository(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        plain && !part.is_empty() && !part.starts_with(['.', '-'])
    };
    match text.split_once('/') {
        Some((owner, name)) if is_plain(owner) && is_plain(name) => Ok(text.to_owned()),
        _ => Err("write it as OWNER/NAME".to_owned()),
    }
}

pub fn digest(text: &str) -> Result<String, String> {
    if is_hex(text, 64..=64) { Ok(text.to_owned()) } else { Err("give all 64 digits, in lower case".to_owned()) }
}

const SUITES: &str = "_SUITES";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Existing {
    /// Inputs of the action whose defaults stay.
    pub pins: Vec<String>,
    workflows: Vec<(&'static str, String)>,
    /// Suites that some list names; the others are new.
    listed: BTreeSet<String>,
    suites: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Values {
    pub text: String,
    pub keeps: Vec<String>,
    /// Suites that no list named, each with its new list.
    pub adds: Vec<String>,
}

impl Existing {
    /// Reads the files at `root`; options take precedence over their release.
    fn read(root: &Path, options: &CiOptions, facts: &mut Facts) -> Existing {
        let text = |path: &str| String::from_utf8(read_bounded(&root.join(path), MOST_BYTES).ok()?).ok();
        let mut existing = Existing {
            workflows: WORKFLOWS.iter().filter_map(|(path, ..)| Some((*path, text(path)?))).collect(),
            suites: [&facts.gated, &facts.hosted, &facts.device].into_iter().flatten().cloned().collect(),
            ..Existing::default()
        };
        for (name, lines) in existing.workflows.iter().flat_map(|(_, text)| entries(text)) {
            if name.ends_with(SUITES) {
                existing.listed.extend(names(&lines));
            }
        }
        facts.download_from = options.download_from.clone().unwrap_or_default();
        facts.sha256 = options.sha256.clone().unwrap_or_default();
        existing.release(&text(ACTION_PATH).unwrap_or_default(), facts);
        existing
    }

    fn release(&mut self, action: &str, facts: &mut Facts) {
        let there = |input: &str| default(action, input);
        let given = there("repository").filter(|text| repository(text).is_ok()).unwrap_or_default();
        if facts.download_from.is_empty() && !given.is_empty() {
            facts.download_from.clone_from(&given);
            self.pins.push("repository".to_owned());
        }
        let sha256 = there("sha256").filter(|text| digest(text).is_ok()).unwrap_or_default();
        if !facts.sha256.is_empty() || sha256.is_empty() || facts.download_from != given {
            return;
        }
        facts.sha256 = sha256;
        self.pins.push("sha256".to_owned());
        let is_version =
            |text: &str| text.starts_with('v') && text.bytes().all(|one| is_plain(one) || b"+-.".contains(&one));
        facts.version = there("version").filter(|text| is_version(text)).unwrap_or_default();
        match Some(&facts.version) == default(ACTION, "version").as_ref() {
            true => facts.version.clear(),
            false if facts.version.is_empty() => {}
            false => self.pins.push("version".to_owned()),
        }
    }

    /// Keeps the values under `env`. Lists drop removed suites and get new ones; one taken out of all lists looks new.
    fn values(&self, path: &str, new: &str) -> Values {
        let mut values = Values { text: new.to_owned(), ..Values::default() };
        let Some((_, there)) = self.workflows.iter().find(|(other, _)| *other == path) else { return values };
        let there = entries(there);
        for (name, lines) in entries(new) {
            let Some((_, old)) = there.iter().find(|(other, _)| *other == name) else { continue };
            let mut old = old.clone();
            if name.ends_with(SUITES) {
                let mut list: Vec<String> = names(&old).into_iter().filter(|one| self.suites.contains(one)).collect();
                let unknown: Vec<String> = names(&lines).into_iter().filter(|one| !self.listed.contains(one)).collect();
                values.adds.extend(unknown.iter().map(|one| format!("{one} to {name}")));
                list.extend(unknown);
                old = vec![format!("  {name}: \"{}\"", list.join(" "))];
            }
            if value(&old) != value(&lines) {
                values.text = values.text.replacen(&block(&lines), &block(&old), 1);
                values.keeps.push(name.to_owned());
            }
        }
        values
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The entries under the top-level `env`: names, each with its lines.
fn entries(text: &str) -> Vec<(&str, Vec<String>)> {
    let mut entries: Vec<(&str, Vec<String>)> = Vec::new();
    let lines = text.lines().map(str::trim_end).skip_while(|line| *line != "env:").skip(1);
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let entry = line.strip_prefix("  ").and_then(|line| line.split_once(':'));
        match entry.filter(|(name, _)| !name.is_empty() && name.bytes().all(is_plain)) {
            Some((name, _)) => entries.push((name, vec![line.to_owned()])),
            None if line.starts_with("    ") => {
                entries.last_mut().into_iter().for_each(|(_, lines)| lines.push(line.to_owned()));
            }
            None => {}
        }
    }
    entries
}

fn block(lines: &[String]) -> String {
    format!("\n{}\n", lines.join("\n"))
}

fn value(lines: &[String]) -> String {
    let first = lines.first().and_then(|line| line.split_once(':')).map_or("", |(_, value)| value);
    let rest = lines.iter().skip(1).map(|line| format!("\n{line}"));
    bare(first) + &rest.collect::<String>()
}

fn names(lines: &[String]) -> Vec<String> {
    value(lines).split_whitespace().map(str::to_owned).collect()
}

fn bare(value: &str) -> String {
    let value = value.split(" #").next().unwrap_or_default().trim();
    let within = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value).to_owned()
}

fn default(action: &str, input: &str) -> Option<String> {
    let own = |line: &&str| line.trim_end().strip_suffix(':') != Some(&format!("  {input}"));
    let lines = action.lines().skip_while(own).skip(1).take_while(|line| line.starts_with("    "));
    lines.filter_map(|line| line.strip_prefix("    default:")).map(bare).next()
}

/// Workflows that only the full set has.
const FULL: [&str; 2] = [".github/workflows/perf_gpu.yml", ".github/workflows/release.yml"];

/// Path, our text, purpose.
const WORKFLOWS: [(&str, &str, &str); 7] = [
    (
        ".github/workflows/ci.yml",
        include_str!("../../../.github/workflows/ci.yml"),
        "checks the history and previews the site",
    ),
    (
        ".github/workflows/perf.yml",
        include_str!("../../../.github/workflows/perf.yml"),
        "gates pull requests: base and head in turns",
    ),
    (
        ".github/workflows/perf_comment.yml",
        include_str!("../../../.github/workflows/perf_comment.yml"),
        "comments on a pull request what its gate found",
    ),
    (
        ".github/workflows/perf_bisect.yml",
        include_str!("../../../.github/workflows/perf_bisect.yml"),
        "finds the commit behind an event, started by hand",
    ),
    (FULL[0], include_str!("../../../.github/workflows/perf_gpu.yml"), "gates changes of GPU code on your runner"),
    (
        ".github/workflows/perf_trend_weekly.yml",
        include_str!("../../../.github/workflows/perf_trend_weekly.yml"),
        "measures, records and publishes the site",
    ),
    (FULL[1], include_str!("../../../.github/workflows/release.yml"), "evidence and a verdict for each tag `v*`"),
];

const ACTION_PATH: &str = ".github/actions/sprag/action.yml";

const ACTION: &str = include_str!("../../../action.yml");

const BEGIN: &str = "# of sprag alone {";
const END: &str = "# of sprag alone }";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    pub gated: Vec<String>,
    /// Suites for a runner without a device.
    pub hosted: Vec<String>,
    pub device: Vec<String>,
    /// Empty if the user must fill it in.
    pub download_from: String,
    /// The digest of `SHA256SUMS`.
    pub sha256: String,
    /// The release tag, if it is not ours.
    pub version: String,
}

impl Facts {
    fn from_config(config: &Config) -> Facts {
        let suites = |kinds: &[SuiteKind]| -> Vec<String> {
            let suites = config.suites.iter().filter(|(_, suite)| kinds.contains(&suite.kind));
            suites.map(|(name, _)| name.clone()).collect()
        };
        Facts {
            gated: suites(&[SuiteKind::Command]),
            hosted: suites(&[SuiteKind::Cpu, SuiteKind::Command]),
            device: suites(&[SuiteKind::Gpu, SuiteKind::Cuda, SuiteKind::Trt]),
            ..Facts::default()
        }
    }
}

/// A line of ours and its replacement; `None` removes it.
type Line = (&'static str, Option<String>);

fn file(ours: &str, facts: &Facts) -> String {
    let lines = lines(facts);
    let mut text = String::with_capacity(ours.len());
    let mut is_ours_alone = false;
    for line in ours.lines() {
        match line.trim() {
            BEGIN => is_ours_alone = true,
            END => is_ours_alone = false,
            _ if is_ours_alone => {}
            _ => match lines.iter().find(|(ours, _)| *ours == line) {
                Some((_, theirs)) => theirs.iter().for_each(|theirs| push(&mut text, theirs)),
                None => push(&mut text, line),
            },
        }
    }
    text
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn lines(facts: &Facts) -> Vec<Line> {
    // YAML would read names such as `null` or `010` as something else.
    let list = |names: &[String]| format!("\"{}\"", names.join(" "));
    let line = |ours, theirs: String| (ours, Some(theirs));
    let gone = |ours| (ours, None);
    vec![
        line("  PERF_SUITES: cpu", format!("  PERF_SUITES: {}", list(&facts.gated))),
        line("  CPU_SUITES: cpu", format!("  CPU_SUITES: {}", list(&facts.hosted))),
        line("  GPU_SUITES: gpu", format!("  GPU_SUITES: {}", list(&facts.device))),
        gone("    src/measure"),
        gone("    src/kernels"),
        line(NEEDS_OF_PUBLISH, "    needs: evidence".to_owned()),
        line("    needs: [cpu-trend, gpu-trend, book]", "    needs: [cpu-trend, gpu-trend]".to_owned()),
        line(
            "    needs: [cpu-trend, environment, gpu-trend, book, record, deploy]",
            "    needs: [cpu-trend, environment, gpu-trend, record, deploy]".to_owned(),
        ),
        line(
            "  # Suites of the kinds `cpu` (of Sprag itself) and `command`, separated by spaces. Without any the gate is out of scope.",
            "  # Suites of the kind `command`, separated by spaces. Without any the gate is out of scope.".to_owned(),
        ),
    ]
}

/// Other projects build no archives of Sprag.
const NEEDS_OF_PUBLISH: &str = "    needs: [evidence, build]";

fn action(ours: &str, facts: &Facts) -> String {
    let mut text = String::with_capacity(ours.len());
    let mut input = "";
    for line in ours.lines() {
        if line.starts_with("  ") && !line.starts_with("   ") {
            input = line.trim();
        }
        let value = match input {
            "repository:" => &facts.download_from,
            "sha256:" => &facts.sha256,
            "version:" => &facts.version,
            _ => "",
        };
        match line.starts_with("    default:") && !value.is_empty() {
            true => push(&mut text, &format!("    default: \"{value}\"")),
            false => push(&mut text, line),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_and_digest_are_validated() {
        assert_eq!(repository("a-b/c.d_e").as_deref(), Ok("a-b/c.d_e"));
        for bad in ["", "a", "/a", "a/", "a/b/c", "a/b c", "a/$(b)", "../a", "a/..", "-a/b", "a/b\n", "ä/b"] {
            assert!(repository(bad).is_err(), "{bad}");
        }
        assert!(digest(&"0f".repeat(32)).is_ok());
        for bad in ["", "0f", &"0F".repeat(32), &"0g".repeat(32), &"0f".repeat(33)] {
            assert!(digest(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_in_any_yaml_spelling_stay() {
        let new = "on: x\nenv:\n  # Why.\n  A_SUITES: \"own new\"\n  EFFORT: \"\"\n  PATHS: |\n    one\n    two\n  SAME: x\n\njobs:\n  EFFORT: \"\"\n";
        let there = "env:\r\n  A_SUITES: gone own # mine\r\n  PATHS: |\r\n    three\r\n  EFFORT: --quick # fast\r\n  SAME: 'x'\r\n  MORE: 1\r\njobs:\r\n  B: c\r\n";
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<String>>();
        let existing = Existing {
            workflows: vec![("w", there.to_owned())],
            listed: words(&["gone", "own", "aside"]),
            suites: words(&["own", "new", "aside"]),
            ..Existing::default()
        };
        let Values { text, keeps, adds } = existing.values("w", new);
        assert_eq!((keeps, adds), (vec!["EFFORT".to_owned(), "PATHS".to_owned()], vec!["new to A_SUITES".to_owned()]));
        let expected = "\n  EFFORT: --quick # fast\n  PATHS: |\n    three\n";
        assert_eq!(text, new.replace("\n  EFFORT: \"\"\n  PATHS: |\n    one\n    two\n", expected));
        let keeps = existing.values("w", &new.replace("own new", "new aside own")).keeps;
        assert_eq!(keeps, ["A_SUITES", "EFFORT", "PATHS"]);
        let as_is = |text: &str| Values { text: text.to_owned(), ..Values::default() };
        assert_eq!(existing.values("other", new), as_is(new));
        for (path, text, _) in WORKFLOWS {
            let suites = words(&["cpu", "gpu"]);
            let workflows = vec![(path, text.to_owned())];
            let same = Existing { workflows, listed: suites.clone(), suites, ..existing.clone() };
            assert_eq!(same.values(path, text), as_is(text), "{path}");
        }
    }

    #[test]
    fn workflows_differ_from_ours_only_in_listed_lines() {
        let facts = Facts { gated: vec!["a".to_owned()], hosted: vec!["cpu".to_owned()], ..Facts::default() };
        let all: Vec<&str> = WORKFLOWS.iter().flat_map(|(_, text, _)| text.lines()).collect();
        for (ours, _) in lines(&facts) {
            assert!(all.contains(&ours), "no workflow has the line `{ours}`");
        }
        let changed: Vec<String> = lines(&facts).into_iter().filter_map(|(_, theirs)| theirs).collect();
        let mut parts = 0;
        for (path, text, _) in WORKFLOWS {
            let marks: Vec<&str> = text.lines().map(str::trim).filter(|line| [BEGIN, END].contains(line)).collect();
            assert!(marks.chunks(2).all(|pair| pair == [BEGIN, END]), "{path}: {marks:?}");
            parts += marks.len() / 2;
            let theirs = file(text, &facts);
            assert!(!theirs.contains("of sprag alone") && !theirs.contains("scripts/"), "{path}");
            let ours: Vec<&str> = text.lines().collect();
            let foreign = theirs.lines().find(|line| !ours.contains(line) && !changed.iter().any(|one| one == line));
            assert_eq!(foreign, None, "{path}");
        }
        assert!(parts > 0);
        assert_eq!(action(ACTION, &Facts::default()), ACTION);
    }

    #[test]
    fn defaults_of_inputs_are_read() {
        let action =
            "inputs:\r\n  a:\r\n    default: \"x/y\" # why\r\n  b:\n    required: true\n  c:\n    default: v1\nruns:\n";
        for (input, expected) in [("a", Some("x/y")), ("b", None), ("c", Some("v1")), ("d", None)] {
            assert_eq!(default(action, input).as_deref(), expected, "{input}");
        }
        assert!(default(ACTION, "version").is_some_and(|version| version.starts_with('v')));
    }

    #[test]
    fn suites_and_the_release_are_filled_in() {
        let facts = Facts {
            gated: ["a", "b"].map(str::to_owned).to_vec(),
            download_from: "o/n".to_owned(),
            sha256: "0f".repeat(32),
            ..Facts::default()
        };
        let text = |name: &str| {
            let (_, ours, _) = WORKFLOWS.iter().find(|(path, ..)| path.ends_with(name)).expect("it is there");
            file(ours, &facts)
        };
        assert!(text("/perf.yml").contains("\n  PERF_SUITES: \"a b\"\n"));
        assert!(text("/perf_gpu.yml").contains("\n  GPU_SUITES: \"\"\n"));
        assert!(text("/release.yml").contains("\n    needs: evidence\n"));
        let filled = action(ACTION, &facts);
        assert!(filled.contains("    default: \"o/n\"\n"), "{filled}");
        assert!(filled.contains(&format!("    default: \"{}\"\n", facts.sha256)), "{filled}");
        let older = action(ACTION, &Facts { version: "v0.0.9".to_owned(), ..Facts::default() });
        assert!(older.contains("    default: \"v0.0.9\"\n"), "{older}");
    }
}
