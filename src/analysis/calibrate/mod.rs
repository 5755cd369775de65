//! How often the rules of a gate are wrong on a given history: sessions replayed as a check would have judged them, and
//! sessions drawn from what the series themselves moved by.
//!
//! A replayed session is compared with the sessions before it in its environment, as `check --against history` does, or
//! with the last run alone. It differs from a check in two points, and both make it report more changes. A commit that
//! was measured again is judged as if it were a new one. And benchmarks limited by memory are judged also where a check
//! does not, because other machines share the hardware: a series does not record that.

mod visits;
mod replay;
mod resample;
mod reruns;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

pub use self::replay::Candidate;
use self::replay::{Judged, Replayed};
pub use self::reruns::reruns;
use self::resample::CHANGES;
use self::visits::{Between, Source, source};
use sprag_model::calibration::{Base, Calibration, Pairs, Resampled, RuleCalibration, SCHEMA_VERSION, Tally};
use sprag_model::{Choice, Policy, Rule, Series};

/// How many drawn sessions all series together get for one rule, base and change.
const TRIALS: usize = 2_000;

/// The fewest and the most that one series gets.
const TRIALS_A_SERIES: (usize, usize) = (20, 1_000);

/// Replays the series that a gate judges, and draws sessions from them; equal series and `seed` give equal counts.
pub fn calibrate(series: &[&Series], candidates: &[Candidate], seed: u64) -> Calibration {
    let sources: Vec<Source<'_>> = series.par_iter().map(|series| source(series)).collect();
    let resampled: Vec<&Source<'_>> =
        sources.iter().filter(|source| source.residuals.len() >= resample::NEEDED).collect();
    let more = sources.iter().map(|source| resample::NEEDED.saturating_sub(source.residuals.len())).max();
    let names = |name: fn(&Series) -> &str| -> Vec<String> {
        let names: BTreeSet<&str> = series.iter().map(|series| name(series)).collect();
        names.into_iter().map(str::to_owned).collect()
    };
    let rule = |(candidate, base): (&Candidate, Base)| rule(&sources, &resampled, base, candidate, seed);
    let bases = [Base::History, Base::Run];
    let all = bases.into_iter().flat_map(|base| candidates.iter().map(move |candidate| (candidate, base)));
    Calibration {
        schema_version: SCHEMA_VERSION,
        suites: names(|series| &series.suite),
        machines: names(|series| &series.machine_name),
        series: sources.len(),
        resampled_series: resampled.len(),
        more_sessions: more.filter(|more| *more > 0),
        pairs: sources.iter().fold(Pairs::default(), pairs),
        rules: all.map(rule).collect(),
    }
}

fn pairs(mut pairs: Pairs, source: &Source<'_>) -> Pairs {
    for visit in source.stays.iter().flat_map(|stay| &stay.visits) {
        match visit.between {
            Between::Nothing => {}
            Between::Rerun => pairs.reruns += 1,
            Between::Neighbour => pairs.neighbours += 1,
            Between::Step => pairs.steps += 1,
            Between::Unknown => pairs.unknown += 1,
        }
    }
    pairs
}

