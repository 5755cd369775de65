//! Compares performance data by a rule, with other data or with a ground-truth file, which `SPRAG_ACCEPT=1` rewrites.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::testing::TestingError;
use crate::testing::data::{ACCEPT_VARIABLE, PerformanceData};
use sprag_analysis::family::{self, Basis};
use sprag_analysis::rules::{self, interval};
use sprag_base::number::signed_percent;
use sprag_base::stats::{bootstrap, describe, pair_ratio, sign_interval};
use sprag_base::text::printable;
use sprag_model::{Better, Comparison, Metric, Rule, Side, TwoSides, Unit, Verdict};

#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a report alone fails no test; `assert_pass` does"]
pub struct Report {
    /// In the order of the baseline, then new ones.
    pub comparisons: Vec<Comparison>,
    /// Why nothing could be judged.
    pub faults: Vec<String>,
    /// Caveats about the samples.
    pub quality: Vec<String>,
    rule: &'static str,
    passes_in_doubt: bool,
    file: Option<PathBuf>,
    /// Whether the file was written instead of compared.
    is_accepted: bool,
}

impl Report {
    pub fn new(rule: &Rule) -> Report {
        Report { rule: rule.name(), ..Report::default() }
    }

    pub fn accepted(path: &Path, quality: &[String]) -> Report {
        let (quality, file) = (quality.to_vec(), Some(path.to_owned()));
        Report { quality, rule: "none", file, is_accepted: true, ..Report::default() }
    }

    pub fn of_file(self, path: &Path) -> Report {
        Report { file: Some(path.to_owned()), ..self }
    }

    /// Also passes if a subsection is inconclusive; missing or not comparable ones still fail.
    pub fn inconclusive_passes(self) -> Report {
        Report { passes_in_doubt: true, ..self }
    }

