//! What a comparison found: verdicts, messages, and a test that fails with them.

use std::path::{Path, PathBuf};

use sprag_model::rule::Rule;
use sprag_model::verdict::{Comparison, Verdict};

/// The variable that makes `compare_with_file` write the ground truth in place of comparing: `1` where it is to.
pub const ACCEPT_VARIABLE: &str = "SPRAG_ACCEPT";

/// What a comparison found, one entry a subsection.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a report that nobody asks fails nothing; `assert_pass` does"]
pub struct Report {
    /// In the order of the baseline, then what is new.
    pub comparisons: Vec<Comparison>,
    /// Why nothing could be judged.
    pub faults: Vec<String>,
    /// What speaks against the samples.
    pub quality: Vec<String>,
    rule: &'static str,
    passes_in_doubt: bool,
    /// The file that was held against.
    file: Option<PathBuf>,
    /// Whether that file was written in place of comparing.
    is_accepted: bool,
}

impl Report {
    pub fn new(rule: &Rule) -> Report {
        Report { rule: rule.name(), ..Report::default() }
    }

    /// The report of data that were made the ground truth.
    pub fn accepted(path: &Path, quality: &[String]) -> Report {
        let (quality, file) = (quality.to_vec(), Some(path.to_owned()));
        Report { quality, rule: "none", file, is_accepted: true, ..Report::default() }
    }

    pub fn of_file(self, path: &Path) -> Report {
        Report { file: Some(path.to_owned()), ..self }
    }

    /// The same report, which passes also where a subsection is inconclusive: where data cannot tell. Whatever is missing or
    /// not comparable fails all the same.
    pub fn inconclusive_passes(self) -> Report {
        Report { passes_in_doubt: true, ..self }
    }

    /// All that was found, one entry a subsection, in the order of the baseline; what the baseline lacks comes last.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Each subsection, as `section.subsection`, with its verdict.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &Verdict)> {
        self.comparisons.iter().map(|one| (one.benchmark.as_str(), &one.verdict))
    }

    /// What speaks against the samples of both sides, one sentence each.
    pub fn quality(&self) -> &[String] {
        &self.quality
    }

    /// Whether everything could be judged and nothing is worse, or was accepted just now.
    pub fn is_pass(&self) -> bool {
        let is_empty = self.comparisons.iter().all(|one| one.verdict == Verdict::NoBaseline);
        self.is_accepted || (self.faults.is_empty() && !is_empty && !self.comparisons.iter().any(|one| self.fails(one)))
    }

    /// One line a subsection, those that fail first; before them why nothing could be judged, where that is so.
    pub fn messages(&self) -> Vec<String> {
        let mut messages: Vec<String> = self.faults.clone();
        if let Some(path) = self.file.as_ref().filter(|_| self.is_accepted) {
            messages.push(format!("accepted as the ground truth: `{}`; look at what changed in it", path.display()));
        }
        let (failing, passing): (Vec<&Comparison>, Vec<&Comparison>) =
            self.comparisons.iter().partition(|one| self.fails(one));
        messages.extend(failing.into_iter().chain(passing).map(message));
        messages
    }

    /// Fails the test where [`Report::is_pass`] does not hold.
    ///
    /// # Panics
    /// Then, with all messages, one a line, what speaks against the samples, and how to accept what was measured.
    #[track_caller]
    pub fn assert_pass(&self) {
        assert!(self.is_pass(), "{}", self.failure());
    }

    fn failure(&self) -> String {
        let failing = self.comparisons.iter().filter(|one| self.fails(one)).count();
        let head = match (&self.faults[..], self.comparisons.len()) {
            ([], 1) => format!("performance: the only subsection fails by the rule `{}`", self.rule),
            ([], all) => format!("performance: {failing} of {all} subsections fail by the rule `{}`", self.rule),
            _ => "performance: nothing could be judged".to_owned(),
        };
        let mut lines = vec![head];
        lines.extend(self.messages().into_iter().map(|message| format!("  {message}")));
        lines.extend(self.quality.iter().map(|reason| format!("note: {}", shown(reason))));
        lines.push(match &self.file {
            Some(path) => format!(
                "hint: where that is wanted, {ACCEPT_VARIABLE}=1 in the environment of the test writes what it measures to \
                 `{}`; look at what changes in it, and commit it",
                path.display()
            ),
            None => "hint: where that is wanted, make what was measured the new baseline".to_owned(),
        });
        lines.join("\n")
    }

    fn fails(&self, comparison: &Comparison) -> bool {
        match comparison.verdict {
            Verdict::Unchanged | Verdict::Improved | Verdict::NoBaseline => false,
            Verdict::Inconclusive(_) => !self.passes_in_doubt,
            Verdict::Regressed | Verdict::Missing | Verdict::NotComparable(_) => true,
        }
    }
}

