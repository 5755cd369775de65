//! What stands beside the events in trends for tests.

use super::example::{around, commit, machine, words};
use sprag_model::change_point::{Changes, SeriesNoise};
use sprag_model::metric::Metric;
use sprag_model::movers::{GeomeanRow, MoverRow, SuiteNoiseRow};
use sprag_model::trend::{ApartSeries, NewestApart, NotJudged, SeriesTrend, Stretch, Tables};

/// One of the series that moved.
pub(super) fn series(number: u32) -> SeriesTrend {
    SeriesTrend {
        series: format!("cpu-infer-{number}-0123abcd"),
        suite: "cpu".to_owned(),
        benchmark: format!("cpu/infer{{n={}}} @fast", 4096 >> number),
        metric: Metric::ratio(),
        machine: machine(1),
        judged: true,
        beside: false,
        exact: false,
        sensitivity: "balanced".to_owned(),
        least: 0.004,
        noise: Some(SeriesNoise { deviation: 0.01, inflation: 1.2, is_relative: true }),
        detectable: Some(0.018),
        points: 120,
        dirty: usize::from(number == 3),
        elsewhere: usize::from(number > 8),
        levels: vec![Stretch {
            first: commit(1, "Begin"),
            last: commit(9, "Tidy up"),
            points: 9,
            level: Some(around(1.2, 0.002)),
        }],
        not_judged: vec![NotJudged::TooShort { points: 3, needed: 8 }],
        pooled: [].into(),
        changes: Changes::default(),
    }
}

/// Movers, geometric means and noise.
pub(super) fn tables() -> Tables {
    let mover = |number: u32| MoverRow {
        series: series(number).series,
        suite: "cpu".to_owned(),
        machine: machine(1).id,
        unit: Metric::ratio().unit,
        before: 1.2,
        now: 1.297 - 0.01 * f64::from(number),
        runs_before: 4,
        runs_now: 5,
        change: Some(0.081 - 0.008 * f64::from(number)),
        worse: Some(0.081 - 0.008 * f64::from(number)),
        difference: 0.097 - 0.01 * f64::from(number),
        rank_in_unit: number as usize + 1,
    };
    let geomean = |dtype: Option<&str>, change: f64, interval: Option<(f64, f64)>| GeomeanRow {
        suite: "cpu".to_owned(),
        machine: machine(1).id,
        machine_name: machine(1).name,
        dtype: dtype.map(str::to_owned),
        series: 20,
        change,
        interval,
        worst: 0.081,
        worst_series: series(0).series,
    };
    Tables {
        days: 28,
        movers: (0..12).map(mover).collect(),
        geomeans: vec![geomean(None, 0.014, Some((-0.002, 0.031))), geomean(Some("fp16"), -0.03, None)],
        noise: vec![SuiteNoiseRow {
            suite: "cpu".to_owned(),
            machine: machine(1).id,
            machine_name: machine(1).name,
            series: 41,
            between_workers_median: Some(0.004),
            between_workers_p90: Some(0.019),
            between_runs_median: Some(0.006),
            between_runs_p90: None,
        }],
        weeks: Vec::new(),
    }
}

/// A newest point that lies apart.
pub(super) fn newest() -> NewestApart {
    NewestApart {
        machine: machine(1),
        commit: commit(40, "Use another allocator"),
        runs: 2,
        series: vec![ApartSeries {
            series: series(0).series,
            suite: "cpu".to_owned(),
            benchmark: "cpu/infer{n=64} @fast".to_owned(),
            metric: Metric::time(),
            level: around(0.0012, 1e-6),
            value: 0.00129,
            worse: Some(0.075),
            runs: 2,
        }],
        command: words(&["sprag", "run", "--record", "--commit", "1a2b328", "--suite", "cpu"]),
        checkout: false,
    }
}
