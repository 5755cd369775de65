//! The entries of one benchmark: one a combination of its parameters.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{LONGEST_PREFIX, MOST_BENCHMARKS, figure, quantity};
use super::result::Row;
use super::suite::{self, Suite};
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::Metric;

/// What a failed benchmark is said to be.
const FAILED: &str = "asv recorded that it failed";

/// What a skipped benchmark is said to be.
const SKIPPED: &str = "asv recorded that it was skipped";

/// The entries of a row. Where its parts do not fit together, it is one entry that says so.
pub(super) fn entries(row: &Row, suite: &Suite, variant: Option<&str>) -> Vec<Entry> {
    let entry = |series: String| Entry {
        series,
        name: row.name.clone(),
        variant: variant.map(str::to_owned),
        ..Entry::default()
    };
    let combined = row.params().and_then(|params| {
        let count = combinations(&params, row.values().map(<[Value]>::len))?;
        match count > 1 && longest(row, suite, &params) > LONGEST_PREFIX {
            true => {
                Err(format!("its name and `params` take more than {LONGEST_PREFIX} bytes for each of {count} values"))
            }
            false => Ok((params, count)),
        }
    });
    let (params, count) = match combined {
        Ok(combined) => combined,
        Err(reason) => return vec![Entry { status: EntryStatus::Failed(reason), ..entry(row.name.clone()) }],
    };
    let (metric, factor) = suite::metric(suite.unit(&row.name));
    let mut entries = Vec::with_capacity(count);
    for place in 0..count {
        let chosen = combination(&params, place);
        let series = if chosen.is_empty() { row.name.clone() } else { format!("{}({})", row.name, chosen.join(", ")) };
        let mut entry = entry(series);
        let names = (0..chosen.len()).map(|place| suite.param_name(&row.name, place));
        entry.params = names.zip(chosen.iter().map(|value| (*value).to_owned())).collect();
        match observation(row, place, &metric, factor, suite.unit(&row.name)) {
            Ok(observation) => {
                entry.observations.push(observation);
                entry.extras = extras(row, place, factor);
            }
            Err(status) => entry.status = status,
        }
        entries.push(entry);
    }
    entries
}

/// The bytes that the longest combination of the parameters takes with all names.
fn longest(row: &Row, suite: &Suite, params: &[Vec<String>]) -> usize {
    let value = |list: &Vec<String>| list.iter().map(String::len).max().unwrap_or_default();
    let one = |(place, list)| suite.param_name(&row.name, place).len() + value(list) + 1;
    row.name.len() + params.iter().enumerate().map(one).sum::<usize>()
}

/// How many combinations the parameters have, where there are as many values.
fn combinations(params: &[Vec<String>], values: Option<usize>) -> Result<usize, String> {
    let count = params.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    match (count, values) {
        (Some(count), Some(values)) if count == values => Ok(count),
        (Some(count @ 0..=MOST_BENCHMARKS), None) => Ok(count),
        (_, Some(values)) => {
            Err(format!("its `result` has {values} values, which is not one a combination of `params`"))
        }
        (_, None) => Err(format!("{FAILED}, with more than {MOST_BENCHMARKS} combinations of `params`")),
    }
}

/// The values of the parameters at a place; the last parameter varies fastest.
fn combination(params: &[Vec<String>], place: usize) -> Vec<&str> {
    let mut rest = place;
    let mut chosen: Vec<&str> = Vec::with_capacity(params.len());
    for list in params.iter().rev() {
        let count = list.len().max(1);
        chosen.push(list.get(rest % count).map_or("", String::as_str));
        rest /= count;
    }
    chosen.reverse();
    chosen
}

fn observation(
    row: &Row,
    place: usize,
    metric: &Metric,
    factor: f64,
    source_unit: &str,
) -> Result<Observation, EntryStatus> {
    let failed = |reason: String| EntryStatus::Failed(reason);
    let Some(value) = row.at("result", place).or_else(|| row.values()?.get(place)).filter(|value| !value.is_null())
    else {
        return Err(failed(FAILED.to_owned()));
    };
    if value.as_str().is_some_and(|text| text.parse::<f64>().is_ok_and(f64::is_nan)) {
        return Err(EntryStatus::Skipped(SKIPPED.to_owned()));
    }
    let value = figure::figure("result", value, metric, factor).map_err(failed)?;
    let samples = match row.at("samples", place) {
        None => Vec::new(),
        Some(Value::Array(samples)) => {
            let read = |sample| figure::figure("samples", sample, metric, factor);
            samples.iter().map(read).collect::<Result<Vec<f64>, String>>().map_err(failed)?
        }
        Some(_) => return Err(failed("its `samples` are no list".to_owned())),
    };
    let repeat = row.at("stats_repeat", place).and_then(Value::as_u64).unwrap_or(0);
    let n = repeat.max(samples.len() as u64);
    Ok(Observation { n, ..Observation::sampled(metric.clone(), source_unit, value, samples) })
}

/// asv's own statistics, which it rounds to five digits, and the version of the code.
fn extras(row: &Row, place: usize, factor: f64) -> BTreeMap<String, Value> {
    let mut extras = BTreeMap::new();
    for (name, factor) in
        [("ci_99_a", factor), ("ci_99_b", factor), ("q_25", factor), ("q_75", factor), ("number", 1.0), ("repeat", 1.0)]
    {
        let found = row
            .at(&format!("stats_{name}"), place)
            .and_then(Value::as_f64)
            .map(|number| quantity::to_base(number, factor));
        if let Some(number) = found.filter(|number| number.is_finite()) {
            extras.insert(name.to_owned(), number.into());
        }
    }
    if let Some(version) = row.version() {
        extras.insert("version".to_owned(), version.chars().take(100).collect::<String>().into());
    }
    extras
}
