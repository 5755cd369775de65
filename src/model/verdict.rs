//! Verdicts of rules, comparisons and their counts.

use schemars::JsonSchema;
use serde::Serialize;

use super::ledger::answer::Answer;
use super::metric::Metric;

pub const ACCEPTED: &str = "accepted";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Unchanged,
    Improved,
    Regressed,
    Inconclusive(String),
    /// With what differs.
    NotComparable(String),
    /// The baseline has the metric, and the current run lacks it.
    Missing,
    NoBaseline,
}

impl Verdict {
    pub const WORDS: [&str; 7] =
        ["unchanged", "improved", "regressed", "inconclusive", "not comparable", "missing", "no baseline"];

    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Unchanged => "unchanged",
            Verdict::Improved => "improved",
            Verdict::Regressed => "regressed",
            Verdict::Inconclusive(_) => "inconclusive",
            Verdict::NotComparable(_) => "not comparable",
            Verdict::Missing => "missing",
            Verdict::NoBaseline => "no baseline",
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Inconclusive(reason) | Verdict::NotComparable(reason) => Some(reason),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Current / baseline - 1; positive means that the number went up.
    pub change: f64,
    /// The interval of `change`, at 98 % by the rule `interval` and at 95 % by the others. That of `tolerance` covers the
    /// current value alone.
    pub interval: Option<(f64, f64)>,
    /// The size of the smallest change for the worse that such a comparison would detect in four cases of five: the allowance
    /// of the rule plus the uncertainty of the values. Absent where that is unknown.
    pub detectable: Option<f64>,
}

/// One metric of one benchmark, current against baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub benchmark: String,
    pub metric: Metric,
    pub series: Option<String>,
    /// In base units, as `allowed` and `current`.
    pub baseline: Option<f64>,
    /// The worst value that still passes.
    pub allowed: Option<f64>,
    pub current: Option<f64>,
    pub effect: Option<Effect>,
    /// The probability of an effect this large though nothing moved beyond the tolerance; absent where the rule computes none.
    pub p_value: Option<f64>,
    pub rule: &'static str,
    pub verdict: Verdict,
    /// A remark for the reader, such as why a benchmark failed.
    pub note: Option<String>,
    /// The answer of the ledger to a regression, which does not change the verdict.
    pub answer: Option<Box<Answer>>,
}

impl Comparison {
    /// A verdict without values.
    pub fn bare(benchmark: &str, metric: Metric, rule: &'static str, verdict: Verdict) -> Comparison {
        Comparison {
            benchmark: benchmark.to_owned(),
            metric,
            series: None,
            baseline: None,
            allowed: None,
            current: None,
            effect: None,
            p_value: None,
            rule,
            verdict,
            note: None,
            answer: None,
        }
    }

    /// What asks for action has the least: failures, then what is in doubt, then changes.
    pub fn severity(&self) -> u8 {
        match self.verdict {
            Verdict::Regressed if !self.is_accepted() => 0,
            Verdict::Missing => 1,
            Verdict::Regressed | Verdict::Inconclusive(_) => 2,
            Verdict::NotComparable(_) => 3,
            Verdict::NoBaseline => 4,
            Verdict::Improved => 5,
            Verdict::Unchanged => 6,
        }
    }

    /// Whether it is an accepted regression. No other verdict can be accepted.
    pub fn is_accepted(&self) -> bool {
        self.verdict == Verdict::Regressed && self.answer.as_ref().is_some_and(|answer| answer.is_accepted())
    }

    /// The word of the verdict, or `accepted`.
    pub fn word(&self) -> &'static str {
        if self.is_accepted() { ACCEPTED } else { self.verdict.word() }
    }

    /// The interval of the effect. Without width it has a meaning by the rule `interval` alone.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let interval = self.effect?.interval;
        interval.filter(|(low, high)| low < high || self.rule == "interval")
    }
}

/// The number of verdicts of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Counts {
    pub unchanged: usize,
    pub improved: usize,
    /// Without those that the ledger accepts.
    pub regressed: usize,
    /// Regressed, and accepted by the ledger.
    pub accepted: usize,
    pub inconclusive: usize,
    pub not_comparable: usize,
    pub missing: usize,
    pub no_baseline: usize,
}

impl Counts {
    pub fn from_comparisons<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Counts {
        let mut counts = Counts::default();
        for comparison in comparisons {
            *match comparison.verdict {
                Verdict::Unchanged => &mut counts.unchanged,
                Verdict::Improved => &mut counts.improved,
                Verdict::Regressed if comparison.is_accepted() => &mut counts.accepted,
                Verdict::Regressed => &mut counts.regressed,
                Verdict::Inconclusive(_) => &mut counts.inconclusive,
                Verdict::NotComparable(_) => &mut counts.not_comparable,
                Verdict::Missing => &mut counts.missing,
                Verdict::NoBaseline => &mut counts.no_baseline,
            } += 1;
        }
        counts
    }

    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            unchanged: self.unchanged + other.unchanged,
            improved: self.improved + other.improved,
            regressed: self.regressed + other.regressed,
            accepted: self.accepted + other.accepted,
            inconclusive: self.inconclusive + other.inconclusive,
            not_comparable: self.not_comparable + other.not_comparable,
            missing: self.missing + other.missing,
            no_baseline: self.no_baseline + other.no_baseline,
        }
    }

    pub fn total(&self) -> usize {
        self.judged() + self.inconclusive + self.not_comparable + self.missing + self.no_baseline
    }

    pub fn judged(&self) -> usize {
        self.unchanged + self.improved + self.regressed + self.accepted
    }

    /// Such as `2 regressed, 17 unchanged`.
    pub fn words(&self) -> String {
        let parts = [
            (self.regressed, "regressed"),
            (self.missing, "missing"),
            (self.inconclusive, "inconclusive"),
            (self.not_comparable, "not comparable"),
            (self.no_baseline, "without a baseline"),
            (self.accepted, ACCEPTED),
            (self.improved, "improved"),
            (self.unchanged, "unchanged"),
        ];
        let list: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if list.is_empty() { "nothing was judged".to_owned() } else { list.join(", ") }
    }

    /// How many fail a gate.
    pub fn failing(&self) -> usize {
        self.regressed + self.missing
    }
}
