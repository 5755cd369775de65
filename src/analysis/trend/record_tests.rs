//! Events and their ids from one analysis to the next.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::analyse::{TrendOutput, analyse, analyse_at};
use super::example::{MACHINE, OTHER, analysis, bordered, elsewhere, events, input, line, noisy, sha};
use super::outline::Input;
use super::tests::{analysed, shape};
use sprag_model::{EventKind, EventRecord, EventState, EventStep, Series, SeriesTrend, Trend};

/// The series as it was when the commits up to a place had been measured.
fn until(series: &[Series], place: usize) -> Vec<Series> {
    let cut = |one: &Series| Series {
        points: one.points.iter().filter(|point| point.position <= Some(place)).cloned().collect(),
        ..one.clone()
    };
    series.iter().map(cut).filter(|one| !one.points.is_empty()).collect()
}

/// Adds what became of events, as it comes out of the files.
fn write(records: &mut Vec<EventRecord>, output: &TrendOutput) {
    for step in &output.steps {
        let (path, bytes, _) = step.to_file();
        records.push(EventRecord::from_file(&path, &bytes).expect("what is written can be read"));
    }
}

#[test]
fn an_event_keeps_its_id_while_later_runs_narrow_it() {
    let all =
        vec![noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3), noisy("other", 240, 8, &[(0, 1.0), (121, 1.1)], 4)];
    let mut records = Vec::new();
    let mut ids = BTreeSet::new();
    for place in (136..240).step_by(8) {
        let output = analysed(until(&all, place), &records);
        write(&mut records, &output);
        ids.extend(output.trend.events.iter().map(|event| event.id.clone()));
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(records[0].step, EventStep::Opened);
    // Nothing is written where nothing is new.
    let output = analysed(all.clone(), &records);
    assert_eq!(output.steps, []);
    // A commit between is measured: fewer suspects, the same id, also if it joins another machine.
    let mut more = all.clone();
    more[0].points.extend(
        noisy("slow", 240, 1, &[(0, 1.0), (121, 1.2)], 8)
            .points
            .into_iter()
            .filter(|point| point.position == Some(124)),
    );
    more[0].points.sort_by_key(|point| point.position);
    let output = analysed(more.clone(), &records);
    assert_eq!(shape(&output.trend.events[0]).3, (121..=124).collect::<Vec<_>>());
    assert_eq!(ids.first(), Some(&output.trend.events[0].id));
    assert_eq!(output.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [EventStep::Narrowed]);
    write(&mut records, &output);
    assert_eq!(analysed(more.clone(), &records).steps, []);
    // Without the records an id comes of the data, and the rest is as it was.
    let bare = analysed(more, &[]).trend.events;
    assert_eq!((bare.len(), shape(&bare[0])), (1, shape(&output.trend.events[0])));
    // A history that no longer shows the reported change retracts it, once, and with a reason.
    let flat = vec![noisy("slow", 240, 8, &[], 3), noisy("other", 240, 8, &[], 4)];
    let output = analysed(flat.clone(), &records);
    assert_eq!(output.steps.len(), 1);
    assert_eq!(
        (output.steps[0].step, output.steps[0].reason.as_deref()),
        (EventStep::Retracted, Some("the data no longer show it"))
    );
    write(&mut records, &output);
    assert_eq!(analysed(flat, &records).steps, []);
    // And it is opened again under its old id where it comes back.
    let output = analysed(all, &records);
    assert_eq!((output.steps[0].step, Some(&output.steps[0].event)), (EventStep::Opened, ids.first()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Analysed run by run, with records of earlier reports, a history comes to the changes that it has when it is
    /// analysed once. What is carried over was reported before, and every event has one id.
    #[test]
    fn a_history_that_grows_comes_to_the_same_changes(
        seed in 0..10_000_u64,
        steps in prop::collection::vec((10..110_usize, -0.2..0.3_f64), 0..3),
        each in 1..4_usize,
        border in 10..150_usize,
    ) {
        let mut steps = steps;
        steps.sort_by_key(|one| one.0);
        let all: Vec<Series> = (0..3_u64)
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
            let output = analysed(until(&all, place), &records);
            write(&mut records, &output);
        }
        let grown = analysed(all.clone(), &records).trend;
        let at_once = analysed(all.clone(), &[]).trend;
        let reported = |trend: &Trend| -> BTreeSet<(String, usize)> {
            let of = |one: &SeriesTrend| {
                let name = one.series.clone();
                one.changes.points.iter().map(move |point| (name.clone(), point.index)).collect::<Vec<_>>()
            };
            trend.series.iter().flat_map(of).collect()
        };
        prop_assert!(reported(&grown).is_superset(&reported(&at_once)));
        // Any further change was reported before, at a commit that a record names.
        for (series, index) in reported(&grown).difference(&reported(&at_once)) {
            let place = grown.series.iter().find(|one| one.series == *series).map(|one| one.pooled[*index].place);
            let names = |record: &&EventRecord| {
                let is_member = record.members.iter().any(|member| member.series == *series);
                is_member && sha(place.unwrap_or_default()) >= record.first_suspect
            };
            prop_assert!(records.iter().any(|record| names(&record)), "{series} {index}");
        }
        // Looked at once more, nothing changes.
        prop_assert_eq!(&analysed(all, &records).trend, &grown);
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
        let all = vec![noisy("a", 120, 2, &[(0, 1.0), (70, 1.15)], seed), noisy("b", 120, 3, &[(0, 1.0), (70, 1.1)], seed + 1)];
        let mut skewed = all.clone();
        for (number, point) in skewed.iter_mut().flat_map(|one| &mut one.points).enumerate() {
            point.run_mut().time += TimeDelta::days(if number % 3 == 0 { skew } else { 0 });
        }
        let shapes = |series| events(series).iter().map(shape).collect::<Vec<_>>();
        prop_assert_eq!(shapes(all), shapes(skewed));
    }
}

/// A series that climbs by 9 % from the sixtieth commit to the hundred and ninetieth.
fn creeping(name: &str, seed: u64) -> Series {
    climbing(name, (60, 130), 0.09, seed)
}

/// A series of 250 points that climbs by so much, from a commit on and over so many.
fn climbing(name: &str, (begin, width): (usize, usize), height: f64, seed: u64) -> Series {
    let mut series = noisy(name, 250, 1, &[], seed);
    for (place, point) in series.points.iter_mut().enumerate() {
        point.value *= (height * ((place as f64 - begin as f64) / width as f64).clamp(0.0, 1.0)).exp();
    }
    series
}

#[test]
fn a_drift_stays_the_drift_that_it_was() {
    let all = vec![creeping("creep", 9), noisy("step", 250, 1, &[(0, 1.0), (140, 1.2)], 10)];
    let mut records = Vec::new();
    let first = analysed(all.clone(), &records);
    let reported = |output: &TrendOutput| -> Vec<(String, EventKind)> {
        output.trend.events.iter().map(|event| (event.id.clone(), event.kind)).collect()
    };
    assert_eq!(first.trend.events.iter().filter(|event| event.kind == EventKind::Drift).count(), 1);
    write(&mut records, &first);
    let second = analysed(all, &records);
    assert_eq!((reported(&second), second.steps), (reported(&first), Vec::new()));
}

#[test]
fn a_reported_drift_stays_where_the_data_alone_no_longer_show_it() {
    let drift = |output: &TrendOutput| output.trend.events.iter().find(|event| event.kind == EventKind::Drift).cloned();
    let mut retained_events = 0;
    for seed in 0..32 {
        let all = vec![climbing("creep", (0, 200), 0.05, seed + 12)];
        let mut records: Vec<EventRecord> = Vec::new();
        for place in (60..200).step_by(4) {
            let grown = until(&all, place);
            let output = analysed(grown.clone(), &records);
            let earlier = records.iter().rev().find(|one| one.kind == EventKind::Drift);
            if let Some((earlier, event)) =
                earlier.zip(drift(&output)).filter(|_| drift(&analysed(grown, &[])).is_none())
            {
                assert!(
                    event.id == earlier.event && event.members.iter().all(|one| one.is_carried),
                    "seed {seed}: {event:?}"
                );
                assert!(output.steps.iter().all(|one| one.event != event.id), "seed {seed}: {:?}", output.steps);
                retained_events += 1;
            }
            write(&mut records, &output);
        }
        if retained_events > 0 {
            break;
        }
    }
    assert!(retained_events > 0, "no drift of 32 was ever in doubt");
}

#[test]
fn a_retained_change_next_to_a_drift_says_so() {
    let (mut reported, mut retained) = (0, 0);
    for seed in 0..3 {
        let with = |step: f64| {
            let mut series = climbing("creep", (20, 100), 0.12, seed);
            series.points.iter_mut().skip(170).for_each(|point| point.value *= 1.0 + step);
            vec![series]
        };
        let change =
            |output: &TrendOutput| output.trend.events.iter().find(|event| event.kind == EventKind::Change).cloned();
        let mut records = Vec::new();
        write(&mut records, &analysed(with(0.08), &[]));
        assert_eq!(records.len(), 2, "a change and a drift");
        // A smaller step is retained before it is no longer reported.
        for step in 4..24 {
            let size = f64::from(step) / 1000.0;
            let Some(event) = change(&analysed(with(size), &records)) else { continue };
            reported += usize::from(step % 2 == 0);
            let is_retained = event.members.iter().all(|member| member.is_carried);
            retained += usize::from(is_retained && change(&analysed(with(size), &[])).is_none());
        }
        assert!(change(&analysed(with(0.0), &records)).is_none());
    }
    assert!(retained > 1, "{retained} are retained");
    assert!(reported >= 19, "{reported} of 30 are reported");
}

#[test]
fn what_is_no_longer_sure_is_retracted_and_comes_back_as_what_it_was() {
    let with = |step: f64, quiet: u64| -> Vec<Series> {
        let slow = noisy("slow", 120, 2, &[(0, 1.0), (60, 1.0 + step)], 3);
        let others = (0..quiet).map(|seed| noisy(&format!("quiet{seed}"), 120, 2, &[], 700 + seed));
        std::iter::once(slow).chain(others).collect()
    };
    let share =
        |step: f64| analysed(with(step, 0), &[]).trend.events.first().map_or(1.0, |event| event.false_discovery);
    // The chance grows with the number of series that did not move.
    let steps = (20..400).map(|step| f64::from(step) / 10_000.0);
    let step = steps.into_iter().find(|step| (0.01..0.02).contains(&share(*step))).expect("some step is hardly sure");
    let mut records = Vec::new();
    let first = analysed(with(step, 0), &records);
    assert_eq!(first.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [EventStep::Opened]);
    write(&mut records, &first);
    let id = first.trend.events[0].id.clone();
    // With more series it would not be reported as new, but it is carried over.
    let retained_events = analysed(with(step, 8), &records);
    assert!(
        retained_events.trend.events[0].sure
            && retained_events.trend.events[0].false_discovery > 0.05
            && retained_events.steps.is_empty()
    );
    assert!(!analysed(with(step, 8), &[]).trend.events[0].sure);
    let fallen = analysed(with(step, 60), &records);
    let reported = fallen.trend.events.iter().find(|event| event.id == id).expect("it is still seen");
    assert!(!reported.sure && reported.false_discovery > 0.25);
    let [retracted] = &fallen.steps[..] else { panic!("{:?}", fallen.steps) };
    assert_eq!(
        (retracted.step, &retracted.event, retracted.chance),
        (EventStep::Retracted, &id, reported.false_discovery)
    );
    assert!(retracted.reason.as_deref().is_some_and(|reason| reason.contains("more than 25 %")), "{retracted:?}");
    write(&mut records, &fallen);
    assert_eq!(analysed(with(step, 60), &records).steps, []);
    // What was retracted takes as much as what is new.
    assert_eq!(analysed(with(step, 8), &records).steps, []);
    let back = analysed(with(step, 0), &records);
    assert_eq!(back.steps.iter().map(|one| (one.step, &one.event)).collect::<Vec<_>>(), [(EventStep::Opened, &id)]);
    assert!(back.trend.events[0].sure && back.trend.events[0].id == id);
}

#[test]
fn a_drift_that_was_reverted_says_by_what() {
    let mut series = creeping("creep", 9);
    series.points.iter_mut().skip(215).for_each(|point| point.value /= 1.1);
    let detected = analysed(vec![series], &[]).trend.events;
    let drift = detected.iter().find(|event| event.kind == EventKind::Drift).expect("it climbs");
    let step = detected.iter().find(|event| event.kind == EventKind::Change).expect("it falls back");
    assert_eq!(drift.state, EventState::Reverted { by: step.id.clone() });
}

#[test]
fn what_is_not_on_the_line_is_not_reverted() {
    let all = vec![noisy("slow", 200, 2, &[(0, 1.0), (120, 1.2)], 3)];
    let mut records = Vec::new();
    write(&mut records, &analysed(all.clone(), &[]));
    assert_eq!(records.len(), 1);
    // As of a clone or a branch that ends before it.
    assert_eq!(analysed(until(&all, 90), &records).steps, []);
    // As of a clone that begins after it: the line lacks the commits, and most points.
    let mut short = line(300);
    short.commits.drain(..130);
    let output = analyse(Input { line: &short, records: &records, ..input(&analysis(all.clone())) });
    assert_eq!(output.steps, []);
    // Retracted and reported again, without a run in between: each record is newer than the one before.
    let flat = vec![noisy("slow", 200, 2, &[], 3)];
    for (series, step) in [(&flat, EventStep::Retracted), (&all, EventStep::Opened), (&flat, EventStep::Retracted)] {
        let output = analysed(series.clone(), &records);
        assert_eq!(output.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [step]);
        write(&mut records, &output);
        assert_eq!(analysed(series.clone(), &records).steps, []);
    }
    let times: Vec<_> = records.iter().map(|record| record.time).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

#[test]
fn an_old_commit_that_is_measured_in_a_new_environment_changes_no_blame() {
    let step = |name: &str, seed| noisy(name, 240, 8, &[(0, 1.0), (121, 1.2)], seed);
    let mut probed = step("slow", 3);
    let probe = probed.points[16].clone().of_run(|run| {
        (run.position, run.commit, run.environment_key) = (Some(124), sha(124).into(), "new".into());
    });
    probed.points.insert(16, probe);
    let detected = analysed(vec![probed.clone()], &[]).trend.events;
    assert_eq!((detected[0].kind, shape(&detected[0]).3), (EventKind::Change, (121..=124).collect()));
    let both = analysed(vec![probed, elsewhere(step("slow", 4), OTHER)], &[]).trend.events;
    assert_eq!((both.len(), both[0].kind, both[0].machines.len()), (1, EventKind::Change, 2));
}

#[test]
fn a_new_compiler_hides_no_regression() {
    let moved = |name: &str, step: f64, seed| bordered(noisy(name, 200, 2, &[(0, 1.0), (100, 1.0 + step)], seed), 100);
    let series = vec![moved("a", 0.03, 1), moved("b", -0.03, 2), moved("c", 0.025, 3), moved("slow", 0.5, 4)];
    let detected = analysed(series, &[]).trend.events;
    let reported: Vec<_> = detected.iter().map(|event| (event.kind, event.members.len())).collect();
    assert_eq!(reported, [(EventKind::Change, 1), (EventKind::Environment, 3)]);
    assert!(detected[0].is_ongoing_regression() && detected[0].members[0].benchmark.contains("slow"));
    assert!(detected[0].machine_signs[0].contains("environment changed"), "{:?}", detected[0].machine_signs);
}

#[test]
fn events_that_turn_out_to_be_one_say_so() {
    let one = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3);
    let other = elsewhere(noisy("scan", 240, 8, &[(0, 1.0), (121, 1.2)], 4), OTHER);
    let mut records: Vec<EventRecord> = Vec::new();
    let apart = analysed(vec![one.clone(), other.clone()], &records);
    assert_eq!(apart.trend.events.len(), 2);
    write(&mut records, &apart);
    // A kernel that both machines measure moved on both.
    let joining = elsewhere(noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 5), OTHER);
    let output = analysed(vec![one, other, joining], &records);
    assert_eq!(output.trend.events.len(), 1);
    let retracted = output.steps.iter().find(|step| step.step == EventStep::Retracted).expect("one is part of it");
    assert_eq!(retracted.reason.as_deref(), Some(format!("it is part of {}", output.trend.events[0].id).as_str()));
}

