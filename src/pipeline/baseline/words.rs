//! Rules, shares and sizes in words, for a terminal.

use crate::text;
use sprag_model::baseline::Baseline;
use sprag_model::rule::Rule;
use sprag_model::unit::Unit;

/// A share as `2 %`, with as many digits as it has and at most four.
pub(super) fn percent(share: f64) -> String {
    let digits = format!("{:.4}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// `12 metrics of cpu`.
pub(super) fn count(baseline: &Baseline) -> String {
    format!("{} of {}", text::count(baseline.metrics.len(), "metric"), baseline.suite)
}

/// What to do with a file that was written, and with the one that went to the archive for it.
pub(super) fn to_commit(path: &str, archived: Option<&str>) -> String {
    let archived = archived.map_or(String::new(), |archived| format!(" {archived}"));
    format!("commit it, so that others are held to it: git add {path}{archived}")
}

/// `interval 2 %`: the rule and its parameters. `unit` is that of the metric.
pub(super) fn rule(rule: &Rule, unit: Unit) -> String {
    let name = rule.name();
    match *rule {
        Rule::Interval { tolerance } => format!("{name} {}", percent(tolerance)),
        Rule::Tolerance { ratio, abs: 0.0 } => format!("{name} {}", percent(ratio)),
        Rule::Tolerance { ratio, abs } => format!("{name} {} and {}", percent(ratio), unit.scale(abs).text(abs)),
        Rule::Bands { fail, warn } => format!("{name} {} and {}", percent(fail), percent(warn)),
        Rule::Rank { noise_threshold, significance, mad_multiplier } => {
            format!("{name} {}, p {significance}, {mad_multiplier} deviations", percent(noise_threshold))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_people_say_it() {
        let check = |one: Rule, expected: &str| assert_eq!(rule(&one, Unit::Second), expected);
        check(Rule::Interval { tolerance: 0.02 }, "interval 2 %");
        check(Rule::Interval { tolerance: 0.0 }, "interval 0 %");
        check(Rule::Tolerance { ratio: 0.5, abs: 0.0 }, "tolerance 50 %");
        check(Rule::Tolerance { ratio: 0.75, abs: 0.002 }, "tolerance 75 % and 2.000 ms");
        check(Rule::Bands { fail: 0.05, warn: 0.025 }, "bands 5 % and 2.5 %");
        let rank = Rule::Rank { noise_threshold: 0.01, significance: 0.05, mad_multiplier: 3.0 };
        check(rank, "rank 1 %, p 0.05, 3 deviations");
    }
}
