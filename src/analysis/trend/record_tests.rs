//! What is told of events from one time to the next.

use super::analyse::{Input, Output, analyse};
use super::example::{MACHINE, analysis, bordered, elsewhere, line, noisy, setting, sha, suites};
use super::tests::{of, shape, until, write};
use sprag_model::event::{EventKind, EventState};
use sprag_model::event_record::{EventRecord, EventStep};
use sprag_model::series::Series;
use sprag_model::trend::Tables;

const OTHER: &str = "00000000000000b2";

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
    let whole = vec![creeping("creep", 9), noisy("step", 250, 1, &[(0, 1.0), (140, 1.2)], 10)];
    let mut records = Vec::new();
    let first = of(whole.clone(), &records);
    let told = |output: &Output| -> Vec<(String, EventKind)> {
        output.trend.events.iter().map(|event| (event.id.clone(), event.kind)).collect()
    };
    assert_eq!(first.trend.events.iter().filter(|event| event.kind == EventKind::Drift).count(), 1);
    write(&mut records, &first);
    let again = of(whole, &records);
    assert_eq!((told(&again), again.steps), (told(&first), Vec::new()));
}

#[test]
fn a_drift_that_was_told_is_held_where_the_data_alone_no_longer_tell_it() {
    let drift = |output: &Output| output.trend.events.iter().find(|event| event.kind == EventKind::Drift).cloned();
    let mut held = 0;
    for seed in 0..32 {
        let whole = vec![climbing("creep", (0, 200), 0.05, seed + 12)];
        let mut records: Vec<EventRecord> = Vec::new();
        for place in (60..200).step_by(4) {
            let grown = until(&whole, place);
            let output = of(grown.clone(), &records);
            let known = records.iter().rev().find(|one| one.kind == EventKind::Drift);
            if let Some((known, event)) = known.zip(drift(&output)).filter(|_| drift(&of(grown, &[])).is_none()) {
                assert!(event.id == known.event && event.members.iter().all(|one| one.held), "seed {seed}: {event:?}");
                assert!(output.steps.iter().all(|one| one.event != event.id), "seed {seed}: {:?}", output.steps);
                held += 1;
            }
            write(&mut records, &output);
        }
        if held > 0 {
            break;
        }
    }
    assert!(held > 0, "no drift of 32 was ever in doubt");
}

#[test]
fn a_change_that_is_held_beside_a_drift_says_so() {
    let mut held = 0;
    for seed in 0..3 {
        let with = |step: f64| {
            let mut series = climbing("creep", (20, 100), 0.12, seed);
            series.points.iter_mut().skip(170).for_each(|point| point.value *= 1.0 + step);
            vec![series]
        };
        let change =
            |output: &Output| output.trend.events.iter().find(|event| event.kind == EventKind::Change).cloned();
        let mut records = Vec::new();
        write(&mut records, &of(with(0.08), &[]));
        assert_eq!(records.len(), 2, "a change and a drift");
        // The less it is, the less likely it is told; in between it is held.
        for step in (4..24).step_by(2).map(|step| f64::from(step) / 1000.0) {
            let told = change(&of(with(step), &records)).filter(|_| change(&of(with(step), &[])).is_none());
            held += usize::from(told.is_some_and(|event| event.members.iter().all(|member| member.held)));
        }
        assert!(change(&of(with(0.0), &records)).is_none());
    }
    assert!(held > 1, "{held} are held");
}

#[test]
fn what_is_no_longer_sure_is_retracted_and_comes_back_as_what_it_was() {
    let with = |step: f64, quiet: u64| -> Vec<Series> {
        let slow = noisy("slow", 120, 2, &[(0, 1.0), (60, 1.0 + step)], 3);
        let others = (0..quiet).map(|seed| noisy(&format!("quiet{seed}"), 120, 2, &[], 700 + seed));
        std::iter::once(slow).chain(others).collect()
    };
    let share = |step: f64| of(with(step, 0), &[]).trend.events.first().map_or(1.0, |event| event.false_discovery);
    // The chance grows with the number of series that did not move.
    let steps = (20..400).map(|step| f64::from(step) / 10_000.0);
    let step = steps.into_iter().find(|step| (0.01..0.02).contains(&share(*step))).expect("some step is hardly sure");
    let mut records = Vec::new();
    let first = of(with(step, 0), &records);
    assert_eq!(first.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [EventStep::Opened]);
    write(&mut records, &first);
    let id = first.trend.events[0].id.clone();
    // More would not be told anew, and is held.
    let held = of(with(step, 8), &records);
    assert!(held.trend.events[0].sure && held.trend.events[0].false_discovery > 0.05 && held.steps.is_empty());
    assert!(!of(with(step, 8), &[]).trend.events[0].sure);
    let fallen = of(with(step, 60), &records);
    let told = fallen.trend.events.iter().find(|event| event.id == id).expect("it is still seen");
    assert!(!told.sure && told.false_discovery > 0.25);
    let [retracted] = &fallen.steps[..] else { panic!("{:?}", fallen.steps) };
    assert_eq!((retracted.step, &retracted.event, retracted.chance), (EventStep::Retracted, &id, told.false_discovery));
    assert!(retracted.reason.as_deref().is_some_and(|reason| reason.contains("more than 25 %")), "{retracted:?}");
    write(&mut records, &fallen);
    assert_eq!(of(with(step, 60), &records).steps, []);
    // What was retracted takes as much as what is new.
    assert_eq!(of(with(step, 8), &records).steps, []);
    let back = of(with(step, 0), &records);
    assert_eq!(back.steps.iter().map(|one| (one.step, &one.event)).collect::<Vec<_>>(), [(EventStep::Opened, &id)]);
    assert!(back.trend.events[0].sure && back.trend.events[0].id == id);
}

