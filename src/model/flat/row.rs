//! What a row is of.

use crate::metric::Metric;
use crate::run::{RecordedRun, RunStatus};
use crate::sample::{Estimate, Measurement};

/// A benchmark of a run, a metric of it, or a run without any.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub recorded: &'a RecordedRun,
    /// The benchmark; absent where the run holds none.
    pub measurement: Option<&'a Measurement>,
    /// The metric; absent where the row is of a whole benchmark or of one that has none.
    pub estimate: Option<&'a Estimate>,
}

/// One row a benchmark, in the order of the run; one row for a run that holds none.
pub fn benchmark_rows(recorded: &RecordedRun) -> Vec<Row<'_>> {
    let row = |measurement| Row { recorded, measurement, estimate: None };
    if recorded.run.measurements.is_empty() {
        return vec![row(None)];
    }
    recorded.run.measurements.iter().map(|measurement| row(Some(measurement))).collect()
}

/// One row a benchmark and metric, in the order of the run; one row for a benchmark that has no numbers, and for a run
/// that holds no benchmark.
pub fn value_rows(recorded: &RecordedRun) -> Vec<Row<'_>> {
    let rows = benchmark_rows(recorded).into_iter().flat_map(|row| {
        let estimates = row.measurement.filter(|_| row.is_usable()).map_or(&[][..], |one| &one.estimates);
        let without = estimates.is_empty().then_some(row);
        estimates.iter().map(move |estimate| Row { estimate: Some(estimate), ..row }).chain(without)
    });
    rows.collect()
}

impl<'a> Row<'a> {
    /// Whether its numbers mean something: the benchmark ran, and computed what it should.
    pub fn is_usable(&self) -> bool {
        self.measurement.is_some_and(Measurement::is_usable)
    }

    /// The status of the benchmark, or of a run that holds none.
    pub(super) fn status(&self) -> RunStatus {
        match self.measurement {
            None => self.recorded.run.status,
            Some(_) if self.is_usable() => RunStatus::Ok,
            Some(one) if one.skipped().is_some() => RunStatus::Skipped,
            Some(_) => RunStatus::Failed,
        }
    }

    /// Why it is not `ok`.
    pub(super) fn reason(&self) -> Option<&'a str> {
        match self.measurement {
            None => self.recorded.run.reason.as_deref(),
            Some(_) if self.is_usable() => None,
            Some(one) => one.skipped().or(one.failed()),
        }
    }

    /// The estimate that stands in for the named metric in a row of a whole benchmark.
    pub(super) fn valid_estimate(&self, metric: &str) -> Option<&'a Estimate> {
        self.measurement.filter(|_| self.is_usable())?.estimate(metric)
    }

    /// The first estimate whose metric is like that.
    pub(super) fn first_estimate(&self, is_wanted: impl Fn(&Metric) -> bool) -> Option<&'a Estimate> {
        self.measurement.filter(|_| self.is_usable())?.estimates.iter().find(|one| is_wanted(&one.metric))
    }
}