    /// Each as `section.subsection`.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &Verdict)> {
        self.comparisons.iter().map(|one| (one.benchmark.as_str(), &one.verdict))
    }

    /// Whether everything was judged and nothing is worse, or the data were accepted.
    pub fn is_pass(&self) -> bool {
        let is_empty = self.comparisons.iter().all(|one| one.verdict == Verdict::NoBaseline);
        self.is_accepted || (self.faults.is_empty() && !is_empty && !self.comparisons.iter().any(|one| self.fails(one)))
    }

    /// Faults, then a line a subsection, failing ones first.
    pub fn messages(&self) -> Vec<String> {
        let mut messages: Vec<String> = self.faults.clone();
        if let Some(path) = self.file.as_ref().filter(|_| self.is_accepted) {
            messages.push(format!("accepted as the ground truth: `{}`; review what changed in it", path.display()));
        }
        let (failing, passing): (Vec<&Comparison>, Vec<&Comparison>) =
            self.comparisons.iter().partition(|one| self.fails(one));
        messages.extend(failing.into_iter().chain(passing).map(message));
        messages
    }

    /// Panics unless [`Report::is_pass`], with all messages, caveats, and how to accept the data.
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
        lines.extend(self.quality.iter().map(|reason| format!("note: {}", printable(reason))));
        lines.push(match &self.file {
            Some(path) => format!(
                "hint: if the change is intended, run the test with {ACCEPT_VARIABLE}=1: it writes the new baseline to `{}`; \
                 review and commit it",
                path.display()
            ),
            None => "hint: if the change is intended, make this measurement the new baseline".to_owned(),
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

/// `scan.plain: regressed: +12.31 % (6384 to 7170, +12.10 to +12.50 %, 6448 allowed, p 1.2e-9)`.
fn message(comparison: &Comparison) -> String {
    let signed = |share: f64| signed_percent(share, 2);
    let mut text = format!("{}: {}", printable(&comparison.benchmark), comparison.verdict.word());
    if let Some(reason) = comparison.verdict.reason() {
        text.push_str(&format!(": {}", printable(reason)));
    }
    let typical = comparison.baseline.or(comparison.current).unwrap_or(0.0);
    let scale = comparison.metric.unit.scale(typical);
    match (comparison.baseline, comparison.current) {
        (Some(then), Some(now)) => {
            let mut parts = vec![format!("{} to {}", scale.text(then), scale.text(now))];
            if let Some((low, high)) = comparison.effect.and_then(|effect| effect.interval) {
                parts.push(format!("{} to {}", signed(low).replace(" %", ""), signed(high)));
            }
            parts.extend(comparison.allowed.map(|allowed| format!("{} allowed", scale.text(allowed))));
            parts.extend(comparison.p_value.map(|p| format!("p {p:.1e}")));
            let parts = parts.join(", ");
            text.push_str(&match comparison.effect {
                Some(effect) => format!(": {} ({parts})", signed(effect.change)),
                None => format!(" ({parts})"),
            });
        }
        (Some(then), None) => text.push_str(&format!(": it was {}", scale.text(then))),
        (None, Some(now)) => text.push_str(&format!(": {}", scale.text(now))),
        (None, None) => {}
    }
    if let Some(note) = &comparison.note {
        text.push_str(&format!("; {}", printable(note)));
    }
    text
}

pub const INTERVAL: Rule = Rule::Interval { tolerance: interval::TOLERANCE };

const APART: &str = "the processes of the two sides were not interleaved, so they form no pairs: use the rule `rank`, or \
                     `compare_sections` for two sections of the same processes";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processes {
    /// Each process measured both sides, in turn.
    Same,
    /// The sides were measured at different times.
    Different,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestRule {
    pub rule: Rule,
    /// Lower for times, higher for rates.
    pub better: Better,
}

/// Holds samples, of which less is better, against a baseline: those of one process against those of one process.
///
/// ```
/// use sprag_pipeline::testing::{PerformanceData, RANK, compare};
///
/// let data = |text: &[u8]| PerformanceData::from_json(text);
/// let baseline = data(br#"{"scan": {"plain": [10, 11, 10, 12, 11], "fused": [5, 5, 6, 5, 6]}}"#)?;
/// let current = data(br#"{"scan": {"plain": [20, 21, 20, 22, 21], "fused": [5, 6, 5, 5, 6]}}"#)?;
/// let report = compare(&baseline, &current, &RANK);
/// assert!(!report.is_pass());
/// assert!(report.messages()[0].starts_with("scan.plain: regressed: +90.91 %"));
/// assert!(report.messages()[1].starts_with("scan.fused: unchanged: +0.00 %"));
/// # Ok::<(), sprag_pipeline::testing::TestingError>(())
/// ```
pub fn compare(baseline: &PerformanceData, current: &PerformanceData, rule: &Rule) -> Report {
    let judge = TestRule { rule: *rule, better: Better::Lower };
    judge.compare(std::slice::from_ref(baseline), std::slice::from_ref(current))
}

/// Compares two sections of the same data, such as two forms of a kernel measured in turn; less is better.
pub fn compare_sections(data: &[PerformanceData], base: &str, current: &str, rule: &Rule) -> Report {
    TestRule { rule: *rule, better: Better::Lower }.compare_sections(data, base, current)
}

impl TestRule {
    /// Compares data with a baseline, each of one or several processes.
    ///
    /// Every subsection of the baseline gets a verdict; one that is gone is missing. New subsections are reported and
    /// change nothing. A sample of zero or less is not comparable by any rule.
    ///
    /// `tolerance` and `bands` use the median (of the medians of processes), `bands` also its interval. `rank` pools
    /// the samples of all processes. `interval` needs pairs of processes that took turns, so here it is always
    /// inconclusive; use [`TestRule::compare_sections`]. A regression that may be chance among so many subsections is
    /// inconclusive.
    pub fn compare(&self, baseline: &[PerformanceData], current: &[PerformanceData]) -> Report {
        self.compare_processes(baseline, current, Processes::Different)
    }

    /// Compares two sections of the same data, of one or several processes.
    ///
    /// With `interval`, each process is a pair: its number is the median ratio of its samples; three processes are
    /// needed.
    pub fn compare_sections(&self, data: &[PerformanceData], base: &str, current: &str) -> Report {
        let side = |section: &str| data.iter().map(|one| one.section_as(section, current)).collect::<Vec<_>>();
        self.compare_processes(&side(base), &side(current), Processes::Same)
    }

    fn compare_processes(
        &self,
        baseline: &[PerformanceData],
        current: &[PerformanceData],
        processes: Processes,
    ) -> Report {
        let mut report = Report::new(&self.rule);
        for data in baseline.iter().chain(current) {
            let more: Vec<String> = data.quality.iter().filter(|one| !report.quality.contains(one)).cloned().collect();
            report.quality.extend(more);
        }
        report.faults = self.faults(baseline);
        if !report.faults.is_empty() {
            return report;
        }
        let unit = current.iter().chain(baseline).find_map(PerformanceData::unit).unwrap_or(Unit::One);
        let metric = Metric { name: "samples".to_owned(), unit, better: self.better };
        let mut judged: Vec<(Comparison, Basis)> = Vec::new();
        for (section, subsection) in names(baseline) {
            judged.push(self.judged(&metric, (section, subsection), (baseline, current), processes));
        }
        // Doubt about an improvement must not fail a test.
        report.comparisons = family::without_chance(judged, &[Verdict::Regressed], "subsections");
        let base_names = names(baseline);
        for (section, subsection) in names(current).into_iter().filter(|name| !base_names.contains(name)) {
            let mut new = self.unjudged(&metric, (section, subsection), Verdict::NoBaseline);
            new.current = value(&lists(current, section, subsection));
            report.comparisons.push(new);
        }
        report
    }

    fn faults(&self, baseline: &[PerformanceData]) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some((name, value, allowed)) = self.rule.fault() {
            faults.push(format!("the rule `{}` has the `{name}` {value}: {allowed}", self.rule.name()));
        }
        if names(baseline).is_empty() {
            faults.push("the baseline has no samples, so nothing was compared".to_owned());
        }
        if let Some(section) = baseline.iter().find_map(PerformanceData::empty_section) {
            faults.push(format!("the section `{section}` of the baseline is empty"));
        }
        faults
    }

    fn judged(
        &self,
        metric: &Metric,
        name: (&str, &str),
        (baseline, current): (&[PerformanceData], &[PerformanceData]),
        processes: Processes,
    ) -> (Comparison, Basis) {
        let [then, now] = [baseline, current].map(|data| lists(data, name.0, name.1));
        let lacking = |lists: &[Option<&[f64]>], side: &str| {
            let place = lists.iter().position(Option::is_none)?;
            Some(format!("process {} of {side} has no samples of it", place + 1))
        };
        let mut comparison = self.unjudged(metric, name, Verdict::Missing);
        if now.iter().all(Option::is_none) {
            comparison.baseline = value(&then);
            return (comparison, None);
        }
        if let Some(note) = lacking(&now, "the current run") {
            comparison.note = Some(note);
            return (comparison, None);
        }
        // Some rules see only medians, or have doubt as their only verdict, which a test may let pass.
        if let Some(reason) = refusal(&then, &now) {
            let verdict = Verdict::NotComparable(reason);
            return (Comparison { baseline: value(&then), current: value(&now), verdict, ..comparison }, None);
        }
        if let Some(reason) = lacking(&then, "the baseline") {
            comparison.verdict = Verdict::Inconclusive(reason);
            return (comparison, None);
        }
        let [then, now] = [then, now].map(|lists| lists.into_iter().flatten().collect::<Vec<_>>());
        let (Some(base), Some(current)) = (side(&then), side(&now)) else { return (comparison, None) };
        (comparison.baseline, comparison.current) = (Some(base.value), Some(current.value));
        let is_paired = matches!(self.rule, Rule::Interval { .. });
        if is_paired && processes == Processes::Different {
            comparison.verdict = Verdict::Inconclusive(APART.to_owned());
            return (comparison, None);
        }
        if is_paired && then.len() != now.len() {
            let reason = format!("{} processes against {}, which form no pairs", now.len(), then.len());
            comparison.verdict = Verdict::Inconclusive(reason);
            return (comparison, None);
        }
        // A pair without a ratio is reported, not left out.
        let ratio = |(then, now): (&&[f64], &&[f64])| pair_ratio::of_processes(then, now).unwrap_or(f64::NAN);
        let ratios = if is_paired { then.iter().zip(&now).map(ratio).collect() } else { Vec::new() };
        let evidence =
            TwoSides { better: self.better, base, current, ratios, session_noise: None, shares_memory: false };
        let mut comparison = rules::judge(comparison, &self.rule, &evidence);
        if is_paired && then.len() < interval::FEWEST_PAIRS {
            comparison.note.get_or_insert_with(|| "`in_processes` measures in several".to_owned());
        }
        (comparison, Some((self.rule, evidence)))
    }

    fn unjudged(&self, metric: &Metric, (section, subsection): (&str, &str), verdict: Verdict) -> Comparison {
        Comparison::bare(&format!("{section}.{subsection}"), metric.clone(), self.rule.name(), verdict)
    }
}

/// Of the interval of a median.
const CONFIDENCE: f64 = 0.95;

pub(crate) fn names(data: &[PerformanceData]) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (section, subsection, _) in data.iter().flat_map(PerformanceData::entries) {
        if !names.contains(&(section, subsection)) {
            names.push((section, subsection));
        }
    }
    names
}

/// One list a process.
pub(crate) fn lists<'d>(data: &'d [PerformanceData], section: &str, subsection: &str) -> Vec<Option<&'d [f64]>> {
    data.iter().map(|one| one.samples(section, subsection)).collect()
}

