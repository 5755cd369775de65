//! What further runs of a commit settle.

use super::example::{noisy, point};
use super::tests::{events, of, shape};
use sprag_base::stats::random::SplitMix64;
use sprag_model::event::{Direction, EventKind};
use sprag_model::metric::Better;
use sprag_model::series::Series;

/// The series, with so many further runs of the commit at a place, about that level.
fn again(mut series: Series, place: usize, level: f64, runs: usize) -> Series {
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
    let found = of(vec![flat.clone()], &[]).trend;
    assert_eq!(found.events, []);
    let runs = found.newest[0].runs;
    assert!((1..=4).contains(&runs), "{runs}");
    let settled = events(vec![again(flat.clone(), 40, 1.08, runs)]);
    assert_eq!(shape(&settled[0]), (EventKind::Change, Direction::Worse, 1, vec![40]));
    // It was a stray: further runs of the same commit are as before.
    let stray = of(vec![again(flat, 40, 1.0, 4)], &[]).trend;
    assert_eq!((stray.events.len(), stray.newest.len()), (0, 0));
}

#[test]
fn what_changes_between_runs_of_one_commit_is_no_commits_fault() {
    let flat = again(noisy("slow", 41, 1, &[], 6), 40, 1.0, 10);
    let mut later = again(noisy("slow", 41, 1, &[], 6), 40, 1.1, 10).points.split_off(41);
    later.iter_mut().for_each(|point| point.run_mut().time += chrono::TimeDelta::days(90));
    let found = events(vec![Series { points: [flat.points.clone(), later].concat(), ..flat }]);
    assert_eq!(shape(&found[0]).0, EventKind::Environment);
    assert_eq!(found[0].machine_signs, ["The levels changed between runs of one commit."]);
}

#[test]
fn runs_of_the_suspects_narrow_them() {
    let (mut before, mut after, mut told) = (0, 0, 0);
    for seed in 0..12 {
        // Of two deviations and a half: the points alone leave several places.
        let little = noisy("slow", 80, 1, &[(0, 1.0), (44, 1.025)], seed);
        let suspects = |series: Series| {
            let of_change = events(vec![series]).into_iter().find(|event| event.kind == EventKind::Change);
            of_change.map(|event| shape(&event).3)
        };
        let measured = (40..49)
            .fold(little.clone(), |series, place| again(series, place, if place < 44 { 1.0 } else { 1.025 }, 12));
        let (Some(first), Some(left)) = (suspects(little), suspects(measured)) else { continue };
        assert!(left.contains(&44), "{left:?}");
        (before, after, told) = (before + first.len(), after + left.len(), told + 1);
    }
    assert!(told >= 8 && before >= 2 * told && after <= told + 2, "{before} suspects of {told} and then {after}");
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
        let found = events(series);
        assert_eq!(shape(&found[0]), (EventKind::Change, Direction::Worse, 2, vec![40]));
        assert_eq!(found[0].since, began);
    }
}

#[test]
fn two_points_that_are_worse_are_likelier_strays_than_two_that_are_better() {
    let told = |better: Better, by: f64| {
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
        let (worse, improved) = (told(better, worse_by), told(better, -worse_by));
        assert!(worse <= 2 && improved >= 12, "{better:?}: {worse} worse, {improved} improved");
    }
}