fn rule(
    sources: &[Source<'_>],
    resampled: &[&Source<'_>],
    base: Base,
    candidate: &Candidate,
    seed: u64,
) -> RuleCalibration {
    let mut result = RuleCalibration {
        rule: candidate.name.clone(),
        base,
        silent: silent(&candidate.policy),
        reruns: Tally::default(),
        neighbours: Tally::default(),
        checks: Tally::default(),
        resampled: Vec::new(),
    };
    if result.silent.is_some() {
        return result;
    }
    let replayed = replayed(sources, base, candidate);
    result.reruns = replayed.reruns.with_share();
    result.neighbours = replayed.neighbours.with_share();
    result.checks = replayed.checks.with_share();
    if !resampled.is_empty() {
        let (fewest, most) = TRIALS_A_SERIES;
        let trials = (TRIALS / resampled.len()).clamp(fewest, most);
        let drawn: Vec<[Tally; CHANGES.len()]> = resampled
            .par_iter()
            .enumerate()
            .map(|(place, source)| resample::judge(source, base, candidate, trials, seed ^ place as u64))
            .collect();
        let sum = |place: usize| drawn.iter().fold(Tally::default(), |sum, one| sum.plus(one[place])).with_share();
        let tallies = CHANGES.into_iter().enumerate();
        result.resampled = tallies.map(|(place, change)| Resampled { change, tally: sum(place) }).collect();
    }
    result
}

/// Why a history does not hold the data to judge by a policy; `None` where it does.
fn silent(policy: &Policy) -> Option<String> {
    let is_rank = matches!(policy.default, Choice::Fixed(Rule::Rank { .. })) && policy.exceptions.is_empty();
    is_rank.then(|| "it needs samples, which a history does not hold".to_owned())
}

/// The verdicts of all series, those of one suite on one machine counted together.
fn replayed(sources: &[Source<'_>], base: Base, candidate: &Candidate) -> Replayed {
    let judged: Vec<Vec<(&str, Judged)>> =
        sources.par_iter().map(|source| replay::judge(source, base, candidate)).collect();
    let mut groups: BTreeMap<(&str, &str), Vec<(&str, Judged)>> = BTreeMap::new();
    for (source, judged) in sources.iter().zip(judged) {
        groups.entry((&source.series.suite, &source.series.machine)).or_default().extend(judged);
    }
    groups.into_values().map(replay::count).fold(Replayed::default(), |sum, one| Replayed {
        reruns: sum.reruns.plus(one.reruns),
        neighbours: sum.neighbours.plus(one.neighbours),
        checks: sum.checks.plus(one.checks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::daily;
    use sprag_base::stats::random::SplitMix64;

    fn candidates() -> Vec<Candidate> {
        let fixed = |name: &str, rule: Rule| Candidate {
            name: name.to_owned(),
            policy: Policy { exceptions: Vec::new(), default: Choice::Fixed(rule) },
        };
        vec![
            fixed("interval", Rule::Interval { tolerance: 0.0 }),
            fixed("bands", Rule::Bands { fail: 0.05, warn: 0.02 }),
            fixed("rank", Rule::Rank { noise_threshold: 0.01, significance: 0.05, mad_multiplier: 3.0 }),
        ]
    }

    /// Series of two sessions a commit that move by that share from session to session.
    fn noisy(series: usize, sessions: u32, deviation: f64) -> Vec<Series> {
        let mut random = SplitMix64::new(11);
        let mut level = |session: u32| (session / 2, 1.0 + deviation * random.normal());
        (0..series)
            .map(|number| daily(&format!("x{number}"), &(0..sessions).map(&mut level).collect::<Vec<_>>()))
            .collect()
    }

    fn calibrated(series: &[Series]) -> Calibration {
        calibrate(&series.iter().collect::<Vec<_>>(), &candidates(), 1)
    }

    #[test]
    fn rates_are_those_of_the_rules() {
        let result = calibrated(&noisy(4, 120, 0.03));
        assert_eq!((result.series, result.resampled_series, result.more_sessions), (4, 4, None));
        assert_eq!(result.pairs.reruns, 4 * 60);
        assert_eq!(result.rules.len(), 6);
        let interval = &result.rules[0];
        assert!(interval.reruns.judged == 240 && interval.reruns.regressed <= 8, "{interval:?}");
        assert!(interval.neighbours.share.is_some_and(|share| share.value < 0.03), "{interval:?}");
        let [nothing, .., most] = &interval.resampled[..] else { panic!("{interval:?}") };
        assert!(nothing.tally.share.is_some_and(|share| share.value < 0.025), "{nothing:?}");
        assert!(most.tally.share.is_some_and(|share| share.value > 0.3), "{most:?}");
        // Single values that differ by 4.2 % lie beyond 5 % in one case of eight.
        let bands = &result.rules[4];
        assert_eq!((bands.rule.as_str(), bands.base), ("bands", Base::Run));
        assert!(bands.reruns.share.is_some_and(|share| (0.06..0.2).contains(&share.value)), "{bands:?}");
        assert!(bands.checks.share.is_some_and(|share| share.value > 0.25), "{bands:?}");
        assert!(result.rules[2].silent.is_some() && result.rules[2].reruns == Tally::default());
        assert_eq!(result, calibrated(&noisy(4, 120, 0.03)));
    }

    #[test]
    fn what_never_moves_raises_no_alarm() {
        let result = calibrated(&noisy(2, 40, 0.0));
        for rule in &result.rules {
            assert_eq!((rule.reruns.regressed, rule.neighbours.regressed, rule.checks.regressed), (0, 0, 0));
        }
        let power = result.rules[0].resampled[2].tally;
        assert_eq!(power.regressed, power.judged);
    }

    #[test]
    fn a_short_history_says_how_much_is_missing() {
        let result = calibrated(&noisy(1, 5, 0.01));
        assert_eq!((result.resampled_series, result.more_sessions), (0, Some(3)));
        assert!(result.rules[0].resampled.is_empty());
        let none = calibrated(&[]);
        assert_eq!((none.series, none.more_sessions, none.rules[0].checks), (0, None, Tally::default()));
    }
}