pub(crate) fn side(lists: &[&[f64]]) -> Option<Side> {
    let medians: Vec<f64> = lists.iter().filter_map(|list| describe::median(list)).collect();
    let interval = match lists {
        [samples] => sign_interval::of_median(samples, CONFIDENCE).map(|bounds| (bounds.low, bounds.high)),
        _ => bootstrap::median_interval(&medians),
    };
    Some(Side { value: describe::median(&medians)?, interval, sessions: 1, samples: lists.concat() })
}

pub(crate) fn value(lists: &[Option<&[f64]>]) -> Option<f64> {
    side(&lists.iter().copied().flatten().collect::<Vec<_>>()).map(|side| side.value)
}

/// Samples that are not above zero give no ratio, whatever the rule.
pub(crate) fn refusal(baseline: &[Option<&[f64]>], current: &[Option<&[f64]>]) -> Option<String> {
    let of_side = |lists: &[Option<&[f64]>], side: &str| {
        lists.iter().enumerate().find_map(|(process, samples)| {
            let samples = (*samples)?;
            let place = samples.iter().position(|sample| !(sample.is_finite() && *sample > 0.0))?;
            let process = if lists.len() > 1 { format!(" in process {}", process + 1) } else { String::new() };
            let sample = samples[place];
            Some(format!("sample {} of {side}{process} is {sample}, where more than zero is needed", place + 1))
        })
    };
    of_side(baseline, "the baseline").or_else(|| of_side(current, "the current run"))
}

