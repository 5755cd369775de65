//! Which runs and rows of the history are exported.

use anyhow::Context as _;
use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::cli::SelectionArgs;
use crate::cmd::Advice;
use crate::cmd::project::Project;
use crate::history;
use crate::model::flat::{Row, benchmark_rows, value_rows};
use crate::model::run::RecordedRun;

/// What was asked for, checked.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    args: &'a SelectionArgs,
    since: Option<DateTime<Utc>>,
    /// The first moment that is too late.
    before: Option<DateTime<Utc>>,
}

impl<'a> Selection<'a> {
    /// Reads the options.
    ///
    /// # Errors
    /// Names the one that is no date.
    pub(super) fn of(args: &'a SelectionArgs) -> anyhow::Result<Selection<'a>> {
        let since = args.since.as_deref().map(|text| moment("--since", text, false)).transpose()?;
        let before = args.until.as_deref().map(|text| moment("--until", text, true)).transpose()?;
        Ok(Selection { args, since, before })
    }

    /// The selected runs of the history, oldest first.
    ///
    /// # Errors
    /// When there is no repository or it cannot be read. Single bad records are warned of.
    pub(super) fn load(&self, project: &Project) -> anyhow::Result<Vec<RecordedRun>> {
        let store = project.store()?;
        let source = history::source(store, project.config.history.reference.as_deref())?;
        let loaded = history::load(store, &source).context("cannot read the history")?;
        let count = loaded.quarantined.len();
        if count > 0 {
            crate::cmd::warn(&format!("{count} records of the history are quarantined and not exported"));
        }
        let mut runs = loaded.runs;
        runs.retain(|recorded| self.has_run(recorded));
        runs.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
        runs.dedup_by(|a, b| a.id == b.id);
        if runs.is_empty() {
            crate::cmd::warn("no run of the history was asked for; nothing is exported");
        }
        Ok(runs)
    }

    fn has_run(&self, recorded: &RecordedRun) -> bool {
        let run = &recorded.run;
        let is_there = |machine: &str| run.machine.name == machine || run.machine.id == machine;
        (self.args.suites.is_empty() || self.args.suites.contains(&run.suite))
            && self.args.machine.as_deref().is_none_or(is_there)
            && self.since.is_none_or(|since| run.timestamp >= since)
            && self.before.is_none_or(|before| run.timestamp < before)
    }

    /// The selected rows of a run, one a benchmark.
    pub(super) fn benchmark_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = benchmark_rows(recorded);
        if let Some(metric) = &self.args.metric {
            rows.retain(|row| row.measurement.is_some_and(|one| one.estimate(metric).is_some()));
        }
        rows
    }

    /// The selected rows of a run, one a benchmark and metric.
    pub(super) fn value_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = value_rows(recorded);
        if let Some(metric) = &self.args.metric {
            rows.retain(|row| row.estimate.is_some_and(|one| one.metric.name == *metric));
        }
        rows
    }
}

/// The first moment of a day or the given moment; `after` asks for the first one after it.
fn moment(option: &str, text: &str, after: bool) -> anyhow::Result<DateTime<Utc>> {
    let day = text.parse::<NaiveDate>().ok().and_then(|day| day.checked_add_days(Days::new(u64::from(after))));
    let found = match day {
        Some(day) => Some(day.and_time(NaiveTime::MIN).and_utc()),
        // Runs are dated to the second.
        None => {
            let moment: Option<DateTime<Utc>> = text.parse().ok();
            moment.and_then(|moment| moment.checked_add_signed(TimeDelta::seconds(i64::from(after))))
        }
    };
    found.ok_or_else(|| {
        let message = format!("`{option} {}` is no date", crate::cmd::text::printable(text));
        let hint = "write a day in UTC or a moment, such as 2026-11-21 or 2026-11-21T04:05:06Z".to_owned();
        Advice { message, hint }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::flat::example::recorded;

    const ALL: SelectionArgs =
        SelectionArgs { suites: Vec::new(), machine: None, since: None, until: None, metric: None };

    #[test]
    fn runs_are_selected_by_suite_machine_and_time() {
        // Of the suite `cpu` on the machine `bench`, on 4 May 2026 at 03:02:01.
        let recorded = recorded();
        let check = |args: SelectionArgs, expected: bool| {
            let selection = Selection::of(&args).expect("the dates are dates");
            assert_eq!(selection.has_run(&recorded), expected, "{args:?}");
        };
        let some = |text: &str| Some(text.to_owned());
        check(ALL, true);
        check(SelectionArgs { suites: vec!["gpu".into(), "cpu".into()], ..ALL }, true);
        check(SelectionArgs { suites: vec!["gpu".into()], ..ALL }, false);
        check(SelectionArgs { machine: some("bench"), ..ALL }, true);
        check(SelectionArgs { machine: some(&recorded.run.machine.id), ..ALL }, true);
        check(SelectionArgs { machine: some("ben"), ..ALL }, false);
        check(SelectionArgs { since: some("2026-05-04"), until: some("2026-05-04"), ..ALL }, true);
        check(SelectionArgs { since: some("2026-05-05"), ..ALL }, false);
        check(SelectionArgs { until: some("2026-05-03"), ..ALL }, false);
        check(SelectionArgs { since: some("2026-05-04T03:02:01Z"), ..ALL }, true);
        check(SelectionArgs { since: some("2026-05-04T03:02:02Z"), ..ALL }, false);
        check(SelectionArgs { until: some("2026-05-04T05:02:01+02:00"), ..ALL }, true);
        check(SelectionArgs { until: some("2026-05-04T03:02:00Z"), ..ALL }, false);
        for text in ["", "yesterday", "2026-13-01", "2026-05", "262142-12-31", "9999999-01-01"] {
            let args = SelectionArgs { until: some(text), ..ALL };
            let error = Selection::of(&args).map(|_| ()).expect_err("it is no date");
            assert!(error.to_string().contains("is no date"), "{error}");
        }
    }

    #[test]
    fn rows_are_selected_by_metric() {
        let recorded = recorded();
        let check = |metric: Option<&str>, benchmarks: usize, values: usize| {
            let args = SelectionArgs { metric: metric.map(str::to_owned), ..ALL };
            let selection = Selection::of(&args).expect("there is no date");
            assert_eq!(selection.benchmark_rows(&recorded).len(), benchmarks);
            assert_eq!(selection.value_rows(&recorded).len(), values);
        };
        check(None, 3, 6);
        check(Some("time"), 2, 2);
        check(Some("ratio"), 1, 1);
        check(Some("other"), 0, 0);
    }
}
