//! Whole histories with planted events.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::analyse::{Input, Output, analyse};
use super::example::{MACHINE, analysis, bordered, elsewhere, line, noisy, setting, sha, suites};
use super::series_changes::Setting;
use sprag_model::environment::Environment;
use sprag_model::event::{Direction, Event, EventKind, EventState};
use sprag_model::event_record::{EventRecord, EventStep};
use sprag_model::metric::Metric;
use sprag_model::sample::{CALIBRATION, Role};
use sprag_model::series::Series;
use sprag_model::trend::{NotJudged, SeriesTrend, Tables, Trend};

const OTHER: &str = "00000000000000b2";

pub(super) fn of(series: Vec<Series>, records: &[EventRecord]) -> Output {
    let analysis = analysis(series);
    let setting = |_: &str, _: &str| -> Setting { setting() };
    analyse(Input {
        now: analysis.as_of.unwrap_or_default(),
        analysis: &analysis,
        line: &line(300),
        heads: &[],
        setting: &setting,
        selected: &|_| true,
        suites: &suites(),
        records,
        tables: Tables::default(),
    })
}

pub(super) fn events(series: Vec<Series>) -> Vec<Event> {
    of(series, &[]).trend.events
}

/// Kind, direction, how many members, and the suspects as places.
pub(super) fn shape(event: &Event) -> (EventKind, Direction, usize, Vec<usize>) {
    let place = |sha: &str| usize::from_str_radix(sha, 16).expect("digits");
    let suspects = event.suspects.iter().map(|one| place(&one.commit.sha)).collect();
    (event.kind, event.direction, event.members.len(), suspects)
}

/// So many quiet series.
fn quiet(count: u64, commits: usize) -> Vec<Series> {
    (0..count).map(|seed| noisy(&format!("quiet{seed}"), commits, 1, &[], 900 + seed)).collect()
}

#[test]
fn one_cause_is_one_event_with_its_members_worst_first() {
    let mut series = quiet(8, 200);
    for (number, step) in [1.06, 1.12, 1.09].into_iter().enumerate() {
        series.push(noisy(&format!("slow{number}"), 200, 1, &[(0, 1.0), (90, step)], number as u64));
    }
    series.push(noisy("fast", 200, 1, &[(0, 1.0), (150, 0.8)], 50));
    let found = events(series);
    let shapes: Vec<_> = found.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [(EventKind::Change, Direction::Worse, 3, vec![90]), (EventKind::Change, Direction::Better, 1, vec![150]),]
    );
    let worst = &found[0];
    assert!(worst.members[0].benchmark.contains("slow1") && worst.sure && worst.false_discovery < 1e-3);
    assert!((worst.worst.expect("a size") - 0.12).abs() < 0.01 && (worst.typical.expect("a size") - 0.09).abs() < 0.01);
    assert_eq!(worst.last_good.as_ref().map(|one| one.sha.as_str()), Some(sha(89).as_str()));
    assert_eq!((worst.first_bad.sha.as_str(), worst.measured_series), (sha(90).as_str(), 12));
    assert_eq!((worst.next.as_ref(), worst.state.clone()), (None, EventState::Standing));
}

#[test]
fn what_was_taken_back_no_longer_stands() {
    let series = vec![noisy("back", 200, 1, &[(0, 1.0), (80, 1.1), (140, 1.0)], 4)];
    let found = events(series);
    let first = found.iter().find(|one| one.direction == Direction::Worse).expect("it got worse first");
    let second = found.iter().find(|one| one.direction == Direction::Better).expect("it got better then");
    assert_eq!(first.state, EventState::TakenBack { by: second.id.clone() });
    assert!(second.state == EventState::Standing && !first.is_ongoing_regression());
}

