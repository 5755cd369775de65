//! The rule `interval`: an effect with its interval, compared with a tolerance.
//!
//! The effect is the ratio of current over base, on a logarithmic scale. With the tolerance `t` it may lie between
//! `1 / (1 + t)` and `1 + t`, limits that are as far from one. The whole interval beyond the worse limit is a regression,
//! beyond the better one an improvement, inside both no change; any other interval decides nothing. (Schuirmann, "A comparison
//! of the two one-sided tests procedure and the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987,
//! for the way of proving equality.)
//!
//! What is replicated is never the sample. Where both sides ran together, it is the pair of processes that took turns, and
//! the effect is the trimmed mean of their logarithmic ratios ([`pair_ratio::centre`]). Where one side is stored, the machine has moved
//! meanwhile, and processes say nothing about that: the effect is the difference of two levels, and its error is how much
//! the level of this series moved from session to session before (`deviation * sqrt(1/n + 1/m)`, the prediction interval of
//! a normal mean with Student's t; Hahn and Meeker, "Statistical Intervals", 1991, chapter 4). Where that is only assumed, what
//! lies within the tolerance passes though its interval does not, up to [`LARGEST_ASSUMED_TOLERANCE`], if that interval
//! reaches no further than [`WIDEST`] and, from 7 % on, processes do not show a change either: a guess shows what is
//! large and certain, and cannot prove that nothing changed.

use super::power::POWER;
use super::remedy::Remedy;
use crate::session_noise::LARGEST_ASSUMED_TOLERANCE;
use sprag_base::number::short_percent;
use sprag_base::stats::centre::Centre;
use sprag_base::stats::{pair_ratio, student};
use sprag_model::evidence::Decision;
use sprag_model::{Better, Effect, SessionNoise, Side, TwoSides, Verdict};

pub use sprag_base::stats::pair_ratio::FEWEST_PAIRS;
pub use sprag_model::paired::CONFIDENCE;

/// How much a kernel may move: below that, a change of layout cannot be distinguished from one of work.
pub const TOLERANCE: f64 = 0.02;

/// What a reader must know where the noise is assumed.
const ASSUMED: &str =
    "not enough history to know its noise, so it is assumed; re-take the baseline after three sessions";

const APART_WORDS: &str = "within the assumed tolerance, but the processes of both runs differ by more than chance";

/// How far an interval of assumed noise may reach for anything to pass: a wider one may hide a slowdown by half.
pub const WIDEST: f64 = 0.5;

/// From here on nothing passes by an assumed tolerance if processes, too, show it. Without it, a change by a tenth passed on half
/// of the first days with a short command; `docs/FIGURES.md` has the rates with it.
const APART: f64 = 0.07;

/// The digits that a baseline does not keep: it is compared with the very run that it was taken from.
const SAME: f64 = 1e-8;

/// More runs than this are not suggested: the interval ends too near the limit.
const MOST_MORE: usize = 1000;

/// What is known of the effect, turned so that positive is worse.
struct Estimate {
    value: f64,
    error: f64,
    freedom: f64,
}

/// Judges a metric by what is known of both sides.
pub fn decide(tolerance: f64, evidence: &TwoSides) -> Decision {
    let sign = sign(evidence.better);
    let estimate = match estimate(evidence) {
        Ok(estimate) => estimate,
        Err(reason) => return undecided(tolerance, evidence, reason),
    };
    let limit = tolerance.ln_1p();
    let reach = student::two_sided(CONFIDENCE, estimate.freedom) * estimate.error;
    let (low, high) = (estimate.value - reach, estimate.value + reach);
    let plain = |logarithm: f64| (sign * logarithm).exp_m1();
    let ends = (plain(low), plain(high));
    let seen = limit + reach + quantile(POWER, estimate.freedom) * estimate.error;
    let effect = Effect {
        change: plain(estimate.value),
        interval: Some((ends.0.min(ends.1), ends.0.max(ends.1))),
        detectable: Some(plain(seen).abs()),
    };
    let is_near = estimate.value <= limit.min(LARGEST_ASSUMED_TOLERANCE.ln_1p());
    let is_narrow = reach <= WIDEST.ln_1p() || estimate.value.abs() < SAME;
    let passes = assumed(evidence).is_some() && is_near && is_narrow && !is_apart(evidence, &estimate);
    let verdict = if low > limit {
        Verdict::Regressed
    } else if high < -limit {
        Verdict::Improved
    } else if passes || low >= -limit && high <= limit {
        Verdict::Unchanged
    } else {
        Verdict::Inconclusive(doubt(tolerance, evidence, &estimate, 1.0 - (1.0 - CONFIDENCE) / 2.0))
    };
    Decision {
        allowed: Some(allowed(tolerance, evidence)),
        effect,
        verdict,
        p_value: Some(tail(&estimate, estimate.value.abs() - limit)),
        note: assumed(evidence).map(|_| ASSUMED.to_owned()),
    }
}

