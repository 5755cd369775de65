//! Whole histories with planted events.

use super::analyse::{TrendOutput, analyse, join};
use super::dataset::{Dataset, in_order};
use super::draft::drafts;
use super::example::{self, MACHINE, OTHER, analysis, bordered, elsewhere, events, input, noisy, point, sha};
use super::outline::{Detector, Input, ListedSeries};
use super::series_changes::Detection;
use chrono::TimeDelta;
use sprag_base::stats::random::SplitMix64;
use sprag_model::sample::CALIBRATION;
use sprag_model::{
    Analysis, Better, CommitLine, Direction, Environment, Event, EventKind, EventRecord, EventState, Metric, NotJudged,
    Role, Series, Trend,
};

pub(super) fn analysed(series: Vec<Series>, records: &[EventRecord]) -> TrendOutput {
    analyse(Input { records, ..input(&analysis(series)) })
}

/// Kind, direction, how many members, and the suspects as places.
pub(super) fn shape(event: &Event) -> (EventKind, Direction, usize, Vec<usize>) {
    let place = |sha: &str| usize::from_str_radix(sha, 16).expect("digits");
    let suspects = event.suspects.iter().map(|one| place(&one.commit.sha)).collect();
    (event.kind, event.direction, event.members.len(), suspects)
}

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
    let detected = events(series);
    let shapes: Vec<_> = detected.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [(EventKind::Change, Direction::Worse, 3, vec![90]), (EventKind::Change, Direction::Better, 1, vec![150]),]
    );
    let worst = &detected[0];
    assert!(worst.members[0].benchmark.contains("slow1") && worst.sure && worst.false_discovery < 1e-3);
    assert!((worst.worst.expect("a size") - 0.12).abs() < 0.01 && (worst.typical.expect("a size") - 0.09).abs() < 0.01);
    assert_eq!(worst.last_good.as_ref().map(|one| one.sha.as_str()), Some(sha(89).as_str()));
    assert_eq!((worst.first_bad.sha.as_str(), worst.measured_series), (sha(90).as_str(), 12));
    assert_eq!((worst.next.as_ref(), worst.state.clone()), (None, EventState::Present));
}

#[test]
fn a_reverted_change_is_no_ongoing_regression() {
    let series = vec![noisy("back", 200, 1, &[(0, 1.0), (80, 1.1), (140, 1.0)], 4)];
    let detected = events(series);
    let first = detected.iter().find(|one| one.direction == Direction::Worse).expect("it got worse first");
    let second = detected.iter().find(|one| one.direction == Direction::Better).expect("it got better then");
    assert_eq!(first.state, EventState::Reverted { by: second.id.clone() });
    assert!(second.state == EventState::Present && !first.is_ongoing_regression());
}

#[test]
fn a_new_environment_is_no_commits_fault() {
    let moved = |name: &str, seed| bordered(noisy(name, 200, 2, &[(0, 1.0), (100, 1.1)], seed), 100);
    let series = vec![moved("a", 1), bordered(noisy("b", 200, 2, &[], 2), 100), moved("c", 3)];
    let detected = events(series.clone());
    assert_eq!(shape(&detected[0]), (EventKind::Environment, Direction::Worse, 2, vec![99, 100]));
    assert!(detected[0].machine_signs[0].contains("environment changed") && detected[0].next.is_none());
    assert!(!detected[0].is_ongoing_regression());
    // Two environments of one commit, and nothing else to blame.
    let mut twice = series[0].clone();
    twice.points[49].run_mut().position = Some(100);
    twice.points[49].run_mut().commit = sha(100).into();
    let detected = events(vec![twice]);
    assert_eq!((detected[0].kind, detected[0].suspects.len()), (EventKind::Environment, 1));
    // The facts that differ are listed where they are known.
    let fact = |value: &str| Environment::from_facts([("libc".to_owned(), value.to_owned())].into());
    let (old, new) = (fact("2.41"), fact("2.42"));
    let mut head = crate::example::run("cpu", "a", 1, &[("a", 1.0)]);
    let heads: Vec<_> = [&old, &new]
        .map(|environment| {
            head.environment = environment.clone();
            sprag_model::head::RunHead::new(&head.clone().into())
        })
        .into();
    let mut series = moved("a", 1);
    for point in &mut series.points {
        let key = if &*point.environment_key == "f" { &new } else { &old }.key.as_str().into();
        point.run_mut().environment_key = key;
    }
    let output = analyse(Input { heads: &heads, ..input(&analysis(vec![series])) });
    let facts = &output.trend.events[0].facts;
    assert_eq!((facts[0].fact.as_str(), facts[0].was.as_str(), facts[0].is.as_str()), ("libc", "2.41", "2.42"));
}

/// Series of that machine that all move at the 80th of 160 commits, each by its factor.
fn all_moved(machine: &str, factors: &[f64]) -> Vec<Series> {
    let one = |(seed, factor): (usize, &f64)| {
        elsewhere(noisy(&format!("s{seed}"), 160, 1, &[(0, 1.0), (80, *factor)], seed as u64), machine)
    };
    factors.iter().enumerate().map(one).collect()
}

