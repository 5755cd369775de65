//! Performance data compared with performance data, subsection by subsection, by a rule; or with a ground-truth file, which
//! `SPRAG_ACCEPT=1` rewrites.

use std::ffi::OsString;
use std::path::Path;

use crate::testing::report::ACCEPT_VARIABLE;
use crate::testing::{PerformanceData, Report, TestingError};
use sprag_analysis::family::{self, Basis};
use sprag_analysis::rules::{self, interval};
use sprag_base::stats::{bootstrap, describe, pair_ratio, sign_interval};
use sprag_model::evidence::{Evidence, Side};
use sprag_model::metric::{Better, Metric};
use sprag_model::rule::Rule;
use sprag_model::unit::Unit;
use sprag_model::verdict::{Comparison, Verdict};

/// The rule `interval` with the tolerance that kernels get where nothing else is known.
pub const INTERVAL: Rule = Rule::Interval { tolerance: interval::TOLERANCE };

/// Why the rule `interval` cannot hold what was stored against what was measured now.
const APART: &str = "the processes of the two sides took no turns, so they make no pairs: use the rule `rank`, or \
                     `compare_sections` for two sections of the same processes";

/// Whether the processes of both sides are the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processes {
    /// Each measured both sides, in turn.
    Same,
    /// Those of either side ran at another time.
    Different,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    pub rule: Rule,
    /// Which way the samples are better: times are where they are lower, rates where they are higher.
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
    let judge = Judge { rule: *rule, better: Better::Lower };
    judge.compare(std::slice::from_ref(baseline), std::slice::from_ref(current))
}

/// Holds one section against another of the same data, as where two forms of a kernel were measured in turn; less is
/// better. Several data are those of several processes.
pub fn compare_sections(data: &[PerformanceData], base: &str, current: &str, rule: &Rule) -> Report {
    Judge { rule: *rule, better: Better::Lower }.compare_sections(data, base, current)
}

impl Judge {
    /// Holds data against a baseline, each of one or of several processes.
    ///
    /// Every subsection of the baseline gives a verdict, and one that is gone now is missing; those that the baseline lacks
    /// are told and change nothing. One with a sample of zero or less on either side is not comparable, by any rule. Sections and subsections are known by their names, in any order.
    ///
    /// The rules `tolerance` and `bands` look at the median, or the median of the medians of processes, and `bands` also at
    /// its interval. `rank` takes the samples of all processes together; what it calls regressed is in doubt where it could be
    /// chance among so many subsections. `interval` is always inconclusive: it knows pairs of processes that took turns, and
    /// what is stored took none with what is measured now. [`Judge::compare_sections`] gives it such pairs.
    pub fn compare(&self, baseline: &[PerformanceData], current: &[PerformanceData]) -> Report {
        self.compare_processes(baseline, current, Processes::Different)
    }

