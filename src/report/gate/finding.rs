//! What a gate reports apart from what is unchanged or better: made once, so that every form says the same.

use crate::mark::worse_word;
use crate::number;
use sprag_model::gate::{Gate, Outcome, SuiteGate};
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Effect, Verdict};

/// The command that compares two sides, of which neither is a baseline.
pub(super) const COMPARE: &str = "compare";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Regressed,
    Accepted,
    Missing,
    Inconclusive,
    NotComparable,
    NoBaseline,
    /// A suite has no numbers.
    NotMeasured,
}

impl Kind {
    /// All of them, the worst first.
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

    /// How serious it is where doubt fails no gate.
    pub(super) fn level(self) -> Level {
        match self {
            Kind::Regressed | Kind::Missing | Kind::NotMeasured => Level::Error,
            Kind::Inconclusive | Kind::NotComparable => Level::Warning,
            Kind::NoBaseline | Kind::Accepted => Level::Note,
        }
    }

    /// How serious it is for a gate.
    fn level_in(self, gate: &Gate) -> Level {
        if gate.doubt_fails && self != Kind::Accepted { Level::Error } else { self.level() }
    }

    /// The kind of a verdict; `None` where there is nothing to do.
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

/// How serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// It fails the gate.
    Error,
    /// It leaves the gate in doubt.
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

/// Something to report. Its texts hold names and reasons of others as they are.
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

/// All findings, in the order of the gate.
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

/// The finding of a suite as such: that it did not run, or that nothing of it was judged.
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

/// Whether a suite should have been judged and has no numbers. One that is compared with nothing may be skipped, as
/// that of a device which a machine does not have. Where a gate was left with nothing to judge and no suite bears the
/// blame, all do.
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

/// The benchmark and its metric, as baselines name them.
pub(super) fn metric_name(comparison: &Comparison) -> String {
    format!("{} {}", comparison.benchmark, comparison.metric.name)
}

/// The benchmark without the name of its suite in front. Names of other tools, such as `sort/quick/1000`, have none.
pub(super) fn short_name<'c>(suite: &str, benchmark: &'c str) -> &'c str {
    benchmark.strip_prefix(suite).and_then(|rest| rest.strip_prefix('/')).unwrap_or(benchmark)
}

/// What a comparison came to, without the verdict's word and the names; `command` is the one that compared.
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

/// What the ledger says to a regression, with its reason.
pub fn answer(comparison: &Comparison) -> Option<String> {
    comparison.answer.as_ref().map(|answer| format!("{} ({}: {})", answer.words(), answer.entry, answer.reason))
}

/// How much a comparison changed; nothing where the baseline is zero, of which there is no share.
pub fn effect(comparison: &Comparison) -> Option<Effect> {
    let effect = comparison.effect.filter(|_| comparison.baseline != Some(0.0))?;
    Some(Effect { interval: comparison.interval(), ..effect })
}

/// A change with its interval, such as `+8.1 % (+7.6 to +8.6)`.
pub(super) fn change(effect: Effect) -> String {
    let interval = effect.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    let interval = interval.map(|interval| format!(" ({})", number::percent_interval(interval)));
    format!("{}{}", number::percent(effect.change), interval.unwrap_or_default())
}

