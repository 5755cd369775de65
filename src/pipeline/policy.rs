//! Which rule judges which metric: from configuration to rules.

use std::path::Path;

use crate::config::{Config, FILE_NAME, Parameters, Rules};
use crate::project::Project;
use crate::text::{note, warn};
use sprag_model::{Baseline, Choice, Exception, Policy, Rule, SuiteGate};

pub type Judged<'a> = (&'a str, Vec<String>);

pub fn from_rules(rules: &Rules) -> Policy {
    let exception = |one: &crate::config::MetricRule| Exception {
        part: one.part.clone(),
        choice: rules.choice(&one.rule, &one.with),
    };
    Policy {
        exceptions: rules.metric.iter().map(exception).collect(),
        default: rules.choice(rules.default_rule(), &Parameters::default()),
    }
}

pub fn read(path: &Path) -> crate::Result<Policy> {
    Ok(from_rules(&Config::load_rules(path)?))
}

/// Not for `interval`, whose tolerance may be estimated.
pub fn fixed(name: &str, rules: &Rules) -> Rule {
    match rules.choice(name, &Parameters::default()) {
        Choice::Fixed(rule) => rule,
        Choice::Learnt => unreachable!("only a tolerance of the rule `interval` is estimated"),
    }
}

pub fn judged(suites: &[SuiteGate]) -> Vec<Judged<'_>> {
    let keys = |suite: &SuiteGate| {
        suite.comparisons.iter().map(|one| Baseline::key(&one.benchmark, &one.metric.name)).collect::<Vec<String>>()
    };
    suites.iter().map(|suite| (suite.suite.as_str(), keys(suite))).filter(|(_, keys)| !keys.is_empty()).collect()
}

/// A typing error in `match` would silently let another rule judge. `file` is a policy file and its rules.
pub fn warn_unmatched(project: &Project, file: Option<(&Path, &Policy)>, judged: &[Judged<'_>]) {
    let own = from_rules(&project.config.rules);
    let (shown, policy) =
        file.map_or_else(|| (FILE_NAME.to_owned(), &own), |(path, policy)| (path.display().to_string(), policy));
    let is_judged = |name: &str| judged.iter().any(|(suite, _)| *suite == name);
    let others: Vec<&str> = project.config.suites.keys().map(String::as_str).filter(|name| !is_judged(name)).collect();
    for part in unmatched(policy, judged, &others) {
        let suites: Vec<&str> = judged.iter().map(|(suite, _)| *suite).collect();
        let message = format!("`match = \"{part}\"` in `{shown}` fits no metric of {}", suites.join(", "));
        // The entry may be for a suite that was not judged.
        match others.as_slice() {
            [] => warn(&message),
            [other] => note(&format!("{message}; {other} was not judged")),
            others => note(&format!("{message}; {} were not judged", others.join(", "))),
        }
    }
}

/// Entries that match no judged key, except those of `others`.
fn unmatched<'p>(policy: &'p Policy, judged: &[Judged<'_>], others: &[&str]) -> Vec<&'p str> {
    let fits = |part: &str| judged.iter().flat_map(|(_, keys)| keys).any(|key| key.contains(part));
    let is_of_another = |part: &str| others.iter().any(|suite| part.starts_with(&format!("{suite}/")));
    let parts = policy.exceptions.iter().map(|one| one.part.as_str());
    if judged.is_empty() { Vec::new() } else { parts.filter(|part| !fits(part) && !is_of_another(part)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_without_a_metric_are_reported() {
        let entry = |part: &str| Exception { part: part.to_owned(), choice: Choice::Learnt };
        let parts = ["infer", "infr", "@fast time", "gpu/scan", "cpu/scan"];
        let policy = Policy { exceptions: parts.map(entry).to_vec(), default: Choice::Learnt };
        let [cpu, gpu] = [("cpu", "cpu/infer @fast time"), ("gpu", "gpu/scan @cuda time")]
            .map(|(suite, key)| (suite, vec![key.to_owned()]));
        assert_eq!(unmatched(&policy, std::slice::from_ref(&cpu), &[]), ["infr", "gpu/scan", "cpu/scan"]);
        assert_eq!(unmatched(&policy, std::slice::from_ref(&cpu), &["gpu"]), ["infr", "cpu/scan"]);
        assert_eq!(unmatched(&policy, &[cpu, gpu], &[]), ["infr", "cpu/scan"]);
        assert_eq!(unmatched(&policy, &[], &["cpu", "gpu"]), Vec::<&str>::new());
    }

    #[test]
    fn settings_become_rules() {
        let check = |text: &str, key: &str, expected: Choice| {
            let config = Config::parse(text, Path::new("sprag.toml")).expect("all is known");
            assert_eq!(from_rules(&config.rules).choice(key), expected, "{text}");
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
