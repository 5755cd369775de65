//! The rules that turn two sides of a comparison into a verdict: their names and parameters.
//!
//! `analysis/rules/` decides by them; `sprag.toml`, policies and baselines name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Unit;
use sprag_base::number::short_percent as percent;

/// The most times a value that a rule may allow.
pub const MOST_FACTOR: f64 = 100.0;

/// A rule with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
pub enum Rule {
    /// The effect's interval, over processes that took turns or over sessions, compared with a tolerance.
    Interval {
        /// How much worse or better a metric may get and still be treated as unchanged: 0.02 is 2 %.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        tolerance: f64,
    },
    /// A fixed allowance: `value * (1 + ratio) + abs`, as Apex-X has it.
    Tolerance {
        /// Allowed relative worsening.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        ratio: f64,
        /// Allowed absolute worsening on top, in base units.
        #[schemars(extend("minimum" = 0))]
        abs: f64,
    },
    /// Two bands around the value, as Trueno has them: beyond one it fails, beyond the other it warns.
    Bands {
        /// Relative worsening beyond which it fails.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        fail: f64,
        /// Relative worsening beyond which it warns, and improvement beyond which it is treated as one.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        warn: f64,
    },
    /// A rank test on samples, beyond a band of noise around the median, as tt-metal has it.
    Rank {
        /// The least relative change of the median that counts.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        noise_threshold: f64,
        /// The p-value below which the samples differ.
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
        significance: f64,
        /// How many median absolute deviations of the baseline the median may move.
        #[schemars(extend("minimum" = 0, "maximum" = 100))]
        mad_multiplier: f64,
    },
}

impl Rule {
    /// The default first.
    pub const NAMES: [&str; 4] = ["interval", "tolerance", "bands", "rank"];

    pub fn name(&self) -> &'static str {
        match self {
            Rule::Interval { .. } => "interval",
            Rule::Tolerance { .. } => "tolerance",
            Rule::Bands { .. } => "bands",
            Rule::Rank { .. } => "rank",
        }
    }

    /// The first invalid parameter: its name, its value and what is allowed.
    pub fn fault(&self) -> Option<(&'static str, f64, &'static str)> {
        // More than 1 is probably a mistaken unit: 10 for 10 %.
        let share = |name, value: f64| {
            (!(0.0..=1.0).contains(&value)).then_some((name, value, "from 0 to 1 is allowed (0.1 is 10 %)"))
        };
        let factor = |name, value: f64| {
            (!(0.0..=MOST_FACTOR).contains(&value)).then_some((name, value, "from 0 to 100 is allowed"))
        };
        match *self {
            Rule::Interval { tolerance } => share("tolerance", tolerance),
            Rule::Tolerance { ratio, abs } => factor("ratio", ratio)
                .or_else(|| (!(abs.is_finite() && abs >= 0.0)).then_some(("abs", abs, "zero or more is allowed"))),
            Rule::Bands { fail, warn } => share("fail", fail)
                .or_else(|| share("warn", warn))
                .or_else(|| (warn > fail).then_some(("warn", warn, "at most the value of `fail` is allowed"))),
            Rule::Rank { noise_threshold, significance, mad_multiplier } => share("noise_threshold", noise_threshold)
                .or_else(|| {
                    let is_level = significance > 0.0 && significance < 1.0;
                    (!is_level).then_some(("significance", significance, "more than 0 and less than 1 is allowed"))
                })
                .or_else(|| factor("mad_multiplier", mad_multiplier)),
        }
    }

    /// By which share the larger value may exceed the smaller one and still be treated as unchanged.
    pub fn tolerated(&self, smaller: f64) -> f64 {
        match *self {
            Rule::Interval { tolerance } => tolerance,
            Rule::Tolerance { ratio, abs } => ratio + abs / smaller,
            Rule::Bands { warn, .. } => warn,
            Rule::Rank { noise_threshold, .. } => noise_threshold,
        }
    }

    /// The name and the parameters, such as `interval 2 %`. `unit` is that of the metric.
    pub fn words(&self, unit: Unit) -> String {
        let name = self.name();
        match *self {
            Rule::Interval { tolerance } => format!("{name} {}", percent(tolerance)),
            Rule::Tolerance { ratio, abs: 0.0 } => format!("{name} {}", percent(ratio)),
            Rule::Tolerance { ratio, abs } => format!("{name} {} and {}", percent(ratio), unit.scale(abs).text(abs)),
            Rule::Bands { fail, warn } => format!("{name} {} and {}", percent(fail), percent(warn)),
            Rule::Rank { noise_threshold, significance, mad_multiplier } => {
                format!("{name} {}, p {significance}, {mad_multiplier} deviations", percent(noise_threshold))
            }
        }
    }

    /// Such as `tolerance: more than 25 % worse fails`. The unit of `abs` is that of the values.
    pub fn explained(&self) -> String {
        let name = self.name();
        match *self {
            Rule::Interval { tolerance } => format!("{name}: surely more than {} worse fails", percent(tolerance)),
            Rule::Tolerance { ratio, abs: 0.0 } => format!("{name}: more than {} worse fails", percent(ratio)),
            Rule::Tolerance { ratio, abs } => format!("{name}: more than {} and {abs} worse fails", percent(ratio)),
            Rule::Bands { fail, warn } => {
                format!("{name}: more than {} worse fails, more than {} warns", percent(fail), percent(warn))
            }
            Rule::Rank { noise_threshold, significance, mad_multiplier } => format!(
                "{name}: more than {} and {mad_multiplier} deviations worse fails at p < {significance}",
                percent(noise_threshold)
            ),
        }
    }
}

