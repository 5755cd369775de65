//! Bisections of simulated histories: how often they are right, what they cost, and what else they see.

use super::choice::{Costs, Pending};
use super::cluster::{Cluster, Ruling};
use super::question::{Ends, Session, judge};
use super::search::Search;
use super::simulation::{Scenario, Trial, bisect};

const PAIRS: usize = 4;

/// A history whose step is so many deviations of a measurement.
fn history(suspects: usize, deviations: f64, broken: f64, seed: u64) -> Scenario {
    let factor: f64 = 1.05;
    let unit = Scenario::new(1, &[], 1.0, 0).deviation(PAIRS);
    Scenario::random(suspects, factor, factor.ln() / unit / deviations, broken, seed)
}

#[test]
fn culprits_are_right_as_often_as_their_probability_says() {
    for (suspects, deviations, broken, runs, measurements) in
        [(16, 3.0, 0.0, 40, 9), (64, 4.0, 0.1, 40, 9), (256, 8.0, 0.1, 20, 9), (1024, 20.0, 0.1, 8, 11)]
    {
        let trials: Vec<Trial> = (0..runs)
            .map(|seed| bisect(&mut history(suspects, deviations, broken, seed), PAIRS, 0.95, 200))
            .filter(|trial| matches!(trial.finding(), Some(Ruling::Culprit(_))))
            .collect();
        let count = trials.len() as f64;
        let claimed = trials.iter().map(|trial| trial.claim).sum::<f64>() / count;
        let right = trials.iter().filter(|trial| trial.is_right).count() as f64 / count;
        let mut taken: Vec<usize> = trials.iter().map(|trial| trial.measurements).collect();
        taken.sort_unstable();
        let words = format!("{suspects} {deviations}: {count} result, claimed {claimed}, right {right}, {taken:?}");
        assert!(count >= 0.95 * runs as f64 && right >= 0.95 && claimed - right < 0.02, "{words}");
        assert!(taken[taken.len() / 2] <= measurements, "{words}");
    }
}

fn quiet(suspects: usize, steps: &[(usize, f64)]) -> Option<Ruling> {
    bisect(&mut Scenario::new(suspects, steps, 0.004, 9), PAIRS, 0.95, 200).finding()
}

#[test]
fn two_culprits_are_both_named() {
    for (steps, level) in [
        ([(5, 1.05), (12, 1.05)], 0.5),
        ([(3, 1.02), (14, 1.08)], 0.2),
        ([(4, 1.2), (9, 1.0 / 1.1)], 2.0),
        ([(40, 1.0 / 1.05), (100, 1.15)], -0.5),
    ] {
        match quiet(if steps[1].0 > 16 { 128 } else { 16 }, &steps) {
            Some(Ruling::Two([first, second], between)) => {
                assert_eq!(
                    [first.first, first.last, second.first, second.last],
                    [steps[0].0, steps[0].0, steps[1].0, steps[1].0]
                );
                assert!((between - level).abs() < 0.25, "{steps:?} {between}");
            }
            // What is undone between two measured commits shows as one step.
            other => assert!(!(0.0..=1.0).contains(&level), "{steps:?} {other:?}"),
        }
    }
}

#[test]
fn no_commit_is_blamed_for_a_drift_or_for_many_steps() {
    let drift: Vec<(usize, f64)> = (1..=32).map(|suspect| (suspect, 1.005)).collect();
    assert!(matches!(quiet(32, &drift), Some(Ruling::Drift(_))), "{:?}", quiet(32, &drift));
    let many: Vec<(usize, f64)> = [3, 9, 17, 25].map(|suspect| (suspect, 1.05)).into();
    let result = quiet(32, &many);
    assert!(matches!(result, Some(Ruling::Other(_) | Ruling::Drift(_) | Ruling::Open)), "{result:?}");
}

