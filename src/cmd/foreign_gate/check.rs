//! The check of two foreign files from the command line.

use std::io::Write;
use std::path::Path;

use super::files::{self, Kind, Pair};
use super::{compatible, sides};
use crate::analysis::rules::{bands, rank};
use crate::analysis::sides::{self as judging, Judge};
use crate::cli::CheckArgs;
use crate::cmd::project::Project;
use crate::cmd::{Advice, Exit, gate, gate_reports, note, policy, text, verdicts};
use crate::config::Config;
use crate::model::evidence::{Decision, Evidence};
use crate::model::gate::Gate;
use crate::model::rule::Rule;
use crate::model::verdict::Counts;
use crate::stats::describe;

/// A rule with its parameters.
type Decide = dyn Fn(&Evidence) -> Decision;

/// How many new benchmarks are named.
const MOST_NEW: usize = 20;

/// Judges two texts of Criterion or two ground truths of tt-metal, where `--run` and `--baseline` name such; `None` where
/// they do not.
///
/// # Errors
/// When only one of the two files is of a kind, or they cannot be compared.
pub(in crate::cmd) fn check(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Option<Exit>> {
    let Some(pair) = files::pair(folder, args)? else {
        if args.compatible {
            let message = "`--compatible` is for files of Trueno and tt-metal, and these are none".to_owned();
            let hint = "leave it out: reports of Apex-X are always judged by its own rules".to_owned();
            return Err(Advice { message, hint }.into());
        }
        return Ok(None);
    };
    let rules = match &args.policy {
        Some(path) => Config::load_rules(&folder.join(path))?,
        None => Project::open(folder)?.config.rules,
    };
    let rule = match pair.kind {
        Kind::Text => policy::bands(&rules),
        Kind::GroundTruth => policy::rank(&rules),
    };
    if args.compatible {
        if !args.reports.is_empty() || args.summary.is_some() || args.trend_output.is_some() {
            let message =
                "reports are of what Sprag finds, and `--compatible` prints what another tool would".to_owned();
            return Err(Advice { message, hint: "leave out one of the two".to_owned() }.into());
        }
        return compatible::judge(&pair, &rule, out).map(Some);
    }
    let wishes = gate_reports::of_check(folder, args)?;
    let mut nowhere = std::io::sink();
    let told: &mut dyn Write = if gate_reports::own_stdout(&wishes) { &mut nowhere } else { out };
    let (gate, exit) = judge(&pair, &rule, args, told)?;
    gate_reports::write(folder, &wishes, &gate, out)?;
    Ok(Some(exit))
}

fn judge(pair: &Pair, rule: &Rule, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<(Gate, Exit)> {
    let read = sides::read(pair)?;
    for one in &read.notes {
        note(one);
    }
    let decide = decider(*rule)?;
    let judge = Judge { rule: rule.name(), decide: &*decide, metric: read.metric, obstacle: read.obstacle };
    let comparisons = judging::judge(&read.baseline, &read.current, &judge);
    let head = format!("{} against {}, by {}", pair.current.name, pair.baseline.name, words(rule));
    writeln!(out, "{}", text::printable(&head))?;
    out.write_all(verdicts::table(&comparisons).as_bytes())?;
    let new = judging::new(&read.baseline, &read.current);
    if !new.is_empty() {
        let named: Vec<String> = new.iter().take(MOST_NEW).map(|name| text::printable(name)).collect();
        let more = if new.len() > MOST_NEW { " and more" } else { "" };
        writeln!(out, "new, so not judged: {} ({}{more})", text::count(new.len(), "benchmark"), named.join(", "))?;
    }
    let counts = Counts::of(&comparisons);
    let exit = match counts.failing() {
        0 if counts.judged() == counts.total() => Exit::Done,
        0 => verdicts::in_doubt(args.inconclusive),
        _ => Exit::Failed,
    };
    writeln!(out, "{}", verdicts::summary(&counts, exit))?;
    let names = [&pair.current.name, &pair.baseline.name].map(String::as_str);
    Ok((gate::of_files(pair.kind.suite(), names, comparisons, (exit, None)), exit))
}

/// What judges by the rule.
fn decider(rule: Rule) -> Result<Box<Decide>, Advice> {
    match rule {
        Rule::Bands { fail, warn } => Ok(Box::new(move |evidence| bands::decide(fail, warn, evidence))),
        Rule::Rank { noise_threshold, significance, mad_multiplier } => {
            Ok(Box::new(move |evidence| rank::decide(noise_threshold, significance, mad_multiplier, evidence)))
        }
        Rule::Interval { .. } | Rule::Tolerance { .. } => {
            let message = format!("the rule `{}` does not judge such files", rule.name());
            Err(Advice { message, hint: "`bands` judges texts, `rank` ground truths".to_owned() })
        }
    }
}

/// The rule with its parameters, for a headline.
fn words(rule: &Rule) -> String {
    let percent = |share: f64| format!("{} %", significant(share * 100.0));
    match rule {
        Rule::Bands { fail, warn } => {
            format!("bands: more than {} worse fails, more than {} is told of", percent(*fail), percent(*warn))
        }
        Rule::Rank { noise_threshold, significance, mad_multiplier } => format!(
            "rank: more than {} and {mad_multiplier} deviations worse fails at p < {significance}",
            percent(*noise_threshold)
        ),
        other => other.name().to_owned(),
    }
}

/// A number without the digits that rounding made.
fn significant(number: f64) -> f64 {
    describe::round_significant(number, 6)
}
