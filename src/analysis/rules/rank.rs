//! The rule `rank`: a rank test on samples, beyond a band of noise around the median of the base.
//!
//! With the medians `b` and `c` of base and current samples the change is `(c - b) / b`. The band is the larger of a
//! least change and so many median absolute deviations of the base over `b`. The deviations are those of single
//! samples, not scaled. A change beyond the band is one where also the two-sided rank test ([`mann_whitney`]) finds
//! less than the level. Both comparisons are strict. That is tt-metal's rule, which [`figures`] applies unchanged.
//!
//! [`decide`] knows which way is better and rejects samples that are not times or counts. It is in doubt where there are
//! too few samples for the test to find anything. It is also in doubt where worse samples lie beyond the band and the
//! test finds no difference. The original calls both no change. The samples of one process are not independent of each
//! other, and what a run has of its own looks like a change. Where processes are distinguished, the rule `interval` is
//! the one to take. The interval of this rule is that of the factor between the two sides ([`hodges_lehmann`]).

use super::power;
use sprag_base::number::{self, percent};
use sprag_base::stats::hodges_lehmann::Location;
use sprag_base::stats::mann_whitney::{self, RankMethod};
use sprag_base::stats::{hodges_lehmann, normal};
use sprag_model::evidence::Decision;
use sprag_model::sample_gate::{RankFigures, RankOutcome};
use sprag_model::{Better, Effect, Rule, TwoSides, Verdict};

/// The rule as tt-metal has it: a band of 1 % or three deviations, a level of 5 %.
pub const DEFAULT: Rule = Rule::Rank { noise_threshold: 0.01, significance: 0.05, mad_multiplier: 3.0 };

/// The parameters of the rule as the original takes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankParameters {
    /// The least change that counts, in percent.
    pub noise_threshold_percent: f64,
    pub significance: f64,
    /// How many median absolute deviations the band is wide.
    pub mad_multiplier: f64,
}

impl RankParameters {
    /// The parameters of a rule of the house, whose least change is a share.
    pub fn new(noise_threshold: f64, significance: f64, mad_multiplier: f64) -> RankParameters {
        RankParameters { noise_threshold_percent: noise_threshold * 100.0, significance, mad_multiplier }
    }
}

/// The most pairs of samples of which the interval is taken: it needs memory for each.
const MOST_PAIRS: usize = 1 << 22;

/// How often the interval is to hold the factor.
const CONFIDENCE: f64 = 0.95;

/// What the original finds of the samples of two sides, at least one each.
pub fn figures(baseline: &[f64], current: &[f64], parameters: &RankParameters) -> RankFigures {
    let (baseline_median, current_median) = (numpy_median(baseline), numpy_median(current));
    let figures = RankFigures {
        current_median,
        baseline_median,
        delta_percent: 0.0,
        p_value: 1.0,
        band_percent: 0.0,
        outcome: RankOutcome::ZeroBase,
    };
    if baseline_median == 0.0 {
        return figures;
    }
    let delta_percent = (current_median - baseline_median) / baseline_median * 100.0;
    let p_value = mann_whitney::test(current, baseline, RankMethod::Auto).map_or(f64::NAN, |result| result.two_sided);
    let deviations: Vec<f64> = baseline.iter().map(|sample| (sample - baseline_median).abs()).collect();
    let noise = parameters.mad_multiplier * numpy_median(&deviations) / baseline_median * 100.0;
    // A noise that is not a number leaves the least change.
    let least = parameters.noise_threshold_percent;
    let band_percent = if noise > least { noise } else { least };
    let differs = delta_percent.abs() > band_percent && p_value < parameters.significance;
    let outcome = match differs {
        true if delta_percent > 0.0 => RankOutcome::Up,
        true if delta_percent < 0.0 => RankOutcome::Down,
        _ => RankOutcome::Unchanged,
    };
    RankFigures { delta_percent, p_value, band_percent, outcome, ..figures }
}

/// The median as NumPy takes it: the mean of the two in the middle is half of their sum, and what is not a number makes it none.
fn numpy_median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), values.iter().any(|value| value.is_nan())) {
        (None, _) | (_, true) => f64::NAN,
        (Some(upper), _) if sorted.len() % 2 == 1 => *upper,
        (Some(upper), _) => (sorted[middle - 1] + upper) / 2.0,
    }
}