/// Whether a change within an assumed tolerance is large, and the medians of both runs differ beyond their intervals.
fn is_apart(evidence: &TwoSides, estimate: &Estimate) -> bool {
    let (Some(base), Some(current)) = (evidence.base.interval, evidence.current.interval) else { return false };
    let is_worse = match evidence.better {
        Better::Lower => current.0 > base.1,
        Better::Higher => current.1 < base.0,
    };
    is_worse && estimate.value > APART.ln_1p()
}

/// The noise of a stored base that too few sessions show.
fn assumed(evidence: &TwoSides) -> Option<SessionNoise> {
    evidence.session_noise.filter(|one| one.sessions == 0 && evidence.ratios.is_empty())
}

/// Why a change beyond the tolerance is in doubt where `judged` metrics share the false alarms. `level` is the chance of each.
pub fn doubt_of_many(tolerance: f64, evidence: &TwoSides, judged: usize, level: f64) -> String {
    let chance = format!("of {judged} metrics judged together, one may differ this much by chance");
    match estimate(evidence) {
        Ok(estimate) => format!("{chance}; {}", advice(tolerance, evidence, &estimate, 1.0 - level)),
        Err(reason) => reason,
    }
}

/// The worst value that is treated as unchanged.
fn allowed(tolerance: f64, evidence: &TwoSides) -> f64 {
    match evidence.better {
        Better::Lower => evidence.base.value * (1.0 + tolerance),
        Better::Higher => evidence.base.value / (1.0 + tolerance),
    }
}

fn sign(better: Better) -> f64 {
    match better {
        Better::Lower => 1.0,
        Better::Higher => -1.0,
    }
}

/// The estimate of the effect, or why there is none.
fn estimate(evidence: &TwoSides) -> Result<Estimate, String> {
    let sign = sign(evidence.better);
    let refuse = |value: f64, what: &str| Err(format!("{what} is {value}, so there is no ratio to it"));
    for (side, what) in [(&evidence.base, "the baseline"), (&evidence.current, "the current value")] {
        if !(side.value.is_finite() && side.value > 0.0) {
            return refuse(side.value, what);
        }
    }
    if !evidence.ratios.is_empty() {
        if evidence.ratios.iter().any(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
            return Err("a pair of processes gave no ratio above zero".to_owned());
        }
        return match pair_ratio::centre(&evidence.ratios) {
            Some(Centre { value, error, freedom, .. }) => Ok(Estimate { value: sign * value, error, freedom }),
            None => {
                Err(format!("{} of the {FEWEST_PAIRS} process pairs that an interval needs", evidence.ratios.len()))
            }
        };
    }
    let Some(noise) = evidence.session_noise else {
        return Err("its noise between sessions is unknown".to_owned());
    };
    if evidence.shares_memory && noise.sessions == 0 {
        let why = "it depends on memory that other programs share, and too few sessions show how noisy that is";
        return Err(Remedy::TurnsAlone.after(why));
    }
    let [base, current] = [&evidence.base, &evidence.current].map(sessions);
    Ok(Estimate {
        value: sign * (evidence.current.value / evidence.base.value).ln(),
        error: noise.deviation * (1.0 / base + 1.0 / current).sqrt(),
        freedom: noise.freedom,
    })
}

fn sessions(side: &Side) -> f64 {
    side.sessions.max(1) as f64
}

