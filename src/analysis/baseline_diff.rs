//! What differs between two baselines, metric by metric. It judges nothing: that is for the rules.

use std::collections::BTreeSet;

use super::compare;
use sprag_model::{Baseline, BaselineMetric, Better, DiffKind, MetricDiff, MetricSide};

/// Every metric of either: first those that are on one side only or of another kind, then by size of change.
pub fn metrics(from: &Baseline, to: &Baseline) -> Vec<MetricDiff> {
    let keys: BTreeSet<&String> = from.metrics.keys().chain(to.metrics.keys()).collect();
    let mut result: Vec<MetricDiff> = keys
        .into_iter()
        .map(|key| {
            let (before, after) = (from.metrics.get(key), to.metrics.get(key));
            let (kind, change) = kind(before, after);
            let side = |metric: Option<&BaselineMetric>| metric.map(MetricSide::new);
            MetricDiff { key: key.clone(), kind, change, from: side(before), to: side(after) }
        })
        .collect();
    // Twice as much and half as much are changes of one size.
    let size = |one: &MetricDiff| one.change.map_or(0.0, |change| change.ln_1p().abs());
    let rank = |one: &MetricDiff| match one.kind {
        DiffKind::Worse | DiffKind::Better | DiffKind::Moved => DiffKind::Worse,
        kind => kind,
    };
    // The sort is stable, so that equals stay by key.
    result.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| size(b).total_cmp(&size(a))));
    result
}

/// By what the values of two baselines cannot be compared.
pub fn differences(from: &Baseline, to: &Baseline) -> Vec<String> {
    let mut result = Vec::new();
    for (what, before, after) in
        [("suite", &from.suite, &to.suite), ("machine class", &from.machine_class, &to.machine_class)]
    {
        if before != after {
            result.push(format!("{what} {before} → {after}"));
        }
    }
    let facts = from.environment.differences(&to.environment);
    if !facts.is_empty() {
        result.push(compare::describe_differences(&facts));
    }
    result
}

fn kind(before: Option<&BaselineMetric>, after: Option<&BaselineMetric>) -> (DiffKind, Option<f64>) {
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (Some(_), None) => return (DiffKind::Removed, None),
        _ => return (DiffKind::Added, None),
    };
    if (before.unit, before.better) != (after.unit, after.better) {
        return (DiffKind::Redefined, None);
    }
    let is_more = after.value > before.value;
    let kind = if after.value == before.value {
        if after.rule == before.rule { DiffKind::Same } else { DiffKind::Rule }
    } else if !is_beyond(before.value, after) {
        DiffKind::Moved
    } else if is_more == (after.better == Better::Lower) {
        DiffKind::Worse
    } else {
        DiffKind::Better
    };
    (kind, Some(after.value / before.value - 1.0))
}

/// Whether a value lies further from the one before than its rule tolerates, whichever way.
fn is_beyond(before: f64, after: &BaselineMetric) -> bool {
    let smaller = before.min(after.value);
    before.max(after.value) > smaller * (1.0 + after.rule.tolerated(smaller))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use sprag_model::{Environment, Rule, Unit};

    #[test]
    fn the_largest_change_comes_first() {
        let of = |times: &[(&str, f64)]| example::baseline(&example::run("cpu", "a", 1, times), 0.25);
        let from =
            of(&[("a", 1.0), ("b", 1.0), ("c", 1.0), ("gone", 1.0), ("ruled", 1.0), ("same", 1.0), ("unit", 1.0)]);
        let mut to =
            of(&[("a", 1.1), ("b", 0.5), ("c", 1.9), ("new", 1.0), ("ruled", 1.0), ("same", 1.0), ("unit", 1.0)]);
        to.metrics.get_mut("cpu/ruled @fast time").expect("it is there").rule = Rule::Interval { tolerance: 0.02 };
        to.metrics.get_mut("cpu/unit @fast time").expect("it is there").unit = Unit::One;
        let result = metrics(&from, &to);
        let reported: Vec<(&str, DiffKind)> = result.iter().map(|one| (one.key.as_str(), one.kind)).collect();
        let expected = [
            ("cpu/unit @fast time", DiffKind::Redefined),
            ("cpu/gone @fast time", DiffKind::Removed),
            ("cpu/new @fast time", DiffKind::Added),
            ("cpu/b @fast time", DiffKind::Better),
            ("cpu/c @fast time", DiffKind::Worse),
            ("cpu/a @fast time", DiffKind::Moved),
            ("cpu/ruled @fast time", DiffKind::Rule),
            ("cpu/same @fast time", DiffKind::Same),
        ];
        assert_eq!(reported, expected);
        assert_eq!((result[3].change, result[0].change), (Some(-0.5), None));
    }

    #[test]
    fn what_the_newer_rule_tolerates_is_neither_worse_nor_better() {
        let of = |value: f64| {
            let run = example::run("cpu", "a", 1, &[("a", value)]);
            let baseline = example::baseline(&run, 0.25);
            baseline.metrics["cpu/a @fast time"].clone()
        };
        let check = |rule: Rule, after: f64, expected: DiffKind| {
            let after = BaselineMetric { rule, ..of(after) };
            assert_eq!(kind(Some(&of(1.0)), Some(&after)).0, expected, "{rule:?} {}", after.value);
        };
        let interval = Rule::Interval { tolerance: 0.25 };
        check(interval, 1.2, DiffKind::Moved);
        check(interval, 1.3, DiffKind::Worse);
        check(interval, 0.81, DiffKind::Moved);
        check(interval, 0.79, DiffKind::Better);
        check(Rule::Interval { tolerance: 0.0 }, 1.0001, DiffKind::Worse);
        check(Rule::Tolerance { ratio: 0.25, abs: 0.25 }, 1.45, DiffKind::Moved);
        check(Rule::Tolerance { ratio: 0.25, abs: 0.25 }, 1.55, DiffKind::Worse);
        check(Rule::Bands { fail: 0.5, warn: 0.1 }, 1.2, DiffKind::Worse);
        check(Rule::Rank { noise_threshold: 0.01, significance: 0.05, mad_multiplier: 3.0 }, 0.995, DiffKind::Moved);
        // Where more is better, less is worse.
        let turned = |value| BaselineMetric { better: Better::Higher, ..of(value) };
        assert_eq!(kind(Some(&turned(1.0)), Some(&turned(0.7))).0, DiffKind::Worse);
    }

    #[test]
    fn what_keeps_two_baselines_apart_is_named() {
        let from = example::baseline(&example::run("cpu", "a", 1, &[("a", 1.0)]), 0.25);
        assert_eq!(differences(&from, &from), Vec::<String>::new());
        let facts = [("compiler".to_owned(), "rustc 2".to_owned())].into();
        let to = Baseline { suite: "gpu".to_owned(), environment: Environment::from_facts(facts), ..from.clone() };
        assert_eq!(differences(&from, &to), ["suite cpu → gpu", "compiler rustc 1.95 → rustc 2"]);
    }
}
