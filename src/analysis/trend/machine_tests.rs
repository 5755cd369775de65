//! Who is blamed for what many benchmarks of one machine did: planted histories.

use super::example::{elsewhere, noisy};
use super::tests::events;
use sprag_model::event::{Direction, Event, EventKind};
use sprag_model::metric::Metric;
use sprag_model::sample::{CALIBRATION, Role};
use sprag_model::series::Series;

const OTHER: &str = "00000000000000b2";

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

/// The only event, and what it says of the machine.
fn only(series: Vec<Series>) -> (Event, String) {
    let mut found = events(series);
    assert_eq!(found.len(), 1, "{found:#?}");
    let event = found.remove(0);
    let signs = event.machine_signs.join(" ");
    (event, signs)
}

#[test]
fn metrics_of_one_benchmark_that_move_together_are_a_commits_doing() {
    for (benchmarks, changed) in [(1, 1), (4, 2), (8, 8), (8, 2)] {
        let of = |number: usize| {
            let (name, seed) = (format!("s{number}"), number as u64);
            let factor = if number < changed { 1.15 } else { 1.0 };
            let memory = moved(&name, Metric::peak_memory(), factor, 50 + seed);
            [moved(&name, Metric::ratio(), factor, seed), counted(&name, factor), memory]
        };
        let (event, signs) = only((0..benchmarks).flat_map(of).collect());
        assert_eq!((event.kind, event.members.len()), (EventKind::Change, 3 * changed), "{changed} of {benchmarks}");
        assert!(event.is_ongoing_regression() && !signs.contains("unlike"), "{changed} of {benchmarks}: {signs}");
    }
}

#[test]
fn what_moves_both_ways_with_nobody_else_to_see_it_keeps_its_commit_and_tells_the_doubt() {
    let (event, signs) = only(ratios(8, &[0.3, -0.1, -0.1]));
    assert_eq!((event.kind, event.direction), (EventKind::Change, Direction::Mixed));
    assert!(event.is_ongoing_regression());
    let doubt =
        "3 of 8 benchmarks of this machine moved together, in both directions, as when the machine moves, but no other";
    assert!(signs.starts_with(doubt), "{signs}");
    // Some in their times, others in their sizes.
    let unlike = ratios(3, &[0.1; 3])
        .into_iter()
        .chain((3..6).map(|number| moved(&format!("s{number}"), Metric::peak_memory(), 1.1, number)));
    let (event, signs) = only(unlike.collect());
    assert!(event.is_ongoing_regression() && signs.contains("in unlike quantities, as when the machine"), "{signs}");
    // Two of eight are not many, and time that is bought with memory is no sign of the machine.
    assert_eq!(only(ratios(8, &[0.3, -0.1])).1, "");
    let bargain = ratios(4, &[-0.1; 4]).into_iter().chain((0..4).map(|number| {
        let name = format!("s{number}");
        moved(&name, Metric::peak_memory(), 1.2, 70 + number)
    }));
    let (event, signs) = only(bargain.collect());
    assert!(event.is_ongoing_regression() && signs.ends_with("in the code or in the machine."), "{signs}");
}

#[test]
fn another_machine_that_stayed_and_controls_say_whose_doing_it_is() {
    let series = ratios(8, &[0.1, -0.1, -0.12]);
    let stayed: Vec<Series> = ratios(8, &[]).into_iter().map(|one| elsewhere(one, OTHER)).collect();
    let (event, signs) = only([series.clone(), stayed.clone()].concat());
    assert!(event.kind == EventKind::Environment && signs.ends_with("no other machine saw it."), "{signs}");
    // No machine moves what is counted.
    let (event, signs) = only([series.clone(), vec![counted("s0", 1.1)], stayed.clone()].concat());
    assert!(event.is_ongoing_regression() && signs.contains("exact values did, too"), "{signs}");
    // What kernels are held against stayed, unless it is too noisy to tell.
    let mut control = moved("control", Metric::ratio(), 1.0, 30);
    control.role = Role::Control;
    let (event, signs) = only([series.clone(), vec![control.clone()], stayed.clone()].concat());
    assert!(event.is_ongoing_regression() && signs.contains("control and calibration kernels stayed"), "{signs}");
    control.points.iter_mut().for_each(|point| point.value = point.value.powi(40));
    assert_eq!(only([series.clone(), vec![control.clone()], stayed].concat()).0.kind, EventKind::Environment);
    // That it moved is enough, whoever else was there.
    let mut calibration = moved("calibration", Metric::time(), 1.2, 31);
    calibration.variant = CALIBRATION.to_owned();
    let (event, signs) = only([series, vec![calibration]].concat());
    assert!(event.kind == EventKind::Environment && signs.contains("moved, too: cpu/calibration"), "{signs}");
}