    /// Holds one section against another of the same data, as where two forms of a kernel were measured in turn; several
    /// data are those of several processes.
    ///
    /// Of all rules this is as [`Judge::compare`], but for `interval`: each process has measured both sides and is a pair. Its
    /// number is the median of the ratios of its samples of the one to those of the other; three of them are needed. What is called
    /// regressed is in doubt where it could be chance among so many subsections.
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
        // Doubt about an improvement would fail a test of which nothing is worse.
        report.comparisons = family::without_chance(judged, &[Verdict::Regressed], "subsections");
        let known = names(baseline);
        for (section, subsection) in names(current).into_iter().filter(|name| !known.contains(name)) {
            let mut new = self.unjudged(&metric, (section, subsection), Verdict::NoBaseline);
            new.current = value(&lists(current, section, subsection));
            report.comparisons.push(new);
        }
        report
    }

    /// Why nothing can be judged at all.
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
        let mut found = self.unjudged(metric, name, Verdict::Missing);
        if now.iter().all(Option::is_none) {
            found.baseline = value(&then);
            return (found, None);
        }
        if let Some(note) = lacking(&now, "the current run") {
            found.note = Some(note);
            return (found, None);
        }
        // A rule may see no more than medians, or have no verdict but doubt, which a test may let pass.
        if let Some(reason) = refusal(&then, &now) {
            let verdict = Verdict::NotComparable(reason);
            return (Comparison { baseline: value(&then), current: value(&now), verdict, ..found }, None);
        }
        if let Some(reason) = lacking(&then, "the baseline") {
            found.verdict = Verdict::Inconclusive(reason);
            return (found, None);
        }
        let [then, now] = [then, now].map(|lists| lists.into_iter().flatten().collect::<Vec<_>>());
        let (Some(base), Some(current)) = (side(&then), side(&now)) else { return (found, None) };
        (found.baseline, found.current) = (Some(base.value), Some(current.value));
        let is_paired = matches!(self.rule, Rule::Interval { .. });
        if is_paired && processes == Processes::Different {
            found.verdict = Verdict::Inconclusive(APART.to_owned());
            return (found, None);
        }
        if is_paired && then.len() != now.len() {
            let reason = format!("{} processes against {}, which make no pairs", now.len(), then.len());
            found.verdict = Verdict::Inconclusive(reason);
            return (found, None);
        }
        // A pair without a ratio is told of, not left out.
        let ratio = |(then, now): (&&[f64], &&[f64])| pair_ratio::of_processes(then, now).unwrap_or(f64::NAN);
        let ratios = if is_paired { then.iter().zip(&now).map(ratio).collect() } else { Vec::new() };
        let evidence =
            Evidence { better: self.better, base, current, ratios, restlessness: None, shares_memory: false };
        let mut found = rules::judge(found, &self.rule, &evidence);
        if is_paired && then.len() < interval::FEWEST_PAIRS {
            found.note.get_or_insert_with(|| "`in_processes` measures in several".to_owned());
        }
        (found, Some((self.rule, evidence)))
    }

    fn unjudged(&self, metric: &Metric, (section, subsection): (&str, &str), verdict: Verdict) -> Comparison {
        Comparison::bare(&format!("{section}.{subsection}"), metric.clone(), self.rule.name(), verdict)
    }
}

/// How often the interval of a side is to hold its median.
const CONFIDENCE: f64 = 0.95;

/// Section and subsection of all that any of the data has, no name twice.
pub(crate) fn names(data: &[PerformanceData]) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (section, subsection, _) in data.iter().flat_map(PerformanceData::entries) {
        if !names.contains(&(section, subsection)) {
            names.push((section, subsection));
        }
    }
    names
}

/// The samples of a subsection, one list a process.
pub(crate) fn lists<'d>(data: &'d [PerformanceData], section: &str, subsection: &str) -> Vec<Option<&'d [f64]>> {
    data.iter().map(|one| one.samples(section, subsection)).collect()
}

/// What is known of one side, of the lists of its processes.
pub(crate) fn side(lists: &[&[f64]]) -> Option<Side> {
    let medians: Vec<f64> = lists.iter().filter_map(|list| describe::median(list)).collect();
    let interval = match lists {
        [samples] => sign_interval::of_median(samples, CONFIDENCE).map(|found| (found.low, found.high)),
        _ => bootstrap::median_interval(&medians),
    };
    Some(Side { value: describe::median(&medians)?, interval, sessions: 1, samples: lists.concat() })
}

/// The number of one side, of those of its processes that have samples.
pub(crate) fn value(lists: &[Option<&[f64]>]) -> Option<f64> {
    side(&lists.iter().copied().flatten().collect::<Vec<_>>()).map(|side| side.value)
}

/// Why no share can be taken of the samples of either side, whatever the rule.
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

/// The variable that build servers set, which accept nothing.
const CI_VARIABLE: &str = "CI";

