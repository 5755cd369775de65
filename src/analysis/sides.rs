//! Named benchmarks of two files held against each other by a rule.

use std::collections::BTreeMap;

use super::compare::sort_worst_first;
use crate::model::evidence::{Decision, Evidence, Side};
use crate::model::metric::Metric;
use crate::model::verdict::{Comparison, Verdict};

/// What is known of the benchmarks of one file, by name.
pub type Sides = BTreeMap<String, Side>;

/// How the benchmarks of one file are judged.
pub struct Judge<'a> {
    /// The name of the rule.
    pub rule: &'static str,
    /// The rule.
    pub decide: &'a dyn Fn(&Evidence) -> Decision,
    /// What all the benchmarks are measured by.
    pub metric: Metric,
    /// Why no value may be judged, where that is so.
    pub obstacle: Option<String>,
}

/// One comparison for each benchmark of the baseline, worst first; one that is gone is missing. Those that the baseline
/// lacks are not among them: [`new`] has them.
pub fn judge(baseline: &Sides, current: &Sides, judge: &Judge<'_>) -> Vec<Comparison> {
    let comparison = |(name, base): (&String, &Side)| {
        let mut comparison = Comparison {
            benchmark: name.clone(),
            metric: judge.metric.clone(),
            series: None,
            baseline: Some(base.value),
            allowed: None,
            current: None,
            effect: None,
            p_value: None,
            rule: judge.rule,
            verdict: Verdict::Missing,
            note: None,
        };
        let Some(current) = current.get(name) else { return comparison };
        comparison.current = Some(current.value);
        if let Some(obstacle) = &judge.obstacle {
            comparison.verdict = Verdict::NotComparable(obstacle.clone());
            return comparison;
        }
        let decision = (judge.decide)(&Evidence {
            better: judge.metric.better,
            base: base.clone(),
            current: current.clone(),
            ratios: Vec::new(),
            restlessness: None,
            shares_memory: false,
        });
        let is_compared = !matches!(decision.verdict, Verdict::NotComparable(_));
        comparison.allowed = decision.allowed;
        comparison.effect = is_compared.then_some(decision.effect);
        comparison.verdict = decision.verdict;
        comparison.note = decision.note;
        comparison
    };
    let mut comparisons: Vec<Comparison> = baseline.iter().map(comparison).collect();
    sort_worst_first(&mut comparisons);
    comparisons
}

/// The benchmarks that the baseline lacks.
pub fn new<'a>(baseline: &Sides, current: &'a Sides) -> Vec<&'a str> {
    current.keys().filter(|name| !baseline.contains_key(*name)).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::rules::bands;

    fn sides(values: &[(&str, f64)]) -> Sides {
        values.iter().map(|(name, value)| ((*name).to_owned(), Side { value: *value, ..Side::default() })).collect()
    }

    #[test]
    fn what_is_gone_is_missing_and_what_is_new_is_told_apart() {
        let base = sides(&[("same", 1.0), ("slower", 1.0), ("gone", 1.0), ("none", 0.0)]);
        let now = sides(&[("same", 1.0), ("slower", 2.0), ("added", 1.0), ("none", 1.0)]);
        let decide = |evidence: &Evidence| bands::decide(0.05, 0.02, evidence);
        let mut by_bands = Judge { rule: "bands", decide: &decide, metric: Metric::time(), obstacle: None };
        let words = |judged: &[Comparison]| -> Vec<String> {
            judged.iter().map(|one| format!("{} {}", one.benchmark, one.verdict.word())).collect()
        };
        let judged = judge(&base, &now, &by_bands);
        assert_eq!(words(&judged), ["slower regressed", "gone missing", "none not comparable", "same unchanged"]);
        assert_eq!(judged.iter().map(|one| one.effect.is_some()).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(new(&base, &now), ["added"]);
        by_bands.obstacle = Some("another CPU".to_owned());
        let judged = judge(&base, &now, &by_bands);
        assert_eq!(judged.iter().filter(|one| one.verdict.reason() == Some("another CPU")).count(), 3);
        assert!(judged.iter().any(|one| one.verdict == Verdict::Missing));
    }
}
