//! Measures in a test: several cases in turn, in this process or in fresh ones.
//!
//! Two processes of one binary differ in layout and so by some percent in speed. [`in_processes`] starts the test
//! binary again for one test: each child runs that test up to the same call, measures, writes its data to a file of the
//! parent, and ends.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::testing::{PerformanceData, TestingError, black_box};
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_base::files::{read_bounded, write_atomic};
use sprag_base::process::{Bounds, End, OutputLimit, capture, describe_exit};
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_measure::clock;
use sprag_model::{Sample, Unit};

/// Samples of a case before the next has its turn: enough to be warm, few enough that disturbances hit all cases.
const BLOCK: usize = 10;

/// A shorter call is mostly overhead.
const SHORTEST_CALL: f64 = 5e-9;

/// How long a process of a test may take.
const LIMIT: Duration = Duration::from_secs(3600);

/// Of what a process reports.
const MOST_BYTES: usize = 1 << 24;

/// With more preempted samples the machine is too busy.
const MOST_PREEMPTED: f64 = 0.10;

pub(crate) const IN_PROCESS: &str = "in-process: one process, so its memory layout is a single sample";

#[derive(Clone, Debug, PartialEq)]
pub struct Measurer {
    /// `rank` needs at least ten; a file with fewer than 100 gives a warning.
    pub samples: usize,
    /// The least duration of a sample: as many calls as it takes.
    pub sample_time: Duration,
    /// Time before samples count.
    pub warm_up: Duration,
    /// Of the order of the cases.
    pub seed: u64,
}

impl Default for Measurer {
    /// A fifth of a second a case.
    fn default() -> Measurer {
        Measurer { samples: 120, sample_time: Duration::from_millis(1), warm_up: Duration::from_millis(50), seed: 1 }
    }
}

#[derive(Default)]
pub struct Cases<'c> {
    cases: Vec<Case<'c>>,
}

struct Case<'c> {
    section: String,
    subsection: String,
    call: Box<dyn FnMut() + 'c>,
}

impl<'c> Cases<'c> {
    pub fn new() -> Cases<'c> {
        Cases::default()
    }

    /// The result of a call is kept from being optimised away; wrap constant input in [`black_box`].
    pub fn add<T>(&mut self, section: &str, subsection: &str, mut call: impl FnMut() -> T + 'c) -> &mut Cases<'c> {
        let call = Box::new(move || {
            black_box(call());
        });
        self.cases.push(Case { section: section.to_owned(), subsection: subsection.to_owned(), call });
        self
    }
}

impl std::fmt::Debug for Cases<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.cases.iter().map(|case| (&case.section, &case.subsection))).finish()
    }
}

/// Takes a sample of so many calls.
type Take<'t> = &'t mut dyn FnMut(u32, &mut dyn FnMut()) -> Sample;

impl Measurer {
    /// Times all cases in blocks of ten samples, in a random order and then backwards. Samples are seconds a call.
    /// Fails without cases or samples, on duplicate cases, or if the clock does not move.
    pub fn measure(&self, cases: Cases<'_>) -> Result<PerformanceData, TestingError> {
        self.measure_by(cases, &mut |calls, work| clock::sample(calls, true, work))
    }

    fn measure_by(&self, cases: Cases<'_>, take: Take<'_>) -> Result<PerformanceData, TestingError> {
        let mut cases = cases.cases;
        if cases.is_empty() || self.samples == 0 {
            let what = if cases.is_empty() { "case" } else { "sample" };
            return Err(TestingError::measure(format!("no {what} is asked for")));
        }
        for (place, case) in cases.iter().enumerate() {
            if cases[..place].iter().any(|one| (&one.section, &one.subsection) == (&case.section, &case.subsection)) {
                return Err(TestingError::measure(format!("`{}.{}` is there twice", case.section, case.subsection)));
            }
        }
        let mut calls = Vec::with_capacity(cases.len());
        for case in &mut cases {
            calls.push(self.warm_up(case, take)?);
        }
        let mut samples: Vec<Vec<Sample>> = vec![Vec::with_capacity(self.samples); cases.len()];
        let mut random = SplitMix64::new(self.seed);
        let mut order: Vec<usize> = (0..cases.len()).collect();
        for round in 0..self.samples.div_ceil(BLOCK) {
            if round % 2 == 0 {
                random.shuffle(&mut order);
            } else {
                order.reverse();
            }
            for &place in &order {
                // A discarded call refills the caches.
                take(calls[place], &mut cases[place].call);
                let count = BLOCK.min(self.samples - samples[place].len());
                samples[place].extend((0..count).map(|_| take(calls[place], &mut cases[place].call)));
            }
        }
        let mut data = PerformanceData::new().in_unit(Unit::Second);
        for (case, samples) in cases.iter().zip(&samples) {
            data.insert(&case.section, &case.subsection, samples.iter().map(|sample| sample.wall).collect())?;
        }
        data.quality = quality(&cases, &samples);
        Ok(data)
    }

