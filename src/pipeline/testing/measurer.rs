//! Measuring in a test: several cases timed in turn, in this process.

use std::time::Duration;

use super::{PerformanceData, TestingError, black_box};
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_measure::clock;
use sprag_model::sample::Sample;
use sprag_model::unit::Unit;

/// Samples that a case takes in a row before the next has its turn: enough to be warm for most of them, few enough that
/// what befalls the machine befalls all cases.
const BLOCK: usize = 10;

/// A call this short is mostly the way there and back.
const SHORTEST_CALL: f64 = 5e-9;

/// More preempted samples than this share, and the machine was too busy to be measured on.
const MOST_PREEMPTED: f64 = 0.10;

/// What speaks against the samples of a single process.
pub(crate) const IN_PROCESS: &str = "in-process: one process, so its layout and luck are one sample";

/// How long and how often is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurer {
    /// Samples of each case; the rule `rank` tells little below ten, and a file of fewer than 100 is warned of.
    pub samples: usize,
    /// What a sample lasts at least: as many calls are taken together as it takes for that.
    pub sample_time: Duration,
    /// How long each case runs before its samples count.
    pub warm_up: Duration,
    /// What the order of the cases follows from.
    pub seed: u64,
}

impl Default for Measurer {
    /// 120 samples of a millisecond, after 50 milliseconds: a fifth of a second a case.
    fn default() -> Measurer {
        Measurer { samples: 120, sample_time: Duration::from_millis(1), warm_up: Duration::from_millis(50), seed: 1 }
    }
}

/// What is measured together, in turn.
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

    /// Adds a case. What a call gives is kept from being optimised away; give what it takes to [`black_box`] where it is
    /// known when the test is compiled.
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

/// What takes a sample of so many calls.
type Take<'t> = &'t mut dyn FnMut(u32, &mut dyn FnMut()) -> Sample;

impl Measurer {
    /// Times all cases in turn, in blocks of ten samples, each time in a new order and then in that order backwards. The
    /// samples are in seconds a call.
    ///
    /// # Errors
    /// When there is no case, a case is there twice, no sample is asked for, or the clock does not move.
    pub fn measure(&self, cases: Cases<'_>) -> Result<PerformanceData, TestingError> {
        self.measure_by(cases, &mut |calls, work| clock::sample(calls, true, work))
    }

    fn measure_by(&self, cases: Cases<'_>, take: Take<'_>) -> Result<PerformanceData, TestingError> {
        let mut cases = cases.cases;
        if cases.is_empty() || self.samples == 0 {
            let what = if cases.is_empty() { "case" } else { "sample" };
            return Err(TestingError::Measure(format!("no {what} is asked for")));
        }
        for (place, case) in cases.iter().enumerate() {
            if cases[..place].iter().any(|one| (&one.section, &one.subsection) == (&case.section, &case.subsection)) {
                return Err(TestingError::Measure(format!("`{}.{}` is there twice", case.section, case.subsection)));
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
                // One that does not count: it pays for the caches that the case before has left.
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

    /// Runs a case until it is warm, and finds how many calls fill a sample.
    fn warm_up(&self, case: &mut Case<'_>, take: Take<'_>) -> Result<u32, TestingError> {
        let (mut calls, mut seconds) = (1_u32, 0.0);
        loop {
            let lasted = take(calls, &mut case.call).wall * f64::from(calls);
            seconds += lasted;
            if lasted <= 0.0 || lasted < self.sample_time.as_secs_f64() {
                let more = calls.checked_mul(2).ok_or_else(|| {
                    let name = format!("{}.{}", case.section, case.subsection);
                    TestingError::Measure(format!("{calls} calls of `{name}` fill no sample: the clock does not move"))
                });
                calls = more?;
            } else if seconds >= self.warm_up.as_secs_f64() {
                return Ok(calls);
            }
        }
    }
}

/// What speaks against the samples.
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
                "a call of `{name}` takes {}, which is mostly the way there and back: let it do more, and see that its work \
                 is not optimised away",
                Unit::Second.scale(call).text(call)
            ));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const SMALL: Measurer =
        Measurer { samples: 25, sample_time: Duration::from_millis(1), warm_up: Duration::from_millis(8), seed: 1 };

    /// A clock on which a call takes so many seconds, and that does call.
    fn scripted(seconds: f64) -> impl FnMut(u32, &mut dyn FnMut()) -> Sample {
        move |_, work| {
            work();
            Sample { wall: seconds, cpu: None, preempted: false }
        }
    }