/// The chance that the effect lies `distance` or more from the truth on one side.
fn tail(estimate: &Estimate, distance: f64) -> f64 {
    if estimate.error == 0.0 {
        return if distance > 0.0 { 0.0 } else { 1.0 };
    }
    student::sf(distance / estimate.error, estimate.freedom).unwrap_or(1.0)
}

fn quantile(p: f64, freedom: f64) -> f64 {
    // Without degrees of freedom the interval has no limits, whatever the spread.
    student::quantile(p, freedom).unwrap_or(f64::INFINITY)
}

fn doubt(tolerance: f64, evidence: &TwoSides, estimate: &Estimate, p: f64) -> String {
    let limits = match assumed(evidence) {
        Some(_) if estimate.value <= tolerance.ln_1p() && estimate.value >= -tolerance.ln_1p() => {
            let is_apart = is_apart(evidence, estimate);
            let reason =
                if is_apart { APART_WORDS } else { "the interval is so wide that a slowdown by half would be hidden" };
            reason.to_owned()
        }
        _ => {
            format!("the {} interval crosses the tolerance of {}", short_percent(CONFIDENCE), short_percent(tolerance))
        }
    };
    format!("{limits}; {}", advice(tolerance, evidence, estimate, p))
}

/// How many more runs would decide it: the least number with which the interval, around the same effect, keeps clear of
/// the nearest limit.
fn advice(tolerance: f64, evidence: &TwoSides, estimate: &Estimate, p: f64) -> String {
    // Runs would not show how noisy the base was.
    if assumed(evidence).is_some() {
        return Remedy::TurnsAlone.words();
    }
    let limit = tolerance.ln_1p();
    let distance = (estimate.value - limit).abs().min((estimate.value + limit).abs());
    let is_paired = !evidence.ratios.is_empty();
    let stored = evidence.session_noise.filter(|_| !is_paired).map(|noise| quantile(p, noise.freedom));
    let reach = |more: usize| match (is_paired, pair_ratio::centre(&evidence.ratios), evidence.session_noise) {
        (true, Some(centre), _) => {
            let (error, freedom) = centre.with(centre.count + more);
            quantile(p, freedom) * error
        }
        (false, _, Some(noise)) => {
            let [base, current] = [&evidence.base, &evidence.current].map(sessions);
            let error = noise.deviation * (1.0 / base + 1.0 / (current + more as f64)).sqrt();
            stored.unwrap_or(f64::INFINITY) * error
        }
        _ => f64::INFINITY,
    };
    let useful = useful(evidence);
    // Each of them narrows the interval further, so the first that does enough is found by halving.
    match useful.get(useful.partition_point(|more| reach(*more) >= distance)) {
        Some(more) if is_paired => Remedy::Pairs(*more).words(),
        Some(more) => Remedy::Runs(*more).words(),
        None if is_paired => "more processes are unlikely to help".to_owned(),
        None => Remedy::Turns.words(),
    }
}

/// The numbers of further runs that narrow the interval: one pair more may drop one more at either end, which widens it.
fn useful(evidence: &TwoSides) -> Vec<usize> {
    let Some(centre) = pair_ratio::centre(&evidence.ratios) else { return (1..=MOST_MORE).collect() };
    let mut most = 0.0;
    let mut narrows = |more: &usize| {
        let (_, freedom) = centre.with(centre.count + more);
        let narrows = freedom > most;
        most = freedom.max(most);
        narrows
    };
    (1..=MOST_MORE).filter(|more| narrows(more)).collect()
}

