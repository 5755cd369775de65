//! The tools whose output github-action-benchmark understands: what their units are, and which way is better.
//!
//! | tool | unit in the file | better |
//! |---|---|---|
//! | `cargo`, `googlecpp` | `ns/iter` and the like | smaller |
//! | `go` | `ns/op`, `B/op`, `allocs/op`, `MB/s`; older files have all of them in one text, the first counts | smaller, a rate bigger |
//! | `jmh` | `us/op`, `ops/s`, `ops/ms` | smaller, a rate bigger |
//! | `julia`, `catch2`, `benchmarkluau`, `benchmarkdotnet` | a unit of time | smaller |
//! | `pytest`, `benchmarkjs` | `iter/sec`, `ops/sec` | bigger |
//! | `customSmallerIsBetter`, `customBiggerIsBetter` | any | as the name says |

use super::super::quantity::{self, Quantity};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

/// The list of numbers where smaller is better.
pub(super) const SMALLER: &str = "customSmallerIsBetter";

/// The list of numbers where bigger is better.
pub(super) const BIGGER: &str = "customBiggerIsBetter";

/// The other tools whose direction and units are known.
const TOOLS: [&str; 9] =
    ["cargo", "go", "googlecpp", "julia", "jmh", "catch2", "benchmarkluau", "benchmarkdotnet", "cargo-criterion"];

/// The tools that report rates.
const RATES: [&str; 2] = ["pytest", "benchmarkjs"];

/// The metric of bytes that an operation allocates.
const ALLOCATED: &str = "allocated_bytes";

/// Whether the tool is one of the table above.
pub(super) fn is_known(tool: &str) -> bool {
    [SMALLER, BIGGER].contains(&tool) || TOOLS.contains(&tool) || RATES.contains(&tool)
}

/// What a benchmark of the tool measures whose unit is spelt so, and how many base units one of it is.
pub(super) fn reading(tool: &str, unit: &str) -> (Metric, f64) {
    // Older files of `go` hold `ns/op`, a tab, and further numbers with their units.
    let unit = unit.split('\t').next().unwrap_or_default().trim();
    let better = |unit: Unit| match tool {
        SMALLER => Better::Lower,
        _ if tool == BIGGER || RATES.contains(&tool) => Better::Higher,
        // Where a tool reports times and rates, no one word fits both.
        _ if unit == Unit::PerSecond => Better::Higher,
        _ => Better::Lower,
    };
    if unit == "B/op" {
        let metric = Metric { name: ALLOCATED.to_owned(), unit: Unit::Byte, better: better(Unit::Byte) };
        return (metric, 1.0);
    }
    // Operations in a unit of time other than the second.
    let span = unit.strip_prefix("ops/").map(quantity::quantity);
    if let Some(Quantity { unit: Unit::Second, factor }) = span {
        return (quantity::metric_of("ops/s", better(Unit::PerSecond)), 1.0 / factor);
    }
    let Quantity { unit: base, factor } = quantity::quantity(unit);
    (quantity::metric_of(unit, better(base)), factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_directions_are_those_of_the_tool() {
        let check = |tool: &str, unit: &str, name: &str, base: &str, better: Better, factor: f64| {
            let (metric, found) = reading(tool, unit);
            assert_eq!(
                (metric.name.as_str(), metric.unit.symbol(), metric.better),
                (name, base, better),
                "{tool} {unit}"
            );
            assert!((found / factor - 1.0).abs() < 1e-12, "{tool} {unit}: {found}");
            assert!(is_known(tool));
        };
        check("cargo", "ns/iter", "time", "s", Better::Lower, 1e-9);
        check("googlecpp", "us/iter", "time", "s", Better::Lower, 1e-6);
        check("go", "ns/op", "time", "s", Better::Lower, 1e-9);
        check("go", "ns/op\t       4 B/op\t       1 allocs/op", "time", "s", Better::Lower, 1e-9);
        check("go", "B/op", "allocated_bytes", "B", Better::Lower, 1.0);
        check("go", "allocs/op", "value", "1", Better::Lower, 1.0);
        check("go", "MB/s", "bytes_per_s", "1/s", Better::Higher, 1e6);
        check("jmh", "us/op", "time", "s", Better::Lower, 1e-6);
        check("jmh", "ops/ms", "ops_per_s", "1/s", Better::Higher, 1e3);
        check("jmh", "ops/s", "ops_per_s", "1/s", Better::Higher, 1.0);
        check("pytest", "iter/sec", "iter_per_s", "1/s", Better::Higher, 1.0);
        check("benchmarkjs", "ops/sec", "ops_per_s", "1/s", Better::Higher, 1.0);
        check("julia", "ns", "time", "s", Better::Lower, 1e-9);
        check("catch2", "ms", "time", "s", Better::Lower, 1e-3);
        check(SMALLER, "MiB", "peak_memory", "B", Better::Lower, 1_048_576.0);
        check(SMALLER, "frames/s", "frames_per_s", "1/s", Better::Lower, 1.0);
        check(BIGGER, "tiles/s", "tiles_per_s", "1/s", Better::Higher, 1.0);
        check(BIGGER, "points", "value", "1", Better::Higher, 1.0);
        assert!(!is_known("abacus"));
        assert_eq!(reading("abacus", "ms").0.better, Better::Lower);
    }
}