#[test]
fn machines_join_without_the_line_of_commits() {
    let unlike = [1.1, 1.3, 1.6];
    let off_line = |mut series: Vec<Series>, first: usize| {
        for point in series.iter_mut().flat_map(|one| &mut one.points) {
            let (place, run) = (point.position.expect("it is on the line"), point.run_mut());
            (run.position, run.rank) = (None, 2 * place + first);
        }
        series
    };
    let here = off_line(all_moved(MACHINE, &unlike), 0);
    let mut there = off_line(all_moved(OTHER, &unlike), 1);
    let mut head = crate::example::run("cpu", "a", 1, &[("a", 1.0)]);
    head.commit = Some(sprag_model::Commit::new(sha(80), head.timestamp));
    head.commit.as_mut().expect("it has one").subject = "Slow it down".to_owned();
    let heads = [sprag_model::head::RunHead::new(&head.into())];
    let detected = |series: Vec<Series>| {
        let line = CommitLine::default();
        analyse(Input { line: &line, heads: &heads, ..input(&analysis(series)) }).trend.events
    };
    let joined = detected([here.clone(), there.clone()].concat());
    assert_eq!((joined.len(), joined[0].machines.len()), (1, 2));
    assert_eq!(shape(&joined[0]), (EventKind::Change, Direction::Worse, 6, vec![80]));
    assert_eq!(joined[0].suspects[0].commit.subject, "Slow it down");
    // The commits of another project are not a reason to join.
    for point in there.iter_mut().flat_map(|one| &mut one.points) {
        let other = point.commit.replacen('0', "f", 1);
        point.run_mut().commit = other.into();
    }
    let apart = detected([here, there].concat());
    assert_eq!(apart.iter().map(|event| event.machines.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn histories_without_changes_have_no_events_that_are_sure() {
    let detected = events((0..60).map(|seed| noisy(&format!("q{seed}"), 120, 1, &[], 5000 + seed)).collect());
    assert!(detected.iter().all(|event| !event.sure), "{detected:?}");
    assert_eq!(events(Vec::new()), []);
}

#[test]
fn a_drift_has_a_range_and_a_rate_and_no_culprit() {
    let mut series = noisy("creep", 250, 1, &[], 9);
    for (place, point) in series.points.iter_mut().enumerate() {
        point.value *= (0.09 * ((place as f64 - 60.0) / 130.0).clamp(0.0, 1.0)).exp();
    }
    let detected = events(vec![series]);
    assert_eq!((detected.len(), detected[0].kind, detected[0].direction), (1, EventKind::Drift, Direction::Worse));
    let relative = detected[0].members[0].relative.expect("a rate");
    assert!(relative.lower < relative.value && (0.07..0.12).contains(&relative.value), "{relative:?}");
    assert!(detected[0].next.is_none() && detected[0].suspects.len() > 80);
}

/// That kernel on a machine, where it drifts by so much between two of 250 commits.
fn creeping(name: &str, machine: usize, (begin, end): (usize, usize), by: f64) -> Series {
    let mut series = noisy(name, 250, 1, &[], 40 + machine as u64);
    for (place, point) in series.points.iter_mut().enumerate() {
        point.value *= (by * ((place as f64 - begin as f64) / (end - begin) as f64).clamp(0.0, 1.0)).exp();
    }
    elsewhere(series, &format!("{machine:016x}"))
}

#[test]
fn the_same_drift_on_many_machines_is_one_event() {
    let leak = |machine: usize| creeping("leak", machine, (60, 190), 0.08 + 0.004 * machine as f64);
    let alone = events(vec![leak(3)]);
    let detected = events((0..12).map(leak).collect());
    assert_eq!((detected.len(), detected[0].machines.len()), (1, 12), "{detected:#?}");
    let (one, all) = (&alone[0], &detected[0]);
    assert_eq!((all.kind, all.direction, all.members.len()), (EventKind::Drift, Direction::Worse, 12));
    assert_eq!((all.measured_series, all.sure, all.machine_signs.len()), (12, true, 0));
    assert!(all.suspects.len() >= one.suspects.len() && all.worst > one.worst && all.typical < all.worst);
    assert!(all.since <= one.since && all.false_discovery < 0.01, "{all:?}");
    // More that moved is listed first, though the largest drift is another.
    let other = creeping("other", 20, (60, 190), 0.2);
    let ranked = events((0..12).map(leak).chain([other]).collect());
    assert_eq!(ranked.iter().map(|event| event.members.len()).collect::<Vec<_>>(), [12, 1]);
    // What was recorded of one keeps its id, and those of others are part of it.
    let records = (0..2).flat_map(|machine| analysed(vec![leak(machine)], &[]).steps).collect::<Vec<_>>();
    let joined = analysed((0..12).map(leak).collect(), &records);
    assert_eq!((joined.trend.events.len(), &joined.trend.events[0].id), (1, &records[0].event));
    let part = joined.steps.iter().find(|step| step.event == records[1].event).expect("it is retracted");
    assert_eq!(part.reason.as_deref(), Some(&*format!("it is part of {}", records[0].event)));
}

#[test]
fn a_machine_that_joins_moves_no_member_of_an_event() {
    // The second overlaps both others enough, which do not overlap one another enough.
    let chain = [(20, 110), (60, 150), (100, 190)];
    let of = |machines: [usize; 3]| -> Vec<Series> {
        machines.into_iter().zip(chain).map(|(machine, range)| creeping("leak", machine, range, 0.12)).collect()
    };
    // The names of the machines decide nothing.
    for machines in [[1, 2, 3], [3, 1, 2], [2, 3, 1], [3, 2, 1]] {
        let mut events = events(of(machines));
        events.sort_by_key(|event| event.since);
        let members: Vec<usize> = events.iter().map(|event| event.members.len()).collect();
        assert_eq!(members, [2, 1], "{machines:?}");
    }
    // What was one event stays one when an earlier machine joins that one of them fits as well.
    let late: Vec<Series> = of([1, 2, 3]).split_off(1);
    let records = analysed(late.clone(), &[]).steps;
    assert_eq!((records.len(), records[0].members.len()), (1, 2));
    let after = analysed(of([1, 2, 3]), &records).trend.events;
    let recorded = after.iter().find(|event| event.id == records[0].event).expect("it is there");
    assert_eq!((after.len(), recorded.members.len()), (2, 2));
}

#[test]
fn drifts_of_other_kernels_ways_and_times_stay_apart() {
    let one = creeping("leak", 1, (30, 110), 0.1);
    for (other, count) in [
        (creeping("leak", 2, (40, 120), 0.1), 1),
        (creeping("leak", 2, (130, 220), 0.1), 2),
        (creeping("leak", 2, (30, 110), -0.1), 2),
        (creeping("other", 2, (30, 110), 0.1), 2),
        (Series { suite: "gpu".to_owned(), ..creeping("leak", 2, (30, 110), 0.1) }, 2),
        (Series { params: "n=2".to_owned(), ..creeping("leak", 2, (30, 110), 0.1) }, 1),
    ] {
        assert_eq!(events(vec![one.clone(), other]).len(), count);
    }
    let modes = |machine: usize| {
        let levels: Vec<(usize, f64)> = (0..25).map(|step| (8 * step, 1.0 + 0.2 * (step % 2) as f64)).collect();
        elsewhere(noisy("modes", 200, 1, &levels, machine as u64), &format!("{machine:016x}"))
    };
    let detected = events((0..12).map(modes).collect());
    assert_eq!((detected.len(), detected[0].kind, detected[0].machines.len()), (1, EventKind::Bimodal, 12));
}

#[test]
fn a_series_is_judged_or_has_a_reason_why_not() {
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
    let now = analysis.as_of.unwrap_or_default() + TimeDelta::days(2);
    let trend = analyse(Input { now, ..input(&analysis) }).trend;
    let reasons = |name: &str| -> Vec<&str> {
        let one = trend.series.iter().find(|one| one.benchmark.contains(name)).expect("it is there");
        one.not_judged.iter().map(NotJudged::word).collect()
    };
    let detected: Vec<Vec<&str>> = names.map(reasons).into();
    let expected: [&[&str]; 7] = [
        &[],
        &["too_short", "stale"],
        &["missing_at_tip", "stale"],
        &["missing_at_tip"],
        &["failing"],
        &["environment_changed"],
        &["no_commit"],
    ];
    assert_eq!(detected, expected);
    assert_eq!((trend.coverage.judged, trend.coverage.total), (1, 7));
    let counts: Vec<(&str, usize)> =
        trend.coverage.reasons.iter().map(|one| (one.reason.as_str(), one.series)).collect();
    assert_eq!(counts[..2], [("missing_at_tip", 2), ("stale", 2)]);
    assert_eq!((trend.schedule[0].stale, trend.schedule[0].allowed), (true, 7));
}

/// The series, with so many further runs of the commit at a place, about that level.
fn with_runs(mut series: Series, place: usize, level: f64, runs: usize) -> Series {
    let mut random = SplitMix64::new(77 + place as u64);
    for run in 0..runs {
        let value = level * (1.0 + 0.01 * random.normal());
        let further = point(place, value).of_run(|of| {
            of.run = format!("{place}-{run}").into();
            of.time += chrono::TimeDelta::days(400 + run as i64);
        });
        series.points.push(further);
    }
    series
}

#[test]
fn as_many_runs_of_the_newest_commit_as_are_said_settle_what_it_did() {
    let flat = noisy("slow", 41, 1, &[(0, 1.0), (40, 1.08)], 5);
    let detected = analysed(vec![flat.clone()], &[]).trend;
    assert_eq!(detected.events, []);
    let runs = detected.newest[0].runs;
    assert!((1..=4).contains(&runs), "{runs}");
    let settled = events(vec![with_runs(flat.clone(), 40, 1.08, runs)]);
    assert_eq!(shape(&settled[0]), (EventKind::Change, Direction::Worse, 1, vec![40]));
    // It was a stray: further runs of the same commit are as before.
    let stray = analysed(vec![with_runs(flat, 40, 1.0, 4)], &[]).trend;
    assert_eq!((stray.events.len(), stray.newest.len()), (0, 0));
}

#[test]
fn what_changes_between_runs_of_one_commit_is_no_commits_fault() {
    let flat = with_runs(noisy("slow", 41, 1, &[], 6), 40, 1.0, 10);
    let mut later = with_runs(noisy("slow", 41, 1, &[], 6), 40, 1.1, 10).points.split_off(41);
    later.iter_mut().for_each(|point| point.run_mut().time += chrono::TimeDelta::days(90));
    let detected = events(vec![Series { points: [flat.points.clone(), later].concat(), ..flat }]);
    assert_eq!(shape(&detected[0]).0, EventKind::Environment);
    assert_eq!(detected[0].machine_signs, ["The levels changed between runs of one commit."]);
}

#[test]
fn an_event_began_when_its_commit_was_first_measured_wherever_a_run_was_late() {
    let stepped = |name: &str, seed: u64| noisy(name, 60, 1, &[(0, 1.0), (40, 1.08)], seed);
    let first = stepped("first", 5);
    let mut late = stepped("late", 6);
    // Every commit was measured there weeks later; the order of commits stays.
    late.points.iter_mut().for_each(|point| point.run_mut().time += chrono::TimeDelta::days(30));
    let began = first.points[40].time;
    for series in [vec![first.clone(), late.clone()], vec![late, first]] {
        let detected = events(series);
        assert_eq!(shape(&detected[0]), (EventKind::Change, Direction::Worse, 2, vec![40]));
        assert_eq!(detected[0].since, began);
    }
}

#[test]
fn commits_between_are_named_and_the_next_one_to_measure() {
    let series = vec![noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3)];
    let detected = events(series);
    assert_eq!(shape(&detected[0]).3, (121..=128).collect::<Vec<_>>());
    let next = detected[0].next.as_ref().expect("there is something to measure");
    assert_eq!((next.commit.sha.as_str(), next.runs), (sha(124).as_str(), 1));
    assert!((3.9..4.2).contains(&next.left), "{next:?}");
    let expected =
        ["sprag", "run", "--commit", &sha(124)[..12], "--suite", "cpu", "--filter", "cpu/slow @fast", "--record"];
    assert_eq!(next.command, expected);
    assert!(detected[0].suspects.iter().all(|one| one.measured == (one.commit.sha == sha(128))));
}

#[test]
fn the_next_step_is_for_the_machine_where_a_run_says_most() {
    // Two machines see it, one of them three deviations of its noise apart and the other twenty.
    let little = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.03)], 3);
    let much = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 4);
    let next = |series: Vec<Series>| {
        let detected = events(series);
        let next = detected[0].next.clone().expect("there is something to measure");
        (detected.len(), detected[0].machines.len(), next)
    };
    let (_, _, alone) = next(vec![little.clone()]);
    assert!(alone.machine.id == MACHINE && alone.runs > 1 && alone.left > 4.2, "{alone:?}");
    for (weak, clear, best) in [(MACHINE, OTHER, OTHER), (OTHER, MACHINE, MACHINE)] {
        let (count, machines, next) = next(vec![elsewhere(little.clone(), weak), elsewhere(much.clone(), clear)]);
        assert_eq!((count, machines, next.machine.id.as_str(), next.runs), (1, 2, best, 1));
        assert!((3.9..4.1).contains(&next.left), "{next:?}");
    }
    // What the other machine sees makes no run of this one more informative.
    let (_, _, both) = next(vec![little.clone(), elsewhere(little, OTHER)]);
    assert_eq!((both.machine.id.as_str(), both.runs, both.left), (MACHINE, alone.runs, alone.left));
    // The command measures the members of that machine, by name where they are few.
    let many = (0..6).map(|seed| elsewhere(noisy(&format!("s{seed}"), 240, 8, &[(0, 1.0), (121, 1.05)], seed), OTHER));
    let (_, machines, wide) = next(many.chain([noisy("s1", 240, 8, &[(0, 1.0), (121, 1.3)], 9)]).collect());
    assert_eq!((machines, wide.machine.id.as_str()), (2, MACHINE));
    assert!(wide.command.contains(&"cpu/s1 @fast".to_owned()), "{wide:?}");
}