/// Below this number of samples on a side the median is but one of them, whatever the other side has.
const FEWEST_SAMPLES: usize = 4;

/// Judges one metric by the samples of both sides, of which there may be different numbers.
///
/// Without samples, with so few that the test can find nothing, or where they are worse by more than the band and the test
/// does not separate them, the verdict is Inconclusive; a sample that is not above
/// zero, or is not a finite number, makes it NotComparable. Then the change is that of the values. For a metric of which more
/// is better the two sides are exchanged in the change, not in the band, which is always of the base. The chance of a
/// change this large is that of the one-sided test.
pub fn decide(noise_threshold: f64, significance: f64, mad_multiplier: f64, evidence: &TwoSides) -> Decision {
    let (base, current) = (&evidence.base.samples, &evidence.current.samples);
    if let Some(verdict) = refusal(base, current, significance) {
        let (was, is) = (evidence.base.value, evidence.current.value);
        let change = Some((is - was) / was).filter(|change| change.is_finite()).unwrap_or(0.0);
        let effect = Effect { change, interval: None, detectable: None };
        return Decision { allowed: None, effect, verdict, p_value: None, note: None };
    }
    let (was, is) = (numpy_median(base), numpy_median(current));
    let band = figures(base, current, &RankParameters::new(noise_threshold, significance, mad_multiplier)).band_percent
        / 100.0;
    let (worsening, allowed) = match evidence.better {
        Better::Lower => ((is - was) / was, was * (1.0 + band)),
        Better::Higher => ((was - is) / is, was / (1.0 + band)),
    };
    let test = mann_whitney::test(current, base, RankMethod::Auto);
    let two_sided = test.map_or(1.0, |result| result.two_sided);
    let p_value = test.map(|result| if is > was { result.greater } else { result.less });
    let alike = format!("beyond the band, but the samples do not differ (p = {two_sided:.3})");
    let (verdict, note) = match (worsening.abs() > band, two_sided < significance) {
        (true, true) if worsening > 0.0 => (Verdict::Regressed, None),
        (true, true) => (Verdict::Improved, None),
        // Worse by more than is allowed never passes; that the test finds nothing is not a finding that there is nothing.
        (true, false) if worsening > 0.0 => {
            let enough = enough(p_value.unwrap_or(1.0), significance, (base.len(), current.len()));
            (Verdict::Inconclusive(format!("{} worse, {alike}: {enough}", percent(worsening, 1))), None)
        }
        (true, false) => (Verdict::Unchanged, Some(alike)),
        (false, true) if worsening > 0.0 => {
            let within = format!("within the band of {}", percent(band, 1));
            (Verdict::Unchanged, Some(format!("significantly worse (p = {two_sided:.2e}), {within}")))
        }
        (false, _) => (Verdict::Unchanged, None),
    };
    let few = base.len().saturating_mul(current.len()) <= MOST_PAIRS;
    let factor = few.then(|| hodges_lehmann::ratio(base, current, CONFIDENCE)).flatten();
    let effect = Effect {
        change: (is - was) / was,
        interval: factor.map(|factor| factor.interval()).map(|(low, high)| (low - 1.0, high - 1.0)),
        detectable: Some(power::size(seen(base, current, band, significance, factor.as_ref()), evidence.better)),
    };
    Decision { allowed: Some(allowed), effect, verdict, p_value, note }
}

/// Beyond this many times the samples nobody waits for them, and the number would mean little.
const MOST_TIMES: f64 = 50.0;

/// How many samples would separate such sides, given the one-sided `p`: standard errors grow with the root of their number.
fn enough(p: f64, significance: f64, (base, current): (usize, usize)) -> String {
    let result = normal::quantile(1.0 - p).unwrap_or(0.0).max(0.0);
    let times = ((power::needed(significance) + power::margin(1.0)) / result).powi(2);
    let usual = 2.0 / (1.0 / base as f64 + 1.0 / current as f64);
    if times <= MOST_TIMES {
        format!("about {} samples of either side would decide it", (times * usual).ceil())
    } else {
        "many times as many samples would be needed to decide it".to_owned()
    }
}

