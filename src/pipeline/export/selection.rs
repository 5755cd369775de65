//! Which runs and rows of the history are exported.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::error::Context as _;
use chrono::{DateTime, Utc};

use super::passing::{Order, Passed};
use crate::Advice;
use crate::moment::span;
use crate::notices::warn;
use crate::project::Project;
use crate::text::{self, printable};
use sprag_history::{self as history, Entry};
use sprag_model::flat::{Row, benchmark_rows, value_rows};
use sprag_model::run::RecordedRun;

/// Which part of the history is asked for; all of it where nothing is said.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    pub suites: Vec<String>,
    /// A machine by its name or its id.
    pub machine: Option<String>,
    /// A day in UTC, or a moment.
    pub since: Option<String>,
    /// Likewise, included.
    pub until: Option<String>,
    pub metric: Option<String>,
}

/// What was asked for, checked.
#[derive(Debug)]
pub struct Selection<'a> {
    asked: &'a Selected,
    since: Option<DateTime<Utc>>,
    /// The first moment that is too late.
    before: Option<DateTime<Utc>>,
    /// Whether the metric that was asked for was there.
    met: Cell<bool>,
}

impl<'a> Selection<'a> {
    /// Reads the options.
    pub fn new(asked: &'a Selected) -> crate::Result<Selection<'a>> {
        let since = asked.since.as_deref().map(|text| span("--since", text)).transpose()?.map(|(first, _)| first);
        let before = asked.until.as_deref().map(|text| span("--until", text)).transpose()?.map(|(_, after)| after);
        Ok(Selection { asked, since, before, met: Cell::new(false) })
    }

    /// The records of the history of which some may be selected, as far as their names tell.
    pub fn list(&self, project: &Project) -> crate::Result<Vec<Entry>> {
        let store = project.store()?;
        let source = history::source(store, project.config.history.reference.as_deref())?;
        let listing = history::list(store, &source).context("cannot read the history")?;
        warn_of(listing.quarantined.len());
        let mut entries = listing.entries;
        let suites: BTreeSet<&str> = entries.iter().map(Entry::suite).collect();
        if let Some(unknown) = self.asked.suites.iter().find(|suite| !suites.contains(suite.as_str())) {
            let message = format!("the history has no suite `{}`", printable(unknown));
            let known: Vec<&str> = suites.into_iter().collect();
            let hint =
                if known.is_empty() { "it has no run yet".to_owned() } else { format!("it has: {}", known.join(", ")) };
            return Err(Advice { message, hint }.into());
        }
        entries.retain(|entry| self.may_have(entry));
        Ok(entries)
    }

    /// Gives the selected runs of these records to `take`, one after another; gives how many there were.
    pub fn pass(
        &self,
        project: &Project,
        entries: &[Entry],
        order: Order,
        take: &mut dyn FnMut(&RecordedRun) -> crate::Result<()>,
    ) -> crate::Result<usize> {
        let mut passed = Passed::default();
        let mut take_selected = |recorded: &RecordedRun| {
            let is_selected = self.has_run(recorded);
            if is_selected {
                if self.asked.metric.is_some() && !self.value_rows(recorded).is_empty() {
                    self.met.set(true);
                }
                take(recorded)?;
            }
            Ok(is_selected)
        };
        passed.pass(project.store()?, entries, order, &mut take_selected)?;
        warn_of(passed.quarantined);
        Ok(passed.runs)
    }

    /// Says so where nothing was exported of so many runs.
    pub fn warn_of_nothing(&self, runs: usize) {
        if runs == 0 {
            warn("no run of the history fits what was asked for; nothing is exported");
        } else if let Some(metric) = self.asked.metric.as_deref().filter(|_| !self.met.get()) {
            warn(&format!("no run that was asked for has the metric `{}`", printable(metric)));
        }
    }

    fn may_have(&self, entry: &Entry) -> bool {
        let month = |time: DateTime<Utc>| (time.format("%Y").to_string(), time.format("%m").to_string());
        let (year, number) = entry.month();
        let own = (year.to_owned(), number.to_owned());
        (self.asked.suites.is_empty() || self.asked.suites.iter().any(|suite| suite == entry.suite()))
            && self.since.is_none_or(|since| own >= month(since))
            && self.before.is_none_or(|before| own <= month(before))
    }

    fn has_run(&self, recorded: &RecordedRun) -> bool {
        let run = &recorded.run;
        let is_there = |machine: &str| run.machine.name == machine || run.machine.id == machine;
        (self.asked.suites.is_empty() || self.asked.suites.contains(&run.suite))
            && self.asked.machine.as_deref().is_none_or(is_there)
            && self.since.is_none_or(|since| run.timestamp >= since)
            && self.before.is_none_or(|before| run.timestamp < before)
    }

    /// The selected rows of a run, one a benchmark.
    pub fn benchmark_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = benchmark_rows(recorded);
        if let Some(metric) = &self.asked.metric {
            rows.retain(|row| row.measurement.is_some_and(|one| one.estimate(metric).is_some()));
        }
        rows
    }

