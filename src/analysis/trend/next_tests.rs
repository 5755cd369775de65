//! What to measure next.

use super::example::{MACHINE, elsewhere, noisy, sha};
use super::tests::{events, shape};
use sprag_model::series::Series;

const OTHER: &str = "00000000000000b2";

#[test]
fn commits_between_are_named_and_the_next_one_to_measure() {
    let series = vec![noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 3)];
    let found = events(series);
    assert_eq!(shape(&found[0]).3, (121..=128).collect::<Vec<_>>());
    let next = found[0].next.as_ref().expect("there is something to measure");
    assert_eq!((next.commit.sha.as_str(), next.runs), (sha(124).as_str(), 1));
    assert!((3.9..4.2).contains(&next.left), "{next:?}");
    let expected =
        ["sprag", "run", "--commit", &sha(124)[..12], "--suite", "cpu", "--filter", "cpu/slow @fast", "--record"];
    assert_eq!(next.command, expected);
    assert!(found[0].suspects.iter().all(|one| one.measured == (one.commit.sha == sha(128))));
}

#[test]
fn what_is_measured_next_is_told_of_the_machine_where_it_tells_most() {
    // Two machines see it, one of them three deviations of its noise apart and the other twenty.
    let little = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.03)], 3);
    let much = noisy("slow", 240, 8, &[(0, 1.0), (121, 1.2)], 4);
    let next = |series: Vec<Series>| {
        let found = events(series);
        let next = found[0].next.clone().expect("there is something to measure");
        (found.len(), found[0].machines.len(), next)
    };
    let (_, _, alone) = next(vec![little.clone()]);
    assert!(alone.machine.id == MACHINE && alone.runs > 1 && alone.left > 4.2, "{alone:?}");
    for (weak, clear, best) in [(MACHINE, OTHER, OTHER), (OTHER, MACHINE, MACHINE)] {
        let (count, machines, next) = next(vec![elsewhere(little.clone(), weak), elsewhere(much.clone(), clear)]);
        assert_eq!((count, machines, next.machine.id.as_str(), next.runs), (1, 2, best, 1));
        assert!((3.9..4.1).contains(&next.left), "{next:?}");
    }
    // What the other machine sees makes no run of this one tell more.
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
    // What can be built is, and tells enough.
    let both = step(vec![gpu, named("cpu", "other", 4)]);
    assert!(both.0.contains("--commit") && !both.0.contains("gpu") && !both.1, "{both:?}");
    // A suite that is gone from the settings.
    assert_eq!(step(vec![named("gone", "slow", 3)]), (String::new(), false));
}
