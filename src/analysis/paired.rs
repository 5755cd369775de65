//! Two builds timed against each other: a verdict a benchmark.

use sprag_base::stats::describe;
use sprag_model::paired::{Pair, Paired};
use sprag_model::{Baseline, Choice, Comparison, Policy, Rule, Side, TwoSides, Verdict};

use super::compare::{sort_worst_first, without_chance};
use super::family::Basis;
use super::rules::{self, interval};

/// Judges every benchmark by the rule that the policy names for it, worst first. Where that is estimated from the past,
/// the rule `interval` applies with its usual tolerance, since what moves both sides cancels.
pub fn judge(paired: &[Paired], policy: &Policy) -> Vec<Comparison> {
    let mut comparisons = without_chance(paired.iter().map(|one| comparison(one, policy)).collect());
    sort_worst_first(&mut comparisons);
    comparisons
}

fn comparison(paired: &Paired, policy: &Policy) -> (Comparison, Basis) {
    let median = |value: fn(&Pair) -> f64| describe::median(&paired.pairs.iter().map(value).collect::<Vec<f64>>());
    let (base, current) = (median(|pair| pair.base), median(|pair| pair.other));
    let rule = match policy.choice(&Baseline::key(&paired.benchmark, &paired.metric.name)) {
        Choice::Fixed(rule) => rule,
        Choice::Learnt => Rule::Interval { tolerance: interval::TOLERANCE },
    };
    let mut result = Comparison {
        baseline: base,
        current,
        note: paired.failure.clone(),
        // What cannot be measured on both sides any more must never pass.
        ..Comparison::bare(&paired.benchmark, paired.metric.clone(), rule.name(), Verdict::Missing)
    };
    if paired.failure.is_some() {
        return (result, None);
    }
    if let Some(reason) = &paired.incomparable {
        result.verdict = Verdict::NotComparable(reason.clone());
        return (result, None);
    }
    let (Some(base), Some(current)) = (base, current) else { return (result, None) };
    let evidence = TwoSides::new(paired.metric.better, Side::once(base), Side::once(current));
    let evidence = TwoSides { ratios: paired.ratios(), ..evidence };
    (rules::judge(result, &rule, &evidence), Some((rule, evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::pair_ratio;
    use sprag_model::Metric;
    use sprag_model::paired::CONFIDENCE;

    fn pairs(ratio: f64) -> Vec<Pair> {
        vec![Pair { base: 2.0, other: 2.0 * ratio, ratio }; 5]
    }

    #[test]
    fn each_benchmark_gets_a_verdict_and_what_failed_is_missing() {
        let paired = |name: &str, ratio: f64, failure: Option<&str>| {
            Paired::timed(name, "cache", pairs(ratio), failure.map(str::to_owned))
        };
        let all = [paired("same", 1.0, None), paired("slow", 1.1, None), paired("gone", 1.0, Some("broke"))];
        let result = judge(&all, &Policy::default());
        let verdicts: Vec<(&str, &Verdict)> = result.iter().map(|one| (one.benchmark.as_str(), &one.verdict)).collect();
        let expected = [("slow", &Verdict::Regressed), ("gone", &Verdict::Missing), ("same", &Verdict::Unchanged)];
        assert_eq!(verdicts, expected);
        assert_eq!(
            (result[0].baseline, result[0].current, result[1].note.as_deref()),
            (Some(2.0), Some(2.2), Some("broke"))
        );
    }

    #[test]
    fn the_interval_is_the_one_that_a_budget_is_spent_on() {
        let pairs: Vec<Pair> = (0..12)
            .map(|place| 1.0 + 0.002 * f64::from(place * 5 % 12))
            .map(|ratio| Pair { base: 2.0, other: 2.0 * ratio, ratio })
            .collect();
        let check = |metric: Metric| {
            let one = Paired { metric, ..Paired::timed("a", "cache", pairs.clone(), None) };
            let printed = judge(std::slice::from_ref(&one), &Policy::default())[0].effect.and_then(|one| one.interval);
            let (low, high) = printed.expect("twelve pairs have an interval");
            let (least, largest) = pair_ratio::interval(&one.ratios(), CONFIDENCE).expect("so they have here");
            assert!((low + 1.0 - least).abs() < 1e-12 && (high + 1.0 - largest).abs() < 1e-12, "{low} {high}");
        };
        check(Metric::time());
        check(Metric::throughput("tiles_per_s"));
    }

    #[test]
    fn a_metric_is_judged_by_its_direction_and_other_work_not_at_all() {
        let rate = |ratio: f64| Paired {
            metric: Metric::throughput("tiles_per_s"),
            ..Paired::timed("a", "", pairs(ratio), None)
        };
        let verdict = |paired: Paired| judge(&[paired], &Policy::default()).remove(0);
        assert_eq!(verdict(rate(0.9)).verdict, Verdict::Regressed);
        assert_eq!(verdict(rate(1.1)).verdict, Verdict::Improved);
        assert!(verdict(rate(1.0)).allowed.is_some_and(|allowed| allowed < 2.0));
        let other = Paired { incomparable: Some("version 2".to_owned()), ..rate(0.5) };
        assert_eq!(verdict(other).verdict, Verdict::NotComparable("version 2".to_owned()));
    }
}