#[test]
fn where_no_command_builds_a_commit_it_is_to_be_checked_out() {
    let named = |suite: &str, name: &str, seed: u64| {
        let series = noisy(name, 240, 8, &[(0, 1.0), (121, 1.2)], seed);
        let benchmark = series.benchmark.replace("cpu/", &format!("{suite}/"));
        Series { suite: suite.to_owned(), benchmark, ..series }
    };
    let step = |series: Vec<Series>| {
        let next = events(series)[0].next.clone().expect("there is something to measure");
        assert_eq!(next.commit.sha, sha(124));
        (next.command.join(" "), next.checkout)
    };
    let gpu = named("gpu", "slow", 3);
    assert_eq!(step(vec![gpu.clone()]), ("sprag run --suite gpu --filter gpu/slow @fast --record".to_owned(), true));
    // Commits that can be built are measured, and show enough.
    let both = step(vec![gpu, named("cpu", "other", 4)]);
    assert!(both.0.contains("--commit") && !both.0.contains("gpu") && !both.1, "{both:?}");
    // A suite that is gone from the settings.
    assert_eq!(step(vec![named("gone", "slow", 3)]), (String::new(), false));
}

const BORDER: usize = 100;

/// Of sixty histories of a few series, measured at every second commit, that change at these places by so much: what is put down
/// to the environment, to a commit, and reported as a drift.
fn kinds(changes: &[(usize, f64)]) -> [usize; 3] {
    let history = |seed: u64| {
        let changed = changes.iter().zip(0..).map(move |((place, step), number)| {
            noisy(&format!("s{number}"), 160, 2, &[(0, 1.0), (*place, 1.0 + step)], 100 * seed + number)
        });
        let quiet = (50..52).map(move |number| noisy(&format!("s{number}"), 160, 2, &[], 100 * seed + number));
        drafts(&example::analysed(&changed.chain(quiet).map(|one| bordered(one, BORDER)).collect::<Vec<Series>>()), &[])
    };
    let all: Vec<EventKind> = (0..60).flat_map(history).map(|draft| draft.kind).collect();
    [EventKind::Environment, EventKind::Change, EventKind::Drift]
        .map(|kind| all.iter().filter(|one| **one == kind).count())
}