    /// Returns how many calls fill a sample.
    fn warm_up(&self, case: &mut Case<'_>, take: Take<'_>) -> Result<u32, TestingError> {
        let (mut calls, mut seconds) = (1_u32, 0.0);
        loop {
            let lasted = take(calls, &mut case.call).wall * f64::from(calls);
            seconds += lasted;
            if lasted <= 0.0 || lasted < self.sample_time.as_secs_f64() {
                let more = calls.checked_mul(2).ok_or_else(|| {
                    let name = format!("{}.{}", case.section, case.subsection);
                    TestingError::measure(format!("{calls} calls of `{name}` fill no sample: the clock does not move"))
                });
                calls = more?;
            } else if seconds >= self.warm_up.as_secs_f64() {
                return Ok(calls);
            }
        }
    }
}

fn quality(cases: &[Case<'_>], samples: &[Vec<Sample>]) -> Vec<String> {
    let mut reasons = vec![IN_PROCESS.to_owned()];
    if cfg!(debug_assertions) {
        reasons.push("measured without optimisation: run the test with `--release`".to_owned());
    }
    let all = samples.iter().flatten();
    let preempted = all.clone().filter(|sample| sample.preempted).count() as f64 / all.count() as f64;
    if preempted > MOST_PREEMPTED {
        reasons.push(format!("{:.0} % of the samples were interrupted by other work", preempted * 100.0));
    }
    for (case, samples) in cases.iter().zip(samples) {
        let walls: Vec<f64> = samples.iter().map(|sample| sample.wall).collect();
        if let Some(call) = describe::median(&walls).filter(|call| *call < SHORTEST_CALL) {
            let name = format!("{}.{}", case.section, case.subsection);
            reasons.push(format!(
                "a call of `{name}` takes {}, which is mostly overhead: let it do more, and check that its work is not optimised away",
                Unit::Second.scale(call).text(call)
            ));
        }
    }
    reasons
}

/// Where a child writes its data.
const FILE_VARIABLE: &str = "SPRAG_TEST_PROCESS";

/// The call at which a child measures.
const CALL_VARIABLE: &str = "SPRAG_TEST_CALL";

/// In bytes.
const MOST_SAID: usize = 2_000;

/// Measures in `count` processes, one after another, and gives the data of each.
///
/// `test` is the name of the calling test as the test runner prints it, such as `speed::sums_are_fast`. What comes before
/// this call in the test runs in every process; nothing after it does, but in the parent. It works with Rust's own test
/// runner, and once in a test.
///
/// `docs/LIBRARY.md` has an example.
///
/// # Errors
/// When a process cannot be started, fails before it has measured, or has no such test; with the end of what it said. In a
/// child, when its data cannot be written or another call is the first.
#[track_caller]
pub fn in_processes(
    test: &str,
    count: usize,
    measure: impl FnOnce() -> Result<PerformanceData, TestingError>,
) -> Result<Vec<PerformanceData>, TestingError> {
    let call = std::panic::Location::caller().to_string();
    let Some(file) = std::env::var_os(FILE_VARIABLE) else {
        let mut runs = (1..=count).map(|number| child(test, &call, number, count)).collect::<Result<Vec<_>, _>>()?;
        // Each process said so of itself.
        if count >= FEWEST_PAIRS {
            runs.iter_mut().for_each(|data| data.quality.retain(|reason| reason != IN_PROCESS));
        }
        return Ok(runs);
    };
    let asked = std::env::var(CALL_VARIABLE).unwrap_or_default();
    if asked != call {
        let fault = format!(
            "this process is to measure at {asked}, and reached {call} first: call `in_processes` once per test"
        );
        return Err(TestingError::measure(fault));
    }
    let path = Path::new(&file);
    let text = to_text(&measure()?);
    write_atomic(path, text.as_bytes())?;
    // The rest of the test belongs to the parent.
    std::process::exit(0)
}

fn child(test: &str, call: &str, number: usize, count: usize) -> Result<PerformanceData, TestingError> {
    let fault = |reason: String| {
        TestingError(format!("process {number} of {count} of the test `{test}` gave no result: {reason}"))
    };
    let folder = tempfile::tempdir().map_err(|error| fault(error.to_string()))?;
    let file = folder.path().join("data.json");
    let program = std::env::current_exe().map_err(|error| fault(error.to_string()))?;
    let mut command = Command::new(program);
    command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
    command.env(FILE_VARIABLE, &file).env(CALL_VARIABLE, call);
    let output = OutputLimit::tail(MOST_BYTES);
    let ended = capture(&mut command, Vec::new(), &Bounds::new(LIMIT, output, output));
    let ended = ended.map_err(|error| fault(error.to_string()))?;
    match read_bounded(&file, MOST_BYTES) {
        Ok(bytes) => from_text(&bytes).map_err(fault),
        Err(_) if matches!(ended.end, End::Exited(status) if status.success()) => {
            Err(fault(format!("it never measured; does the test runner call the test `{test}`?")))
        }
        Err(_) => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let end = match ended.end {
                End::Exited(status) => describe_exit(status),
                End::TimeOut | End::Overflow => format!("took longer than {} minutes", LIMIT.as_secs() / 60),
            };
            Err(fault(format!("it {end} and said:\n{}", end_of(&said))))
        }
    }
}

