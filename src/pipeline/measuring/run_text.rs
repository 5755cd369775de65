//! A run as a table for a terminal.

use crate::text::{self, NONE};
use sprag_model::benchmark::ParityStatus;
use sprag_model::metric::{INSTRUCTIONS, LIMIT_SHARE, RATIO};
use sprag_model::run::Run;
use sprag_model::sample::{CALIBRATION, Estimate, Measurement};
use sprag_model::unit::Unit;

/// The columns of the table that hold numbers.
const NUMBERS: [usize; 6] = [1, 2, 4, 5, 6, 8];

/// A run as a table for a terminal: kernels, then what shows how far the run can be trusted, then what failed.
pub fn table(run: &Run) -> String {
    let mut table = format!("{}\n", text::printable(&heading(run)));
    let head = ["benchmark", "time", "ratio", "95 % interval", "detectable", "of limit", "throughput", "parity"];
    let is_counted = run.measurements.iter().any(|one| one.estimate(INSTRUCTIONS).is_some());
    let more = is_counted.then_some("instructions");
    let (auxiliary, kernels): (Vec<&Measurement>, Vec<&Measurement>) =
        run.measurements.iter().filter(|one| one.failure.is_none()).partition(|one| one.is_auxiliary());
    let mut rows = vec![head.into_iter().chain(more).map(str::to_owned).collect::<Vec<String>>()];
    rows.extend(kernels.iter().chain(&auxiliary).map(|one| row(one, is_counted)));
    if rows.len() > 1 {
        let (rows, right) = without_empty_columns(rows);
        let text = text::columns(&rows, &right);
        for (number, line) in text.lines().enumerate() {
            if number == kernels.len() + 1 {
                table.push_str("control and calibration\n");
            }
            table.push_str(&format!("{line}\n"));
        }
    }
    for measurement in &run.measurements {
        if let Some(failure) = &measurement.failure {
            let id = text::printable(&measurement.benchmark.id());
            table.push_str(&format!("failed: {id}: {}\n", text::printable(failure)));
        }
    }
    for reason in &run.quality.reasons {
        table.push_str(&format!("note: {}\n", text::printable(reason)));
    }
    table
}

