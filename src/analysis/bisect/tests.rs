//! Bisections of simulated histories: how often they are right, what they cost, and what else they see.

use super::choice::Costs;
use super::posterior::Posterior;
use super::question::{Ends, Session, judge};
use super::search::{Finding, Group, Search};
use super::simulation::{History, Trial, bisect};

const PAIRS: usize = 4;

/// A history whose step is so many deviations of a measurement.
fn history(suspects: usize, deviations: f64, broken: f64, seed: u64) -> History {
    let factor: f64 = 1.05;
    let unit = History::new(1, &[], 1.0, 0).deviation(PAIRS);
    History::random(suspects, factor, factor.ln() / unit / deviations, broken, seed)
}

#[test]
fn culprits_are_right_as_often_as_their_probability_says() {
    for (suspects, deviations, broken, runs, measurements) in
        [(16, 3.0, 0.0, 40, 9), (64, 4.0, 0.1, 40, 9), (256, 8.0, 0.1, 20, 9), (1024, 20.0, 0.1, 8, 11)]
    {
        let trials: Vec<Trial> = (0..runs)
            .map(|seed| bisect(&mut history(suspects, deviations, broken, seed), PAIRS, 0.95, 200))
            .filter(|trial| matches!(trial.finding, Some(Finding::Culprit(_))))
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

/// Bisects a quiet history.
fn quiet(suspects: usize, steps: &[(usize, f64)]) -> Option<Finding> {
    bisect(&mut History::new(suspects, steps, 0.004, 9), PAIRS, 0.95, 200).finding
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
            Some(Finding::Two([first, second], between)) => {
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
    assert!(matches!(quiet(32, &drift), Some(Finding::Drift(_))), "{:?}", quiet(32, &drift));
    let many: Vec<(usize, f64)> = [3, 9, 17, 25].map(|suspect| (suspect, 1.05)).into();
    let result = quiet(32, &many);
    assert!(matches!(result, Some(Finding::Other(_) | Finding::Drift(_) | Finding::Open)), "{result:?}");
}

#[test]
fn equal_ends_have_no_culprit() {
    let wrong = (0..100).filter(|seed| {
        let mut history = History::new(16, &[], 0.01, *seed);
        history.build_noise = 0.0;
        bisect(&mut history, PAIRS, 0.95, 100).finding.is_some()
    });
    let wrong = wrong.count();
    assert!(wrong <= 4, "{wrong} of 100");
}

fn search(levels: &[(usize, f64)], skipped: &[usize], prior: Vec<f64>) -> (Search, Posterior) {
    noisy_search(0.01, levels, skipped, prior)
}

fn noisy_search(noise: f64, levels: &[(usize, f64)], skipped: &[usize], prior: Vec<f64>) -> (Search, Posterior) {
    let mut random = History::new(1, &[(1, 1.1)], noise, 4);
    let mut session = |commit: usize| -> Session { [("one".to_owned(), random.session(commit, PAIRS))].into() };
    let sessions: Vec<Session> = (0..8).map(|_| session(1)).collect();
    let Ends::Differ(question) = judge(&sessions, 0.0) else { panic!("the ends differ") };
    let mut search = Search::new(question, prior);
    for (commit, level) in levels {
        let session: Session = [("one".to_owned(), vec![level * 1.1_f64.ln(); PAIRS])].into();
        search.measured.insert(*commit, vec![search.question.observation(&session).expect("it was measured")]);
    }
    search.skipped.extend(skipped);
    let posterior = search.posterior();
    (search, posterior)
}

#[test]
fn suspects_that_nothing_tells_apart_share_their_probability() {
    let (result, posterior) = search(&[(3, 0.0), (6, 1.0)], &[4, 5], vec![1.0; 16]);
    let Finding::Culprit(group) = result.finding(&posterior, 0.9) else { panic!("{posterior:?}") };
    assert_eq!((group.first, group.last), (4, 6));
    assert!((posterior.suspects.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!((posterior.suspects[3] - posterior.suspects[5]).abs() < 1e-9 && posterior.suspects[3] > 0.3);
    // Where one of them can be measured, they are not one group.
    let (result, posterior) = search(&[(3, 0.0), (6, 1.0)], &[4], vec![1.0; 16]);
    assert_eq!(result.finding(&posterior, 0.9), Finding::Open);
}

#[test]
fn the_prior_and_the_cost_of_builds_decide_what_is_measured_next() {
    let next = |prior: Vec<f64>, built: &[usize]| {
        let (search, posterior) = noisy_search(0.04, &[], &[], prior);
        let costs = Costs {
            pairs: &[2, 8],
            cost: &|commit, pairs| pairs as f64 + if built.contains(&commit) { 0.0 } else { 60.0 },
            is_skipped: &|_| false,
            is_built: &|commit| built.contains(&commit),
        };
        search.next(&posterior, &costs).expect("there is something to measure")
    };
    let even = next(vec![1.0; 16], &[]);
    assert_eq!((even.commit, even.pairs), (8, 8), "a long build is worth many pairs");
    assert!(even.bits > 0.6, "{even:?}");
    let skewed: Vec<f64> = (1..=16).map(|suspect| if suspect == 13 { 100.0 } else { 1.0 }).collect();
    assert!([12, 13].contains(&next(skewed, &[]).commit));
    let built = next(vec![1.0; 16], &[5]);
    assert_eq!((built.commit, built.pairs), (5, 2), "a commit that is built is cheap");
}

#[test]
fn a_weak_answer_is_asked_for_once_more() {
    let (search, posterior) = search(&[(7, 0.0), (8, 0.55), (9, 1.0)], &[], vec![1.0; 16]);
    let costs = Costs { pairs: &[PAIRS], cost: &|_, _| 1.0, is_skipped: &|_| false, is_built: &|_| false };
    assert_eq!(search.next(&posterior, &costs).map(|choice| choice.commit), Some(8));
    let best: Group =
        search.groups(&posterior).into_iter().max_by(|a, b| a.probability.total_cmp(&b.probability)).expect("suspects");
    assert!((8..=9).contains(&best.first) && best.probability < 0.95, "{best:?}");
}

#[test]
fn jobs_that_share_a_bisection_measure_other_commits() {
    let costs = Costs { pairs: &[PAIRS], cost: &|_, _| 1.0, is_skipped: &|_| false, is_built: &|_| false };
    let chosen = |levels: &[(usize, f64)], jobs: u32| -> Vec<usize> {
        let (search, posterior) = search(levels, &[], vec![1.0; 16]);
        (1..=jobs).filter_map(|job| search.next_of(&posterior, &costs, job)).map(|choice| choice.commit).collect()
    };
    let mut four = chosen(&[], 4);
    assert_eq!(four[0], 8);
    four.sort_unstable();
    assert!(four.windows(2).all(|pair| pair[1] >= pair[0] + 2) && four[0] <= 4 && four[3] >= 12, "{four:?}");
    // One commit is left to be measured.
    assert_eq!(chosen(&[(4, 0.0), (6, 1.0)], 2)[0], 5);
}