#[test]
fn a_level_that_one_step_does_not_explain_is_checked_and_leaves_no_culprit() {
    let measured = |levels: &[(usize, f64)]| {
        let steps = [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14].map(|commit| (commit, if commit < 5 { 0.0 } else { 1.0 }));
        let all: Vec<(usize, f64)> = steps.into_iter().chain(levels.iter().copied()).collect();
        let result = only(&noisy_search(0.02, &all, &[], vec![1.0; 16]), 0.95);
        (result.finding, result.check)
    };
    assert!(matches!(measured(&[(9, 1.0)]), (Ruling::Culprit(_), None)));
    // One measurement may be disturbed, and is made again; three that agree are not.
    let (once, check) = measured(&[(9, 1.9)]);
    assert!(matches!(once, Ruling::Culprit(_)) && check == Some(9), "{once:?} {check:?}");
    let (several, _) = measured(&[(9, 1.8), (9, 1.9), (9, 1.8)]);
    assert!(matches!(several, Ruling::Other(_) | Ruling::Open), "{several:?}");
}

#[test]
fn equal_ends_have_no_culprit() {
    let wrong = (0..100).filter(|seed| {
        let mut history = Scenario::new(16, &[], 0.01, *seed);
        history.build_noise = 0.0;
        !bisect(&mut history, PAIRS, 0.95, 100).clusters.is_empty()
    });
    let wrong = wrong.count();
    assert!(wrong <= 4, "{wrong} of 100");
}

fn search(levels: &[(usize, f64)], skipped: &[usize], prior: Vec<f64>) -> Search {
    noisy_search(0.01, levels, skipped, prior)
}

fn noisy_search(noise: f64, levels: &[(usize, f64)], skipped: &[usize], prior: Vec<f64>) -> Search {
    let mut random = Scenario::new(1, &[(1, 1.1)], noise, 4);
    let sessions: Vec<Session> = (0..8).map(|_| random.session(1, PAIRS)).collect();
    let Ends::Differ(question) = judge(&sessions, 0.0) else { panic!("the ends differ") };
    let question = *question;
    let session = |level: f64| -> Session {
        question.steps.iter().map(|step| (step.benchmark.clone(), vec![level * 1.1_f64.ln(); PAIRS])).collect()
    };
    let answers = levels.iter().map(|(commit, level)| (*commit, session(*level))).collect();
    Search { answers, question, prior, skipped: skipped.iter().copied().collect() }
}

fn only(search: &Search, confidence: f64) -> Cluster {
    let mut clusters = search.clusters(confidence);
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    clusters.remove(0)
}

#[test]
fn suspects_that_nothing_tells_apart_share_their_probability() {
    let result = only(&search(&[(3, 0.0), (6, 1.0)], &[4, 5], vec![1.0; 16]), 0.9);
    let Ruling::Culprit(group) = result.finding else { panic!("{result:?}") };
    assert_eq!((group.first, group.last), (4, 6));
    let suspects = &result.posterior.suspects;
    assert!((suspects.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!((suspects[3] - suspects[5]).abs() < 1e-9 && suspects[3] > 0.3);
    // Where one of them can be measured, they are not one group.
    assert_eq!(only(&search(&[(3, 0.0), (6, 1.0)], &[4], vec![1.0; 16]), 0.9).finding, Ruling::Open);
}

#[test]
fn the_prior_and_the_cost_of_builds_decide_what_is_measured_next() {
    let next = |prior: Vec<f64>, built: &[usize]| {
        let search = noisy_search(0.04, &[], &[], prior);
        let costs = Costs {
            pairs: &[2, 8],
            cost: &|commit, pairs| pairs as f64 + if built.contains(&commit) { 0.0 } else { 60.0 },
            is_built: &|commit| built.contains(&commit),
        };
        search.next(&search.clusters(0.95), &costs, &[]).expect("there is something to measure")
    };
    let even = next(vec![1.0; 16], &[]);
    assert_eq!((even.commit, even.pairs), (8, 8), "a long build is worth many pairs");
    assert!(even.bits > 0.6, "{even:?}");
    let skewed: Vec<f64> = (1..=16).map(|suspect| if suspect == 13 { 100.0 } else { 1.0 }).collect();
    assert!([12, 13].contains(&next(skewed, &[]).commit));
    let built = next(vec![1.0; 16], &[5]);
    assert_eq!((built.commit, built.pairs), (5, 2), "a commit that is built is cheap");
}

/// What a job measures while others measure these commits.
fn next(search: &Search, others: &[usize]) -> Option<usize> {
    let costs = Costs { pairs: &[PAIRS], cost: &|_, _| 1.0, is_built: &|_| false };
    let pending: Vec<Pending> = others.iter().map(|commit| Pending { commit: *commit, pairs: PAIRS }).collect();
    search.next(&search.clusters(0.95), &costs, &pending).map(|choice| choice.commit)
}

#[test]
fn a_weak_answer_is_asked_for_once_more() {
    let search = search(&[(7, 0.0), (8, 0.55), (9, 1.0)], &[], vec![1.0; 16]);
    assert_eq!(next(&search, &[]), Some(8));
    let groups = only(&search, 0.95).groups();
    let best = groups.into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability)).expect("suspects");
    assert!((8..=9).contains(&best.first) && best.probability < 0.95, "{best:?}");
}