/// Such as `scan.plain: regressed: +12.31 % (6384 to 7170, +12.10 to +12.50 %, 6448 allowed, p 1.2e-9)`.
fn message(comparison: &Comparison) -> String {
    let mut text = format!("{}: {}", shown(&comparison.benchmark), comparison.verdict.word());
    if let Some(reason) = comparison.verdict.reason() {
        text.push_str(&format!(": {}", shown(reason)));
    }
    let typical = comparison.baseline.or(comparison.current).unwrap_or(0.0);
    let scale = comparison.metric.unit.scale(typical);
    match (comparison.baseline, comparison.current) {
        (Some(then), Some(now)) => {
            let mut parts = vec![format!("{} to {}", scale.text(then), scale.text(now))];
            if let Some((low, high)) = comparison.effect.and_then(|effect| effect.interval) {
                parts.push(format!("{} to {} %", signed(low), signed(high)));
            }
            parts.extend(comparison.allowed.map(|allowed| format!("{} allowed", scale.text(allowed))));
            parts.extend(comparison.p_value.map(|p| format!("p {p:.1e}")));
            let parts = parts.join(", ");
            text.push_str(&match comparison.effect {
                Some(effect) => format!(": {} % ({parts})", signed(effect.change)),
                None => format!(" ({parts})"),
            });
        }
        (Some(then), None) => text.push_str(&format!(": it was {}", scale.text(then))),
        (None, Some(now)) => text.push_str(&format!(": {}", scale.text(now))),
        (None, None) => {}
    }
    if let Some(note) = &comparison.note {
        text.push_str(&format!("; {}", shown(note)));
    }
    text
}

/// A change in percent with its sign; what rounds to nothing went not down.
fn signed(change: f64) -> String {
    let text = format!("{:+.2}", change * 100.0);
    if text == "-0.00" { "+0.00".to_owned() } else { text }
}

/// A text on one line: names come from files, and a message is one line.
fn shown(text: &str) -> String {
    let one = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PerformanceData, RANK, compare};
    use sprag_model::unit::Unit;

    fn data(subsections: &[(&str, f64)]) -> PerformanceData {
        let mut data = PerformanceData::new().in_unit(Unit::Second);
        for (name, level) in subsections {
            data.insert("s", name, vec![*level; 20]).expect("it is fine");
        }
        data
    }

    #[test]
    fn a_failure_tells_all_and_how_to_accept() {
        let mut current = data(&[("same", 1e-6), ("slow\n", 2e-6), ("new", 3e-6)]);
        current.quality.push("in-process: one".to_owned());
        let base = data(&[("same", 1e-6), ("gone", 1e-3), ("slow\n", 1e-6)]);
        let report = compare(&base, &current, &RANK);
        let p = report.comparisons()[2].p_value.expect("the rule knows one");
        let expected = format!(
            "performance: 2 of 4 subsections fail by the rule `rank`\n  \
             s.gone: missing: it was 1.000 ms\n  \
             s.slow\\n: regressed: +100.00 % (1.000 µs to 2.000 µs, +100.00 to +100.00 %, 1.010 µs allowed, p {p:.1e})\n  \
             s.same: unchanged: +0.00 % (1.000 µs to 1.000 µs, +0.00 to +0.00 %, 1.010 µs allowed, p 1.0e0)\n  \
             s.new: no baseline: 3.000 µs\n\
             note: in-process: one\n\
             hint: where that is wanted, make what was measured the new baseline"
        );
        assert_eq!(report.failure(), expected);
        let of_file = report.of_file(Path::new("truth.json"));
        assert!(of_file.failure().contains("SPRAG_ACCEPT=1"), "{}", of_file.failure());
        let panic = std::panic::catch_unwind(|| of_file.assert_pass()).expect_err("it fails");
        assert_eq!(panic.downcast_ref::<String>(), Some(&of_file.failure()));
        assert!(compare(&base, &base, &RANK).is_pass());
        compare(&base, &base, &RANK).assert_pass();
    }

    #[test]
    fn nothing_bears_no_minus() {
        let check = |change: f64, expected: &str| assert_eq!(signed(change), expected, "{change}");
        check(-1e-9, "+0.00");
        check(-0.0, "+0.00");
        check(0.0, "+0.00");
        check(-0.00006, "-0.01");
        check(0.12345, "+12.35");
        let report = compare(&data(&[("a", 1e-6)]), &data(&[("a", 0.999_999_99e-6)]), &RANK);
        assert!(report.messages()[0].starts_with("s.a: unchanged: +0.00 % "), "{:?}", report.messages());
        assert!(!report.messages()[0].contains("-0.00"), "{:?}", report.messages());
    }

    #[test]
    fn doubt_passes_only_where_that_is_asked_for() {
        let few = |level: f64| {
            let mut data = PerformanceData::new();
            data.insert("s", "few", vec![level; 2]).expect("it is fine");
            data
        };
        let report = compare(&few(1.0), &few(2.0), &RANK);
        assert!(!report.is_pass() && report.messages()[0].contains("too few"), "{:?}", report.messages());
        assert!(report.failure().starts_with("performance: the only subsection fails by"));
        assert!(report.inconclusive_passes().is_pass());
        let nothing = compare(&PerformanceData::new(), &few(1.0), &RANK).inconclusive_passes();
        assert!(!nothing.is_pass() && nothing.failure().starts_with("performance: nothing could be judged\n"));
    }
}
