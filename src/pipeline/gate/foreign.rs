//! Files of Trueno and tt-metal: their gates as they stand, and the same rules with their holes closed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::foreign_files::{self as files, Kind, Pair};
use super::outcome::{gate_of_files, in_doubt};
use super::reports;
use super::request::{CheckRequest, CompareRequest, GateRequest};
use super::text::table_text;
use crate::config::{Config, FILE_NAME};
use crate::exit::Exit;
use crate::notices::{note, warn};
use crate::project::Project;
use crate::{Advice, policy, text};
use sprag_analysis::rules::bands;
use sprag_analysis::rules::rank::Parameters;
use sprag_analysis::sides::Judge;
use sprag_analysis::{sample_gate, sides};
use sprag_formats::compat::trueno::gate as text_gate;
use sprag_formats::compat::tt_metal::gate as samples;
use sprag_model::baseline::Baseline;
use sprag_model::gate::Gate;
use sprag_model::rule::{Choice, Policy, Rule};
use sprag_model::verdict::Counts;

/// The rules of a project, or of a policy that is named, for files of one kind.
pub struct FileRules {
    kind: Kind,
    /// The rule of the kind, with the parameters that are stated for it.
    pub own: Rule,
    policy: Policy,
    /// The file that `--policy` names.
    file: Option<PathBuf>,
    project: Project,
}

impl FileRules {
    /// Reads them.
    pub fn read(folder: &Path, file: Option<&Path>, kind: Kind) -> crate::Result<FileRules> {
        let project = Project::open(folder)?;
        let rules = match file {
            Some(path) => Config::load_rules(&folder.join(path))?,
            None => project.config.rules.clone(),
        };
        let own = match kind {
            Kind::Text => policy::fixed("bands", &rules),
            Kind::GroundTruth => policy::fixed("rank", &rules),
        };
        Ok(FileRules { kind, own, policy: policy::from_rules(&rules), file: file.map(Path::to_owned), project })
    }

    /// The rule of the benchmark whose key this is. The rule `interval` as the default, which it is where nothing is said,
    /// stands for that of the kind.
    pub fn rule_for(&self, key: &str) -> Result<Rule, Advice> {
        let entry = self.policy.exceptions.iter().find(|one| key.contains(&one.part));
        let (name, why) = match entry.map_or(self.policy.default, |one| one.choice) {
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) if entry.is_none() => return Ok(self.own),
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) => {
                ("interval", "a file says nothing of sessions, nor of processes that took turns")
            }
            Choice::Fixed(Rule::Rank { .. }) if self.kind == Kind::Text => ("rank", "it holds no samples"),
            Choice::Fixed(rule) => return Ok(rule),
        };
        let shown = self.file.as_ref().map_or(FILE_NAME.to_owned(), |path| path.display().to_string());
        let by = match entry {
            Some(entry) => format!("the entry with `match = \"{}\"`", entry.part),
            None => "the default".to_owned(),
        };
        let message = format!(
            "{by} in `{shown}` has `{key}` judged by `{name}`, which cannot judge {}: {why}",
            self.kind.words()
        );
        let able = match self.kind {
            Kind::Text => "`bands` and `tolerance`",
            Kind::GroundTruth => "`rank`, `bands` and `tolerance`",
        };
        let hint = format!("{able} can: name one there, or in a file of its own for such files with `--policy`");
        Err(Advice { message: text::printable(&message), hint })
    }

    /// Tells of entries that fit no benchmark of what was judged.
    pub fn warn_unmatched(&self, judged: &[policy::Judged<'_>]) {
        policy::warn_unmatched(&self.project, self.file.as_deref().map(|path| (path, &self.policy)), judged);
    }
}

