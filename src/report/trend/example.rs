//! Trends for tests.

use chrono::{DateTime, TimeDelta, Utc};

use crate::fit::example as fit;
use crate::gate::example::HOSTILE;
use crate::sample_data;
use sprag_analysis::movers;
use sprag_model::trend::{Due, Tables};
use sprag_model::{
    Budget, Coverage, Direction, Level, NamedMachine, ReasonCount, SelfTest, SeriesAnalysis, SeriesTrend, Trend,
};

fn time(days_ago: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_233_600, 0).expect("a time within range") - TimeDelta::days(days_ago)
}

fn due(suite: &str, machine: &str, days: i64) -> Due {
    let machine = NamedMachine { id: machine.to_owned(), name: machine.to_owned() };
    Due { suite: suite.to_owned(), machine, newest: time(days), days, allowed: 9, stale: days > 9 }
}

/// The trend of the sample, in which a regression is partly gone, an event goes both ways, and a change is exact.
pub(crate) fn trend() -> Trend {
    let sample = sample_data::rich();
    let Trend { mut events, newest, mut series, .. } = sample.trend;
    events[0].answer = None;
    (events[0].members[0].is_carried, events[0].members[1].is_present) = (true, false);
    let up = Level { value: 0.12, lower: 0.115, upper: 0.125 };
    events[2].direction = Direction::Mixed;
    (events[2].members[0].relative, events[2].members[0].worse) = (Some(up), Some(up.value));
    (events[3].false_discovery, events[3].last_good) = (0.0, None);
    events[3].members[0].relative = Some(Level { value: -0.03, lower: -0.03, upper: -0.03 });
    (series[0].dirty, series[1].elsewhere) = (1, 1);
    let reasons = [("too_short", 6), ("stale", 5), ("missing_at_tip", 2), ("failing", 1), ("no_commit", 1)];
    let reason = |(reason, series): (&str, usize)| ReasonCount { reason: reason.to_owned(), series };
    Trend {
        events,
        newest,
        coverage: Coverage { judged: 42, total: 57, reasons: reasons.map(reason).to_vec() },
        schedule: vec![due("cpu", "bench-1", 0), due("gpu", "bench-2", 12)],
        tables: tables(&sample.analysis.series),
        series,
        ..quiet()
    }
}

pub(crate) fn quiet() -> Trend {
    let series = SeriesTrend { detectable: Some(0.018), ..fit::series(1.2, 9, Vec::new(), Vec::new()) };
    Trend {
        project: "kernels".to_owned(),
        reference: Some("refs/heads/perf".to_owned()),
        tip: Some("c0ffee".repeat(6) + "0000"),
        as_of: Some(time(0)),
        now: time(-1),
        runs: 1204,
        budget: Budget {
            allowed: 0.05,
            points: 61_200,
            expected: 3.06,
            false_discovery: 0.05,
            raised: None,
            self_test: SelfTest { points: 61_200, alarms: 2, rate: Some(0.0327), exceeded: false, left_out: None },
        },
        coverage: Coverage { judged: 42, total: 42, reasons: Vec::new() },
        schedule: vec![due("cpu", "bench-1", 0)],
        series: vec![series],
        ..Trend::default()
    }
}

pub(crate) fn empty() -> Trend {
    let budget = Budget { points: 0, expected: 0.0, self_test: SelfTest::default(), ..quiet().budget };
    Trend { project: quiet().project, now: time(-1), budget, ..Trend::default() }
}

pub(crate) fn hostile() -> Trend {
    let mut trend = trend();
    let name = || format!("::error::{HOSTILE}##[error]x");
    trend.project = name();
    trend.reference = Some(name());
    for event in &mut trend.events {
        event.machines.iter_mut().for_each(|one| one.name = name());
        event.suspects.iter_mut().for_each(|one| one.commit.subject = name());
        event.machine_signs.iter_mut().for_each(|sign| *sign = name());
        event.first_bad.tags = vec![name()];
        for member in &mut event.members {
            (member.benchmark, member.machine.name, member.metric.name) = (name(), name(), name());
        }
        for fact in &mut event.facts {
            (fact.fact, fact.was, fact.is) = (name(), name(), name());
        }
        if let Some(next) = &mut event.next {
            next.command.push(name());
        }
    }
    for newest in &mut trend.newest {
        newest.machine.name = name();
        newest.commit.tags = vec![name()];
        newest.series.iter_mut().for_each(|one| one.benchmark = name());
        // It has no invisible character, so it is printed, quoted.
        newest.command.push("$(x)`y`\"'|&;<script>::error::".to_owned());
    }
    trend.coverage.reasons[0].reason = name();
    for due in &mut trend.schedule {
        (due.suite, due.machine.name) = (name(), name());
    }
    for series in &mut trend.series {
        (series.benchmark, series.metric.name, series.machine.name) = (name(), name(), name());
    }
    trend.tables.movers[1].series = name();
    for row in &mut trend.tables.geomeans {
        (row.suite, row.machine_name, row.dtype) = (name(), name(), Some(name()));
    }
    for row in &mut trend.tables.noise {
        (row.suite, row.machine_name) = (name(), name());
    }
    trend
}

fn tables(series: &[SeriesAnalysis]) -> Tables {
    let (mut geomeans, mut noise) = (movers::geomeans(series, 28), movers::suite_noise(series));
    (geomeans[1].dtype, geomeans[1].interval) = (Some("fp16".to_owned()), None);
    noise[1].between_runs_p90 = None;
    Tables { days: 28, movers: movers::movers(series, 28), geomeans, noise, ..Tables::default() }
}