#[test]
fn a_new_environment_is_no_commits_fault() {
    let moved = |name: &str, seed| bordered(noisy(name, 200, 2, &[(0, 1.0), (100, 1.1)], seed), 100);
    let series = vec![moved("a", 1), bordered(noisy("b", 200, 2, &[], 2), 100), moved("c", 3)];
    let found = events(series.clone());
    assert_eq!(shape(&found[0]), (EventKind::Environment, Direction::Worse, 2, vec![99, 100]));
    assert!(found[0].machine_signs[0].contains("environment changed") && found[0].next.is_none());
    assert!(!found[0].is_ongoing_regression());
    // Two environments of one commit, and nothing else to blame.
    let mut twice = series[0].clone();
    twice.points[49].run_mut().position = Some(100);
    twice.points[49].run_mut().commit = sha(100).into();
    let found = events(vec![twice]);
    assert_eq!((found[0].kind, found[0].suspects.len()), (EventKind::Environment, 1));
    // The facts that differ are told where they are known.
    let fact = |value: &str| Environment::from_facts([("libc".to_owned(), value.to_owned())].into());
    let (old, new) = (fact("2.41"), fact("2.42"));
    let mut head = crate::example::run("cpu", "a", 1, &[("a", 1.0)]);
    let heads: Vec<_> = [&old, &new]
        .map(|environment| {
            head.environment = environment.clone();
            sprag_model::head::RunHead::new(&crate::example::recorded(head.clone()))
        })
        .into();
    let mut series = moved("a", 1);
    for point in &mut series.points {
        let key = if &*point.environment_key == "f" { &new } else { &old }.key.as_str().into();
        point.run_mut().environment_key = key;
    }
    let analysis = analysis(vec![series]);
    let setting = |_: &str, _: &str| setting();
    let output = analyse(Input {
        now: DateTime::<Utc>::default(),
        analysis: &analysis,
        line: &line(300),
        heads: &heads,
        setting: &setting,
        selected: &|_| true,
        suites: &suites(),
        records: &[],
        tables: Tables::default(),
    });
    let facts = &output.trend.events[0].facts;
    assert_eq!((facts[0].fact.as_str(), facts[0].was.as_str(), facts[0].is.as_str()), ("libc", "2.41", "2.42"));
}

#[test]
fn a_machine_that_moves_by_itself_is_told_by_its_controls_or_by_many_series() {
    let both = |machine: &str| -> Vec<Series> {
        (0..6_u64)
            .map(|seed| {
                let step = if seed % 2 == 0 { 1.1 } else { 0.9 };
                let one = noisy(&format!("s{seed}"), 160, 1, &[(0, 1.0), (80, step)], seed);
                if machine == MACHINE { one } else { elsewhere(one, machine) }
            })
            .collect()
    };
    let quiet_there: Vec<Series> =
        (0..6).map(|seed| elsewhere(noisy(&format!("s{seed}"), 160, 1, &[], 60 + seed), OTHER)).collect();
    let found = events([both(MACHINE), quiet(4, 160), quiet_there.clone()].concat());
    assert_eq!(shape(&found[0]), (EventKind::Environment, Direction::Mixed, 6, vec![80]));
    assert!(found[0].machine_signs[0].starts_with("6 of 10 benchmarks of this machine moved together, in both"));
    // Another machine saw the same: so it is the code.
    let found = events([both(MACHINE), both(OTHER)].concat());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].members.len(), found[0].machines.len()), (EventKind::Change, 12, 2));
    // All in one direction may be either: the commit is named, with a sign.
    let all: Vec<Series> =
        (0..6).map(|seed| noisy(&format!("s{seed}"), 160, 1, &[(0, 1.0), (80, 1.1)], seed)).collect();
    let found = events(all.clone());
    assert_eq!(found[0].kind, EventKind::Change);
    assert!(found[0].machine_signs[0].contains("6 of 6 benchmarks"), "{:?}", found[0].machine_signs);
    // But where another machine measured the same commits and stayed, it is the machine.
    let found = events([all, quiet_there].concat());
    assert_eq!(shape(&found[0]), (EventKind::Environment, Direction::Worse, 6, vec![80]));
    // A calibration kernel that moves is the machine's doing, however many moved with it.
    let mut calibration = noisy("calibration", 160, 1, &[(0, 1.0), (80, 1.2)], 30);
    (calibration.variant, calibration.metric) = (CALIBRATION.to_owned(), Metric::time());
    let mut control = noisy("control", 160, 1, &[], 31);
    control.role = Role::Control;
    let found = events(vec![noisy("s", 160, 1, &[(0, 1.0), (80, 0.9)], 32), calibration, control]);
    assert_eq!((found[0].kind, found[0].members.len()), (EventKind::Environment, 2));
}

#[test]
fn histories_without_changes_have_no_events_that_are_sure() {
    let found = events((0..60).map(|seed| noisy(&format!("q{seed}"), 120, 1, &[], 5000 + seed)).collect());
    assert!(found.iter().all(|event| !event.sure), "{found:?}");
    assert_eq!(events(Vec::new()), []);
}

#[test]
fn a_drift_has_a_range_and_a_rate_and_no_culprit() {
    let mut series = noisy("creep", 250, 1, &[], 9);
    for (place, point) in series.points.iter_mut().enumerate() {
        point.value *= (0.09 * ((place as f64 - 60.0) / 130.0).clamp(0.0, 1.0)).exp();
    }
    let found = events(vec![series]);
    assert_eq!((found.len(), found[0].kind, found[0].direction), (1, EventKind::Drift, Direction::Worse));
    let relative = found[0].members[0].relative.expect("a rate");
    assert!(relative.lower < relative.value && (0.07..0.12).contains(&relative.value), "{relative:?}");
    assert!(found[0].next.is_none() && found[0].suspects.len() > 80);
}