#[test]
fn jobs_that_share_a_bisection_measure_other_commits() {
    let chosen = |search: &Search, jobs: usize| {
        (0..jobs).fold(Vec::new(), |mut others, _| {
            others.extend(next(search, &others));
            others
        })
    };
    let mut four = chosen(&search(&[], &[], vec![1.0; 16]), 4);
    assert_eq!(four[0], 8);
    four.sort_unstable();
    assert!(four.windows(2).all(|pair| pair[1] >= pair[0] + 2) && four[0] <= 4 && four[3] >= 12, "{four:?}");
    // One commit is left to be measured, and others wait for its answer.
    let last = [(4, 0.0), (6, 1.0)];
    assert_eq!(chosen(&search(&last, &[], vec![1.0; 16]), 2), [5]);
}

/// Of each benchmark the place that a bisection of a quiet history names, and how many measurements it took.
fn named(suspects: usize, steps: &[&[(usize, f64)]]) -> (Vec<Vec<usize>>, usize) {
    let mut history = Scenario::new(suspects, &[], 0.01, 5);
    history.steps = steps.iter().map(|steps| steps.to_vec()).collect();
    let trial = bisect(&mut history, PAIRS, 0.95, 100);
    let places = |benchmark: usize| {
        let is_its = |cluster: &&Cluster| {
            cluster.question.steps.iter().any(|step| step.benchmark == format!("benchmark {benchmark}"))
        };
        let groups = trial.clusters.iter().filter(is_its).flat_map(|cluster| cluster.finding.groups());
        groups.map(|group| if group.first == group.last { group.first } else { 0 }).collect()
    };
    ((0..steps.len()).map(places).collect(), trial.measurements)
}

#[test]
fn benchmarks_that_moved_at_different_commits_have_their_own_culprits() {
    for (steps, most) in [
        (&[&[(4, 1.05)][..], &[(9, 1.05)]][..], 8),
        (&[&[(4, 0.95)], &[(9, 1.05)]], 8),
        (&[&[(4, 1.05)], &[(5, 1.2)]], 8),
        (&[&[(12, 1.1)], &[(12, 0.9)], &[(3, 1.05)]], 9),
        // Those that moved together are as quick as one.
        (&[&[(9, 1.05)], &[(9, 1.1)], &[(9, 0.9)], &[(9, 1.03)]], 5),
        // One that moved twice, and one that moved at the second of these commits alone.
        (&[&[(4, 1.05), (9, 1.05)], &[(9, 1.1)]], 10),
    ] {
        let (places, measurements) = named(16, steps);
        let expected: Vec<Vec<usize>> = steps.iter().map(|one| one.iter().map(|step| step.0).collect()).collect();
        assert_eq!(places, expected, "{steps:?}");
        assert!(measurements <= most, "{steps:?} took {measurements}");
    }
}

#[test]
fn many_noisy_benchmarks_are_as_good_as_a_clear_one() {
    let taken = |count: usize| {
        let trials = (0..5).map(|seed| {
            let mut history = history(64, 1.7, 0.0, seed);
            history.steps = vec![history.steps[0].clone(); count];
            let trial = bisect(&mut history, PAIRS, 0.95, 60);
            assert!(trial.is_right || trial.claim < 0.95, "{trial:?}");
            trial.measurements
        });
        let mut taken: Vec<usize> = trials.collect();
        taken.sort_unstable();
        taken[2]
    };
    let (one, many) = (taken(1), taken(8));
    assert!(4 * many <= 3 * one, "{many} of many and {one} of one");
}

