//! What a rule says about one metric, and how many verdicts of each kind there are.

use schemars::JsonSchema;
use serde::Serialize;

use super::ledger::answer::Answer;
use super::metric::Metric;

pub const ACCEPTED: &str = "accepted";

/// What a rule decided about a metric of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Unchanged,
    Improved,
    Regressed,
    Inconclusive(String),
    /// The two sides must not be compared; says what differs.
    NotComparable(String),
    /// The baseline has it and the current run has not.
    Missing,
    NoBaseline,
}

impl Verdict {
    pub const WORDS: [&str; 7] =
        ["unchanged", "improved", "regressed", "inconclusive", "not comparable", "missing", "no baseline"];

    /// The verdict in one or two lower-case words.
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

    /// Why the verdict is not a plain one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::Inconclusive(reason) | Verdict::NotComparable(reason) => Some(reason),
            Verdict::Unchanged | Verdict::Improved | Verdict::Regressed | Verdict::Missing | Verdict::NoBaseline => {
                None
            }
        }
    }
}

/// How much a metric changed, and how small a change the comparison could have shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Current / baseline - 1; positive means that the number went up.
    pub change: f64,
    /// The interval of `change`, by the rule that decided: one of 98 % by `interval`, of 95 % by the others, where the sides
    /// allow one. That of `tolerance` is of the current value alone.
    pub interval: Option<(f64, f64)>,
    /// The smallest change in the bad direction that such a comparison would have called a regression in four cases of five,
    /// as far as the data tell: what the rule allows and, beyond that, how uncertain the values are. It is a size, above zero
    /// also where less is worse; absent where the data do not say how uncertain they are.
    pub detectable: Option<f64>,
}

/// One metric of one benchmark, current against baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub benchmark: String,
    pub metric: Metric,
    /// The series it belongs to, where the history has one.
    pub series: Option<String>,
    /// The value of the baseline, in base units.
    pub baseline: Option<f64>,
    /// The worst value that still passes.
    pub allowed: Option<f64>,
    pub current: Option<f64>,
    pub effect: Option<Effect>,
    /// The chance of an effect this large in its direction though nothing moved beyond the tolerance; absent where the
    /// rule knows none.
    pub p_value: Option<f64>,
    pub rule: &'static str,
    pub verdict: Verdict,
    /// What else a reader should know, such as why a benchmark failed.
    pub note: Option<String>,
    /// What the ledger says to a regression; absent where it says nothing. The verdict stays what it is.
    pub answer: Option<Box<Answer>>,
}

impl Comparison {
    /// A verdict of which no value is known, to be filled in as far as there are some.
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

    /// Whether it regressed, and that is accepted. Nothing else can be: what is missing or wrong stays so.
    pub fn is_accepted(&self) -> bool {
        self.verdict == Verdict::Regressed && self.answer.as_ref().is_some_and(|answer| answer.is_accepted())
    }

    /// The word of the verdict; that of a regression that is accepted says so.
    pub fn word(&self) -> &'static str {
        if self.is_accepted() { ACCEPTED } else { self.verdict.word() }
    }

    /// The interval of the effect. One without width says something where the rule `interval` gave it; from any other it
    /// is the value once more, of which nobody knows how sure it is.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let interval = self.effect?.interval;
        interval.filter(|(low, high)| low < high || self.rule == "interval")
    }
}

/// How many verdicts of each kind.
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

    /// How many got a plain verdict: unchanged, improved or regressed, accepted or not.
    pub fn judged(&self) -> usize {
        self.unchanged + self.improved + self.regressed + self.accepted
    }

    /// How many of which verdict in words, such as `2 regressed, 17 unchanged`.
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

    /// How many fail a gate: regressed and not accepted, or missing.
    pub fn failing(&self) -> usize {
        self.regressed + self.missing
    }
}
