//! Named benchmarks of two files compared with each other by rules.

use std::collections::BTreeMap;

use super::compare::sort_worst_first;
use super::family::{self, Basis};
use super::rules;
use sprag_model::{Comparison, Metric, Rule, Side, TwoSides, Verdict};

/// What is known of the benchmarks of one file, by name.
pub type Sides = BTreeMap<String, Side>;

pub struct Judge<'a> {
    pub rule: &'a dyn Fn(&str) -> Rule,
    /// What all the benchmarks are measured by.
    pub metric: Metric,
    /// Why no value may be judged, where that is so.
    pub obstacle: Option<String>,
}

/// One comparison for each benchmark of either side, worst first. A benchmark that is gone is missing, and one that the baseline
/// lacks has nothing to be compared with. A regression is in doubt where it could be chance among so many benchmarks.
pub fn judge(baseline: &Sides, current: &Sides, judge: &Judge<'_>) -> Vec<Comparison> {
    let judged = baseline.iter().map(|(name, base)| judged(name, base, current.get(name), judge)).collect();
    // As in the library: that an improvement may be chance is not a reason to fail what is not worse.
    let mut comparisons = family::without_chance(judged, &[Verdict::Regressed], "benchmarks");
    let new = current.iter().filter(|(name, _)| !baseline.contains_key(*name));
    comparisons.extend(new.map(|(name, side)| Comparison {
        current: Some(side.value),
        note: Some("new: the base does not have it".to_owned()),
        ..bare(name, judge, Verdict::NoBaseline)
    }));
    sort_worst_first(&mut comparisons);
    comparisons
}

fn bare(name: &str, judge: &Judge<'_>, verdict: Verdict) -> Comparison {
    Comparison::bare(name, judge.metric.clone(), (judge.rule)(name).name(), verdict)
}

fn judged(name: &str, base: &Side, current: Option<&Side>, judge: &Judge<'_>) -> (Comparison, Basis) {
    let mut comparison = Comparison { baseline: Some(base.value), ..bare(name, judge, Verdict::Missing) };
    let Some(current) = current else { return (comparison, None) };
    comparison.current = Some(current.value);
    if let Some(obstacle) = &judge.obstacle {
        comparison.verdict = Verdict::NotComparable(obstacle.clone());
        return (comparison, None);
    }
    let rule = (judge.rule)(name);
    let evidence = TwoSides::new(judge.metric.better, base.clone(), current.clone());
    (rules::judge(comparison, &rule, &evidence), Some((rule, evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bands;
    use sprag_base::stats::describe;
    use sprag_base::stats::random::SplitMix64;

    fn sides(values: &[(&str, f64)]) -> Sides {
        values.iter().map(|(name, value)| ((*name).to_owned(), Side { value: *value, ..Side::default() })).collect()
    }

    #[test]
    fn what_is_gone_is_missing_and_what_is_new_has_no_baseline() {
        let base = sides(&[("same", 1.0), ("slower", 1.0), ("gone", 1.0), ("none", 0.0)]);
        let now = sides(&[("same", 1.0), ("slower", 2.0), ("added", 1.0), ("none", 1.0)]);
        let mut by_bands = Judge { rule: &|_| bands::DEFAULT, metric: Metric::time(), obstacle: None };
        let words = |judged: &[Comparison]| -> Vec<String> {
            judged.iter().map(|one| format!("{} {}", one.benchmark, one.verdict.word())).collect()
        };
        let judged = judge(&base, &now, &by_bands);
        let expected =
            ["slower regressed", "gone missing", "none not comparable", "added no baseline", "same unchanged"];
        assert_eq!(words(&judged), expected);
        let effects: Vec<bool> = judged.iter().map(|one| one.effect.is_some()).collect();
        assert_eq!(effects, [true, false, false, false, true]);
        assert_eq!((judged[3].baseline, judged[3].current, judged[3].rule), (None, Some(1.0), "bands"));
        by_bands.obstacle = Some("another CPU".to_owned());
        let judged = judge(&base, &now, &by_bands);
        assert_eq!(judged.iter().filter(|one| one.verdict.reason() == Some("another CPU")).count(), 3);
        assert!(judged.iter().any(|one| one.verdict == Verdict::Missing));
    }

    #[test]
    fn each_is_judged_by_its_own_rule() {
        let (base, now) = (sides(&[("loose", 1.0), ("tight", 1.0)]), sides(&[("loose", 1.2), ("tight", 1.2)]));
        let rule = |name: &str| match name {
            "loose" => Rule::Tolerance { ratio: 0.25, abs: 0.0 },
            _ => bands::DEFAULT,
        };
        let judged = judge(&base, &now, &Judge { rule: &rule, metric: Metric::time(), obstacle: None });
        let verdicts: Vec<(&str, &str)> = judged.iter().map(|one| (one.rule, one.verdict.word())).collect();
        assert_eq!(verdicts, [("bands", "regressed"), ("tolerance", "unchanged")]);
    }

    #[test]
    fn of_many_unchanged_ones_few_are_called_regressed() {
        // By the test alone one in forty is, so that most suites of fifty would fail.
        let by_test = Rule::Rank { noise_threshold: 0.0, significance: 0.05, mad_multiplier: 0.0 };
        let mut random = SplitMix64::new(5);
        let mut side = |level: f64| {
            let samples: Vec<f64> = (0..20).map(|_| level + random.normal()).collect();
            Side { value: describe::median(&samples).expect("there are samples"), samples, ..Side::default() }
        };
        let chance = "of 50 benchmarks judged together, one may differ this much by chance";
        let (mut doubted, mut failing) = (0, 0);
        for _ in 0..40 {
            let mut suite = |slow: f64| -> Sides {
                (0..50).map(|at| (at.to_string(), side(if at == 7 { slow } else { 100.0 }))).collect()
            };
            let (base, now, slower) = (suite(100.0), suite(100.0), suite(105.0));
            let by = Judge { rule: &|_| by_test, metric: Metric::time(), obstacle: None };
            let judged = judge(&base, &now, &by);
            assert!(judged.iter().all(|one| one.p_value.is_some()));
            doubted += judged.iter().filter(|one| one.verdict.reason() == Some(chance)).count();
            failing += usize::from(judged.iter().any(|one| one.verdict == Verdict::Regressed));
            let worst = &judge(&base, &slower, &by)[0];
            assert_eq!((worst.benchmark.as_str(), worst.verdict.word()), ("7", "regressed"));
        }
        assert!(
            failing <= 5 && doubted >= 30,
            "{failing} suites of 40 fail, {doubted} benchmarks of 2000 are in doubt"
        );
    }
}