#[test]
fn of_a_change_that_was_undone_and_made_once_more_the_last_commit_is_the_culprit() {
    for (suspects, steps) in [
        (15, [(4, 1.05), (8, 1.0 / 1.05), (13, 1.05)]),
        (14, [(4, 1.05), (9, 1.0 / 1.05), (13, 1.05)]),
        (30, [(10, 1.1), (20, 1.0 / 1.1), (28, 1.05)]),
    ] {
        let result = quiet(suspects, &steps);
        let Some(Ruling::Redone(culprit, undone)) = result else { panic!("{steps:?}: {result:?}") };
        assert_eq!((culprit.first, culprit.last), (steps[2].0, steps[2].0));
        for (group, (suspect, _)) in undone.iter().zip(steps) {
            assert!(group.contains(suspect) && group.last - group.first < suspects / 2, "{steps:?}: {undone:?}");
        }
    }
}

#[test]
fn one_good_level_among_bad_ones_is_measured_once_more() {
    for seed in [3, 7, 11] {
        let mut history = Scenario::random(64, 1.05, 0.01, 0.1, seed);
        history.steps = vec![vec![(10, 1.05), (31 + seed as usize, 1.0 / 1.05), (52, 1.05)]];
        let result = bisect(&mut history, PAIRS, 0.95, 100).finding();
        assert!(matches!(result, Some(Ruling::Redone(group, _)) if group.contains(52)), "{seed}: {result:?}");
    }
}

#[test]
fn the_size_of_a_change_comes_from_all_commits_on_both_sides() {
    let (mut covered, mut by_ends, mut all) = (0, 0, 0);
    for seed in 0..40 {
        let mut history = Scenario::new(64, &[(20 + seed as usize % 20, 1.05)], 0.01, seed);
        // Builds differ by more than sessions, which the two ends cannot show.
        history.build_noise = 0.01;
        let trial = bisect(&mut history, PAIRS, 0.95, 100);
        let ([cluster], true) = (trial.clusters.as_slice(), trial.is_right) else { continue };
        let (Ruling::Culprit(group), Some(search)) = (cluster.finding, &trial.search) else { continue };
        let step = &cluster.question.steps[0];
        all += 1;
        let effect = search.effect(step, group, &[]).expect("both sides were measured");
        covered += usize::from((effect.interval.0..effect.interval.1).contains(&0.05));
        by_ends += usize::from((step.change - 1.05_f64.ln()).abs() < 1.96 * step.error);
    }
    assert!(10 * covered >= 8 * all && 10 * by_ends <= 6 * all, "{covered} by all, {by_ends} by the ends, of {all}");
}

#[test]
fn smaller_changes_on_its_sides_do_not_add_to_the_size_of_a_change() {
    let (mut covered, mut near, mut all) = (0, 0, 0);
    for seed in 0..60 {
        let at = 26 + seed as usize % 12;
        let mut history = Scenario::new(64, &[(at - 12, 1.03), (at, 1.28), (at + 12, 1.03)], 0.01, seed);
        let trial = bisect(&mut history, PAIRS, 0.95, 100);
        let ([cluster], Some(search)) = (trial.clusters.as_slice(), &trial.search) else { continue };
        let Ruling::Culprit(group) = cluster.finding else { continue };
        let effect = search.effect(&cluster.question.steps[0], group, &[]).expect("both sides were measured");
        all += 1;
        covered += usize::from((effect.interval.0..effect.interval.1).contains(&0.28));
        near += usize::from((effect.change - 0.28).abs() < 0.02);
    }
    // With all commits of both sides, 37 of 60 intervals hold the truth, and 3 of 60 changes are as near to it.
    assert!(all == 60 && covered >= 50 && near >= 45, "{covered} covered and {near} near, of {all}");
}