/// How much worse current samples like these must be to lie beyond the band and be significant by the test, in most runs.
fn seen(base: &[f64], current: &[f64], band: f64, significance: f64, factor: Option<&Location>) -> f64 {
    let error_of = |samples: &[f64]| power::error_of_median(samples) / numpy_median(samples);
    let error = error_of(base).hypot(error_of(current));
    // The interval of the factor is the test turned around; without it the medians are used in place of the ranks.
    let of_ranks = factor.map(Location::interval).map_or(error, |(low, high)| power::error((low.ln(), high.ln())));
    let beyond_test = (power::needed(significance) * of_ranks + power::margin(of_ranks)).exp_m1();
    beyond_test.max(band + power::margin(error))
}

/// Why the samples cannot be judged, if that is so.
fn refusal(base: &[f64], current: &[f64], significance: f64) -> Option<Verdict> {
    for (samples, side) in [(base, "the baseline"), (current, "the current run")] {
        if samples.is_empty() {
            return Some(Verdict::Inconclusive(format!("{side} has no samples, by which this rule decides")));
        }
        if let Some(place) = samples.iter().position(|sample| !(sample.is_finite() && *sample > 0.0)) {
            let sample = samples[place];
            let reason = format!("sample {} of {side} is {sample}, where more than zero is needed", place + 1);
            return Some(Verdict::NotComparable(reason));
        }
    }
    let least = mann_whitney::least_two_sided(base.len(), current.len()).unwrap_or(1.0);
    if least >= significance {
        let (base, current) = (base.len(), current.len());
        let sizes = format!("{current} samples against {base} are too few");
        let chance = format!("even if all of them differed, p would be {}", number::round_significant(least, 2));
        return Some(Verdict::Inconclusive(format!("{sizes}: {chance}, where less than {significance} is needed")));
    }
    let sides = [(base.len(), "the baseline"), (current.len(), "the current run")];
    let (few, side) = sides.into_iter().find(|(count, _)| *count < FEWEST_SAMPLES)?;
    let reason = format!("{side} has {few} of the {FEWEST_SAMPLES} samples that the rule needs on either side");
    Some(Verdict::Inconclusive(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Side;

    fn judged(better: Better, base: &[f64], current: &[f64]) -> Decision {
        let side =
            |samples: &[f64]| Side { value: numpy_median(samples), samples: samples.to_vec(), ..Side::default() };
        decide(0.01, 0.05, 3.0, &TwoSides::new(better, side(base), side(current)))
    }

    fn around(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|place| middle * (1.0 + 1e-4 * ((place * 7 % count) as f64 - count as f64 / 2.0))).collect()
    }

    #[test]
    fn the_band_and_the_test_decide_together() {
        let check = |better: Better, base: &[f64], current: &[f64], expected: &str| {
            let decision = judged(better, base, current);
            assert_eq!(decision.verdict.word(), expected, "{decision:?}");
            decision
        };
        let base = around(100.0, 30);
        check(Better::Lower, &base, &around(105.0, 30), "regressed");
        check(Better::Lower, &base, &around(105.0, 17), "regressed");
        check(Better::Lower, &base, &around(95.0, 30), "improved");
        check(Better::Higher, &base, &around(105.0, 30), "improved");
        check(Better::Higher, &base, &around(95.0, 30), "regressed");
        let within = check(Better::Lower, &base, &around(100.5, 30), "unchanged");
        let note = within.note.as_deref().unwrap_or_default();
        assert!(
            note.starts_with("significantly worse (p = ") && note.ends_with("), within the band of 1.0 %"),
            "{within:?}"
        );
        assert!(within.p_value.is_some_and(|p| p < 1e-6), "{within:?}");
        assert_eq!(check(Better::Lower, &base, &around(99.5, 30), "unchanged").note, None);
        // Two modes, of which one side has one sample more of the one, the other of the other.
        let modes = |low: usize, high: usize| [vec![100.0; low], vec![106.0; high]].concat();
        let alike = "beyond the band, but the samples do not differ (p = 0.788)";
        let torn = check(Better::Lower, &modes(13, 12), &modes(12, 13), "inconclusive");
        let reason = format!("6.0 % worse, {alike}: many times as many samples would be needed to decide it");
        assert_eq!((torn.verdict.reason(), torn.p_value.is_some()), (Some(reason.as_str()), true));
        check(Better::Higher, &modes(12, 13), &modes(13, 12), "inconclusive");
        let torn = check(Better::Lower, &modes(12, 13), &modes(13, 12), "unchanged");
        assert_eq!(torn.note.as_deref(), Some(alike));
        assert_eq!(check(Better::Higher, &modes(13, 12), &modes(12, 13), "unchanged").note.as_deref(), Some(alike));
        let few = check(
            Better::Lower,
            &[100.0, 101.0, 102.0, 103.0, 104.0],
            &[99.0, 100.5, 150.0, 160.0, 170.0],
            "inconclusive",
        );
        let reason = few.verdict.reason().expect("it is in doubt");
        assert!(reason.starts_with("47.1 % worse, beyond the band, but the samples do not differ (p = 0."), "{reason}");
        assert!(reason.contains(": about ") && reason.ends_with(" samples of either side would decide it"), "{reason}");
        let result = check(Better::Lower, &base, &around(105.0, 30), "regressed");
        let (low, high) = result.effect.interval.expect("there are samples");
        assert!(0.04 < low && low < 0.05 && 0.05 < high && high < 0.06, "{low} {high}");
        assert!(result.effect.detectable.is_some_and(|band| (0.01..0.02).contains(&band)), "{result:?}");
        assert!(result.allowed.is_some_and(|allowed| (100.9..101.1).contains(&allowed)));
    }

    #[test]
    fn a_band_of_more_than_100_percent_can_be_left() {
        let base = [10.0, 100.0, 200.0, 100.0, 20.0, 190.0, 100.0, 30.0, 180.0, 40.0];
        let decision = judged(Better::Higher, &base, &around(5.0, 10));
        // The least that passes is less than half of the median of 100; a rate cannot fall by more than the whole.
        assert!(decision.allowed.is_some_and(|allowed| allowed < 50.0), "{decision:?}");
        assert!(decision.effect.detectable.is_some_and(|size| 0.5 < size && size < 1.0), "{decision:?}");
        assert_eq!(decision.verdict, Verdict::Regressed);
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let check = |base: &[f64], current: &[f64], expected: &str| {
            let decision = judged(Better::Lower, base, current);
            let text = format!("{}: {}", decision.verdict.word(), decision.verdict.reason().unwrap_or_default());
            assert_eq!(text, expected);
            assert_eq!((decision.allowed, decision.p_value), (None, None));
        };
        check(&[], &[1.0], "inconclusive: the baseline has no samples, by which this rule decides");
        check(&[1.0], &[], "inconclusive: the current run has no samples, by which this rule decides");
        let zero = "not comparable: sample 2 of the baseline is 0, where more than zero is needed";
        check(&[1.0, 0.0], &[1.0, 1.0], zero);
        let none = "not comparable: sample 1 of the current run is NaN, where more than zero is needed";
        check(&[1.0, 1.0], &[f64::NAN], none);
        check(
            &[1.0, 1.1, 1.2],
            &[2.0, 2.1, 2.2],
            "inconclusive: 3 samples against 3 are too few: even if all of them differed, p would be 0.1, where less than 0.05 is needed",
        );
        assert_eq!(judged(Better::Lower, &[1.0, 1.1, 1.2, 1.3], &[2.0, 2.1, 2.2, 2.3]).verdict, Verdict::Regressed);
    }

    #[test]
    fn figures_are_those_of_the_original_also_where_they_make_no_sense() {
        let parameters = RankParameters { noise_threshold_percent: 1.0, significance: 0.05, mad_multiplier: 3.0 };
        let check = |base: &[f64], current: &[f64], outcome: RankOutcome, band: f64| {
            let result = figures(base, current, &parameters);
            assert_eq!((result.outcome, result.band_percent), (outcome, band), "{result:?}");
            result
        };
        assert!(check(&[f64::NAN, 1.0, 2.0], &[1.0; 3], RankOutcome::Unchanged, 1.0).delta_percent.is_nan());
        check(&[f64::INFINITY, f64::INFINITY, 3.0], &[1.0, 2.0, 3.0], RankOutcome::Unchanged, 1.0);
        check(&[0.0, 0.0, 5.0], &[1.0, 2.0, 3.0], RankOutcome::ZeroBase, 0.0);
        check(&[-5.0, -6.0, -7.0, -5.5, -5.6], &[-9.0, -9.1, -9.2, -9.3, -9.5], RankOutcome::Up, 1.0);
        check(&[100.0; 10], &[101.0; 10], RankOutcome::Unchanged, 1.0);
    }
}
