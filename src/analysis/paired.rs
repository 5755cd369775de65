//! Two builds timed against each other: a verdict a benchmark.

use crate::model::metric::{Better, Metric};
use crate::model::paired::Paired;
use crate::model::verdict::{Comparison, Verdict};
use crate::stats::describe;

use super::compare::sort_worst_first;
use super::rules::interval;

/// Judges every benchmark by the rule `interval`, worst first.
pub fn judge(paired: &[Paired], tolerance: f64) -> Vec<Comparison> {
    let mut comparisons: Vec<Comparison> = paired.iter().map(|one| comparison(one, tolerance)).collect();
    sort_worst_first(&mut comparisons);
    comparisons
}

fn comparison(paired: &Paired, tolerance: f64) -> Comparison {
    let median = |seconds: fn(&crate::model::paired::Pair) -> f64| {
        describe::median(&paired.pairs.iter().map(seconds).collect::<Vec<f64>>())
    };
    let decision =
        if paired.failure.is_some() { None } else { interval::decide(&paired.ratios(), Better::Lower, tolerance) };
    let (effect, verdict) = match decision {
        Some((effect, verdict)) => (Some(effect), verdict),
        // What cannot be timed on both sides any more must never pass.
        None => (None, Verdict::Missing),
    };
    let baseline = median(|pair| pair.base_seconds);
    Comparison {
        benchmark: paired.benchmark.clone(),
        metric: Metric::time(),
        series: None,
        allowed: baseline.map(|seconds| seconds * (1.0 + tolerance)),
        baseline,
        current: median(|pair| pair.other_seconds),
        effect,
        rule: interval::NAME,
        verdict,
        note: paired.failure.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::paired::Pair;

    #[test]
    fn each_benchmark_gets_a_verdict_and_what_failed_is_missing() {
        let paired = |name: &str, ratio: f64, failure: Option<&str>| Paired {
            benchmark: name.to_owned(),
            class: "cache".to_owned(),
            pairs: vec![Pair { base_seconds: 2.0, other_seconds: 2.0 * ratio, ratio }; 5],
            failure: failure.map(str::to_owned),
        };
        let all = [paired("same", 1.0, None), paired("slow", 1.1, None), paired("gone", 1.0, Some("broke"))];
        let found = judge(&all, 0.02);
        let verdicts: Vec<(&str, &Verdict)> = found.iter().map(|one| (one.benchmark.as_str(), &one.verdict)).collect();
        let expected = [("slow", &Verdict::Regressed), ("gone", &Verdict::Missing), ("same", &Verdict::Unchanged)];
        assert_eq!(verdicts, expected);
        assert_eq!(
            (found[0].baseline, found[0].current, found[1].note.as_deref()),
            (Some(2.0), Some(2.2), Some("broke"))
        );
    }
}
