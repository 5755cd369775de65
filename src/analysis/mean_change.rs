//! How much a suite changed as a whole: the geometric mean of the ratios of its benchmarks (Fleming and Wallace, "How not
//! to lie with statistics", Communications of the ACM 29, 1986), with an interval.
//!
//! Errors of pairs of processes have nothing to do with one another, so that they add up as squares. Those of a session
//! move all benchmarks of a machine together; so that the interval is not narrower than the truth, they are added as they
//! are. Rules give intervals that differ in how sure they are, so that there is one only where a single rule decided.

use sprag_model::{Better, Comparison, MeanChange};

/// Whether the errors of benchmarks have a common cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Both sides took turns.
    Independent,
    /// One side is stored.
    Shared,
}

/// The change over all comparisons that have an effect; `None` where there are none.
pub fn of_comparisons(comparisons: &[Comparison], errors: Errors) -> Option<MeanChange> {
    let effects: Vec<(f64, Option<f64>)> = comparisons.iter().filter_map(logarithm).collect();
    let count = effects.len() as f64;
    if effects.is_empty() {
        return None;
    }
    let mean = effects.iter().map(|(effect, _)| effect).sum::<f64>() / count;
    let mut rules = comparisons.iter().filter(|one| logarithm(one).is_some()).map(|one| one.rule);
    let first = rules.next();
    let is_of_one_rule = rules.all(|rule| Some(rule) == first);
    let reaches: Option<Vec<f64>> = effects.iter().map(|(_, reach)| *reach).collect();
    let reaches = reaches.filter(|_| is_of_one_rule);
    let reach = reaches.map(|reaches| match errors {
        Errors::Independent => reaches.iter().map(|reach| reach.powi(2)).sum::<f64>().sqrt() / count,
        Errors::Shared => reaches.iter().sum::<f64>() / count,
    });
    Some(MeanChange {
        benchmarks: effects.len(),
        change: mean.exp_m1(),
        interval: reach.map(|reach| ((mean - reach).exp_m1(), (mean + reach).exp_m1())),
    })
}

/// The logarithm of the ratio, positive where it is worse, and how far its interval reaches to either side.
fn logarithm(comparison: &Comparison) -> Option<(f64, Option<f64>)> {
    let effect = comparison.effect.filter(|effect| effect.change > -1.0 && effect.change.is_finite())?;
    let sign = if comparison.metric.better == Better::Lower { 1.0 } else { -1.0 };
    let reach = comparison.interval().filter(|(low, high)| *low > -1.0 && high.is_finite());
    let reach = reach.map(|(low, high)| (high.ln_1p() - low.ln_1p()) / 2.0);
    Some((sign * effect.change.ln_1p(), reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::{Effect, Metric, Verdict};

    fn comparison(ratio: f64, reach: Option<f64>, better: Better) -> Comparison {
        let interval = reach.map(|reach| (ratio / (1.0 + reach) - 1.0, ratio * (1.0 + reach) - 1.0));
        Comparison {
            baseline: Some(1.0),
            current: Some(ratio),
            effect: Some(Effect { change: ratio - 1.0, interval, detectable: None }),
            ..Comparison::bare("cpu/x @fast", Metric { better, ..Metric::time() }, "interval", Verdict::Unchanged)
        }
    }

    #[test]
    fn twice_and_half_cancel() {
        let both = [comparison(2.0, Some(0.1), Better::Lower), comparison(0.5, Some(0.1), Better::Lower)];
        let total = of_comparisons(&both, Errors::Shared).expect("there are two");
        assert!(total.change.abs() < 1e-12 && total.benchmarks == 2, "{total:?}");
        let (low, high) = total.interval.expect("both have one");
        assert!((high - 0.1).abs() < 1e-9 && (low + 1.0 - 1.0 / 1.1).abs() < 1e-9);
        let (_, high) =
            of_comparisons(&both, Errors::Independent).and_then(|total| total.interval).expect("both have one");
        assert!((high.ln_1p() - 1.1_f64.ln() / 2.0_f64.sqrt()).abs() < 1e-9, "{high}");
    }

    #[test]
    fn intervals_of_several_rules_make_none() {
        let by = |rule: &'static str| Comparison { rule, ..comparison(1.1, Some(0.1), Better::Lower) };
        let has_interval =
            |all: &[Comparison]| of_comparisons(all, Errors::Shared).is_some_and(|total| total.interval.is_some());
        assert!(has_interval(&[by("interval"), by("interval")]));
        assert!(!has_interval(&[by("interval"), by("tolerance")]));
        // One that has no effect has no part in it.
        assert!(has_interval(&[by("interval"), Comparison { effect: None, ..by("tolerance") }]));
    }

    #[test]
    fn a_value_without_an_interval_makes_none() {
        let exact = |rule: &'static str| Comparison { rule, ..comparison(1.25, Some(0.0), Better::Lower) };
        let interval =
            |rule| of_comparisons(&[exact(rule), exact(rule)], Errors::Shared).and_then(|total| total.interval);
        assert_eq!((interval("tolerance"), interval("bands")), (None, None));
        // This rule knows that a count does not move.
        assert!(
            interval("interval").is_some_and(|(low, high)| (low - 0.25).abs() < 1e-9 && (high - 0.25).abs() < 1e-9)
        );
    }

    #[test]
    fn more_is_worse_whatever_is_better() {
        let total = of_comparisons(&[comparison(0.5, None, Better::Higher)], Errors::Shared).expect("there is one");
        assert!((total.change - 1.0).abs() < 1e-12 && total.interval.is_none());
        assert_eq!(of_comparisons(&[], Errors::Shared), None);
    }
}
