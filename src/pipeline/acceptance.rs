//! What the ledger says to the regressions that were found.

use chrono::{DateTime, NaiveDate, Utc};

use crate::project::Project;
use crate::study::{self, Study};
use crate::{notices, trend};
use sprag_analysis::ledger::{Accepting, ComparedRun};
use sprag_measure::clock;
use sprag_model::commit::CommitLine;
use sprag_model::event::Event;
use sprag_model::gate::SuiteGate;
use sprag_model::ledger::{Ledger, day};
use sprag_model::run::Run;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Verdict};

/// Writes to each regression of the newest runs of a study what the ledger says to it, as of a moment.
pub fn tell_newest(study: &mut Study, trend: &Trend, now: DateTime<Utc>) {
    let Study { analysis, line, ledger, .. } = study;
    Accepting::new(ledger, &trend.events, line, day(now)).tell_newest(analysis);
}

/// Writes to regressions that were found in runs of now what the ledger says to them; each group with its run and the commit
/// that it was held against.
pub fn tell_runs<'a>(
    study: &Study,
    trend: &Trend,
    groups: impl IntoIterator<Item = (&'a Run, Option<&'a str>, &'a mut [Comparison])>,
) {
    let accepting = Accepting::new(&study.ledger, &trend.events, &study.line, day(clock::now()));
    for (run, base, comparisons) in groups {
        accepting.tell(&compared(run, base), comparisons);
    }
}

/// Writes to the regressions of one run, compared with the run at the commit `base`, what the ledger says on a day.
pub(crate) fn tell_run(
    ledger: &Ledger,
    events: &[Event],
    line: &CommitLine,
    today: NaiveDate,
    (run, base, comparisons): (&Run, Option<&str>, &mut [Comparison]),
) {
    Accepting::new(ledger, events, line, today).tell(&compared(run, base), comparisons);
}

/// Writes to each regression that a gate found what the ledger says to it; the run of each suite stands at its place. The events
/// are looked for only where one of them could answer.
pub fn apply_to_gate(
    project: &Project,
    ledger: &Ledger,
    suites: &mut [SuiteGate],
    runs: &[Option<&Run>],
) -> crate::Result<()> {
    let regressed = suites.iter().flat_map(|suite| &suite.comparisons).any(|one| one.verdict == Verdict::Regressed);
    if ledger.acceptances.is_empty() || !regressed || project.find_store().is_none() {
        return Ok(());
    }
    let study = study::study(project)?;
    let found = trend::analyse(project, &study, &trend::TrendOptions::events(clock::now()), &|_| true)?.trend;
    let groups = suites.iter_mut().zip(runs).filter_map(|(suite, run)| {
        let SuiteGate { base_commit, comparisons, .. } = suite;
        Some(((*run)?, base_commit.as_deref(), comparisons.as_mut_slice()))
    });
    tell_runs(&study, &found, groups);
    Ok(())
}

/// Warns of acceptances of events that nobody tells: they answer for nothing.
pub fn warn_unknown(ledger: &Ledger, trend: &Trend) {
    for one in &ledger.acceptances {
        if trend.events.iter().all(|event| event.id != one.event) {
            notices::warn(&format!(
                "{} accepts `{}`, which is no event of the history; it has no effect",
                one.terms.entry, one.event
            ));
        }
    }
}

fn compared<'a>(run: &'a Run, base: Option<&'a str>) -> ComparedRun<'a> {
    ComparedRun {
        machine: &run.machine.id,
        machine_name: &run.machine.name,
        base,
        commit: run.commit.as_ref().map(|commit| commit.sha.as_str()),
    }
}