/// The two values in one unit, such as `1.200 → 1.297 ms`; empty where there are none.
pub(super) fn values(comparison: &Comparison) -> String {
    let unit = comparison.metric.unit;
    match (comparison.baseline, comparison.current) {
        (Some(baseline), Some(current)) => {
            let scale = unit.scale(if baseline == 0.0 { current } else { baseline });
            format!("{} → {}", number::value(scale, baseline), number::quantity(scale, current))
        }
        (Some(value), None) => format!("{} → {}", number::quantity(unit.scale(value), value), number::NONE),
        (None, Some(value)) => format!("{} → {}", number::NONE, number::quantity(unit.scale(value), value)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;
    use sprag_model::metric::{Better, Metric};
    use sprag_model::unit::Unit;

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
    fn a_comparison_without_figures_still_says_something() {
        for verdict in
            [Verdict::Regressed, Verdict::Unchanged, Verdict::Missing, Verdict::Inconclusive("why".to_owned())]
        {
            let comparison = Comparison::bare("cpu/a @fast", Metric::time(), "interval", verdict);
            assert!(!sentence("check", &comparison).is_empty());
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
    }

    #[test]
    fn doubt_is_as_serious_as_it_counts() {
        let mut gate = example::doubtful();
        let one = |name: &str, ratio: f64, verdict| example::comparison(name, ratio, verdict);
        gate.suites[0].comparisons.push(one("cpu/b @fast", 1.3, Verdict::Regressed));
        gate.suites[0].comparisons.push(one("cpu/c @fast", 1.0, Verdict::NoBaseline));
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
    fn a_suite_without_numbers_is_an_error_where_it_should_have_them() {
        let (ok, skipped, failed) = (Some(RunStatus::Ok), Some(RunStatus::Skipped), Some(RunStatus::Failed));
        for (outcome, wants_all, status, has_base, expected) in [
            (Outcome::Fail, false, None, true, Level::Error),
            (Outcome::Inconclusive, true, None, false, Level::Error),
            (Outcome::Pass, false, None, false, Level::Note),
            (Outcome::Pass, false, skipped, false, Level::Note),
            (Outcome::NotMeasured, false, skipped, false, Level::Error),
            (Outcome::NotMeasured, false, skipped, true, Level::Error),
            (Outcome::Fail, false, failed, false, Level::Error),
            (Outcome::Inconclusive, false, ok, true, Level::Warning),
        ] {
            let suite = SuiteGate { status, has_base, ..example::suite("gpu") };
            let gate = Gate { outcome, wants_all, suites: vec![suite], ..example::gate() };
            assert_eq!(all(&gate)[0].level, expected, "{outcome:?} {status:?} {has_base}");
        }
    }

    #[test]
    fn no_suite_is_to_blame_for_another() {
        let (skipped, absent) = (Some(RunStatus::Skipped), None);
        let check = |outcome, wants_all, cpu: &SuiteGate, (status, has_base), expected: Level| {
            let gpu = SuiteGate { status, has_base, ..example::suite("gpu") };
            let gate = Gate { outcome, wants_all, suites: vec![cpu.clone(), gpu], ..example::gate() };
            assert_eq!(of_suite(&gate, &gate.suites[1]).expect("it has no numbers").level, expected, "{outcome:?}");
        };
        for (outcome, verdict) in [
            (Outcome::Pass, Verdict::Unchanged),
            (Outcome::Fail, Verdict::Regressed),
            (Outcome::Inconclusive, Verdict::NoBaseline),
        ] {
            let comparisons = vec![example::comparison("cpu/a @fast", 1.2, verdict)];
            let cpu = SuiteGate { comparisons, ..example::suite("cpu") };
            check(outcome, false, &cpu, (absent, false), Level::Note);
            check(outcome, false, &cpu, (skipped, false), Level::Note);
            check(outcome, true, &cpu, (absent, false), Level::Error);
            check(outcome, false, &cpu, (absent, true), Level::Error);
        }
        // A suite that was judged before and is skipped now bears it alone.
        let judged_before = SuiteGate { status: skipped, ..example::suite("cpu") };
        check(Outcome::NotMeasured, false, &judged_before, (absent, false), Level::Note);
        let never_judged = SuiteGate { has_base: false, ..judged_before };
        check(Outcome::NotMeasured, false, &never_judged, (skipped, false), Level::Error);
    }

    #[test]
    fn a_value_is_no_interval() {
        let exact = Some(Effect { change: 0.249, interval: Some((0.249, 0.249)), detectable: None });
        for (rule, expected) in [("tolerance", "+24.9\u{202f}%"), ("interval", "+24.9\u{202f}% (+24.9 to +24.9)")] {
            let one = Comparison { rule, effect: exact, ..example::comparison("a", 1.249, Verdict::Regressed) };
            assert_eq!(change(effect(&one).expect("there is one")), expected);
        }
    }
}
