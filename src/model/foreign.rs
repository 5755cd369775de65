//! The output of a foreign program, and the benchmarks read from it.

use super::benchmark::{Benchmark, MAX_WORD};
use super::metric::Metric;
use sprag_base::text::is_unsafe_in_name;

/// The variant of a benchmark whose program names none.
pub const DEFAULT_VARIANT: &str = "default";

/// The standard output of a process, or one file that it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// A path with `/`, relative to the folder of results, or `standard output`.
    pub name: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Has passed [`Benchmark::check`].
    pub benchmark: Benchmark,
    /// At least one metric, or why there is none.
    pub result: Result<Vec<ReportedMetric>, String>,
    /// Throughputs to derive from its `time`: the name of the metric, and the units of work in one call.
    pub work: Vec<(String, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportedMetric {
    pub metric: Metric,
    /// At least one valid value, in the base unit of the metric.
    pub samples: Vec<f64>,
}

impl Reported {
    /// A benchmark that failed, under `name` made recordable, or under `place` where that is impossible.
    pub fn failed(suite: &str, name: &str, place: usize, reason: String) -> Reported {
        let benchmark = |name: &str| Benchmark::new(suite, name, &[], DEFAULT_VARIANT);
        let benchmark = benchmark(&recordable(name))
            .or_else(|_| benchmark(&format!("unnamed-{place}")))
            .expect("the suite is one of the configuration");
        Reported { benchmark, result: Err(reason), work: Vec::new() }
    }
}

/// `text` with `_` for reserved and unsafe characters, at most [`MAX_WORD`] characters long.
pub fn recordable(text: &str) -> String {
    let reserved = |c: char| is_unsafe_in_name(c) || matches!(c, '{' | '}' | '@' | '=' | ',');
    text.trim().chars().map(|c| if reserved(c) { '_' } else { c }).take(MAX_WORD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_benchmark_has_a_recordable_name() {
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