/// How a project chooses the rule of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The first exception whose text the key of a metric contains decides.
    pub exceptions: Vec<Exception>,
    pub default: Choice,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exception {
    /// A part of the benchmark's id, a blank, and the metric's name.
    pub part: String,
    pub choice: Choice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    Fixed(Rule),
    /// The rule `interval`, with the least tolerance at which the noise of the metric is mostly treated as unchanged.
    Learnt,
}

impl Policy {
    pub fn choice(&self, key: &str) -> Choice {
        self.exceptions.iter().find(|one| key.contains(&one.part)).map_or(self.default, |one| one.choice)
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { exceptions: Vec::new(), default: Choice::Learnt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parameters_are_named() {
        let check = |rule: Rule, expected: Option<&str>| assert_eq!(rule.fault().map(|(name, ..)| name), expected);
        check(Rule::Interval { tolerance: 0.0 }, None);
        check(Rule::Interval { tolerance: -0.1 }, Some("tolerance"));
        check(Rule::Interval { tolerance: f64::NAN }, Some("tolerance"));
        check(Rule::Interval { tolerance: 101.0 }, Some("tolerance"));
        check(Rule::Tolerance { ratio: 0.1, abs: f64::INFINITY }, Some("abs"));
        check(Rule::Tolerance { ratio: f64::NAN, abs: 0.0 }, Some("ratio"));
        check(Rule::Bands { fail: 0.05, warn: 0.02 }, None);
        check(Rule::Bands { fail: 0.02, warn: 0.05 }, Some("warn"));
        let rank = |noise_threshold, significance, mad_multiplier| Rule::Rank {
            noise_threshold,
            significance,
            mad_multiplier,
        };
        check(rank(0.01, 0.05, 3.0), None);
        check(rank(0.01, 0.0, 3.0), Some("significance"));
        check(rank(0.01, 0.05, -1.0), Some("mad_multiplier"));
    }

    #[test]
    fn a_rule_reads_as_people_say_it() {
        let check = |one: Rule, words: &str, explained: &str| {
            assert_eq!((one.words(Unit::Second).as_str(), one.explained().as_str()), (words, explained));
        };
        check(Rule::Interval { tolerance: 0.02 }, "interval 2 %", "interval: surely more than 2 % worse fails");
        check(Rule::Interval { tolerance: 0.0 }, "interval 0 %", "interval: surely more than 0 % worse fails");
        let tolerance = |ratio, abs| Rule::Tolerance { ratio, abs };
        check(tolerance(0.5, 0.0), "tolerance 50 %", "tolerance: more than 50 % worse fails");
        let explained = "tolerance: more than 75 % and 0.002 worse fails";
        check(tolerance(0.75, 0.002), "tolerance 75 % and 2.000 ms", explained);
        let explained = "bands: more than 5 % worse fails, more than 2.5 % warns";
        check(Rule::Bands { fail: 0.05, warn: 0.025 }, "bands 5 % and 2.5 %", explained);
        let rank = Rule::Rank { noise_threshold: 0.01, significance: 0.05, mad_multiplier: 3.0 };
        let explained = "rank: more than 1 % and 3 deviations worse fails at p < 0.05";
        check(rank, "rank 1 %, p 0.05, 3 deviations", explained);
    }

    #[test]
    fn a_rule_is_written_with_its_name() {
        let text = serde_json::to_string(&Rule::Bands { fail: 0.05, warn: 0.02 }).expect("it has a text");
        assert_eq!(text, r#"{"name":"bands","fail":0.05,"warn":0.02}"#);
        let error = serde_json::from_str::<Rule>(r#"{"name":"bands","fail":0.05}"#).expect_err("one is missing");
        assert!(error.to_string().contains("warn"), "{error}");
        assert!(serde_json::from_str::<Rule>(r#"{"name":"interval","tolerance":0,"more":1}"#).is_err());
        for name in Rule::NAMES {
            let error =
                serde_json::from_str::<Rule>(&format!(r#"{{"name":"{name}"}}"#)).expect_err("none has no parameter");
            assert!(!error.to_string().contains("variant"), "{error}");
        }
    }
}