#[test]
fn a_drift_that_was_taken_back_says_by_what() {
    let mut series = creeping("creep", 9);
    series.points.iter_mut().skip(215).for_each(|point| point.value /= 1.1);
    let found = of(vec![series], &[]).trend.events;
    let drift = found.iter().find(|event| event.kind == EventKind::Drift).expect("it climbs");
    let step = found.iter().find(|event| event.kind == EventKind::Change).expect("it falls back");
    assert_eq!(drift.state, EventState::TakenBack { by: step.id.clone() });
}

#[test]
fn what_is_not_on_the_line_is_not_taken_back() {
    let whole = vec![noisy("slow", 200, 2, &[(0, 1.0), (120, 1.2)], 3)];
    let mut records = Vec::new();
    write(&mut records, &of(whole.clone(), &[]));
    assert_eq!(records.len(), 1);
    // As of a clone or a branch that ends before it.
    assert_eq!(of(until(&whole, 90), &records).steps, []);
    // As of a clone that begins after it: the line lacks the commits, and most points.
    let analysis = analysis(whole.clone());
    let mut short = line(300);
    short.commits.drain(..130);
    let setting = |_: &str, _: &str| setting();
    let output = analyse(Input {
        now: analysis.as_of.unwrap_or_default(),
        analysis: &analysis,
        line: &short,
        heads: &[],
        setting: &setting,
        selected: &|_| true,
        suites: &suites(),
        records: &records,
        tables: Tables::default(),
    });
    assert_eq!(output.steps, []);
    // Taken back and told again, without a run in between: each record is newer than the one before.
    let flat = vec![noisy("slow", 200, 2, &[], 3)];
    for (series, step) in [(&flat, EventStep::Retracted), (&whole, EventStep::Opened), (&flat, EventStep::Retracted)] {
        let output = of(series.clone(), &records);
        assert_eq!(output.steps.iter().map(|one| one.step).collect::<Vec<_>>(), [step]);
        write(&mut records, &output);
        assert_eq!(of(series.clone(), &records).steps, []);
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
    let found = of(vec![probed.clone()], &[]).trend.events;
    assert_eq!((found[0].kind, shape(&found[0]).3), (EventKind::Change, (121..=124).collect()));
    let both = of(vec![probed, elsewhere(step("slow", 4), OTHER)], &[]).trend.events;
    assert_eq!((both.len(), both[0].kind, both[0].machines.len()), (1, EventKind::Change, 2));
}

#[test]
fn a_new_compiler_hides_no_regression() {
    let moved = |name: &str, step: f64, seed| bordered(noisy(name, 200, 2, &[(0, 1.0), (100, 1.0 + step)], seed), 100);
    let series = vec![moved("a", 0.03, 1), moved("b", -0.03, 2), moved("c", 0.025, 3), moved("slow", 0.5, 4)];
    let found = of(series, &[]).trend.events;
    let told: Vec<_> = found.iter().map(|event| (event.kind, event.members.len())).collect();
    assert_eq!(told, [(EventKind::Change, 1), (EventKind::Environment, 3)]);
    assert!(found[0].is_ongoing_regression() && found[0].members[0].benchmark.contains("slow"));
    assert!(found[0].machine_signs[0].contains("environment changed"), "{:?}", found[0].machine_signs);
}

#[test]
fn events_that_turn_out_to_be_one_say_so() {
    let one = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3);
    let other = elsewhere(noisy("scan", 240, 8, &[(0, 1.0), (121, 1.2)], 4), OTHER);
    let mut records: Vec<EventRecord> = Vec::new();
    let apart = of(vec![one.clone(), other.clone()], &records);
    assert_eq!(apart.trend.events.len(), 2);
    write(&mut records, &apart);
    // A kernel that both machines measure moved on both.
    let joining = elsewhere(noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 5), OTHER);
    let output = of(vec![one, other, joining], &records);
    assert_eq!(output.trend.events.len(), 1);
    let retracted = output.steps.iter().find(|step| step.step == EventStep::Retracted).expect("one is part of it");
    assert_eq!(retracted.reason.as_deref(), Some(format!("it is part of {}", output.trend.events[0].id).as_str()));
}

#[test]
fn who_asks_for_a_part_is_told_the_same_of_it() {
    let series = [
        noisy("slow", 200, 1, &[(0, 1.0), (90, 1.1)], 1),
        noisy("other", 200, 1, &[(0, 1.0), (150, 1.1)], 2),
        noisy("quiet", 200, 1, &[], 3),
    ];
    let all = of(series.to_vec(), &[]).trend;
    let analysis = analysis(series.to_vec());
    let setting = |_: &str, _: &str| setting();
    let part = analyse(Input {
        now: analysis.as_of.unwrap_or_default(),
        analysis: &analysis,
        line: &line(300),
        heads: &[],
        setting: &setting,
        selected: &|one| one.series.name == "slow" && one.series.machine == MACHINE,
        suites: &suites(),
        records: &[],
        tables: Tables::default(),
    })
    .trend;
    assert_eq!((part.events.len(), part.series.len(), part.coverage.total), (1, 1, 1));
    assert!(all.events.contains(&part.events[0]));
}