#[test]
fn what_a_new_environment_brings_is_no_commits_fault() {
    for (changes, detected) in [
        (&[(BORDER, 0.015)][..], 51),
        (&[(BORDER, 0.02)], 58),
        (&[(BORDER, 0.03)], 60),
        (&[(BORDER, 0.02), (BORDER, -0.02), (BORDER, 0.015)], 60),
    ] {
        let [environment, commit, drift] = kinds(changes);
        assert!(environment >= detected && commit + drift <= 4, "{changes:?}: {environment}, {commit}, {drift}");
    }
}

#[test]
fn a_change_near_a_new_environment_stays_the_fault_of_its_commit() {
    for change in [(90, 0.03), (90, 0.05), (104, 0.05), (98, 0.1)] {
        let [environment, commit, drift] = kinds(&[change]);
        assert!(environment == 0 && commit >= 59 && drift <= 1, "{change:?}: {environment}, {commit}, {drift}");
    }
    // Both side by side stay two.
    let [environment, commit, drift] = kinds(&[(90, 0.05), (BORDER, 0.02), (BORDER, -0.02)]);
    assert!(environment == 60 && commit == 60 && drift <= 1, "{environment}, {commit}, {drift}");
}

#[test]
fn a_step_at_a_border_is_reported_without_the_climb_around_it() {
    let (mut changed, mut near, mut blamed, mut climbed) = (0, 0, 0, 0);
    for seed in 0..60 {
        let climbing = (0..2).map(|number| {
            let mut one = noisy(&format!("s{number}"), 160, 2, &[(0, 1.0), (BORDER, 1.06)], 100 * seed + number);
            for point in &mut one.points {
                point.value *= 1.0 + 0.12 * point.rank as f64 / 159.0;
            }
            one
        });
        let quiet = (50..52).map(|number| noisy(&format!("s{number}"), 160, 2, &[], 100 * seed + number));
        let series: Vec<Series> = climbing.chain(quiet).map(|one| bordered(one, BORDER)).collect();
        let all = example::analysed(&series);
        for detected in all.iter().filter(|detected| !detected.changes.drifts.is_empty()) {
            climbed += detected.changes.points.len();
            changed += detected.changes.points.iter().filter(|one| one.relative() > 0.08).count();
            near += detected.changes.points.iter().filter(|one| (0.04..0.08).contains(&one.relative())).count();
        }
        blamed += drafts(&all, &[]).iter().filter(|draft| draft.kind == EventKind::Change).count();
    }
    assert!(
        climbed >= 60 && changed == 0 && near * 10 >= climbed * 9 && blamed <= 3,
        "{climbed} {changed} {near} {blamed}"
    );
}