fn undecided(tolerance: f64, evidence: &TwoSides, reason: String) -> Decision {
    let change = evidence.current.value / evidence.base.value - 1.0;
    Decision {
        allowed: Some(allowed(tolerance, evidence)).filter(|value| value.is_finite()),
        effect: Effect { change: if change.is_finite() { change } else { 0.0 }, interval: None, detectable: None },
        verdict: Verdict::Inconclusive(reason),
        p_value: None,
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64], better: Better) -> TwoSides {
        TwoSides { ratios: ratios.to_vec(), ..TwoSides::new(better, Side::once(1.0), Side::once(1.0)) }
    }

    fn stored(base: (f64, usize), current: (f64, usize), deviation: f64, freedom: f64, sessions: usize) -> TwoSides {
        let side = |(value, sessions): (f64, usize)| Side { sessions, ..Side::once(value) };
        TwoSides {
            session_noise: Some(SessionNoise { deviation, freedom, sessions }),
            ..TwoSides::new(Better::Lower, side(base), side(current))
        }
    }

    fn reason(decision: &Decision) -> &str {
        decision.verdict.reason().unwrap_or_else(|| panic!("{decision:?} is not in doubt"))
    }

    #[test]
    fn all_of_the_interval_over_pairs_decides() {
        let around = |middle: f64, spread: f64| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|step| middle + step * spread);
        let check = |ratios: [f64; 5], better, expected: Verdict| {
            assert_eq!(decide(TOLERANCE, &pairs(&ratios, better)).verdict, expected, "{ratios:?}");
        };
        check(around(1.0, 0.003), Better::Lower, Verdict::Unchanged);
        check(around(1.012, 0.003), Better::Lower, Verdict::Unchanged);
        check(around(1.03, 0.003), Better::Lower, Verdict::Regressed);
        check(around(0.97, 0.003), Better::Lower, Verdict::Improved);
        check(around(1.03, 0.003), Better::Higher, Verdict::Improved);
        check(around(0.97, 0.003), Better::Higher, Verdict::Regressed);
        check([1.03; 5], Better::Lower, Verdict::Regressed);
        check([1.0; 5], Better::Lower, Verdict::Unchanged);
    }

    #[test]
    fn by_an_assumed_tolerance_nothing_large_passes_that_processes_show() {
        let verdict = |current: (f64, f64, f64)| {
            let mut evidence = stored((1.0, 1), (current.0, 1), 0.03, 8.0, 0);
            evidence.base.interval = Some((0.98, 1.02));
            evidence.current.interval = Some((current.1, current.2));
            decide(0.1, &evidence)
        };
        assert!(reason(&verdict((1.08, 1.05, 1.1))).starts_with(APART_WORDS));
        assert_eq!(verdict((1.08, 1.0, 1.1)).verdict, Verdict::Unchanged);
        assert_eq!(verdict((1.06, 1.05, 1.1)).verdict, Verdict::Unchanged);
        assert_eq!(verdict((0.92, 0.9, 0.95)).verdict, Verdict::Unchanged);
    }

    #[test]
    fn doubt_says_why_and_what_would_settle_it() {
        let ratios = [1.01, 1.02, 1.03, 1.04, 1.05];
        let decision = decide(TOLERANCE, &pairs(&ratios, Better::Lower));
        let expected = "the 98 % interval crosses the tolerance of 2 %; about 14 more process pairs would decide it";
        assert_eq!(reason(&decision), expected);
        let few = decide(TOLERANCE, &pairs(&[1.5, 1.5], Better::Lower));
        assert_eq!(reason(&few), "2 of the 3 process pairs that an interval needs");
        let never = decide(TOLERANCE, &pairs(&[0.5, 1.0, 2.1], Better::Lower));
        assert!(reason(&never).ends_with("more processes are unlikely to help"), "{never:?}");
    }

    #[test]
    fn a_stored_level_is_judged_by_the_session_noise_of_its_series() {
        // Student's t at 99 % with seven degrees of freedom is 2.998.
        let check = |change: f64, deviation: f64, expected: &str| {
            let evidence = stored((1.0, 8), (1.0 + change, 1), deviation, 7.0, 8);
            assert_eq!(decide(TOLERANCE, &evidence).verdict.word(), expected, "{change} {deviation}");
        };
        check(0.0, 0.005, "unchanged");
        check(0.0, 0.01, "inconclusive");
        check(0.05, 0.005, "regressed");
        check(0.05, 0.01, "inconclusive");
        check(0.06, 0.01, "regressed");
        check(-0.06, 0.01, "improved");
        let decision = decide(0.0, &stored((2.0, 8), (2.1, 1), 0.01, 7.0, 8));
        let (low, high) = decision.effect.interval.expect("there is one");
        let reach = 2.997_95 * 0.01 * (1.0_f64 + 1.0 / 8.0).sqrt();
        assert!((low - ((1.05_f64.ln() - reach).exp() - 1.0)).abs() < 1e-6, "{low}");
        assert!((high - ((1.05_f64.ln() + reach).exp() - 1.0)).abs() < 1e-6, "{high}");
        assert_eq!((decision.allowed, decision.effect.detectable.is_some_and(|size| size > reach)), (Some(2.0), true));
    }

    #[test]
    fn assumed_noise_shows_what_is_large_and_lets_pass_what_is_within_the_tolerance() {
        // Student's t at 99 % with eight degrees of freedom is 2.896, and the root of two sessions 1.414.
        let check = |change: f64, deviation: f64, tolerance: f64, expected: &str| {
            let decision = decide(tolerance, &stored((1.0, 1), (1.0 + change, 1), deviation, 8.0, 0));
            assert_eq!(decision.verdict.word(), expected, "{change} {deviation} {tolerance}: {decision:?}");
            decision
        };
        check(0.03, 0.01, 0.04, "unchanged");
        let doubtful = check(0.05, 0.01, 0.04, "inconclusive");
        assert!(reason(&doubtful).ends_with("compare both builds in turns: `sprag compare A B --measure`"));
        assert_eq!(doubtful.note.as_deref(), Some(ASSUMED));
        check(0.1, 0.01, 0.04, "regressed");
        check(0.5, 0.04, 0.1, "regressed");
        // A possible improvement passes, and a certain one is named.
        check(-0.06, 0.01, 0.04, "unchanged");
        check(-0.2, 0.01, 0.04, "improved");
        // Older baselines tolerate half as much more, which none of them means.
        check(0.09, 0.05, 0.5, "unchanged");
        check(0.3, 0.05, 0.5, "inconclusive");
        // On a machine this noisy a slowdown by half may be hidden.
        check(0.05, 0.1, 0.1, "inconclusive");
    }

    #[test]
    fn more_runs_of_a_commit_settle_what_one_cannot() {
        let once = decide(TOLERANCE, &stored((1.0, 8), (1.045, 1), 0.01, 7.0, 8));
        assert!(reason(&once).contains("about 1 more run of this commit"), "{once:?}");
        let twice = decide(TOLERANCE, &stored((1.0, 8), (1.045, 2), 0.01, 7.0, 8));
        assert_eq!(twice.verdict, Verdict::Regressed);
        let never = decide(TOLERANCE, &stored((1.0, 1), (1.03, 1), 0.05, 7.0, 8));
        assert!(reason(&never).contains("compare both builds in turns"), "{never:?}");
    }

    #[test]
    fn what_cannot_be_judged_never_passes() {
        let zero = decide(TOLERANCE, &stored((0.0, 1), (1.0, 1), 0.01, 7.0, 8));
        assert_eq!(reason(&zero), "the baseline is 0, so there is no ratio to it");
        let nan = decide(TOLERANCE, &stored((1.0, 1), (f64::NAN, 1), 0.01, 7.0, 8));
        assert!(reason(&nan).contains("the current value is NaN"));
        let mut memory = stored((1.0, 1), (1.0, 1), 0.1, 4.0, 0);
        memory.shares_memory = true;
        assert!(reason(&decide(TOLERANCE, &memory)).contains("memory that other programs share"));
        memory.session_noise = Some(SessionNoise { deviation: 0.001, freedom: 7.0, sessions: 8 });
        assert_eq!(decide(TOLERANCE, &memory).verdict, Verdict::Unchanged);
        memory.session_noise = None;
        assert!(reason(&decide(TOLERANCE, &memory)).contains("is unknown"));
        let broken = decide(TOLERANCE, &pairs(&[1.0, f64::INFINITY, 1.0], Better::Lower));
        assert!(reason(&broken).contains("no ratio above zero"));
    }

    #[test]
    fn the_chance_is_one_sided_and_beyond_the_tolerance() {
        let p =
            |change: f64| decide(0.0, &stored((1.0, 8), (1.0 + change, 1), 0.01, 7.0, 8)).p_value.expect("a chance");
        assert!((p(0.0) - 0.5).abs() < 1e-12);
        assert!(p(0.05) < 0.002 && p(-0.05) < 0.002);
        let exact = decide(0.0, &stored((1.0, 8), (1.01, 1), 0.0, 7.0, 8));
        assert_eq!((exact.p_value, exact.verdict), (Some(0.0), Verdict::Regressed));
    }
}
