//! Reads a record field by field in the one order in which records are written.
//!
//! Nearly all of a record are its benchmarks, and nearly all of them were met in a record before: these are read here,
//! without a look at which field comes next, in a fraction of the time. What stands otherwise, and whatever is wrong, is
//! left to the general reader, so nothing in here says what a record may be, nor why one is none.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::cursor::Cursor;
use super::fields::{self, MetricRecord, RunRecord};
use super::known::Known;
use crate::benchmark::{Attributes, Benchmark, Parity};
use crate::metric::Metric;
use crate::run::Run;
use crate::sample::{Estimate, Measurement, Role};

/// How long the last lists of each kind were.
#[derive(Default)]
pub(super) struct Lengths {
    measurements: usize,
    estimates: usize,
    workers: usize,
}

/// The run of the record that this text is, and the version that it says it has; absent where the text is not laid out as
/// records are, lists a benchmark that is not known yet, or is no record.
pub(super) fn read(text: &str, known: &mut Known, lengths: &mut Lengths) -> Option<(u64, Run)> {
    let mut cursor = Cursor::at_start(text);
    cursor.expect("{\"autotune\":")?;
    cursor.value::<IgnoredAny>()?;
    cursor.expect(",\"benchmarks\":[")?;
    let before = cursor.place();
    let Lengths { measurements, estimates, workers } = lengths;
    let mut ids = Vec::with_capacity(*measurements);
    let measurements = list(&mut cursor, measurements, |cursor| {
        let (id, measurement) = measurement(cursor, known, estimates, workers)?;
        ids.push(id);
        Some(measurement)
    })?;
    // Without its benchmarks a record is short, and the general reader reads the rest.
    let rest = [text.get(..before)?, "]", text.get(cursor.place()..)?].concat();
    let record: RunRecord<'_> = serde_json::from_str(&rest).ok()?;
    let version = record.schema_version();
    let run = Run { measurements, ..record.into_run(known).ok()? };
    let is_of_suite = |measurement: &Measurement| measurement.benchmark.suite == run.suite;
    // Mostly the ids stand in order, so that none is there twice.
    let is_each_once = ids.is_sorted_by(|a, b| a < b) || fields::twice(&run.measurements).is_none();
    let is_sound = is_each_once && run.measurements.iter().all(is_of_suite);
    is_sound.then_some((version, run))
}

/// The items of a list that was begun, to its end. Most lists are as long as the last of their kind, which grows with
/// none then.
fn list<'t, T>(
    cursor: &mut Cursor<'t>,
    length: &mut usize,
    mut item: impl FnMut(&mut Cursor<'t>) -> Option<T>,
) -> Option<Vec<T>> {
    if cursor.takes("]") {
        return Some(Vec::new());
    }
    let mut items = Vec::with_capacity(*length);
    loop {
        items.push(item(cursor)?);
        if !cursor.takes(",") {
            cursor.expect("]")?;
            *length = items.len();
            return Some(items);
        }
    }
}

/// A measurement, and the id of its benchmark.
fn measurement<'t>(
    cursor: &mut Cursor<'t>,
    known: &mut Known,
    n_estimates: &mut usize,
    n_workers: &mut usize,
) -> Option<(&'t str, Measurement)> {
    cursor.expect("{\"attributes\":")?;
    let attributes = if cursor.takes("{}") { Attributes::new() } else { cursor.value()? };
    cursor.expect(",\"failure\":")?;
    let failure = if cursor.takes("null") { None } else { Some(cursor.value()?) };
    cursor.expect(",\"id\":")?;
    let id = cursor.string()?;
    let benchmark = known.met(id)?;
    cursor.expect(",\"metrics\":[")?;
    let estimates = list(cursor, n_estimates, |cursor| estimate(cursor, n_workers))?;
    is_each_once(&estimates).then_some(())?;
    cursor.expect(",\"name\":")?;
    (cursor.string()? == benchmark.name).then_some(())?;
    cursor.expect(",\"params\":")?;
    params(cursor, benchmark)?;
    cursor.expect(",\"parity\":{\"max_abs_error\":")?;
    let max_abs_error = cursor.optional_float()?;
    cursor.expect(",\"status\":")?;
    let status = cursor.word()?;
    cursor.expect(",\"tolerance\":")?;
    let parity = Parity { status, max_abs_error, tolerance: cursor.optional_float()? };
    let role = if cursor.takes("},\"role\":") { cursor.word()? } else { cursor.expect("}").map(|()| Role::Tracked)? };
    cursor.expect(",\"variant\":")?;
    (cursor.string()? == benchmark.variant).then_some(())?;
    cursor.expect(",\"version\":")?;
    (cursor.whole()? == u64::from(benchmark.version)).then_some(())?;
    cursor.expect("}")?;
    Some((id, Measurement { benchmark: Arc::clone(benchmark), role, attributes, parity, estimates, failure }))
}

/// Goes on behind the parameters of the benchmark, if they are what follows.
fn params(cursor: &mut Cursor<'_>, benchmark: &Benchmark) -> Option<()> {
    cursor.expect("{")?;
    for (place, (key, value)) in benchmark.params.iter().enumerate() {
        cursor.expect(if place > 0 { "," } else { "" })?;
        (cursor.string()? == key).then_some(())?;
        cursor.expect(":")?;
        (cursor.string()? == value).then_some(())?;
    }
    cursor.expect("}")
}

/// Whether no two estimates are of the same metric.
fn is_each_once(estimates: &[Estimate]) -> bool {
    let mut rest = estimates;
    while let Some((first, behind)) = rest.split_first() {
        if behind.iter().any(|one| one.metric.name == first.metric.name) {
            return false;
        }
        rest = behind;
    }
    true
}

fn estimate(cursor: &mut Cursor<'_>, n_workers: &mut usize) -> Option<Estimate> {
    cursor.expect("{\"better\":")?;
    let better = cursor.word()?;
    let detectable = if cursor.takes(",\"detectable\":") { cursor.optional_float()? } else { None };
    cursor.expect(",\"interval\":")?;
    let interval = if cursor.takes("null") { None } else { Some(interval(cursor)?) };
    let min = if cursor.takes(",\"min\":") { cursor.optional_float()? } else { None };
    cursor.expect(",\"n\":")?;
    let n = cursor.whole()?;
    cursor.expect(",\"name\":")?;
    let name = cursor.string().filter(|name| Metric::is_word(name))?;
    cursor.expect(",\"p50\":")?;
    let p50 = cursor.optional_float()?;
    cursor.expect(",\"p95\":")?;
    let p95 = cursor.optional_float()?;
    cursor.expect(",\"unit\":")?;
    let unit = cursor.word()?;
    cursor.expect(",\"value\":")?;
    let value = cursor.float()?;
    cursor.expect(",\"workers\":[")?;
    let workers = list(cursor, n_workers, Cursor::float)?;
    cursor.expect("}")?;
    let name = Cow::Borrowed(name);
    let record = MetricRecord { better, detectable, interval, min, n, name, p50, p95, unit, value, workers };
    record.into_estimate().ok()
}

fn interval(cursor: &mut Cursor<'_>) -> Option<(f64, f64)> {
    cursor.expect("[")?;
    let low = cursor.float()?;
    cursor.expect(",")?;
    let high = cursor.float()?;
    cursor.expect("]")?;
    Some((low, high))
}