#[test]
fn a_commit_measured_in_both_environments_is_not_blamed() {
    let history = |seed: u64| {
        let mut series = bordered(noisy("a", 160, 2, &[(0, 1.0), (BORDER, 1.03)], seed), BORDER);
        // The first point of the new environment is of the commit before it.
        let last = series.points[BORDER / 2 - 1].clone();
        let first = series.points[BORDER / 2].run_mut();
        (first.position, first.rank, first.commit) = (last.position, last.rank, last.commit.clone());
        drafts(&example::analysed(&[series]), &[])
    };
    let all: Vec<EventKind> = (0..60).flat_map(history).map(|draft| draft.kind).collect();
    let environment = all.iter().filter(|kind| **kind == EventKind::Environment).count();
    assert!(environment >= 59 && all.len() - environment <= 2, "{environment} of {}", all.len());
}

/// A metric of a benchmark that is `factor` times as much from the eightieth commit on.
fn moved(name: &str, metric: Metric, factor: f64, seed: u64) -> Series {
    let one = noisy(name, 160, 1, &[(0, 1.0), (80, factor)], seed);
    Series { id: Series::id_of(&one.benchmark, one.version, &metric.name, &one.machine), metric, ..one }
}

/// Instructions that are counted: the same number with every run.
fn counted(name: &str, factor: f64) -> Series {
    let mut one = moved(name, Metric::instructions(), factor, 0);
    for point in &mut one.points {
        point.value = if point.rank < 80 { 1e6 } else { (1e6 * factor).round() };
    }
    one
}

