//! What a gate reports besides unchanged and better metrics, made once for all forms.

use crate::mark::worse_word;
use crate::number;
use crate::trend::words;
use sprag_model::{Comparison, Effect, Gate, Outcome, RunStatus, SuiteGate, Verdict};

pub(super) const COMPARE: &str = "compare";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Regressed,
    Accepted,
    Missing,
    Inconclusive,
    NotComparable,
    NoBaseline,
    NotMeasured,
}

impl Kind {
    /// The worst first.
    pub(super) const ALL: [Kind; 7] = [
        Kind::Regressed,
        Kind::Missing,
        Kind::NotMeasured,
        Kind::Inconclusive,
        Kind::NotComparable,
        Kind::NoBaseline,
        Kind::Accepted,
    ];

    /// The word for other programs, which never changes.
    pub(super) fn id(self) -> &'static str {
        match self {
            Kind::Regressed => "regressed",
            Kind::Accepted => "accepted",
            Kind::Missing => "missing",
            Kind::Inconclusive => "inconclusive",
            Kind::NotComparable => "not-comparable",
            Kind::NoBaseline => "no-baseline",
            Kind::NotMeasured => "not-measured",
        }
    }

    /// The level in a gate that doubt does not fail.
    pub(super) fn level(self) -> Level {
        match self {
            Kind::Regressed | Kind::Missing | Kind::NotMeasured => Level::Error,
            Kind::Inconclusive | Kind::NotComparable => Level::Warning,
            Kind::NoBaseline | Kind::Accepted => Level::Note,
        }
    }

    fn level_in(self, gate: &Gate) -> Level {
        if gate.doubt_fails && self != Kind::Accepted { Level::Error } else { self.level() }
    }

    fn from_comparison(comparison: &Comparison) -> Option<Kind> {
        match &comparison.verdict {
            Verdict::Unchanged | Verdict::Improved => None,
            Verdict::Regressed if comparison.is_accepted() => Some(Kind::Accepted),
            Verdict::Regressed => Some(Kind::Regressed),
            Verdict::Inconclusive(_) => Some(Kind::Inconclusive),
            Verdict::NotComparable(_) => Some(Kind::NotComparable),
            Verdict::Missing => Some(Kind::Missing),
            Verdict::NoBaseline => Some(Kind::NoBaseline),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
    Note,
}

impl Level {
    pub(super) fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// Its texts hold names and reasons of others as they are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding<'a> {
    pub(super) kind: Kind,
    pub(super) level: Level,
    pub(super) suite: &'a SuiteGate,
    /// The metric; absent where the finding is of the suite.
    pub(super) comparison: Option<&'a Comparison>,
    pub(super) title: String,
    /// One sentence without a full stop, which does not repeat the title.
    pub(super) message: String,
}

pub(super) fn all<'a>(gate: &'a Gate) -> Vec<Finding<'a>> {
    let findings = |suite: &'a SuiteGate| {
        let metrics = suite.comparisons.iter().filter_map(move |comparison| of_comparison(gate, suite, comparison));
        of_suite(gate, suite).into_iter().chain(metrics)
    };
    gate.suites.iter().flat_map(findings).collect()
}

pub(super) fn of_comparison<'a>(gate: &Gate, suite: &'a SuiteGate, comparison: &'a Comparison) -> Option<Finding<'a>> {
    let kind = Kind::from_comparison(comparison)?;
    Some(Finding {
        kind,
        level: kind.level_in(gate),
        suite,
        comparison: Some(comparison),
        title: format!("{}: {}", comparison.word(), metric_name(comparison)),
        message: sentence(gate.command, comparison),
    })
}

/// That a suite did not run, or that nothing of it was judged.
pub(super) fn of_suite<'a>(gate: &Gate, suite: &'a SuiteGate) -> Option<Finding<'a>> {
    let reason = || suite.reason.clone().unwrap_or_else(|| "no reason is given".to_owned());
    let (kind, title, message) = match suite.status {
        None => (Kind::NotMeasured, format!("not measured: {}", suite.suite), reason()),
        Some(status @ (RunStatus::Skipped | RunStatus::Failed)) => {
            (Kind::NotMeasured, format!("{}: {}", status.word(), suite.suite), reason())
        }
        Some(RunStatus::Ok) if suite.comparisons.is_empty() => {
            let against =
                if suite.has_base { format!("compared with {}", suite.against) } else { suite.against.clone() };
            (Kind::Inconclusive, format!("nothing was judged: {}", suite.suite), against)
        }
        Some(RunStatus::Ok) => return None,
    };
    let may_be_skipped = kind == Kind::NotMeasured && !was_not_judged(gate, suite);
    let level = if may_be_skipped { Level::Note } else { kind.level_in(gate) };
    Some(Finding { kind, level, suite, comparison: None, title, message })
}