#[test]
fn a_series_is_judged_or_it_is_told_why_not() {
    let fresh = noisy("fresh", 40, 1, &[], 1);
    let mut dirty = noisy("dirty", 40, 1, &[], 2);
    dirty.points.iter_mut().for_each(|point| point.run_mut().dirty = true);
    let mut bordered = noisy("bordered", 40, 1, &[], 3);
    bordered.points.iter_mut().skip(38).for_each(|point| point.run_mut().environment_key = "f".into());
    let names = ["fresh", "short", "old", "gone", "failing", "bordered", "dirty"];
    let series = vec![
        fresh,
        noisy("short", 5, 1, &[], 4),
        noisy("old", 30, 1, &[], 5),
        noisy("gone", 40, 1, &[], 6),
        noisy("failing", 40, 1, &[], 7),
        bordered,
        dirty,
    ];
    let mut analysis = analysis(series);
    analysis
        .series
        .iter_mut()
        .for_each(|one| one.at_tip = !one.series.benchmark.contains("gone") && !one.series.benchmark.contains("old"));
    let mut suite = crate::example::suite("cpu", MACHINE);
    suite.failures = vec![("cpu/failing @fast".to_owned(), "it crashed".to_owned())];
    analysis.suites = vec![suite];
    let setting = |_: &str, _: &str| setting();
    let trend = analyse(Input {
        now: analysis.as_of.unwrap_or_default() + TimeDelta::days(2),
        analysis: &analysis,
        line: &line(300),
        heads: &[],
        setting: &setting,
        selected: &|_| true,
        suites: &suites(),
        records: &[],
        tables: Tables::default(),
    })
    .trend;
    let reasons = |name: &str| -> Vec<&str> {
        let one = trend.series.iter().find(|one| one.benchmark.contains(name)).expect("it is there");
        one.not_judged.iter().map(NotJudged::word).collect()
    };
    let found: Vec<Vec<&str>> = names.map(reasons).into();
    let expected: [&[&str]; 7] = [
        &[],
        &["too_short", "stale"],
        &["missing_at_tip", "stale"],
        &["missing_at_tip"],
        &["failing"],
        &["environment_changed"],
        &["no_commit"],
    ];
    assert_eq!(found, expected);
    assert_eq!((trend.coverage.judged, trend.coverage.total), (1, 7));
    let counts: Vec<(&str, usize)> =
        trend.coverage.reasons.iter().map(|one| (one.reason.as_str(), one.series)).collect();
    assert_eq!(counts[..2], [("missing_at_tip", 2), ("stale", 2)]);
    assert_eq!((trend.schedule[0].stale, trend.schedule[0].allowed), (true, 7));
}

/// The series as it was when the commits up to a place had been measured.
pub(super) fn until(series: &[Series], place: usize) -> Vec<Series> {
    let cut = |one: &Series| Series {
        points: one.points.iter().filter(|point| point.position <= Some(place)).cloned().collect(),
        ..one.clone()
    };
    series.iter().map(cut).filter(|one| !one.points.is_empty()).collect()
}

/// Adds what became of events, as it comes out of the files.
pub(super) fn write(records: &mut Vec<EventRecord>, output: &Output) {
    for step in &output.steps {
        let (path, bytes, _) = step.to_file();
        records.push(EventRecord::from_file(&path, &bytes).expect("what is written can be read"));
    }
}