/// The rules by which benchmarks are judged with their parameters, for a headline, that of most first.
pub fn words<'r>(rules: impl Iterator<Item = &'r Rule>) -> String {
    let mut counted: Vec<(&Rule, usize)> = Vec::new();
    for rule in rules {
        match counted.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => *count += 1,
            None => counted.push((rule, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match counted[..] {
        [(rule, _)] => rule.explained(),
        _ => {
            let one =
                |(rule, count): &(&Rule, usize)| format!("{} ({})", rule.explained(), text::count(*count, "benchmark"));
            counted.iter().map(one).collect::<Vec<String>>().join("; ")
        }
    }
}

/// Judges two texts of Criterion or two ground truths of tt-metal, where `--run` and `--baseline` name such; `None` where
/// they do not.
pub fn check(request: &CheckRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let GateRequest { folder, policy, reports, .. } = &request.gate;
    let Some(pair) = files::pair(request)? else {
        if request.compatible {
            let message = "`--compatible` is for files of Trueno and tt-metal, and these are none".to_owned();
            let hint = "leave it out: reports of Apex-X are always judged by its own rules".to_owned();
            return Err(Advice { message, hint }.into());
        }
        return Ok(None);
    };
    let rules = FileRules::read(folder, policy.as_deref(), pair.kind)?;
    if request.compatible {
        if !reports.is_empty() || request.summary.is_some() || request.trend_output.is_some() {
            let message =
                "reports are of what Sprag finds, and `--compatible` prints what another tool would".to_owned();
            return Err(Advice { message, hint: "leave out one of the two".to_owned() }.into());
        }
        return judge_as_original(&pair, &rules.own, out).map(Some);
    }
    files::refuse_itself(folder, &pair)?;
    let reports = reports::of_check(request)?;
    let (gate, exit, text) = judge(&pair, &rules, "check", &request.gate)?;
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

/// Compares two texts of Criterion or two ground truths of tt-metal; `None` where the two sides are not that.
pub fn compare(request: &CompareRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let GateRequest { folder, policy, suites, .. } = &request.gate;
    let Some(pair) = files::pair_of(folder, &request.base, &request.other)? else { return Ok(None) };
    files::refuse_itself(folder, &pair)?;
    if !suites.is_empty() {
        let message = "`--suite` names suites of Sprag, and these files are of another tool".to_owned();
        return Err(Advice { message, hint: "leave it out".to_owned() }.into());
    }
    let rules = FileRules::read(folder, policy.as_deref(), pair.kind)?;
    let reports = reports::parse(&request.gate.reports)?;
    reports::check(folder, &reports, request.inputs())?;
    let (gate, exit, text) = judge(&pair, &rules, "compare", &request.gate)?;
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

/// Judges two files by rules: what a gate finds, its exit code and the text for a terminal.
fn judge(
    pair: &Pair,
    rules: &FileRules,
    command: &'static str,
    request: &GateRequest,
) -> crate::Result<(Gate, Exit, String)> {
    let read = files::read_pair(pair)?;
    for one in &read.notes {
        note(one);
    }
    let rule = |name: &'_ String| Ok((name.clone(), rules.rule_for(&Baseline::key(name, &read.metric.name))?));
    let names = read.baseline.keys().chain(read.current.keys());
    let by_name = names.map(rule).collect::<Result<BTreeMap<String, Rule>, Advice>>()?;
    let head = format!("{} against {}, by {}", pair.current.name, pair.baseline.name, words(by_name.values()));
    let judge = Judge { rule: &|name| by_name[name], metric: read.metric, obstacle: read.obstacle };
    let comparisons = sides::judge(&read.baseline, &read.current, &judge);
    let counts = Counts::from_comparisons(&comparisons);
    let exit = match counts.failing() {
        0 if counts.judged() == counts.total() => Exit::Done,
        0 => in_doubt(request.inconclusive),
        _ => Exit::Failed,
    };
    let names = [&pair.current.name, &pair.baseline.name].map(String::as_str);
    let gate = gate_of_files(command, pair.kind.suite(), names, comparisons, (exit, None, request.inconclusive));
    let mut text = format!("{}\n{}", text::printable(&head), table_text(&gate.suites[0], request.only_changed));
    rules.warn_unmatched(&policy::judged(&gate.suites));
    text.push_str(&format!("{command}: {}; {}\n", gate.outcome.word(), counts.words()));
    Ok((gate, exit, text))
}

/// Prints Trueno's report, or what tt-metal finds with its summary as JSON; control characters of names are escaped.
fn judge_as_original(pair: &Pair, rule: &Rule, out: &mut dyn Write) -> crate::Result<Exit> {
    let (baseline, current) = (&pair.baseline.bytes[..], &pair.current.bytes[..]);
    let passes = match (pair.kind, rule) {
        (Kind::Text, Rule::Bands { fail, warn }) => {
            let report = text_gate::judge(baseline, current, |was, is| bands::report(was, is, (*fail, *warn)));
            let report = report.map_err(|error| ended("Trueno", &error.to_string()))?;
            for line in text_gate::report_text(&report).lines() {
                writeln!(out, "{}", text::printable(line))?;
            }
            report.passes()
        }
        (Kind::GroundTruth, Rule::Rank { noise_threshold, significance, mad_multiplier }) => {
            let parameters = Parameters::new(*noise_threshold, *significance, *mad_multiplier);
            let mut warnings = Vec::new();
            let results =
                samples::judge(baseline, current, &mut warnings, |was, is| sample_gate::check(was, is, &parameters));
            for warning in &warnings {
                warn(warning);
            }
            let results = results.map_err(|error| ended("tt-metal", &format!("{}: {error}", error.kind())))?;
            writeln!(out, "{}", samples::json(&results))?;
            samples::summary(&results).regressions == 0
        }
        (_, rule) => {
            let message = format!("no original judges such files by the rule `{}`", rule.name());
            return Err(Advice { message, hint: "leave `--compatible` out".to_owned() }.into());
        }
    };
    Ok(if passes { Exit::Done } else { Exit::Failed })
}

/// The error of an original that ends without a result.
fn ended(original: &str, last: &str) -> Advice {
    let message = format!("{original}'s own check ends without a result: {last}");
    Advice { message, hint: "leave `--compatible` out: Sprag's reader takes more, and says what is wrong".to_owned() }
}