const CI_VARIABLE: &str = "CI";

/// Compares measured data with the ground truth in a file.
///
/// With `SPRAG_ACCEPT=1` in the environment the file is replaced and the report passes. With `CI` set too, that is an
/// error: a build must not accept its own results. Use one file per call.
pub fn compare_with_file(path: &Path, current: &PerformanceData, rule: &Rule) -> Result<Report, TestingError> {
    let of = |name: &str| std::env::var_os(name);
    if wants_to_accept(of(ACCEPT_VARIABLE), of(CI_VARIABLE))? {
        return accept(path, current);
    }
    Ok(compare(&PerformanceData::load(path)?, current, rule).of_file(path))
}

fn wants_to_accept(accept: Option<OsString>, ci: Option<OsString>) -> Result<bool, TestingError> {
    let accept = accept.unwrap_or_default();
    match accept.to_str() {
        Some("" | "0") => return Ok(false),
        Some("1") => {}
        _ => {
            let value = accept.to_string_lossy();
            return Err(TestingError::accept(format!(
                "{ACCEPT_VARIABLE} is `{value}`, where `1` or nothing is understood"
            )));
        }
    }
    let ci = ci.unwrap_or_default();
    if matches!(ci.to_str(), Some("" | "0" | "false")) {
        return Ok(true);
    }
    Err(TestingError::accept(format!(
        "{ACCEPT_VARIABLE} is set, and so is {CI_VARIABLE}: accept on a machine of your own, look at what changed in the \
         file, and commit it"
    )))
}