#[test]
fn a_selection_shows_the_same_events() {
    let series = [
        noisy("slow", 200, 1, &[(0, 1.0), (90, 1.1)], 1),
        noisy("other", 200, 1, &[(0, 1.0), (150, 1.1)], 2),
        noisy("quiet", 200, 1, &[], 3),
    ];
    let all = analysed(series.to_vec(), &[]).trend;
    let selected = |one: &Series| one.name == "slow" && one.machine == MACHINE;
    let part = analyse(Input { selected: &selected, ..input(&analysis(series.to_vec())) }).trend;
    assert_eq!((part.events.len(), part.series.len(), part.coverage.total), (1, 1, 1));
    assert!(all.events.contains(&part.events[0]));
}

#[test]
fn another_present_gives_what_an_analysis_at_that_time_gives() {
    let analysis = analysis(vec![noisy("steps", 120, 1, &[(0, 1.0), (60, 1.2)], 3), noisy("flat", 120, 1, &[], 4)]);
    let newest = analysis.as_of.expect("there are runs");
    let later = newest + TimeDelta::days(400);
    let at = |now: DateTime<Utc>, other: Option<DateTime<Utc>>| analyse_at(Input { now, ..input(&analysis) }, other);
    let (now, then) = at(later, Some(newest));
    assert_eq!(then.expect("it was asked for"), at(newest, None).0.trend);
    assert_eq!(now.trend, at(later, None).0.trend);
    assert_ne!(now.trend.series, at(newest, None).0.trend.series, "a series is late after a year and not at once");
}
