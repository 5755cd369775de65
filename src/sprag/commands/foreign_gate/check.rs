//! The check of two foreign files from the command line.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::files::{self, Pair};
use super::rules::{self, FileRules};
use super::{compatible, sides};
use crate::cli::{CheckArgs, Inconclusive};
use crate::commands::{Advice, Exit, gate, gate_reports, note, policy, text, verdicts};
use sprag_analysis::sides::{self as judging, Judge};
use sprag_model::baseline::Baseline;
use sprag_model::gate::Gate;
use sprag_model::rule::Rule;
use sprag_model::verdict::Counts;

/// Judges two texts of Criterion or two ground truths of tt-metal, where `--run` and `--baseline` name such; `None` where
/// they do not.
///
/// # Errors
/// When only one of the two files is of a kind, or they cannot be compared.
pub(in crate::commands) fn check(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Option<Exit>> {
    let Some(pair) = files::pair(folder, args)? else {
        if args.compatible {
            let message = "`--compatible` is for files of Trueno and tt-metal, and these are none".to_owned();
            let hint = "leave it out: reports of Apex-X are always judged by its own rules".to_owned();
            return Err(Advice { message, hint }.into());
        }
        return Ok(None);
    };
    let rules = FileRules::read(folder, args.policy.as_deref(), pair.kind)?;
    if args.compatible {
        if !args.reports.is_empty() || args.summary.is_some() || args.trend_output.is_some() {
            let message =
                "reports are of what Sprag finds, and `--compatible` prints what another tool would".to_owned();
            return Err(Advice { message, hint: "leave out one of the two".to_owned() }.into());
        }
        return compatible::judge(&pair, &rules.own, out).map(Some);
    }
    files::refuse_itself(folder, &pair)?;
    let wishes = gate_reports::of_check(folder, args)?;
    let judged =
        judge(&pair, &rules, Asked { command: "check", inconclusive: args.inconclusive, only_changed: false })?;
    if !gate_reports::own_stdout(&wishes) {
        out.write_all(judged.text.as_bytes())?;
    }
    gate_reports::write(folder, &wishes, &judged.gate, out)?;
    Ok(Some(if args.bisect { gate::for_bisection(&judged.gate, judged.exit) } else { judged.exit }))
}

/// What a command asks of two files.
pub(super) struct Asked {
    pub(super) command: &'static str,
    pub(super) inconclusive: Inconclusive,
    pub(super) only_changed: bool,
}

/// What two files come to.
pub(super) struct Judged {
    pub(super) gate: Gate,
    pub(super) exit: Exit,
    pub(super) text: String,
}

/// Judges two files by rules.
///
/// # Errors
/// When they cannot be read or have nothing in common, or a rule judges no such files.
pub(super) fn judge(pair: &Pair, rules: &FileRules, asked: Asked) -> anyhow::Result<Judged> {
    let read = sides::read(pair)?;
    for one in &read.notes {
        note(one);
    }
    let rule = |name: &'_ String| Ok((name.clone(), rules.of(&Baseline::key(name, &read.metric.name))?));
    let names = read.baseline.keys().chain(read.current.keys());
    let by_name = names.map(rule).collect::<Result<BTreeMap<String, Rule>, Advice>>()?;
    let head = format!("{} against {}, by {}", pair.current.name, pair.baseline.name, rules::words(by_name.values()));
    let judge = Judge { rule: &|name| by_name[name], metric: read.metric, obstacle: read.obstacle };
    let comparisons = judging::judge(&read.baseline, &read.current, &judge);
    let counts = Counts::from_comparisons(&comparisons);
    let exit = match counts.failing() {
        0 if counts.judged() == counts.total() => Exit::Done,
        0 => verdicts::in_doubt(asked.inconclusive),
        _ => Exit::Failed,
    };
    let names = [&pair.current.name, &pair.baseline.name].map(String::as_str);
    let gate = gate::of_files(asked.command, pair.kind.suite(), names, comparisons, (exit, None, asked.inconclusive));
    let mut text = format!("{}\n{}", text::printable(&head), gate::table_text(&gate.suites[0], asked.only_changed));
    rules.tell_unfit(&policy::judged(&gate.suites));
    text.push_str(&format!("{}: {}; {}\n", asked.command, gate.outcome.word(), verdicts::counts(&counts)));
    Ok(Judged { gate, exit, text })
}
