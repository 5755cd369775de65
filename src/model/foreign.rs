//! What a program that is not ours wrote, and what a reader of its format made of it.

use super::benchmark::{Benchmark, MAX_WORD};
use super::metric::Metric;
use sprag_base::text::is_unsafe_in_name;

/// The variant of a benchmark whose program names none.
pub const DEFAULT_VARIANT: &str = "default";

/// A piece of output: what a process wrote to its standard output, or one file that it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it was found: a path with `/`, relative to the folder of results; `standard output` for that.
    pub name: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// What it measured. Its parts have passed [`Benchmark::check`].
    pub benchmark: Benchmark,
    /// What it found, at least one metric; or why there is nothing to be had.
    pub result: Result<Vec<ReportedMetric>, String>,
    /// Throughputs that follow from its `time`: the name of the metric, and the units of work in one call.
    pub work: Vec<(String, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportedMetric {
    pub metric: Metric,
    /// The observations, at least one, in the base unit of the metric; each can be a value of that unit.
    pub samples: Vec<f64>,
}

impl Reported {
    /// A benchmark that failed, under a name that can be recorded however it was called.
    ///
    /// `name` loses what no name may hold, and what is too long; where it still is no name, `place` counts for it.
    pub fn failed(suite: &str, name: &str, place: usize, reason: String) -> Reported {
        let benchmark = |name: &str| Benchmark::new(suite, name, &[], DEFAULT_VARIANT);
        let benchmark = benchmark(&recordable(name))
            .or_else(|_| benchmark(&format!("unnamed-{place}")))
            .expect("the suite is one of the configuration");
        Reported { benchmark, result: Err(reason), work: Vec::new() }
    }
}

/// `text` with `_` for characters that a benchmark reserves and those that are unsafe, cut where it is too long.
pub fn recordable(text: &str) -> String {
    let reserved = |c: char| is_unsafe_in_name(c) || matches!(c, '{' | '}' | '@' | '=' | ',');
    text.trim().chars().map(|c| if reserved(c) { '_' } else { c }).take(MAX_WORD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_has_a_name_whatever_it_was_called() {
        let check = |name: &str, expected: &str| {
            let reported = Reported::failed("kernels", name, 3, "why".to_owned());
            assert_eq!(reported.benchmark.id(), expected);
            assert_eq!(reported.result, Err("why".to_owned()));
            assert_eq!(reported.benchmark.check(), Ok(()));
        };
        check("sort/1000", "kernels/sort/1000 @default");
        check("a{b}@c\n", "kernels/a_b__c @default");
        check("", "kernels/unnamed-3 @default");
        check(" \u{7} ", "kernels/_ @default");
        check("a\u{200b}b", "kernels/a_b @default");
        check("--all", "kernels/unnamed-3 @default");
        check("../x", "kernels/unnamed-3 @default");
        check(&"x".repeat(500), &format!("kernels/{} @default", "x".repeat(MAX_WORD)));
    }
}