/// Whether a suite should have been judged and has no numbers. One that is compared with nothing may be skipped, such as that of a
/// device that the machine lacks; but where a gate has nothing to judge and no suite is to blame, all are.
pub fn was_not_judged(gate: &Gate, suite: &SuiteGate) -> bool {
    let is_to_blame = |suite: &SuiteGate| match suite.status {
        Some(RunStatus::Ok) => false,
        Some(RunStatus::Failed) => true,
        Some(RunStatus::Skipped) => suite.has_base,
        None => suite.has_base || gate.wants_all,
    };
    let is_unjudged = suite.status != Some(RunStatus::Ok);
    let is_nobody = || gate.outcome == Outcome::NotMeasured && !gate.suites.iter().any(is_to_blame);
    is_to_blame(suite) || is_unjudged && is_nobody()
}

pub(super) fn metric_name(comparison: &Comparison) -> String {
    format!("{} {}", comparison.benchmark, comparison.metric.name)
}

/// The benchmark without its suite. Names of other tools, such as `sort/quick/1000`, have none.
pub(super) fn short_name<'c>(suite: &str, benchmark: &'c str) -> &'c str {
    benchmark.strip_prefix(suite).and_then(|rest| rest.strip_prefix('/')).unwrap_or(benchmark)
}

/// The result without the verdict's word and the names; `command` is the one that compared.
pub(super) fn sentence(command: &str, comparison: &Comparison) -> String {
    let values = values(comparison);
    let effect = effect(comparison);
    let changed = effect.map(change);
    let words = match &comparison.verdict {
        Verdict::Missing if comparison.baseline.is_none() => None,
        Verdict::Missing if command == COMPARE => Some("in the base but not on the other side".to_owned()),
        Verdict::Missing => Some("in the baseline but not in the run".to_owned()),
        Verdict::NoBaseline => Some("there is nothing to compare it with".to_owned()),
        Verdict::Regressed => {
            let word = worse_word(&comparison.metric);
            Some(changed.map_or_else(|| word.to_owned(), |change| format!("{word}: {change}")))
        }
        _ => changed,
    };
    let figures: Vec<String> = words.into_iter().chain(Some(values).filter(|values| !values.is_empty())).collect();
    let reason = comparison.verdict.reason().map(str::to_owned);
    let mut parts: Vec<String> = answer(comparison).into_iter().chain(reason).collect();
    if !figures.is_empty() {
        parts.push(figures.join(", "));
    }
    if let (Verdict::Regressed, Some(allowed)) = (&comparison.verdict, comparison.allowed) {
        let scale = comparison.metric.unit.scale(comparison.baseline.unwrap_or(allowed));
        parts.push(format!("{} would pass", number::quantity(scale, allowed)));
    }
    if let Some(detectable) = effect.and_then(|effect| effect.detectable) {
        parts.push(format!("changes from {} are detectable", number::percent_size(detectable)));
    }
    parts.extend(comparison.note.clone());
    if parts.is_empty() { comparison.verdict.word().to_owned() } else { parts.join("; ") }
}

/// The answer of the ledger, with its reason.
pub fn answer(comparison: &Comparison) -> Option<String> {
    comparison.answer.as_ref().map(|answer| format!("{} ({}: {})", answer.words(), answer.entry, answer.reason))
}

/// Nothing where the baseline is zero, which has no relative change.
pub fn effect(comparison: &Comparison) -> Option<Effect> {
    let effect = comparison.effect.filter(|_| comparison.baseline != Some(0.0))?;
    Some(Effect { interval: comparison.interval(), ..effect })
}

/// Such as `+8.1 % (+7.6 to +8.6)`.
pub(super) fn change(effect: Effect) -> String {
    let interval = effect.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    let interval = interval.map(|interval| format!(" ({})", number::percent_interval(interval)));
    format!("{}{}", number::percent(effect.change), interval.unwrap_or_default())
}