/// So many benchmarks, of which each of the first changes by the share given, in its ratio alone.
fn ratios(count: usize, shares: &[f64]) -> Vec<Series> {
    let factor = |number: usize| 1.0 + shares.get(number).copied().unwrap_or(0.0);
    (0..count).map(|number| moved(&format!("s{number}"), Metric::ratio(), factor(number), number as u64)).collect()
}

#[test]
fn signs_show_whether_the_machine_moved_or_a_commit_changed_it() {
    use EventKind::{Change, Environment};
    let check = |series: &[&[Series]], kind: EventKind, members: usize, sign: &str| {
        let detected = events(series.concat());
        let event = &detected[0];
        let outcome = (event.kind, event.members.len(), event.is_ongoing_regression());
        assert_eq!((detected.len(), outcome), (1, (kind, members, kind == Change)), "{sign}: {detected:#?}");
        assert!(event.machine_signs.join(" ").contains(sign), "`{sign}` is not in {:?}", event.machine_signs);
        event.clone()
    };
    let there = |series: &[Series]| -> Vec<Series> { series.iter().map(|one| elsewhere(one.clone(), OTHER)).collect() };
    let series = |name: &str, metric: Metric, numbers: std::ops::Range<u64>, factor: f64| -> Vec<Series> {
        numbers.map(|number| moved(&format!("{name}{number}"), metric.clone(), factor, number)).collect()
    };
    let both = all_moved(MACHINE, &[1.1, 0.9, 1.1, 0.9, 1.1, 0.9]);
    let still = there(&series("s", Metric::ratio(), 0..6, 1.0));
    let mixed = check(
        &[&both, &quiet(4, 160), &still],
        Environment,
        6,
        "6 of 10 benchmarks of this machine moved together, in both",
    );
    assert_eq!(shape(&mixed), (Environment, Direction::Mixed, 6, vec![80]));
    // Another machine saw the same: so it is the code.
    assert_eq!(check(&[&both, &there(&both)], Change, 12, "").machines.len(), 2);
    // All in one direction may be either: the commit is named, with a sign. Where another machine stayed, it is the machine.
    let all = all_moved(MACHINE, &[1.1; 6]);
    check(&[&all], Change, 6, "6 of 6 benchmarks");
    assert_eq!(shape(&check(&[&all, &still], Environment, 6, "")), (Environment, Direction::Worse, 6, vec![80]));

    // All of many times by one factor are the machine, if nobody else measured them.
    let alike: Vec<f64> = (0..12).map(|number| 1.18 + 0.005 * f64::from(number)).collect();
    let together = "12 of 12 benchmarks of this machine moved together, by about the same factor";
    check(&[&all_moved(MACHINE, &alike)], Environment, 12, together);
    check(&[&all_moved(MACHINE, &alike[..9])], Change, 9, "a cause that they share");
    let unlike: Vec<f64> = (0..12).map(|number| 1.1 * 1.08_f64.powi(number)).collect();
    check(&[&all_moved(MACHINE, &unlike)], Change, 12, "a cause that they share");
    let either = [1.2, 0.8].repeat(6);
    check(&[&all_moved(MACHINE, &either)], Change, 12, "in both directions, as when the machine moves, but");
    // Sizes do not depend on a machine's speed.
    let mut sizes = all_moved(MACHINE, &alike);
    sizes.iter_mut().for_each(|one| one.metric = Metric::peak_memory());
    check(&[&sizes], Change, 12, "");

    // Metrics of a benchmark that move together are a commit's doing.
    for (benchmarks, changed) in [(1, 1), (4, 2), (8, 8), (8, 2)] {
        let of = |number: usize| {
            let (name, seed) = (format!("s{number}"), number as u64);
            let factor = if number < changed { 1.15 } else { 1.0 };
            let memory = moved(&name, Metric::peak_memory(), factor, 50 + seed);
            [moved(&name, Metric::ratio(), factor, seed), counted(&name, factor), memory]
        };
        let series: Vec<Series> = (0..benchmarks).flat_map(of).collect();
        let event = check(&[&series], Change, 3 * changed, "");
        assert!(!event.machine_signs.join(" ").contains("unlike"), "{changed} of {benchmarks}");
    }

    // A mixed change stays with its commit unless another machine stayed.
    let three = ratios(8, &[0.3, -0.1, -0.1]);
    let doubt =
        "3 of 8 benchmarks of this machine moved together, in both directions, as when the machine moves, but no other";
    assert_eq!(check(&[&three], Change, 3, doubt).direction, Direction::Mixed);
    let memory = series("s", Metric::peak_memory(), 3..6, 1.1);
    check(&[&ratios(3, &[0.1; 3]), &memory], Change, 6, "in unlike quantities, as when the machine");
    // Two of eight are not many, and time that is bought with memory is not a sign of the machine.
    assert!(check(&[&ratios(8, &[0.3, -0.1])], Change, 2, "").machine_signs.is_empty());
    let bought: Vec<Series> =
        (0..4).map(|number| moved(&format!("s{number}"), Metric::peak_memory(), 1.2, 70 + number)).collect();
    check(&[&ratios(4, &[-0.1; 4]), &bought], Change, 8, "in the code or in the machine.");

    let (three, stayed) = (ratios(8, &[0.1, -0.1, -0.12]), there(&ratios(8, &[])));
    check(&[&three, &stayed], Environment, 3, "no other machine showed it.");
    // No machine moves what is counted.
    check(&[&three, &[counted("s0", 1.1)], &stayed], Change, 4, "exact values did, too");
    // The controls stayed, unless they are too noisy.
    let mut control = Series { role: Role::Control, ..moved("control", Metric::ratio(), 1.0, 30) };
    check(&[&three, &[control.clone()], &stayed], Change, 3, "control and calibration kernels stayed");
    control.points.iter_mut().for_each(|point| point.value = point.value.powi(40));
    check(&[&three, &[control.clone()], &stayed], Environment, 3, "");
    // That a calibration kernel moved is enough, whoever else was there, and however many moved with it.
    let variant = CALIBRATION.to_owned();
    let calibration = Series { variant, ..moved("calibration", Metric::time(), 1.2, 31) };
    check(&[&three, std::slice::from_ref(&calibration)], Environment, 4, "moved, too: cpu/calibration");
    check(&[&ratios(1, &[-0.1]), &[calibration, control]], Environment, 2, "");
}

