//! A run as a table for a terminal.

use crate::text::{self, NONE};
use sprag_base::number::percent;
use sprag_base::text::decoded;
use sprag_model::metric::{INSTRUCTIONS, LIMIT_SHARE, RATIO};
use sprag_model::sample::CALIBRATION;
use sprag_model::{Estimate, Measurement, ParityStatus, Run, Unit};

const NUMBERS: [usize; 6] = [1, 2, 4, 5, 6, 8];

/// Kernels first, then controls and calibration, then failures.
pub fn table(run: &Run) -> String {
    let mut table = text::line(&heading(run), 0);
    let head = ["benchmark", "time", "ratio", "95 % interval", "detectable", "of limit", "throughput", "parity"];
    let is_counted = run.measurements.iter().any(|one| one.estimate(INSTRUCTIONS).is_some());
    let more = is_counted.then_some("instructions");
    let (auxiliary, kernels): (Vec<&Measurement>, Vec<&Measurement>) =
        run.measurements.iter().filter(|one| one.failure.is_none()).partition(|one| one.is_auxiliary());
    let mut rows = vec![head.into_iter().chain(more).map(str::to_owned).collect::<Vec<String>>()];
    rows.extend(kernels.iter().chain(&auxiliary).map(|one| row(one, is_counted)));
    if rows.len() > 1 {
        let (rows, right) = without_empty_columns(rows);
        let mut lines = text::columns_by_row(&rows, &right);
        if !auxiliary.is_empty() {
            lines.insert(kernels.len() + 1, "control and calibration\n".to_owned());
        }
        table.push_str(&lines.concat());
    }
    for measurement in &run.measurements {
        if let Some(failure) = &measurement.failure {
            let word = if measurement.skipped().is_some() { "" } else { "failed: " };
            table.push_str(&text::line(&format!("{word}{}: {failure}", measurement.benchmark.id()), 0));
        }
    }
    if let Some(hint) = run.reason.as_deref().and_then(hint) {
        table.push_str(&format!("hint: {hint}\n"));
    }
    for reason in &run.quality.reasons {
        table.push_str(&text::line(&format!("note: {reason}"), 0));
    }
    table
}

fn heading(run: &Run) -> String {
    let mut head = format!("{} on {}: {}", run.suite, run.machine.name, run.status.word());
    let benchmarks = || run.measurements.iter().filter(|one| one.benchmark.variant != CALIBRATION);
    let (all, failed) = (benchmarks().count(), benchmarks().filter(|one| one.failed().is_some()).count());
    if failed > 0 {
        head.push_str(&format!(", {failed} of {all} {} failed", if all == 1 { "benchmark" } else { "benchmarks" }));
    }
    if let Some(commit) = &run.commit {
        head.push_str(&format!(" at {}{}", commit.short(), if commit.dirty { " (changed files)" } else { "" }));
    }
    if let Some(reason) = &run.reason {
        head.push_str(&format!(", {reason}"));
    }
    head
}

/// What to do about a command that did not work, where its reason does not say so itself.
fn hint(reason: &str) -> Option<&'static str> {
    if reason.ends_with("there is no such program") {
        return Some("install it, or correct the suite in sprag.toml");
    }
    let is_silent = reason.contains("it ended with exit code") || reason.contains("it was ended by signal");
    is_silent.then_some("run it by itself in the folder of the suite to see why")
}

fn row(measurement: &Measurement, is_counted: bool) -> Vec<String> {
    let none = || NONE.to_owned();
    let shown = |estimate: Option<&Estimate>| {
        estimate.map_or_else(none, |one| one.metric.unit.scale(one.value).text(one.value))
    };
    // The judged metric has the interval that matters.
    let judged = measurement.judged().or(measurement.estimate(RATIO)).or(measurement.estimates.first());
    let interval = judged.and_then(|one| {
        let (low, high) = one.interval?;
        let scale = one.metric.unit.scale(one.value);
        Some(format!("{} to {}", scale.number(low), scale.number(high)))
    });
    let detectable = judged.and_then(|one| one.detectable).map(text::percent_size);
    let limit = measurement.estimate(LIMIT_SHARE).map(|one| percent(one.value, 0));
    let throughput = measurement.estimates.iter().find(|one| one.metric.unit == Unit::PerSecond);
    let parity = match (measurement.parity.status, measurement.parity.max_abs_error) {
        (ParityStatus::Unchecked, _) => none(),
        (_, Some(error)) if error > 0.0 => format!("within, {error:.1e}"),
        (status, _) => format!("{status:?}").to_lowercase(),
    };
    let mut row = vec![
        text::printable(&decoded(&measurement.benchmark.id())),
        shown(measurement.estimates.first()),
        shown(measurement.estimate(RATIO)),
        interval.unwrap_or_else(none),
        detectable.unwrap_or_else(none),
        limit.unwrap_or_else(none),
        shown(throughput),
        parity,
    ];
    if is_counted {
        // Exact, so to the last digit.
        row.push(measurement.estimate(INSTRUCTIONS).map_or_else(none, |one| format!("{:.0}", one.value)));
    }
    row
}

/// Drops empty columns; returns which of the rest hold numbers. The first row holds the heads.
fn without_empty_columns(rows: Vec<Vec<String>>) -> (Vec<Vec<String>>, Vec<usize>) {
    let holds = |column: usize| rows[1..].iter().any(|row| row[column] != NONE);
    let filled: Vec<usize> = (0..rows[0].len()).filter(|column| holds(*column)).collect();
    let right = (0..filled.len()).filter(|place| NUMBERS.contains(&filled[*place])).collect();
    let rows = rows.iter().map(|row| filled.iter().map(|column| row[*column].clone()).collect()).collect();
    (rows, right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::recorded;
    use sprag_model::{Benchmark, Metric, Parity, ParityStatus, Role};

    #[test]
    fn kernels_come_first_and_failures_last() {
        let mut run = recorded().run;
        run.commit = None;
        let [pack, _, broken] = &run.measurements[..] else { panic!("the example has three benchmarks") };
        let named = |name: &str, variant: &str, one: &Measurement| Measurement {
            benchmark: Benchmark::new("cpu", name, &[], variant).expect("the name is a word").into(),
            estimates: one.estimates.iter().filter(|one| one.metric == Metric::time()).cloned().collect(),
            ..one.clone()
        };
        let failed = Measurement { failure: Some("it\u{1b} broke".to_owned()), ..named("broken", "fast", broken) };
        let control = Measurement {
            role: Role::Control,
            parity: Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None },
            ..named("control", "control", pack)
        };
        let calibration = named("calibration_copy", CALIBRATION, pack);
        run.measurements = vec![control, calibration, failed.clone(), named("scan", "fast", pack)];
        let expected = "cpu on bench: ok, 1 of 3 benchmarks failed\n\
            benchmark                              time  95 % interval   detectable  parity\n\
            cpu/scan @fast                     250.0 ms  200.0 to 300.0       1.0 %  exact\n\
            control and calibration\n\
            cpu/control @control               250.0 ms  200.0 to 300.0       1.0 %  –\n\
            cpu/calibration_copy @calibration  250.0 ms  200.0 to 300.0       1.0 %  exact\n\
            failed: cpu/broken @fast: it\\u{1b} broke\n\
            note: load was high\nnote: few workers\n";
        assert_eq!(table(&run), expected);
        run.measurements = vec![failed];
        let expected = "cpu on bench: ok, 1 of 1 benchmark failed\nfailed: cpu/broken @fast: it\\u{1b} broke\n\
            note: load was high\nnote: few workers\n";
        assert_eq!(table(&run), expected);
    }
}
