//! Who is blamed for what happens beside a new environment: planted histories, counted.

use std::sync::Arc;

use super::axis::axes;
use super::draft::{Draft, drafts};
use super::example::{MACHINE, bordered, line, noisy, setting};
use super::series_changes::SeriesChanges;
use sprag_model::event::EventKind;
use sprag_model::series::Series;

/// The first commit of the new environment.
const BORDER: usize = 100;

/// The drafts of events of these series, significant or not.
fn drafts_of(series: &[Series]) -> Vec<Draft> {
    let axes = axes(series, &line(160));
    let of = |one| SeriesChanges::of(one, Arc::clone(&axes[MACHINE]), true, setting(), &[]);
    drafts(&series.iter().map(of).collect::<Vec<SeriesChanges<'_>>>())
}

/// Of sixty histories of a few series, measured at every second commit, that change at these places by so much: what is put down
/// to the environment, to a commit, and reported as a drift.
fn kinds(changes: &[(usize, f64)]) -> [usize; 3] {
    let history = |seed: u64| {
        let changed = changes.iter().zip(0..).map(move |((place, step), number)| {
            noisy(&format!("s{number}"), 160, 2, &[(0, 1.0), (*place, 1.0 + step)], 100 * seed + number)
        });
        let quiet = (50..52).map(move |number| noisy(&format!("s{number}"), 160, 2, &[], 100 * seed + number));
        drafts_of(&changed.chain(quiet).map(|one| bordered(one, BORDER)).collect::<Vec<Series>>())
    };
    let all: Vec<EventKind> = (0..60).flat_map(history).map(|draft| draft.kind).collect();
    [EventKind::Environment, EventKind::Change, EventKind::Drift]
        .map(|kind| all.iter().filter(|one| **one == kind).count())
}

#[test]
fn what_a_new_environment_brings_is_no_commits_fault() {
    for (changes, found) in [
        (&[(BORDER, 0.015)][..], 54),
        (&[(BORDER, 0.02)], 58),
        (&[(BORDER, 0.03)], 60),
        (&[(BORDER, 0.02), (BORDER, -0.02), (BORDER, 0.015)], 60),
    ] {
        let [environment, commit, drift] = kinds(changes);
        assert!(environment >= found && commit + drift <= 4, "{changes:?}: {environment}, {commit}, {drift}");
    }
}

#[test]
fn what_a_commit_brings_beside_a_new_environment_stays_its_fault() {
    for change in [(90, 0.03), (90, 0.05), (104, 0.05), (98, 0.1)] {
        let [environment, commit, drift] = kinds(&[change]);
        assert!(environment == 0 && commit >= 59 && drift <= 1, "{change:?}: {environment}, {commit}, {drift}");
    }
    // Both side by side stay two.
    let [environment, commit, drift] = kinds(&[(90, 0.05), (BORDER, 0.02), (BORDER, -0.02)]);
    assert!(environment == 60 && commit == 60 && drift <= 1, "{environment}, {commit}, {drift}");
}

#[test]
fn a_step_at_a_border_within_a_climb_is_told_without_the_climb() {
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
        let axes = axes(&series, &line(160));
        let of = |one| SeriesChanges::of(one, Arc::clone(&axes[MACHINE]), true, setting(), &[]);
        let all: Vec<SeriesChanges<'_>> = series.iter().map(of).collect();
        for found in all.iter().filter(|found| !found.changes.drifts.is_empty()) {
            climbed += found.changes.points.len();
            changed += found.changes.points.iter().filter(|one| one.relative() > 0.08).count();
            near += found.changes.points.iter().filter(|one| (0.04..0.08).contains(&one.relative())).count();
        }
        blamed += drafts(&all).iter().filter(|draft| draft.kind == EventKind::Change).count();
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
        drafts_of(&[series])
    };
    let all: Vec<EventKind> = (0..60).flat_map(history).map(|draft| draft.kind).collect();
    let environment = all.iter().filter(|kind| **kind == EventKind::Environment).count();
    assert!(environment >= 59 && all.len() - environment <= 2, "{environment} of {}", all.len());
}