#[test]
fn runs_of_the_suspects_narrow_them() {
    let (mut before, mut after, mut changes) = (0, 0, 0);
    for seed in 0..12 {
        // Of two deviations and a half: the points alone leave several places.
        let little = noisy("slow", 80, 1, &[(0, 1.0), (44, 1.025)], seed);
        let suspects = |series: Series| {
            let of_change = events(vec![series]).into_iter().find(|event| event.kind == EventKind::Change);
            of_change.map(|event| shape(&event).3)
        };
        let level = |place: usize| if place < 44 { 1.0 } else { 1.025 };
        let measured = (40..49).fold(little.clone(), |series, place| with_runs(series, place, level(place), 12));
        let (Some(first), Some(left)) = (suspects(little), suspects(measured)) else { continue };
        assert!(left.contains(&44), "{left:?}");
        (before, after, changes) = (before + first.len(), after + left.len(), changes + 1);
    }
    assert!(
        changes >= 8 && before >= 2 * changes && after <= changes + 2,
        "{before} suspects of {changes}, then {after}"
    );
}

#[test]
fn two_points_that_are_worse_are_likelier_strays_than_two_that_are_better() {
    let reported = |better: Better, by: f64| {
        let changed = |seed: u64| {
            let mut series = noisy("pair", 30, 1, &[], seed);
            series.metric.better = better;
            series.points[16].value = 1.0 + by;
            series.points[17].value = 1.0 + 0.9 * by;
            series
        };
        (0..20).filter(|seed| !events(vec![changed(*seed)]).is_empty()).count()
    };
    for (better, worse_by) in [(Better::Lower, 0.1), (Better::Higher, -0.1)] {
        let (worse, improved) = (reported(better, worse_by), reported(better, -worse_by));
        assert!(worse <= 2 && improved >= 12, "{better:?}: {worse} worse, {improved} improved");
    }
}

/// Series of which each shows something else.
fn each_kind() -> Analysis {
    let mut series: Vec<Series> = quiet(9, 200);
    series.push(noisy("slow", 200, 1, &[(0, 1.0), (90, 1.08)], 1));
    series.push(elsewhere(noisy("slow", 200, 2, &[(0, 1.0), (90, 1.08)], 2), OTHER));
    series.push(bordered(noisy("moved", 200, 1, &[(0, 1.0), (150, 1.2)], 3), 150));
    series.push(noisy("apart", 200, 1, &[(0, 1.0), (199, 1.1)], 4));
    series.push(noisy(
        "drift",
        200,
        1,
        &(0..40).map(|step| (5 * step, 1.0 + 0.01 * step as f64)).collect::<Vec<_>>(),
        5,
    ));
    let modes: Vec<(usize, f64)> = (0..25).map(|step| (8 * step + step % 3, 1.0 + 0.2 * (step % 2) as f64)).collect();
    series.push(noisy("modes", 200, 1, &modes, 6));
    analysis(series)
}