/// Holds what was measured against the ground truth in a file, under a rule.
///
/// With `SPRAG_ACCEPT=1` in the environment the file is written in place of that, whole, and the report passes. Where `CI` is
/// set, too, this is refused: a build that accepts its own results finds nothing. A file belongs to one call of this
/// function; a second one would accept over the first.
///
/// # Errors
/// When the file cannot be read or holds no performance data, or when what was measured cannot or must not be accepted.
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
    let is_whole = current.entries().next().is_some() && current.empty_section().is_none();
    if !is_whole {
        return Err(TestingError::accept("what was measured is empty"));
    }
    current.save(path)?;
    Ok(Report::accepted(path, &current.quality))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BANDS, RANK};

    /// Data with one section, `s`.
    fn data(subsections: &[(&str, Vec<f64>)]) -> PerformanceData {
        let mut data = PerformanceData::new();
        for (name, samples) in subsections {
            data.insert("s", name, samples.clone()).expect("the samples are fine");
        }
        data
    }

    fn around(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|place| middle * (1.0 + 1e-4 * ((place * 7 % count) as f64 - count as f64 / 2.0))).collect()
    }

    #[test]
    fn each_rule_judges_samples_of_one_process() {
        let check = |rule: Rule, factor: f64, expected: &str, passes: bool| {
            let report =
                compare(&data(&[("a", around(100.0, 30))]), &data(&[("a", around(100.0 * factor, 20))]), &rule);
            let words: Vec<&str> = report.comparisons().iter().map(|one| one.verdict.word()).collect();
            assert_eq!((words, report.is_pass()), (vec![expected], passes), "{:?}", report.messages());
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
    }

    #[test]
    fn what_took_no_turns_is_no_pair() {
        let processes = |level: f64| vec![data(&[("a", around(level, 30))]); 10];
        for level in [50.0, 100.0, 200.0] {
            let report = Judge { rule: INTERVAL, better: Better::Lower }.compare(&processes(100.0), &processes(level));
            let told = report.messages().remove(0);
            assert!(
                !report.is_pass() && told.starts_with("s.a: inconclusive: the processes of the two sides"),
                "{told}"
            );
            assert!(told.contains("`compare_sections`") && told.contains("`rank`"), "{told}");
            assert!(report.comparisons()[0].current.is_some());
        }
    }

    #[test]
    fn processes_in_two_modes_have_a_level_between() {
        // Seven of fifteen samples in the slower mode, or eight: the medians of equal sections would lie 6 % apart.
        let modes = |fast: usize| [vec![1.0; fast], vec![1.06; 15 - fast]].concat();
        let run = |place: usize| {
            let mut both = PerformanceData::new();
            both.insert("old", "a", modes(7 + place % 2)).expect("it is fine");
            both.insert("new", "a", modes(8 - place % 2)).expect("it is fine");
            both
        };
        let runs: Vec<PerformanceData> = (0..10).map(run).collect();
        let judge = Judge { rule: INTERVAL, better: Better::Higher };
        let report = judge.compare_sections(&runs, "old", "new");
        assert_eq!(report.comparisons()[0].verdict, Verdict::Unchanged, "{:?}", report.messages());
    }

    #[test]
    fn the_rule_interval_takes_a_process_for_one_number() {
        let processes =
            |levels: &[f64]| levels.iter().map(|level| data(&[("a", around(*level, 30))])).collect::<Vec<_>>();
        let check = |then: &[f64], now: &[f64], better: Better, expected: &str| {
            let judge = Judge { rule: INTERVAL, better };
            let report = judge.compare_processes(&processes(then), &processes(now), Processes::Same);
            assert_eq!(report.comparisons()[0].verdict.word(), expected, "{:?}", report.messages());
            report.messages().remove(0)
        };
        let base = [100.0, 101.0, 99.0, 100.5];
        check(&base, &[100.1, 100.9, 99.0, 100.6], Better::Lower, "unchanged");
        check(&base, &[110.0, 111.5, 109.0, 110.3], Better::Lower, "regressed");
        check(&base, &[110.0, 111.5, 109.0, 110.3], Better::Higher, "improved");
        let few = check(&base[..1], &[110.0], Better::Lower, "inconclusive");
        assert!(few.contains("1 of the 3 pairs of processes") && few.contains("`in_processes`"), "{few}");
        let odd = check(&base, &[110.0], Better::Lower, "inconclusive");
        assert!(odd.contains("1 processes against 4, which make no pairs"), "{odd}");
    }

    #[test]
    fn what_is_missing_empty_or_no_ratio_never_passes() {
        let level = || around(100.0, 30);
        let check = |base: PerformanceData, current: PerformanceData, expected: &str| {
            let report = compare(&base, &current, &RANK).inconclusive_passes();
            assert!(!report.is_pass());
            assert!(report.messages().iter().any(|one| one.starts_with(expected)), "{:?}", report.messages());
        };
        check(data(&[("a", level()), ("b", level())]), data(&[("a", level())]), "s.b: missing");
        check(data(&[("a", level())]), data(&[]), "s.a: missing");
        check(data(&[]), data(&[("a", level())]), "the baseline has no samples");
        check(
            data(&[("a", vec![0.0; 30])]),
            data(&[("a", level())]),
            "s.a: not comparable: sample 1 of the baseline is 0",
        );
        let other = PerformanceData::from_json(br#"{"t": {"a": [1]}, "u": {}}"#).expect("it is fine");
        check(other.clone(), other.clone(), "the section `u` of the baseline is empty");
        let empty_now = PerformanceData::from_json(br#"{"s": {}}"#).expect("it is fine");
        check(data(&[("a", level())]), empty_now, "s.a: missing");
        for rule in [Rule::Interval { tolerance: f64::NAN }, Rule::Bands { fail: -1.0, warn: 0.0 }] {
            let report = compare(&data(&[("a", level())]), &data(&[("a", level())]), &rule);
            assert!(!report.is_pass() && report.messages()[0].starts_with("the rule `"), "{:?}", report.messages());
        }
        let processes = [data(&[("a", level())]), data(&[("b", level())])];
        let torn = Judge { rule: RANK, better: Better::Lower }.compare(&[data(&[("a", level())])], &processes);
        assert!(
            !torn.is_pass() && torn.messages()[0].contains("process 2 of the current run"),
            "{:?}",
            torn.messages()
        );
    }

    #[test]
    fn one_sample_of_zero_is_not_comparable_by_any_rule() {
        let with = |sample: f64| [vec![sample], around(100.0, 29)].concat();
        let two = |then: f64, now: f64| {
            let mut both = PerformanceData::new();
            both.insert("old", "a", with(then)).expect("it is fine");
            both.insert("new", "a", with(now)).expect("it is fine");
            both
        };
        for rule in [RANK, BANDS, INTERVAL, Rule::Tolerance { ratio: 0.5, abs: 1.0 }] {
            for (then, now) in [(0.0, 100.0), (100.0, 0.0), (-1.0, 100.0), (0.0, 0.0)] {
                let reports = [
                    compare(&data(&[("a", with(then))]), &data(&[("a", with(now))]), &rule),
                    compare_sections(&vec![two(then, now); 3], "old", "new", &rule),
                ];
                for report in reports.map(Report::inconclusive_passes) {
                    assert_eq!(report.comparisons()[0].verdict.word(), "not comparable", "{:?}", report.messages());
                    assert!(!report.is_pass() && report.comparisons()[0].effect.is_none());
                }
            }
        }
    }

    #[test]
    fn what_is_new_is_told_and_passes() {
        let report =
            compare(&data(&[("a", around(100.0, 30))]), &data(&[("b", vec![7.0]), ("a", around(100.0, 30))]), &RANK);
        assert!(report.is_pass());
        assert_eq!(report.messages()[1], "s.b: no baseline: 7.000");
    }

    #[test]
    fn sections_of_the_same_data_are_held_against_each_other() {
        let mut both = PerformanceData::new();
        for (section, level) in [("old", 100.0), ("new", 110.0)] {
            both.insert(section, "sum", around(level, 30)).expect("it is fine");
        }
        let report = compare_sections(&vec![both.clone(); 3], "old", "new", &INTERVAL);
        assert!(report.messages()[0].starts_with("new.sum: regressed: +10.00 %"), "{:?}", report.messages());
        assert!(!compare_sections(&[both], "odl", "new", &RANK).is_pass());
    }

    #[test]
    fn one_of_many_is_in_doubt_where_it_could_be_chance() {
        // Four samples a side, all of them apart: one chance in seventy.
        let apart = |place: usize| if place == 0 { around(2.0, 4) } else { around(1.0, 4) };
        let named = |values: &dyn Fn(usize) -> Vec<f64>, count: usize| {
            let names: Vec<String> = (0..count).map(|place| format!("b{place}")).collect();
            let lists: Vec<(&str, Vec<f64>)> =
                names.iter().enumerate().map(|(place, name)| (name.as_str(), values(place))).collect();
            data(&lists)
        };
        let check = |count: usize, expected: &str| {
            let report = compare(&named(&|_| around(1.0, 4), count), &named(&apart, count), &RANK);
            assert!(report.messages()[0].starts_with(expected), "{:?}", report.messages());
            assert!(!report.is_pass());
        };
        check(1, "s.b0: regressed");
        check(20, "s.b0: inconclusive: of 20 subsections judged together one comes out this far by chance");
    }

    #[test]
    fn the_first_sample_without_a_share_is_named() {
        let check = |baseline: &[Option<&[f64]>], current: &[Option<&[f64]>], expected: Option<&str>| {
            assert_eq!(refusal(baseline, current).as_deref(), expected, "{baseline:?} {current:?}");
        };
        let fine: &[f64] = &[1.0, 1e-300];
        check(&[Some(fine)], &[Some(fine), None], None);
        check(&[], &[None], None);
        let told = "sample 2 of the baseline is 0, where more than zero is needed";
        check(&[Some(&[1.0, 0.0])], &[Some(&[-1.0])], Some(told));
        let told = "sample 1 of the current run in process 2 is -1, where more than zero is needed";
        check(&[None], &[Some(fine), Some(&[-1.0])], Some(told));
        check(&[Some(&[f64::NAN])], &[], Some("sample 1 of the baseline is NaN, where more than zero is needed"));
        let told = "sample 1 of the current run is inf, where more than zero is needed";
        check(&[Some(fine)], &[Some(&[f64::INFINITY])], Some(told));
    }

    #[test]
    fn only_a_plain_wish_off_a_build_server_is_granted() {
        let check = |accept: Option<&str>, ci: Option<&str>, expected: Option<bool>| {
            let wish = wants_to_accept(accept.map(OsString::from), ci.map(OsString::from));
            assert_eq!(wish.as_ref().ok(), expected.as_ref(), "{accept:?} {ci:?}: {wish:?}");
        };
        check(None, None, Some(false));
        check(None, Some("true"), Some(false));
        check(Some(""), None, Some(false));
        check(Some("0"), Some("true"), Some(false));
        check(Some("1"), None, Some(true));
        check(Some("1"), Some(""), Some(true));
        check(Some("1"), Some("false"), Some(true));
        check(Some("1"), Some("true"), None);
        check(Some("1"), Some("1"), None);
        check(Some("yes"), None, None);
    }

    #[test]
    fn accepting_writes_the_file_and_nothing_without_samples() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.json");
        let mut data = PerformanceData::new();
        assert!(accept(&path, &data).is_err() && !path.exists());
        data.insert("s", "a", vec![1.0; 100]).expect("it is fine");
        let report = accept(&path, &data).expect("it can be written");
        assert!(report.is_pass() && report.messages()[0].starts_with("accepted as the ground truth: `"));
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let again = compare_with_file(&path, &data, &super::super::RANK).expect("it can be read");
        assert!(again.is_pass(), "{:?}", again.messages());
    }
}
