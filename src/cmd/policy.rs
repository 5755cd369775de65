//! Which rule judges which metric: from the words of a configuration to rules.

use crate::config::{Parameters, Rules};
use crate::model::rule::{Choice, Exception, Policy, Rule};

/// The policy that the section `[rules]` of a configuration states.
pub(super) fn of(rules: &Rules) -> Policy {
    let exception = |one: &crate::config::MetricRule| Exception {
        part: one.part.clone(),
        choice: choice(&one.rule, one.with.or(rules.parameters(&one.rule))),
    };
    let default = rules.default_rule();
    Policy {
        exceptions: rules.metric.iter().map(exception).collect(),
        default: choice(default, rules.parameters(default)),
    }
}

/// The rule `bands` with the parameters of a configuration.
pub(super) fn bands(rules: &Rules) -> Rule {
    fixed("bands", rules)
}

/// The rule `rank`, likewise.
pub(super) fn rank(rules: &Rules) -> Rule {
    fixed("rank", rules)
}

fn fixed(name: &str, rules: &Rules) -> Rule {
    match choice(name, rules.parameters(name)) {
        Choice::Fixed(rule) => rule,
        Choice::Learnt => unreachable!("only a tolerance of the rule `interval` is learnt"),
    }
}

/// The rule of that name with the parameters that a configuration states for it, for every metric.
pub(super) fn always(rules: &Rules, rule: &str) -> Policy {
    Policy { exceptions: Vec::new(), default: choice(rule, rules.parameters(rule)) }
}

/// The rule of that name; a parameter without a value is one that follows from the noise of the metric.
fn choice(rule: &str, parameters: Parameters) -> Choice {
    let Parameters { tolerance, ratio, abs, fail, warn, noise_threshold, significance, mad_multiplier } = parameters;
    let number = |value: Option<f64>| value.expect("the configuration fills in every parameter but that tolerance");
    Choice::Fixed(match rule {
        "tolerance" => Rule::Tolerance { ratio: number(ratio), abs: number(abs) },
        "bands" => Rule::Bands { fail: number(fail), warn: number(warn) },
        "rank" => Rule::Rank {
            noise_threshold: number(noise_threshold),
            significance: number(significance),
            mad_multiplier: number(mad_multiplier),
        },
        _ => match tolerance {
            Some(tolerance) => Rule::Interval { tolerance },
            None => return Choice::Learnt,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[test]
    fn words_become_rules() {
        let check = |text: &str, key: &str, expected: Choice| {
            let config = Config::parse(text, Path::new("sprag.toml")).expect("all is known");
            assert_eq!(of(&config.rules).choice(key), expected, "{text}");
        };
        check("", "cpu/x @fast time", Choice::Learnt);
        let interval = |tolerance: f64| Choice::Fixed(Rule::Interval { tolerance });
        check("[rules.interval]\ntolerance = 0.05\n", "cpu/x @fast time", interval(0.05));
        let text = "[rules]\ndefault = \"tolerance\"\n[[rules.metric]]\nmatch = \"x @fast time\"\nrule = \"rank\"\nwith = { \
                    significance = 0.01 }\n[[rules.metric]]\nmatch = \"bytes\"\nrule = \"interval\"\nwith = { tolerance = 0.0 }\n";
        let rank = Rule::Rank { noise_threshold: 0.01, significance: 0.01, mad_multiplier: 3.0 };
        check(text, "cpu/x @fast time", Choice::Fixed(rank));
        check(text, "cpu/x @fast bytes", interval(0.0));
        check(text, "cpu/y @fast time", Choice::Fixed(Rule::Tolerance { ratio: 0.25, abs: 0.0 }));
    }
}
