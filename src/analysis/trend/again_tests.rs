//! What further runs of a commit settle.

use super::example::{noisy, point};
use super::tests::{events, of, shape};
use crate::model::event::{Direction, EventKind};
use crate::model::series::Series;
use crate::stats::random::SplitMix64;

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