fn to_text(data: &PerformanceData) -> String {
    let unit = data.unit().map(Unit::symbol);
    json!({ "data": data.to_json(), "quality": data.quality, "unit": unit }).to_string()
}

fn from_text(bytes: &[u8]) -> Result<PerformanceData, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let data = value["data"].as_str().unwrap_or_default();
    let mut data = PerformanceData::from_json(data.as_bytes()).map_err(|error| error.to_string())?;
    let reasons = value["quality"].as_array().into_iter().flatten();
    data.quality = reasons.filter_map(|reason| reason.as_str().map(str::to_owned)).collect();
    let unit = value["unit"].as_str().and_then(Unit::from_symbol);
    Ok(unit.map_or(data.clone(), |unit| data.in_unit(unit)))
}

fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_SAID))..]
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const SMALL: Measurer =
        Measurer { samples: 25, sample_time: Duration::from_millis(1), warm_up: Duration::from_millis(8), seed: 1 };

    /// Each sample takes so many seconds.
    fn scripted(seconds: f64) -> impl FnMut(u32, &mut dyn FnMut()) -> Sample {
        move |_, work| {
            work();
            Sample { wall: seconds, cpu: None, preempted: false }
        }
    }

    #[test]
    fn cases_take_turns_in_blocks() {
        let log = RefCell::new(String::new());
        let mut cases = Cases::new();
        for name in ["a", "b", "c"] {
            let log = &log;
            cases.add("s", name, move || log.borrow_mut().push_str(name));
        }
        let data = SMALL.measure_by(cases, &mut scripted(1e-3)).expect("it can be measured");
        let log = log.into_inner();
        // Eight milliseconds of warm-up each, then blocks of one and ten samples, the last of one and five.
        let mut rest =
            log.strip_prefix(&["a", "b", "c"].map(|name| name.repeat(8)).concat()).expect("all are warmed up");
        let mut rounds = Vec::new();
        for length in [11, 11, 6] {
            let (round, after) = rest.split_at(3 * length);
            rest = after;
            let order: String = round.chars().step_by(length).collect();
            let expected: String = order.chars().map(|name| name.to_string().repeat(length)).collect();
            assert_eq!(round, expected);
            rounds.push(order);
        }
        assert_eq!((rest, &rounds[1]), ("", &rounds[0].chars().rev().collect::<String>()));
        assert_eq!(data.entries().map(|entry| entry.2.len()).collect::<Vec<_>>(), [25, 25, 25]);
        assert_eq!(data.unit(), Some(Unit::Second));
        assert!(data.quality[0].starts_with("in-process: one process"), "{:?}", data.quality);
    }

    #[test]
    fn calls_fill_the_time_of_a_sample() {
        for (seconds, expected) in [(1.0, 1), (1e-3, 1), (3e-4, 4), (1e-6, 1024)] {
            let mut asked = Vec::new();
            let mut cases = Cases::new();
            cases.add("s", "a", || ());
            let taken = SMALL.measure_by(cases, &mut |calls, _| {
                asked.push(calls);
                Sample { wall: seconds, cpu: None, preempted: false }
            });
            assert_eq!(taken.expect("it can be measured").samples("s", "a"), Some(&[seconds; 25][..]));
            assert_eq!(asked.last(), Some(&expected));
        }
    }

    #[test]
    fn bad_samples_give_caveats() {
        let caveats = |wall: f64, preempted: bool| {
            let mut cases = Cases::new();
            cases.add("s", "a", || ());
            let taken = SMALL.measure_by(cases, &mut |_, _| Sample { wall, cpu: None, preempted });
            taken.expect("it can be measured").quality.join("\n")
        };
        assert!(caveats(1e-6, true).contains("100 % of the samples were interrupted"));
        assert!(caveats(1e-9, false).contains("a call of `s.a` takes 1.000 ns"));
        assert!(!caveats(1e-6, false).contains("a call of"));
    }

    #[test]
    fn faults_of_measuring_are_reported() {
        let check = |measurer: &Measurer, names: &[&str], seconds: f64, expected: &str| {
            let mut cases = Cases::new();
            for name in names {
                cases.add("s", name, || ());
            }
            let caveats = measurer.measure_by(cases, &mut scripted(seconds)).expect_err(expected).to_string();
            assert!(caveats.contains(expected), "{caveats}");
        };
        check(&SMALL, &[], 1.0, "cannot measure: no case is asked for");
        check(&Measurer { samples: 0, ..SMALL }, &["a"], 1.0, "no sample is asked for");
        check(&SMALL, &["a"], 0.0, "calls of `s.a` fill no sample: the clock does not move");
        check(&Measurer { sample_time: Duration::ZERO, ..SMALL }, &["a"], 0.0, "the clock does not move");
        check(&SMALL, &["a", "a"], 1.0, "`s.a` is there twice");
    }

    #[test]
    fn each_process_measures_for_itself() {
        let test = "testing::measurer::tests::each_process_measures_for_itself";
        let runs = in_processes(test, 3, || {
            let mut data = PerformanceData::new().in_unit(Unit::Second);
            data.insert("s", "process", vec![f64::from(std::process::id())])?;
            data.quality = vec![IN_PROCESS.to_owned(), "odd \"words\"".to_owned()];
            Ok(data)
        });
        let runs = runs.expect("all of them measure");
        let mut ids: Vec<f64> = runs.iter().filter_map(|data| Some(data.samples("s", "process")?[0])).collect();
        ids.push(f64::from(std::process::id()));
        ids.sort_unstable_by(f64::total_cmp);
        ids.dedup();
        assert_eq!(ids.len(), 4, "three processes and this one");
        assert_eq!((runs[0].unit(), &runs[0].quality[..]), (Some(Unit::Second), &["odd \"words\"".to_owned()][..]));
    }

    #[test]
    fn a_process_that_fails_says_why() {
        let test = "testing::measurer::tests::a_process_that_fails_says_why";
        let failed = in_processes(test, 2, || Err(TestingError::measure("out of luck")));
        // This fails in the child.
        let fault = failed.expect_err("no process measures").to_string();
        assert!(std::env::var_os(FILE_VARIABLE).is_none(), "{fault}");
        let start = format!("process 1 of 2 of the test `{test}` gave no result: it ended with");
        assert!(fault.starts_with(&start) && fault.contains("cannot measure: out of luck"), "{fault}");
        let absent = in_processes("testing::nobody", 1, || Ok(PerformanceData::new())).expect_err("there is none");
        assert!(absent.to_string().ends_with("does the test runner call the test `testing::nobody`?"), "{absent}");
    }

    #[test]
    fn a_second_call_in_one_test_is_refused() {
        let test = "testing::measurer::tests::a_second_call_in_one_test_is_refused";
        let measure = || {
            let mut data = PerformanceData::new();
            data.insert("s", "a", vec![1.0])?;
            Ok(data)
        };
        let is_child = std::env::var_os(FILE_VARIABLE).is_some();
        let first = in_processes(test, 1, measure);
        assert_eq!(first.is_ok(), !is_child, "{first:?}");
        if is_child {
            first.expect("the child of the second call");
        }
        let caveats = in_processes(test, 1, measure).expect_err("it is the second").to_string();
        assert!(caveats.contains("call `in_processes` once per test"), "{caveats}");
    }

    #[test]
    fn a_real_clock_takes_as_many_samples_as_asked_for() {
        let values = vec![1.0_f64; 64];
        let mut cases = Cases::new();
        cases.add("sum", "plain", || values.iter().sum::<f64>()).add("sum", "length", || values.len());
        assert_eq!(format!("{cases:?}"), r#"[("sum", "plain"), ("sum", "length")]"#);
        let quick = Measurer { sample_time: Duration::from_micros(20), warm_up: Duration::ZERO, ..SMALL };
        let data = quick.measure(cases).expect("it can be measured");
        let counts: Vec<(&str, usize)> = data.entries().map(|entry| (entry.1, entry.2.len())).collect();
        assert_eq!(counts, [("plain", 25), ("length", 25)]);
    }

    #[test]
    fn the_end_of_a_text_begins_with_a_complete_character() {
        assert_eq!(end_of("short\n"), "short");
        let long = "é".repeat(MOST_SAID);
        assert_eq!(end_of(&format!("x{long}")).chars().count(), MOST_SAID / 2);
    }
}