fn heading(run: &Run) -> String {
    let mut head = format!("{} on {}: {}", run.suite, run.machine.name, run.status.word());
    let benchmarks = || run.measurements.iter().filter(|one| one.benchmark.variant != CALIBRATION);
    let (all, failed) = (benchmarks().count(), benchmarks().filter(|one| one.failure.is_some()).count());
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

fn row(measurement: &Measurement, is_counted: bool) -> Vec<String> {
    let none = || NONE.to_owned();
    let shown = |estimate: Option<&Estimate>| {
        estimate.map_or_else(none, |one| one.metric.unit.scale(one.value).text(one.value))
    };
    // What a gate looks at has the interval that matters.
    let judged = measurement.judged().or(measurement.estimate(RATIO)).or(measurement.estimates.first());
    let interval = judged.and_then(|one| {
        let (low, high) = one.interval?;
        let scale = one.metric.unit.scale(one.value);
        Some(format!("{} to {}", scale.number(low), scale.number(high)))
    });
    let detectable = judged.and_then(|one| one.detectable).map(|size| format!("{:.1} %", size * 100.0));
    let limit = measurement.estimate(LIMIT_SHARE).map(|one| format!("{:.0} %", one.value * 100.0));
    let throughput = measurement.estimates.iter().find(|one| one.metric.unit == Unit::PerSecond);
    let parity = match (measurement.parity.status, measurement.parity.max_abs_error) {
        (ParityStatus::Unchecked, _) => none(),
        (_, Some(error)) if error > 0.0 => format!("within, {error:.1e}"),
        (status, _) => format!("{status:?}").to_lowercase(),
    };
    let mut row = vec![
        text::printable(&measurement.benchmark.id()),
        shown(measurement.estimates.first()),
        shown(measurement.estimate(RATIO)),
        interval.unwrap_or_else(none),
        detectable.unwrap_or_else(none),
        limit.unwrap_or_else(none),
        shown(throughput),
        parity,
    ];
    if is_counted {
        // To the last digit: it is exact.
        row.push(measurement.estimate(INSTRUCTIONS).map_or_else(none, |one| format!("{:.0}", one.value)));
    }
    row
}

/// The rows, the first of them the heads, without columns that hold nothing below their head; and which of the columns
/// left hold numbers.
fn without_empty_columns(rows: Vec<Vec<String>>) -> (Vec<Vec<String>>, Vec<usize>) {
    let holds = |column: usize| rows[1..].iter().any(|row| row[column] != NONE);
    let filled: Vec<usize> = (0..rows[0].len()).filter(|column| holds(*column)).collect();
    let right = (0..filled.len()).filter(|place| NUMBERS.contains(&filled[*place])).collect();
    let rows = rows.iter().map(|row| filled.iter().map(|column| row[*column].clone()).collect()).collect();
    (rows, right)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use sprag_model::benchmark::{Benchmark, Parity};
    use sprag_model::environment::{Environment, Machine};
    use sprag_model::metric::Metric;
    use sprag_model::run::{Quality, RunStatus};
    use sprag_model::sample::Role;

    fn measurement(name: &str, variant: &str, role: Role, failure: Option<&str>) -> Measurement {
        let status = if variant == "fast" { ParityStatus::Exact } else { ParityStatus::Unchecked };
        let time = Estimate {
            metric: Metric::time(),
            value: 2e-6,
            workers: vec![2e-6],
            p50: None,
            p95: None,
            min: None,
            interval: None,
            detectable: None,
            n: 1,
        };
        Measurement {
            benchmark: Benchmark::new("cpu", name, &[], variant).expect("the name is a word").into(),
            role,
            attributes: BTreeMap::new(),
            parity: Parity { status, max_abs_error: None, tolerance: None },
            estimates: if failure.is_some() { Vec::new() } else { vec![time] },
            failure: failure.map(str::to_owned),
        }
    }

    fn run(measurements: Vec<Measurement>) -> Run {
        Run {
            suite: "cpu".to_owned(),
            timestamp: "2026-11-01T04:00:00Z".parse().expect("a time"),
            commit: None,
            machine: Machine { id: "m".to_owned(), name: "box".to_owned(), class: "CPU".to_owned() },
            environment: Environment::from_facts(BTreeMap::new()),
            config: BTreeMap::new(),
            status: RunStatus::Ok,
            reason: None,
            quality: Quality { clean: false, reasons: vec!["load 9".to_owned()] },
            measurements,
            autotune: Vec::new(),
        }
    }

    #[test]
    fn kernels_come_first_and_failures_are_no_cells() {
        let run = run(vec![
            measurement("control", "control", Role::Control, None),
            measurement("calibration_copy", CALIBRATION, Role::Reported, None),
            measurement("broken", "fast", Role::Tracked, Some("it\u{1b} broke")),
            measurement("scan", "fast", Role::Tracked, None),
        ]);
        let expected = "cpu on box: ok, 1 of 3 benchmarks failed\n\
            benchmark                              time  parity\n\
            cpu/scan @fast                     2.000 µs  exact\n\
            control and calibration\n\
            cpu/control @control               2.000 µs  –\n\
            cpu/calibration_copy @calibration  2.000 µs  –\n\
            failed: cpu/broken @fast: it\\u{1b} broke\n\
            note: load 9\n";
        assert_eq!(table(&run), expected);
    }

    #[test]
    fn a_table_of_failures_alone_has_no_head() {
        let run = run(vec![measurement("broken", "fast", Role::Tracked, Some("hung"))]);
        let expected = "cpu on box: ok, 1 of 1 benchmark failed\nfailed: cpu/broken @fast: hung\nnote: load 9\n";
        assert_eq!(table(&run), expected);
    }
}
