//! Accepts a proposed baseline, or the newest run, as the baseline in use.

use std::io::Write;
use std::path::Path;

use crate::baseline::place::{self, Place};
use crate::baseline::take::{self, RunSelection, TakeOutcome, Taken};
use crate::error::Exit;
use crate::project::Project;
use crate::text::{self, warn};
use crate::{Advice, refuse};
use sprag_analysis::baseline_diff;
use sprag_analysis::compare::describe_differences;
use sprag_model::{Baseline, DiffKind};

struct Proposal {
    shown: String,
    baseline: Baseline,
    taken: Option<Box<Taken>>,
}

pub struct AcceptOptions<'a> {
    pub folder: &'a Path,
    pub file: Option<&'a Path>,
    pub why: &'a str,
    pub suites: &'a [String],
    /// Only metrics whose key contains one of these texts; all if empty.
    pub metrics: &'a [String],
    /// Whether to accept a run of some benchmarks only.
    pub partial: bool,
    /// Whether to accept a run that measured uncommitted changes.
    pub dirty: bool,
}

pub fn accept(options: &AcceptOptions<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let why = options.why.trim();
    refuse_blank(options)?;
    let project = take::open(options.folder)?;
    let proposals = match options.file {
        Some(path) => vec![from_file(path, options)?],
        None => from_runs(&project, options)?,
    };
    let _lock = place::lock(&project)?;
    // Everything that may be refused is checked before the first file is written.
    let mut steps = Vec::new();
    for Proposal { shown, baseline, taken } in proposals {
        if let Some(taken) = &taken {
            taken.warn();
        }
        let place = Place::open(&project, &baseline.suite, &baseline.machine_class)?;
        let taken_over = take_over(&baseline, &shown, place.present(), &place.path, options)?;
        steps.push((shown, place, taken_over));
    }
    for (shown, place, TakenOver { baseline, keys }) in &steps {
        if place.present().is_some_and(|present| present.is_same(baseline)) {
            let is_signed = keys.is_none() && place.sign(why)?;
            let more = if is_signed { " except to record who accepts it, and why" } else { "" };
            writeln!(out, "{} already has the values of {shown}: nothing to do{more}", place.path)?;
            if is_signed {
                writeln!(out, "{}", place::to_commit(&place.path, None))?;
            }
            continue;
        }
        let what = changes(place.present(), baseline);
        let archived = place.put(baseline.clone(), why, keys.clone())?;
        if let Some(archived) = &archived {
            writeln!(out, "archived {archived}")?;
        }
        writeln!(out, "wrote {}: {}{what}, from {shown}", place.path, place::count(baseline))?;
        writeln!(out, "{}", place::to_commit(&place.path, archived.as_deref()))?;
    }
    Ok(if steps.is_empty() { Exit::NotMeasured } else { Exit::Done })
}

fn refuse_blank(options: &AcceptOptions<'_>) -> Result<(), Advice> {
    if options.why.trim().is_empty() {
        let message = "`--why` says nothing";
        return refuse(message, "say why these numbers are acceptable; reviewers will ask");
    }
    if options.metrics.iter().any(|text| text.trim().is_empty()) {
        return refuse("`--metric` is blank, which every metric contains", "leave it out to take over all");
    }
    Ok(())
}

fn from_file(path: &Path, options: &AcceptOptions<'_>) -> crate::Result<Proposal> {
    let baseline = take::read_of(&options.folder.join(path), &path.display().to_string(), options.suites)?;
    Ok(Proposal { shown: format!("`{}`", text::path(path)), baseline, taken: None })
}

fn from_runs(project: &Project, options: &AcceptOptions<'_>) -> crate::Result<Vec<Proposal>> {
    let wanted = RunSelection { suites: options.suites, file: None, revision: None };
    let mut proposals = Vec::new();
    for outcome in take::take(project, &wanted)? {
        match outcome {
            TakeOutcome::Taken(taken) => {
                let shown = format!("the run {}", text::short(&taken.recorded.id, 8));
                proposals.push(Proposal { shown, baseline: taken.baseline.clone(), taken: Some(taken) });
            }
            // A suite that failed, or that was asked for, is not skipped silently.
            TakeOutcome::Nothing { why, failed } if failed || !options.suites.is_empty() => {
                let hint = "measure it with `sprag run --record`, or name the others with `--suite`";
                return refuse(format!("{why}: there is nothing to accept"), hint);
            }
            TakeOutcome::Nothing { why, .. } => warn(&format!("{why}: no baseline of it")),
        }
    }
    Ok(proposals)
}