    #[test]
    fn cases_take_turns_in_blocks_in_an_order_and_then_backwards() {
        let log = RefCell::new(String::new());
        let mut cases = Cases::new();
        for name in ["a", "b", "c"] {
            let log = &log;
            cases.add("s", name, move || log.borrow_mut().push_str(name));
        }
        let data = SMALL.measure_by(cases, &mut scripted(1e-3)).expect("it can be measured");
        let log = log.into_inner();
        // Eight milliseconds of a sample each to warm up, then blocks of one and ten samples, the last of one and five.
        let mut rest =
            log.strip_prefix(&["a", "b", "c"].map(|name| name.repeat(8)).concat()).expect("all are warmed up");
        let mut rounds = Vec::new();
        for length in [11, 11, 6] {
            let (round, after) = rest.split_at(3 * length);
            rest = after;
            let order: String = round.chars().step_by(length).collect();
            let whole: String = order.chars().map(|name| name.to_string().repeat(length)).collect();
            assert_eq!(round, whole);
            rounds.push(order);
        }
        assert_eq!((rest, &rounds[1]), ("", &rounds[0].chars().rev().collect::<String>()));
        assert_eq!(data.entries().map(|entry| entry.2.len()).collect::<Vec<_>>(), [25, 25, 25]);
        assert_eq!(data.unit(), Some(Unit::Second));
        assert!(data.quality[0].starts_with("in-process: one process"), "{:?}", data.quality);
    }

    #[test]
    fn a_sample_is_as_many_calls_as_fill_it() {
        let check = |seconds: f64, expected: u32| {
            let mut asked = Vec::new();
            let mut cases = Cases::new();
            cases.add("s", "a", || ());
            let taken = SMALL.measure_by(cases, &mut |calls, _| {
                asked.push(calls);
                Sample { wall: seconds, cpu: None, preempted: false }
            });
            assert_eq!(taken.expect("it can be measured").samples("s", "a"), Some(&[seconds; 25][..]));
            assert_eq!(asked.last(), Some(&expected));
        };
        check(1.0, 1);
        check(1e-3, 1);
        check(3e-4, 4);
        check(1e-6, 1024);
    }

    #[test]
    fn what_speaks_against_samples_is_told() {
        let told = |wall: f64, preempted: bool| {
            let mut cases = Cases::new();
            cases.add("s", "a", || ());
            let taken = SMALL.measure_by(cases, &mut |_, _| Sample { wall, cpu: None, preempted });
            taken.expect("it can be measured").quality.join("\n")
        };
        assert!(told(1e-6, true).contains("100 % of the samples were interrupted"));
        assert!(told(1e-9, false).contains("a call of `s.a` takes 1.000 ns"));
        assert!(!told(1e-6, false).contains("a call of"));
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let check = |measurer: &Measurer, names: &[&str], seconds: f64, expected: &str| {
            let mut cases = Cases::new();
            for name in names {
                cases.add("s", name, || ());
            }
            let told = measurer.measure_by(cases, &mut scripted(seconds)).expect_err(expected).to_string();
            assert!(told.contains(expected), "{told}");
        };
        check(&SMALL, &[], 1.0, "cannot measure: no case is asked for");
        check(&Measurer { samples: 0, ..SMALL }, &["a"], 1.0, "no sample is asked for");
        check(&SMALL, &["a"], 0.0, "calls of `s.a` fill no sample: the clock does not move");
        check(&Measurer { sample_time: Duration::ZERO, ..SMALL }, &["a"], 0.0, "the clock does not move");
        check(&SMALL, &["a", "a"], 1.0, "`s.a` is there twice");
    }

    #[test]
    fn a_real_clock_takes_as_many_samples_as_asked_for() {
        let values = vec![1.0_f64; 64];
        let mut cases = Cases::new();
        cases.add("sum", "plain", || values.iter().sum::<f64>()).add("sum", "length", || values.len());
        assert_eq!(format!("{cases:?}"), r#"[("sum", "plain"), ("sum", "length")]"#);
        let quick = Measurer { sample_time: Duration::from_micros(20), warm_up: Duration::ZERO, ..SMALL };
        let data = quick.measure(cases).expect("it can be measured");
        assert_eq!(
            data.entries().map(|entry| (entry.1, entry.2.len())).collect::<Vec<_>>(),
            [("plain", 25), ("length", 25)]
        );
    }
}