#[test]
fn an_event_keeps_its_id_while_later_runs_narrow_it() {
    let whole =
        vec![noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3), noisy("other", 240, 8, &[(0, 1.0), (121, 1.1)], 4)];
    let mut records = Vec::new();
    let mut ids = BTreeSet::new();
    for place in (136..240).step_by(8) {
        let output = of(until(&whole, place), &records);
        write(&mut records, &output);
        ids.extend(output.trend.events.iter().map(|event| event.id.clone()));
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(records[0].step, EventStep::Opened);
    // Nothing is written where nothing is new.
    let output = of(whole.clone(), &records);
    assert_eq!(output.steps, []);
    // A commit between is measured: fewer suspects, the same id, also if it joins another machine.
    let mut more = whole.clone();
    more[0].points.extend(
        noisy("slow", 240, 1, &[(0, 1.0), (121, 1.2)], 8)
            .points
            .into_iter()
            .filter(|point| point.position == Some(124)),
    );
    more[0].points.sort_by_key(|point| point.position);
    let output = of(more.clone(), &records);
    assert_eq!(shape(&output.trend.events[0]).3, (121..=124).collect::<Vec<_>>());
    assert_eq!(ids.first(), Some(&output.trend.events[0].id));
    assert_eq!(output.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [EventStep::Narrowed]);
    write(&mut records, &output);
    assert_eq!(of(more.clone(), &records).steps, []);
    // Without the records an id comes of the data, and the rest is as it was.
    let bare = of(more, &[]).trend.events;
    assert_eq!((bare.len(), shape(&bare[0])), (1, shape(&output.trend.events[0])));
    // A history without what was told takes it back, once, and with a reason.
    let flat = vec![noisy("slow", 240, 8, &[], 3), noisy("other", 240, 8, &[], 4)];
    let output = of(flat.clone(), &records);
    assert_eq!(output.steps.len(), 1);
    assert_eq!(
        (output.steps[0].step, output.steps[0].reason.as_deref()),
        (EventStep::Retracted, Some("the data no longer show it"))
    );
    write(&mut records, &output);
    assert_eq!(of(flat, &records).steps, []);
    // And it is opened again under its old id where it comes back.
    let output = of(whole, &records);
    assert_eq!((output.steps[0].step, Some(&output.steps[0].event)), (EventStep::Opened, ids.first()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Looked at run by run, with records of what was told, a history comes to the changes that it has when it is looked at
    /// once; what is held besides was told before, and every event has one id.
    #[test]
    fn a_history_that_grows_comes_to_the_same_changes(
        seed in 0..10_000_u64,
        steps in prop::collection::vec((10..110_usize, -0.2..0.3_f64), 0..3),
        each in 1..4_usize,
        border in 10..150_usize,
    ) {
        let mut steps = steps;
        steps.sort_by_key(|one| one.0);
        let whole: Vec<Series> = (0..3_u64)
            .map(|number| {
                let mut level = 1.0;
                let levels: Vec<(usize, f64)> = std::iter::once((0, 1.0))
                    .chain(steps.iter().map(|(place, step)| {
                        level *= 1.0 + if number == 2 { 0.0 } else { *step };
                        (*place, level)
                    }))
                    .collect();
                bordered(noisy(&format!("s{number}"), 120, each, &levels, seed * 7 + number), border)
            })
            .collect();
        let mut records = Vec::new();
        for place in (30..120).step_by(6) {
            let output = of(until(&whole, place), &records);
            write(&mut records, &output);
        }
        let grown = of(whole.clone(), &records).trend;
        let at_once = of(whole.clone(), &[]).trend;
        let told = |trend: &Trend| -> BTreeSet<(String, usize)> {
            let of = |one: &SeriesTrend| {
                let name = one.series.clone();
                one.changes.points.iter().map(move |point| (name.clone(), point.index)).collect::<Vec<_>>()
            };
            trend.series.iter().flat_map(of).collect()
        };
        prop_assert!(told(&grown).is_superset(&told(&at_once)));
        // What there is besides was told before, at a commit that a record names.
        for (series, index) in told(&grown).difference(&told(&at_once)) {
            let place = grown.series.iter().find(|one| one.series == *series).map(|one| one.pooled[*index].place);
            let names = |record: &&EventRecord| {
                let is_member = record.members.iter().any(|member| member.series == *series);
                is_member && sha(place.unwrap_or_default()) >= record.first_suspect
            };
            prop_assert!(records.iter().any(|record| names(&record)), "{series} {index}");
        }
        // Looked at once more, nothing changes.
        prop_assert_eq!(&of(whole, &records).trend, &grown);
        let ids: BTreeSet<&str> = grown.events.iter().map(|event| event.id.as_str()).collect();
        prop_assert_eq!(ids.len(), grown.events.len());
        for event in &grown.events {
            let sum: f64 = event.suspects.iter().map(|one| one.probability).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9 && !event.members.is_empty());
        }
    }

    /// When runs took place, and in which order their points come, decides nothing.
    #[test]
    fn clocks_decide_nothing(seed in 0..500_u64, skew in -400..400_i64) {
        let whole = vec![noisy("a", 120, 2, &[(0, 1.0), (70, 1.15)], seed), noisy("b", 120, 3, &[(0, 1.0), (70, 1.1)], seed + 1)];
        let mut skewed = whole.clone();
        for (number, point) in skewed.iter_mut().flat_map(|one| &mut one.points).enumerate() {
            point.run_mut().time += TimeDelta::days(if number % 3 == 0 { skew } else { 0 });
        }
        let shapes = |series| events(series).iter().map(shape).collect::<Vec<_>>();
        prop_assert_eq!(shapes(whole), shapes(skewed));
    }
}