/// ` (2 changed by up to +12.5 %, 1 new)`.
fn changes(present: Option<&Baseline>, baseline: &Baseline) -> String {
    let Some(present) = present else { return String::new() };
    let metrics = baseline_diff::metrics(present, baseline);
    let count = |kinds: &[DiffKind]| metrics.iter().filter(|one| kinds.contains(&one.kind)).count();
    let mut parts = Vec::new();
    let moved = count(&[DiffKind::Worse, DiffKind::Better, DiffKind::Moved]);
    if let Some(change) = metrics.iter().find_map(|one| one.change).filter(|_| moved > 0) {
        parts.push(format!("{moved} changed by up to {}", text::percent(change)));
    }
    let kinds =
        [(DiffKind::Rule, "with another rule"), (DiffKind::Added, "new"), (DiffKind::Removed, "no longer there")];
    let others = kinds.map(|(kind, word)| (count(&[kind]), word));
    parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

const MOST_NAMED: usize = 5;

#[derive(Debug, PartialEq)]
pub(super) struct TakenOver {
    pub baseline: Baseline,
    /// The keys that were taken over; `None` for all.
    pub keys: Option<Vec<String>>,
}

/// `shown` names the proposal to the user; `path` is the file in use.
pub(super) fn take_over(
    proposal: &Baseline,
    shown: &str,
    present: Option<&Baseline>,
    path: &str,
    terms: &AcceptOptions<'_>,
) -> Result<TakenOver, Advice> {
    if proposal.dirty && !terms.dirty {
        let message = format!("{shown} measured uncommitted changes, so nobody can measure it again");
        return refuse(message, "commit and measure again, or take it as it is with `--dirty`");
    }
    if proposal.partial && terms.metrics.is_empty() && !terms.partial {
        let message = format!("{shown} has only some benchmarks: others were not selected, or failed");
        return refuse(message, "measure the whole suite, or take over what it has with `--partial`");
    }
    let keys = wanted(proposal, shown, terms)?;
    let Some(present) = present else {
        if !terms.metrics.is_empty() {
            let message = format!("there is no `{path}` whose other metrics could stay as they are");
            return refuse(message, "leave out `--metric`");
        }
        return Ok(TakenOver { baseline: proposal.clone(), keys: None });
    };
    refuse_redefined(proposal, shown, present, path, keys.as_deref())?;
    let Some(keys) = keys else { return Ok(TakenOver { baseline: proposal.clone(), keys: None }) };
    let differences = present.environment.differences(&proposal.environment);
    if !differences.is_empty() {
        return refuse(
            format!(
                "`{path}` and {shown} are of two environments ({}), and a baseline has only one",
                describe_differences(&differences)
            ),
            "take all of it: leave out `--metric` and `--partial`",
        );
    }
    let mut metrics = present.metrics.clone();
    metrics.extend(keys.iter().map(|key| (key.clone(), proposal.metrics[key].clone())));
    let baseline = Baseline {
        dirty: proposal.dirty || present.dirty,
        partial: proposal.partial && present.partial,
        metrics,
        ..proposal.clone()
    };
    Ok(TakenOver { baseline, keys: Some(keys) })
}

/// The keys to take over; `None` for all.
fn wanted(proposal: &Baseline, shown: &str, terms: &AcceptOptions<'_>) -> Result<Option<Vec<String>>, Advice> {
    if terms.metrics.is_empty() {
        return Ok(terms.partial.then(|| proposal.metrics.keys().cloned().collect()));
    }
    let has = |text: &str| proposal.metrics.keys().any(|key| key.contains(text));
    if let Some(text) = terms.metrics.iter().find(|text| !has(text)) {
        let example = proposal.metrics.keys().next().map_or("", String::as_str);
        let message = format!("no metric of {shown} contains `{}`", text.escape_debug());
        return refuse(message, format!("the key of a metric is like `{example}`"));
    }
    let is_wanted = |key: &&String| terms.metrics.iter().any(|text| key.contains(text.as_str()));
    Ok(Some(proposal.metrics.keys().filter(is_wanted).cloned().collect()))
}

/// Fails if a key has another unit or direction in the baseline in use.
fn refuse_redefined(
    proposal: &Baseline,
    shown: &str,
    present: &Baseline,
    path: &str,
    keys: Option<&[String]>,
) -> Result<(), Advice> {
    let is_taken = |key: &String| keys.is_none_or(|keys| keys.contains(key));
    let is_other = |key: &&String| {
        let (Some(before), Some(after)) = (present.metrics.get(*key), proposal.metrics.get(*key)) else { return false };
        is_taken(key) && (before.unit, before.better) != (after.unit, after.better)
    };
    let redefined: Vec<&str> = proposal.metrics.keys().filter(is_other).map(String::as_str).collect();
    if redefined.is_empty() {
        return Ok(());
    }
    let more = redefined.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = redefined[..redefined.len().min(MOST_NAMED)].join("`, `");
    let message = format!("`{path}` has `{named}`{more} in another unit or direction than {shown}");
    refuse(message, "that is another metric: give it another name, or move the file away and take a new baseline")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Environment;

    #[test]
    fn metrics_of_two_environments_are_not_mixed() {
        let frozen = include_str!("../../../fixtures/records/baseline-2.json");
        let old = Baseline::from_json(frozen.as_bytes()).expect("it is frozen");
        let environment = Environment::from_facts([("compiler".to_owned(), "rustc 9".to_owned())].into());
        let new = Baseline { environment, ..old.clone() };
        let take_over = |new: &Baseline, metrics: &[String], partial: bool| {
            let (folder, why) = (Path::new(""), "");
            let terms = AcceptOptions { folder, file: None, why, suites: &[], metrics, partial, dirty: false };
            super::take_over(new, "the run", Some(&old), "x", &terms)
        };
        let error = take_over(&new, &["@reference".to_owned()], false).expect_err("it is refused");
        assert!(error.message.contains("two environments (") && !error.hint.is_empty(), "{}", error.message);
        let all = take_over(&new, &[], false).expect("all of it fits");
        assert_eq!(all, TakenOver { baseline: new.clone(), keys: None });
        // A metric that a partial run lacks stays.
        let mut partial = Baseline { partial: true, ..old.clone() };
        let (lost, was) = partial.metrics.pop_first().expect("there is one");
        partial.metrics.values_mut().for_each(|metric| metric.value *= 2.0);
        let taken = take_over(&partial, &[], true).expect("it fits").baseline;
        assert_eq!((&taken.metrics[&lost], taken.metrics.len(), taken.partial), (&was, old.metrics.len(), false));
        assert!(partial.metrics.iter().all(|(key, metric)| taken.metrics[key] == *metric));
    }
}