    /// The selected rows of a run, one a benchmark and metric.
    pub fn value_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = value_rows(recorded);
        if let Some(metric) = &self.asked.metric {
            rows.retain(|row| row.estimate.is_some_and(|one| one.metric.name == *metric));
        }
        rows
    }
}

fn warn_of(quarantined: usize) {
    if quarantined > 0 {
        let records = text::count(quarantined, "record");
        warn(&format!("{records} of the history quarantined and not exported; `sprag history fsck` tells why"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::recorded;

    const ALL: Selected = Selected { suites: Vec::new(), machine: None, since: None, until: None, metric: None };

    #[test]
    fn runs_are_selected_by_suite_machine_and_time() {
        // Of the suite `cpu` on the machine `bench`, on 4 May 2026 at 03:02:01.
        let recorded = recorded();
        let check = |asked: Selected, expected: bool| {
            let selection = Selection::new(&asked).expect("the dates are dates");
            assert_eq!(selection.has_run(&recorded), expected, "{asked:?}");
        };
        let some = |text: &str| Some(text.to_owned());
        check(ALL, true);
        check(Selected { suites: vec!["gpu".into(), "cpu".into()], ..ALL }, true);
        check(Selected { suites: vec!["gpu".into()], ..ALL }, false);
        check(Selected { machine: some("bench"), ..ALL }, true);
        check(Selected { machine: some(&recorded.run.machine.id), ..ALL }, true);
        check(Selected { machine: some("ben"), ..ALL }, false);
        check(Selected { since: some("2026-05-04"), until: some("2026-05-04"), ..ALL }, true);
        check(Selected { since: some("2026-05-05"), ..ALL }, false);
        check(Selected { until: some("2026-05-03"), ..ALL }, false);
        check(Selected { since: some("2026-05-04T03:02:01Z"), ..ALL }, true);
        check(Selected { since: some("2026-05-04T03:02:02Z"), ..ALL }, false);
        check(Selected { until: some("2026-05-04T05:02:01+02:00"), ..ALL }, true);
        check(Selected { until: some("2026-05-04T03:02:00Z"), ..ALL }, false);
    }

    #[test]
    fn the_name_of_a_record_tells_what_cannot_be_selected() {
        let path = "history/v1/cpu/2026/05/0123456789ab-01234567-0123456789abcdef.json".to_owned();
        let entry = Entry { path, blob: String::new() };
        let check = |asked: Selected, expected: bool| {
            let selection = Selection::new(&asked).expect("the dates are dates");
            assert_eq!(selection.may_have(&entry), expected, "{asked:?}");
        };
        let some = |text: &str| Some(text.to_owned());
        check(ALL, true);
        check(Selected { suites: vec!["gpu".into(), "cpu".into()], ..ALL }, true);
        check(Selected { suites: vec!["gpu".into()], ..ALL }, false);
        check(Selected { since: some("2026-05-31"), ..ALL }, true);
        check(Selected { since: some("2026-06-01"), ..ALL }, false);
        check(Selected { until: some("2026-05-01"), ..ALL }, true);
        check(Selected { until: some("2026-04-29"), ..ALL }, false);
        check(Selected { since: some("2025-12-31"), until: some("2027-01-01"), ..ALL }, true);
    }

    #[test]
    fn rows_are_selected_by_metric() {
        let recorded = recorded();
        let check = |metric: Option<&str>, benchmarks: usize, values: usize| {
            let asked = Selected { metric: metric.map(str::to_owned), ..ALL };
            let selection = Selection::new(&asked).expect("there is no date");
            assert_eq!(selection.benchmark_rows(&recorded).len(), benchmarks);
            assert_eq!(selection.value_rows(&recorded).len(), values);
        };
        check(None, 3, 6);
        check(Some("time"), 2, 2);
        check(Some("ratio"), 1, 1);
        check(Some("other"), 0, 0);
    }
}