/// Such as `1.200 → 1.297 ms`; empty without values.
pub(super) fn values(comparison: &Comparison) -> String {
    let unit = comparison.metric.unit;
    match (comparison.baseline, comparison.current) {
        (Some(baseline), Some(current)) => words::values(unit, baseline, current),
        (Some(value), None) => format!("{} → {}", number::quantity(unit.scale(value), value), number::NONE),
        (None, Some(value)) => format!("{} → {}", number::NONE, number::quantity(unit.scale(value), value)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;
    use sprag_model::{Better, Metric, Unit};

    #[test]
    fn a_name_loses_its_own_suite_and_nothing_else() {
        for (suite, name, expected) in [
            ("cpu", "cpu/infer{n=512} @fast", "infer{n=512} @fast"),
            ("cpu", "cpu2/infer @fast", "cpu2/infer @fast"),
            ("criterion", "sort/quick/1000", "sort/quick/1000"),
            ("criterion", "criterion", "criterion"),
            ("", "a/b", "a/b"),
        ] {
            assert_eq!(short_name(suite, name), expected);
        }
    }

    #[test]
    fn a_share_of_zero_is_not_given() {
        let reason = "the baseline is 0, so there is no ratio to it".to_owned();
        let zero = Effect { change: 0.0, interval: None, detectable: Some(0.02) };
        let comparison = Comparison {
            metric: Metric { name: "allocations".to_owned(), unit: Unit::One, better: Better::Lower },
            baseline: Some(0.0),
            current: Some(12.0),
            effect: Some(zero),
            ..example::comparison("cpu/a @fast", 1.0, Verdict::Inconclusive(reason.clone()))
        };
        assert_eq!(sentence("check", &comparison), format!("{reason}; 0 → 12.00"));
        assert_eq!(effect(&Comparison { baseline: Some(-0.0), ..comparison.clone() }), None);
        assert_eq!(effect(&Comparison { baseline: Some(1.0), ..comparison }), Some(zero));
        for verdict in
            [Verdict::Regressed, Verdict::Unchanged, Verdict::Missing, Verdict::Inconclusive("why".to_owned())]
        {
            assert!(!sentence("check", &Comparison::bare("a", Metric::time(), "interval", verdict)).is_empty());
        }
    }

    #[test]
    fn doubt_is_as_serious_as_it_counts() {
        let mut gate = example::doubtful();
        gate.suites[0].comparisons.push(example::comparison("cpu/b @fast", 1.3, Verdict::Regressed));
        gate.suites[0].comparisons.push(example::comparison("cpu/c @fast", 1.0, Verdict::NoBaseline));
        for (outcome, doubt_fails, expected) in [
            (Outcome::Inconclusive, false, [Level::Warning, Level::Error, Level::Note]),
            (Outcome::Fail, false, [Level::Warning, Level::Error, Level::Note]),
            (Outcome::Fail, true, [Level::Error; 3]),
        ] {
            let gate = Gate { outcome, doubt_fails, ..gate.clone() };
            assert_eq!(all(&gate).iter().map(|one| one.level).collect::<Vec<Level>>(), expected);
        }
    }

    #[test]
    fn a_suite_without_numbers_is_an_error_where_it_should_have_them_and_no_other_is_to_blame() {
        const OK: Option<RunStatus> = Some(RunStatus::Ok);
        const SKIPPED: Option<RunStatus> = Some(RunStatus::Skipped);
        let judged = |verdict| {
            let comparisons = vec![example::comparison("cpu/a @fast", 1.2, verdict)];
            SuiteGate { comparisons, ..example::suite("cpu") }
        };
        let check = |outcome, wants_all, other: Option<SuiteGate>, (status, has_base), expected: Level| {
            let suite = SuiteGate { status, has_base, ..example::suite("gpu") };
            let suites: Vec<SuiteGate> = other.into_iter().chain([suite]).collect();
            let gate = Gate { outcome, wants_all, suites, ..example::gate() };
            let finding = of_suite(&gate, &gate.suites[gate.suites.len() - 1]).expect("it has no numbers");
            assert_eq!(finding.level, expected, "{outcome:?} {status:?} {has_base}");
        };
        let skipped = |has_base| SuiteGate { status: SKIPPED, has_base, ..example::suite("cpu") };
        for (outcome, wants_all, other, status, has_base, expected) in [
            (Outcome::Fail, false, None, None, true, Level::Error),
            (Outcome::Inconclusive, true, None, None, false, Level::Error),
            (Outcome::Pass, false, None, None, false, Level::Note),
            (Outcome::Pass, false, None, SKIPPED, false, Level::Note),
            (Outcome::NotMeasured, false, None, SKIPPED, false, Level::Error),
            (Outcome::NotMeasured, false, None, SKIPPED, true, Level::Error),
            (Outcome::Fail, false, None, Some(RunStatus::Failed), false, Level::Error),
            (Outcome::Inconclusive, false, None, OK, true, Level::Warning),
            // A suite that was judged before and is skipped now is to blame alone.
            (Outcome::NotMeasured, false, Some(skipped(true)), None, false, Level::Note),
            (Outcome::NotMeasured, false, Some(skipped(false)), SKIPPED, false, Level::Error),
        ] {
            check(outcome, wants_all, other, (status, has_base), expected);
        }
        for (outcome, verdict) in [
            (Outcome::Pass, Verdict::Unchanged),
            (Outcome::Fail, Verdict::Regressed),
            (Outcome::Inconclusive, Verdict::NoBaseline),
        ] {
            let other = judged(verdict);
            for (wants_all, suite, expected) in [
                (false, (None, false), Level::Note),
                (false, (SKIPPED, false), Level::Note),
                (true, (None, false), Level::Error),
                (false, (None, true), Level::Error),
            ] {
                check(outcome, wants_all, Some(other.clone()), suite, expected);
            }
        }
    }

    #[test]
    fn an_exact_change_has_an_interval_only_by_the_rule_of_intervals() {
        let exact = Some(Effect { change: 0.249, interval: Some((0.249, 0.249)), detectable: None });
        for (rule, expected) in [("tolerance", "+24.9\u{202f}%"), ("interval", "+24.9\u{202f}% (+24.9 to +24.9)")] {
            let one = Comparison { rule, effect: exact, ..example::comparison("a", 1.249, Verdict::Regressed) };
            assert_eq!(change(effect(&one).expect("there is one")), expected);
        }
    }
}