fn accept(path: &Path, current: &PerformanceData) -> Result<Report, TestingError> {
    let is_complete = current.entries().next().is_some() && current.empty_section().is_none();
    if !is_complete {
        return Err(TestingError::accept("what was measured is empty"));
    }
    current.save(path)?;
    Ok(Report::accepted(path, &current.quality))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BANDS, RANK};

    fn steady(subsections: &[(&str, f64)]) -> PerformanceData {
        let lists: Vec<(&str, Vec<f64>)> = subsections.iter().map(|(name, level)| (*name, vec![*level; 20])).collect();
        data(&lists).in_unit(Unit::Second)
    }

    #[test]
    fn a_failure_has_all_messages_and_how_to_accept() {
        let mut current = steady(&[("same", 1e-6), ("slow\n\u{202e}", 2e-6), ("new", 3e-6)]);
        current.quality.push("in-process: one".to_owned());
        let base = steady(&[("same", 1e-6), ("gone", 1e-3), ("slow\n\u{202e}", 1e-6)]);
        let report = compare(&base, &current, &RANK);
        let p = report.comparisons[2].p_value.expect("the rule knows one");
        let expected = format!(
            "performance: 2 of 4 subsections fail by the rule `rank`\n  \
             s.gone: missing: it was 1.000 ms\n  \
             s.slow\\u{{a}}\\u{{202e}}: regressed: +100.00 % (1.000 µs to 2.000 µs, +100.00 to +100.00 %, 1.010 µs allowed, p {p:.1e})\n  \
             s.same: unchanged: +0.00 % (1.000 µs to 1.000 µs, +0.00 to +0.00 %, 1.010 µs allowed, p 1.0e0)\n  \
             s.new: no baseline: 3.000 µs\n\
             note: in-process: one\n\
             hint: if the change is intended, make this measurement the new baseline"
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
    fn zero_change_has_no_minus() {
        let message = compare(&steady(&[("a", 1e-6)]), &steady(&[("a", 0.999_999_99e-6)]), &RANK).messages().remove(0);
        assert!(message.starts_with("s.a: unchanged: +0.00 % ") && !message.contains("-0.00"), "{message}");
    }

    #[test]
    fn doubt_passes_only_if_asked_for() {
        let few = |level: f64| data(&[("few", vec![level; 2])]);
        let report = compare(&few(1.0), &few(2.0), &RANK);
        assert!(!report.is_pass() && report.messages()[0].contains("too few"), "{:?}", report.messages());
        assert!(report.failure().starts_with("performance: the only subsection fails by"));
        assert!(report.inconclusive_passes().is_pass());
        let nothing = compare(&PerformanceData::new(), &few(1.0), &RANK).inconclusive_passes();
        assert!(!nothing.is_pass() && nothing.failure().starts_with("performance: nothing could be judged\n"));
    }

    /// Data with one section, `s`.
    fn data(subsections: &[(&str, Vec<f64>)]) -> PerformanceData {
        let mut data = PerformanceData::new();
        for (name, samples) in subsections {
            data.insert("s", name, samples.clone()).expect("the samples are fine");
        }
        data
    }

    /// Data with the subsection `a` in two sections.
    fn old_and_new(old: Vec<f64>, new: Vec<f64>) -> PerformanceData {
        let mut both = PerformanceData::new();
        both.insert("old", "a", old).expect("the samples are fine");
        both.insert("new", "a", new).expect("the samples are fine");
        both
    }

    fn around(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|place| middle * (1.0 + 1e-4 * ((place * 7 % count) as f64 - count as f64 / 2.0))).collect()
    }

    #[test]
    fn each_rule_judges_samples_of_one_process() {
        let check = |rule: Rule, factor: f64, expected: &str, passes: bool| {
            let base = data(&[("a", around(100.0, 30))]);
            let report = compare(&base, &data(&[("a", around(100.0 * factor, 20))]), &rule);
            let (message, word) = (report.messages().remove(0), report.comparisons[0].verdict.word());
            assert_eq!((word, report.is_pass()), (expected, passes), "{message}");
            message
        };
        check(RANK, 1.0, "unchanged", true);
        check(RANK, 1.05, "regressed", false);
        check(RANK, 0.95, "improved", true);
        check(BANDS, 1.03, "unchanged", true);
        check(BANDS, 1.06, "regressed", false);
        check(BANDS, 0.9, "improved", true);
        check(Rule::Tolerance { ratio: 0.5, abs: 0.0 }, 1.4, "unchanged", true);
        check(Rule::Tolerance { ratio: 0.5, abs: 0.0 }, 1.6, "regressed", false);
        check(INTERVAL, 1.0, "inconclusive", false);
        let apart = check(INTERVAL, 2.0, "inconclusive", false);
        assert!(apart.contains("`compare_sections`") && apart.contains("`rank`"), "{apart}");
    }

    #[test]
    fn bimodal_processes_compare_as_equal() {
        // Seven or eight of fifteen samples in the slower mode: the medians of equal sections would differ by 6 %.
        let modes = |fast: usize| [vec![1.0; fast], vec![1.06; 15 - fast]].concat();
        let run = |place: usize| old_and_new(modes(7 + place % 2), modes(8 - place % 2));
        let runs: Vec<PerformanceData> = (0..10).map(run).collect();
        let report = TestRule { rule: INTERVAL, better: Better::Higher }.compare_sections(&runs, "old", "new");
        assert_eq!(report.comparisons[0].verdict, Verdict::Unchanged, "{:?}", report.messages());
        assert!(!compare_sections(&runs, "odl", "new", &RANK).is_pass());
    }

    #[test]
    fn interval_takes_one_number_per_process() {
        let processes =
            |levels: &[f64]| levels.iter().map(|level| data(&[("a", around(*level, 30))])).collect::<Vec<_>>();
        let check = |then: &[f64], now: &[f64], better: Better, expected: &str| {
            let judge = TestRule { rule: INTERVAL, better };
            let report = judge.compare_processes(&processes(then), &processes(now), Processes::Same);
            assert_eq!(report.comparisons[0].verdict.word(), expected, "{:?}", report.messages());
            report.messages().remove(0)
        };
        let base = [100.0, 101.0, 99.0, 100.5];
        check(&base, &[100.1, 100.9, 99.0, 100.6], Better::Lower, "unchanged");
        check(&base, &[110.0, 111.5, 109.0, 110.3], Better::Lower, "regressed");
        check(&base, &[110.0, 111.5, 109.0, 110.3], Better::Higher, "improved");
        let few = check(&base[..1], &[110.0], Better::Lower, "inconclusive");
        assert!(few.contains("1 of the 3 process pairs") && few.contains("`in_processes`"), "{few}");
        let odd = check(&base, &[110.0], Better::Lower, "inconclusive");
        assert!(odd.contains("1 processes against 4, which form no pairs"), "{odd}");
    }

    #[test]
    fn missing_or_empty_data_never_pass() {
        let level = || around(100.0, 30);
        let check = |base: PerformanceData, current: PerformanceData, rule: Rule, expected: &str| {
            let report = compare(&base, &current, &rule).inconclusive_passes();
            assert!(!report.is_pass());
            assert!(report.messages().iter().any(|one| one.starts_with(expected)), "{:?}", report.messages());
        };
        let one = || data(&[("a", level())]);
        check(data(&[("a", level()), ("b", level())]), one(), RANK, "s.b: missing");
        check(one(), data(&[]), RANK, "s.a: missing");
        let zeros = data(&[("a", vec![0.0; 30])]);
        check(zeros, one(), RANK, "s.a: not comparable: sample 1 of the baseline is 0");
        check(one(), one(), Rule::Bands { fail: -1.0, warn: 0.0 }, "the rule `bands`");
        check(data(&[]), one(), RANK, "the baseline has no samples");
        let other = PerformanceData::from_json(br#"{"t": {"a": [1]}, "u": {}}"#).expect("it is fine");
        check(other.clone(), other, RANK, "the section `u` of the baseline is empty");
        check(one(), PerformanceData::from_json(br#"{"s": {}}"#).expect("it is fine"), RANK, "s.a: missing");
        check(one(), one(), Rule::Interval { tolerance: f64::NAN }, "the rule `interval`");
        let torn = TestRule { rule: RANK, better: Better::Lower }.compare(&[one()], &[one(), data(&[("b", level())])]);
        assert!(
            !torn.is_pass() && torn.messages()[0].contains("process 2 of the current run"),
            "{:?}",
            torn.messages()
        );
    }

    #[test]
    fn a_zero_sample_is_not_comparable_by_any_rule() {
        let with = |sample: f64| [vec![sample], around(100.0, 29)].concat();
        for rule in [RANK, BANDS, INTERVAL, Rule::Tolerance { ratio: 0.5, abs: 1.0 }] {
            for (then, now) in [(0.0, 100.0), (100.0, 0.0), (-1.0, 100.0), (0.0, 0.0)] {
                let sections = vec![old_and_new(with(then), with(now)); 3];
                let reports = [
                    compare(&data(&[("a", with(then))]), &data(&[("a", with(now))]), &rule),
                    compare_sections(&sections, "old", "new", &rule),
                ];
                for report in reports.map(Report::inconclusive_passes) {
                    assert_eq!(report.comparisons[0].verdict.word(), "not comparable", "{:?}", report.messages());
                    assert!(!report.is_pass() && report.comparisons[0].effect.is_none());
                }
            }
        }
        let check = |baseline: &[Option<&[f64]>], current: &[Option<&[f64]>], expected: Option<&str>| {
            let expected = expected.map(|words| format!("sample {words}, where more than zero is needed"));
            assert_eq!(refusal(baseline, current), expected, "{baseline:?} {current:?}");
        };
        let fine: &[f64] = &[1.0, 1e-300];
        check(&[Some(fine)], &[Some(fine), None], None);
        check(&[], &[None], None);
        check(&[Some(&[1.0, 0.0])], &[Some(&[-1.0])], Some("2 of the baseline is 0"));
        check(&[None], &[Some(fine), Some(&[-1.0])], Some("1 of the current run in process 2 is -1"));
        check(&[None], &[Some(fine), Some(&[1.0, -1.0])], Some("2 of the current run in process 2 is -1"));
        check(&[Some(&[f64::NAN])], &[], Some("1 of the baseline is NaN"));
        check(&[Some(fine)], &[Some(&[f64::INFINITY])], Some("1 of the current run is inf"));
    }

    #[test]
    fn one_regression_of_many_may_be_chance() {
        // Four samples a side, all of them apart: one chance in seventy.
        let check = |count: usize, expected: &str| {
            let names: Vec<String> = (0..count).map(|place| format!("b{place}")).collect();
            let named = |first: f64| {
                let level = |place: usize| if place == 0 { first } else { 1.0 };
                let lists = names.iter().enumerate().map(|(place, name)| (name.as_str(), around(level(place), 4)));
                data(&lists.collect::<Vec<_>>())
            };
            let report = compare(&named(1.0), &named(2.0), &RANK);
            assert!(report.messages()[0].starts_with(expected) && !report.is_pass(), "{:?}", report.messages());
        };
        check(1, "s.b0: regressed");
        check(20, "s.b0: inconclusive: of 20 subsections judged together, one may differ this much by chance");
    }

    #[test]
    fn accepting_needs_samples_and_no_ci() {
        let ask = |accept: Option<&str>, ci: Option<&str>| {
            wants_to_accept(accept.map(OsString::from), ci.map(OsString::from)).ok()
        };
        assert!([None, Some("true")].iter().all(|ci| ask(None, *ci) == Some(false)));
        assert_eq!(
            [ask(Some(""), None), ask(Some("1"), None), ask(Some("yes"), None)],
            [Some(false), Some(true), None]
        );
        let asked = |accept: &str, ci: &str| ask(Some(accept), Some(ci));
        assert!(["", "0"].iter().all(|accept| asked(accept, "true") == Some(false)));
        assert!(["", "0", "false"].iter().all(|ci| asked("1", ci) == Some(true)));
        assert!([("1", "true"), ("1", "1"), ("yes", "")].iter().all(|(accept, ci)| asked(accept, ci).is_none()));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.json");
        assert!(accept(&path, &PerformanceData::new()).is_err() && !path.exists());
        let data = data(&[("a", vec![1.0; 100])]);
        let report = accept(&path, &data).expect("it can be written");
        assert!(report.is_pass() && report.messages()[0].starts_with("accepted as the ground truth: `"));
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let second = compare_with_file(&path, &data, &RANK).expect("it can be read");
        assert!(second.is_pass(), "{:?}", second.messages());
    }

    #[test]
    fn processes_of_one_side_after_the_other_make_no_pairs() {
        let processes = |level: f64| vec![data(&[("a", around(level, 30))]); 10];
        for level in [50.0, 100.0, 200.0] {
            let report =
                TestRule { rule: INTERVAL, better: Better::Lower }.compare(&processes(100.0), &processes(level));
            let message = report.messages().remove(0);
            assert!(message.starts_with("s.a: inconclusive: the processes of the two sides"), "{message}");
            assert!(message.contains("`compare_sections`") && message.contains("`rank`"), "{message}");
            assert!(!report.is_pass() && report.comparisons[0].current.is_some());
        }
        let runs = vec![old_and_new(around(100.0, 30), around(110.0, 30)); 3];
        let message = compare_sections(&runs, "old", "new", &INTERVAL).messages().remove(0);
        assert!(message.starts_with("new.a: regressed: +10.00 %"), "{message}");
    }

    #[test]
    fn new_subsections_are_listed_and_pass() {
        let level = || ("a", around(100.0, 30));
        let report = compare(&data(&[level()]), &data(&[("b", vec![7.0]), level()]), &RANK);
        assert!(report.is_pass());
        assert_eq!(report.messages()[1], "s.b: no baseline: 7.000");
    }
}