/// What is found in the series of a dataset.
fn detected_in(dataset: &Dataset, analysis: &Analysis) -> Vec<Detection> {
    let detector = Detector::new(&dataset.outline);
    let points_of = |listed: &ListedSeries| analysis.series.iter().find(|one| one.series.id == listed.series.id);
    let detected = |listed| detector.detect(listed, &points_of(listed).expect("it is one of them").series);
    dataset.outline.series.iter().map(detected).collect()
}

#[test]
fn what_is_detected_elsewhere_joins_to_the_same_trend() {
    let analysis = each_kind();
    let one = analyse(input(&analysis));
    assert!(one.trend.events.len() > 2 && one.trend.newest.len() == 1);

    let dataset = Dataset::from_bytes(&Dataset::new(&input(&analysis)).to_bytes()).expect("it was just written");
    let detected = detected_in(&dataset, &analysis);
    let bytes: Vec<_> = detected.iter().rev().map(|one| ("p", one.id.as_str(), one.to_bytes())).collect();
    let detected = in_order(&dataset.outline, bytes.iter().map(|(file, id, bytes)| (*file, *id, bytes.as_slice())));
    let detected = detected.expect("it was just found");
    let detector = Detector::new(&dataset.outline);
    let (joined, _) = join(&detector, detected, &[], one.trend.now, None, &|_| true);
    // The points are shown, and nothing depends on them.
    let without_points = |mut trend: Trend| {
        trend.series.iter_mut().for_each(|one| one.pooled = [].into());
        trend
    };
    assert_eq!(without_points(joined.trend), without_points(one.trend));
    assert_eq!(joined.steps, one.steps);
}

#[test]
fn damaged_findings_are_refused_by_their_file() {
    let analysis = each_kind();
    let dataset = Dataset::new(&input(&analysis));
    let all = detected_in(&dataset, &analysis);
    let parts: Vec<Vec<u8>> = all.iter().map(Detection::to_bytes).collect();
    let damages: [fn(&mut [Vec<u8>]); 5] = [
        |parts| parts[2][0] ^= 1,
        |parts| parts[2][99] ^= 1,
        |parts| parts[2].truncate(99),
        |parts| parts[2].truncate(9),
        |parts| parts[2] = parts[3].clone(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let mut parts = parts.clone();
        damage(&mut parts);
        let partials = all.iter().zip(&parts).map(|(one, bytes)| ("p", one.id.as_str(), bytes.as_slice()));
        let error = in_order(&dataset.outline, partials).expect_err("it is damaged").to_string();
        let expected = format!("`p` is damaged, or was changed: what it holds of the series `{}`", all[2].id);
        assert!(error.starts_with(&expected), "{number}: {error}");
    }
}

/// Another number, or whatever else it is, somewhere in a value: each field is as likely.
fn forge(value: &mut serde_json::Value, random: &mut SplitMix64) {
    match value {
        serde_json::Value::Array(items) if !items.is_empty() => {
            let place = random.below(items.len());
            forge(&mut items[place], random);
        }
        serde_json::Value::Object(fields) => {
            let place = random.below(fields.len());
            fields.values_mut().nth(place).into_iter().for_each(|field| forge(field, random));
        }
        other => {
            let all = ["0", "1", "2", "3", "198", "199", "200", "201", "18446744073709551615", "-1", "0.5", "-1.7e308"];
            *other = serde_json::from_str(all[random.below(all.len())]).expect("a number");
        }
    }
}

#[test]
fn forged_findings_are_refused_or_join() {
    let analysis = each_kind();
    let dataset = Dataset::new(&input(&analysis));
    let detector = Detector::new(&dataset.outline);
    let all = detected_in(&dataset, &analysis);
    let bytes: Vec<Vec<u8>> = all.iter().map(Detection::to_bytes).collect();
    let (mut random, mut refused, mut joined) = (SplitMix64::new(3), 0, 0);
    while refused + joined < 400 {
        let number = random.below(all.len());
        let mut value = serde_json::to_value(&all[number]).expect("plain values can be written");
        (0..=random.below(3)).for_each(|_| forge(&mut value, &mut random));
        let Ok(forged) = serde_json::from_value::<Detection>(value) else { continue };
        let mut parts = bytes.clone();
        parts[number] = forged.to_bytes();
        let partials = all.iter().zip(&parts).map(|(one, bytes)| ("p", one.id.as_str(), bytes.as_slice()));
        match in_order(&dataset.outline, partials) {
            Err(_) => refused += 1,
            Ok(detections) => {
                let _ = join(&detector, detections, &[], analysis.as_of.unwrap_or_default(), None, &|_| true);
                joined += 1;
            }
        }
    }
    assert!(refused > 100 && joined > 100, "{refused} and {joined}");
}
