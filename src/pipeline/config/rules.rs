//! The sections `[rules]` and `[trend]`: how metrics are judged, and which changes over the history count.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sprag_base::text::nearest;
use sprag_model::{Choice, Rule};

/// A parameter of a rule, with its built-in value.
type Parameter = (&'static str, Option<f64>);

/// The parameters of each rule. A shared machine moves medians of a session by up to 12 %: a smaller `ratio` alarms falsely.
const PARAMETERS: [(&str, &[Parameter]); 4] = [
    ("interval", &[("tolerance", None)]),
    ("tolerance", &[("ratio", Some(0.25)), ("abs", Some(0.0))]),
    ("bands", &[("fail", Some(0.05)), ("warn", Some(0.02))]),
    ("rank", &[("noise_threshold", Some(0.01)), ("significance", Some(0.05)), ("mad_multiplier", Some(3.0))]),
];

fn parameters(rule: &str) -> &'static [Parameter] {
    PARAMETERS.iter().find(|(name, _)| *name == rule).map_or(&[], |(_, parameters)| parameters)
}

/// An invalid value. `keys` lead to it from the root of the file; places of a list count from 0.
pub(super) struct Fault {
    pub keys: Vec<String>,
    pub message: String,
}

impl Fault {
    pub(super) fn new(keys: &[&str], message: String) -> Fault {
        Fault { keys: keys.iter().map(|key| (*key).to_owned()).collect(), message }
    }
}

pub(super) fn did_you_mean(word: &str, words: &[&str]) -> String {
    nearest(word, words).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// The rule for metrics without an entry in `metric`: `interval`, `tolerance`, `bands` or `rank`. Default: `interval`.
    pub default: Option<String>,
    /// `tolerance`: the ratio that a change must pass. Default: for each metric, the least that its noise allows.
    pub interval: Option<Parameters>,
    /// `ratio` (default 0.25) and `abs` (default 0, in the unit of the metric): the largest change that passes.
    pub tolerance: Option<Parameters>,
    /// `fail` (default 0.05) and `warn` (default 0.02): ratios above which a change fails or warns.
    pub bands: Option<Parameters>,
    /// `noise_threshold` (default 0.01), `significance` (default 0.05) and `mad_multiplier` (default 3).
    pub rank: Option<Parameters>,
    /// Rules for single metrics; the first match applies.
    pub metric: Vec<MetricRule>,
}

/// The parameters of a rule by name, as far as they are given; `docs/GATE.md` says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(BTreeMap<String, f64>);

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricRule {
    /// Text that `<benchmark id> <metric name>` must contain.
    #[serde(rename = "match")]
    pub part: String,
    /// The name of the rule.
    pub rule: String,
    /// Parameters that override those of the rule's section.
    #[serde(default)]
    pub with: Parameters,
}

impl Parameters {
    /// The first name that the rule lacks; `place` leads to the table.
    fn unknown(&self, rule: &str, place: &[&str]) -> Option<Fault> {
        let names: Vec<&str> = parameters(rule).iter().map(|(name, _)| *name).collect();
        let name = self.0.keys().find(|name| !names.contains(&name.as_str()))?;
        let (list, near) = (names.join("`, `"), did_you_mean(name, &names));
        let message = format!("`{}`: the rule `{rule}` has `{list}`{near}", words(place, name));
        Some(Fault::new(&[place, &[name]].concat(), message))
    }
}

impl Rules {
    pub fn default_rule(&self) -> &str {
        self.default.as_deref().unwrap_or(Rule::NAMES[0])
    }

    /// Defaults: the section of the rule, then the built-in values.
    pub fn choice(&self, rule: &str, with: &Parameters) -> Choice {
        let number = |name: &str| {
            self.parameter(rule, with, name)
                .expect("every parameter has a built-in value but the tolerance of `interval`")
        };
        Choice::Fixed(match rule {
            "tolerance" => Rule::Tolerance { ratio: number("ratio"), abs: number("abs") },
            "bands" => Rule::Bands { fail: number("fail"), warn: number("warn") },
            "rank" => Rule::Rank {
                noise_threshold: number("noise_threshold"),
                significance: number("significance"),
                mad_multiplier: number("mad_multiplier"),
            },
            _ => match self.parameter(rule, with, "tolerance") {
                Some(tolerance) => Rule::Interval { tolerance },
                None => return Choice::Learnt,
            },
        })
    }

    fn parameter(&self, rule: &str, with: &Parameters, name: &str) -> Option<f64> {
        let of_section = |name: &str| self.section(rule)?.0.get(name).copied();
        let built_in = || {
            let value = parameters(rule).iter().find(|(other, _)| *other == name)?.1?;
            // A warning above what fails would never be seen.
            Some(if name == "warn" { of_section("fail").map_or(value, |fail| fail.min(value)) } else { value })
        };
        with.0.get(name).copied().or_else(|| of_section(name)).or_else(built_in)
    }

    fn section(&self, rule: &str) -> Option<&Parameters> {
        match rule {
            "interval" => self.interval.as_ref(),
            "tolerance" => self.tolerance.as_ref(),
            "bands" => self.bands.as_ref(),
            "rank" => self.rank.as_ref(),
            _ => None,
        }
    }

    /// The first value that TOML allows and we do not.
    pub(super) fn fault(&self) -> Option<Fault> {
        let unknown = |rule: &str, keys: &[&str]| {
            let (list, near) = (Rule::NAMES.join("`, `"), did_you_mean(rule, &Rule::NAMES));
            let message = format!("there is no rule `{}` (there is `{list}`){near}", rule.escape_debug());
            (!Rule::NAMES.contains(&rule)).then(|| Fault::new(keys, message))
        };
        if let Some(fault) = unknown(self.default_rule(), &["rules", "default"]) {
            return Some(fault);
        }
        for rule in Rule::NAMES {
            let Some(section) = self.section(rule) else { continue };
            if let Some(fault) = self.parameter_fault(rule, section, &["rules", rule]) {
                return Some(fault);
            }
            // Ground truths are always judged by `rank`.
            let is_used =
                rule == "rank" || self.default_rule() == rule || self.metric.iter().any(|one| one.rule == rule);
            if !is_used {
                let message = format!(
                    "`rules.{rule}` is set, and no metric is judged by it: set `default = \"{rule}\"` under `[rules]`, or \
                     name the metrics in a `[[rules.metric]]`"
                );
                return Some(Fault::new(&["rules", rule], message));
            }
        }
        self.metric.iter().enumerate().find_map(|(place, one)| {
            let place = place.to_string();
            let keys = ["rules", "metric", &place];
            if one.part.trim().is_empty() {
                let message = "an entry of `rules.metric` has an empty `match`, which fits every metric: set `default`";
                return Some(Fault::new(&keys, message.to_owned()));
            }
            let with = || self.parameter_fault(&one.rule, &one.with, &[&keys[..], &["with"]].concat());
            unknown(&one.rule, &keys).or_else(with)
        })
    }

    /// The first parameter that is unknown or out of range; `place` leads to the table.
    fn parameter_fault(&self, rule: &str, with: &Parameters, place: &[&str]) -> Option<Fault> {
        with.unknown(rule, place).or_else(|| {
            let Choice::Fixed(rule) = self.choice(rule, with) else { return None };
            let (name, value, allowed) = rule.fault()?;
            let message = format!("`{}` is {value}, {allowed}", words(place, name));
            Some(Fault::new(&[place, &[name]].concat(), message))
        })
    }
}

/// Smaller lasting changes are seldom worth a search, and often noise on shared machines.
const DEFAULT_LEAST: f64 = 0.004;

const DEFAULT_MOST: u32 = 10;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Trend")]
pub struct TrendSettings {
    /// How much evidence a change needs. Default: `balanced`.
    pub sensitivity: Option<SensitivityName>,
    /// The smallest relative change that is reported, 0 to 1. Default: 0.004.
    pub least: Option<f64>,
    /// How many events a list, and a week of a feed, shows at once; the others are counted. 0 shows all. Default: 10.
    pub most: Option<u32>,
    /// Settings for single metrics; the first match applies.
    pub metric: Vec<MetricTrend>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SensitivityName {
    Strict,
    #[default]
    Balanced,
    Loose,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricTrend {
    /// Text that `<benchmark id> <metric name>` must contain.
    #[serde(rename = "match")]
    pub part: String,
    /// Default: that of `[trend]`.
    pub sensitivity: Option<SensitivityName>,
    /// Default: that of `[trend]`.
    pub least: Option<f64>,
}

impl TrendSettings {
    pub fn settings_for(&self, benchmark: &str, metric: &str) -> (SensitivityName, f64) {
        let key = format!("{benchmark} {metric}");
        let own = self.metric.iter().find(|one| key.contains(&one.part));
        let sensitivity = own.and_then(|one| one.sensitivity).or(self.sensitivity);
        let least = own.and_then(|one| one.least).or(self.least);
        (sensitivity.unwrap_or_default(), least.unwrap_or(DEFAULT_LEAST))
    }

    pub(crate) fn most(&self) -> usize {
        self.most.unwrap_or(DEFAULT_MOST) as usize
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        let entry = |(place, one): (usize, &MetricTrend)| {
            let place = place.to_string();
            let keys = ["trend", "metric", &place];
            if one.part.trim().is_empty() {
                let message = "an entry of `trend.metric` has an empty `match`, which fits every metric: set \
                               `sensitivity` and `least` under `[trend]`";
                return Some(Fault::new(&[&keys[..], &["match"]].concat(), message.to_owned()));
            }
            if one.sensitivity.is_none() && one.least.is_none() {
                let message = "an entry of `trend.metric` changes nothing: give it a `sensitivity` or a `least`";
                return Some(Fault::new(&keys, message.to_owned()));
            }
            fault_of_least(one.least, &keys)
        };
        fault_of_least(self.least, &["trend"]).or_else(|| self.metric.iter().enumerate().find_map(entry))
    }
}

fn fault_of_least(least: Option<f64>, place: &[&str]) -> Option<Fault> {
    let least = least.filter(|least| !(0.0..=1.0).contains(least))?;
    let message = format!("`{}` is {least}, from 0 to 1 is allowed (0.01 is 1 %)", words(place, "least"));
    Some(Fault::new(&[place, &["least"]].concat(), message))
}

/// A key as people write it, without places of lists.
fn words(place: &[&str], key: &str) -> String {
    let tables = place.iter().copied().filter(|key| key.parse::<usize>().is_err());
    tables.chain([key]).collect::<Vec<&str>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::SensitivityName::{Balanced, Loose, Strict};
    use super::*;
    use crate::config::tests::{parse, refused};

    #[test]
    fn sections_give_parameters_and_entries_change_them() {
        let check = |text: &str, rule: &str, expected: Choice| {
            let rules = parse(text).expect("all is known").rules;
            let with = rules.metric.iter().find(|one| one.rule == rule).map(|one| one.with.clone());
            assert_eq!(rules.choice(rule, &with.unwrap_or_default()), expected, "{text}");
        };
        let text = "[rules]\ndefault = \"bands\"\n[rules.bands]\nfail = 0.1\n[[rules.metric]]\nmatch = \"tile\"\nrule = \
                    \"interval\"\nwith = { tolerance = 0.03 }\n";
        assert_eq!(parse(text).expect("all is known").rules.default_rule(), "bands");
        check(text, "bands", Choice::Fixed(Rule::Bands { fail: 0.1, warn: 0.02 }));
        check(text, "interval", Choice::Fixed(Rule::Interval { tolerance: 0.03 }));
        check("", "interval", Choice::Learnt);
        let rank =
            |significance| Choice::Fixed(Rule::Rank { noise_threshold: 0.01, significance, mad_multiplier: 3.0 });
        check("", "rank", rank(0.05));
        check("[rules.rank]\nsignificance = 0.01\n", "rank", rank(0.01));
    }

    #[test]
    fn faults_of_rules_are_reported() {
        refused("[rules]\ndefault = \"bannds\"\n", "2:1", &["no rule `bannds`", "did you mean `bands`?"]);
        refused("[rules.tolerence]\nratio = 0.1\n", "1:8", &["did you mean `tolerance`?"]);
        refused("[rules.tolerance]\nratio = 0.1\n", "1:8", &["no metric is judged by it", "default = \"tolerance\""]);
        let default = |rule: &str, rest: &str| format!("[rules]\ndefault = \"{rule}\"\n[rules.{rule}]\n{rest}\n");
        refused(&default("tolerance", "ratio = -0.5"), "4:1", &["is -0.5, from 0 to 100"]);
        refused("[rules.interval]\ntolerance = nan\n", "2:1", &["NaN"]);
        refused("[rules.interval]\ntolerence = 0.1\n", "2:1", &["did you mean `tolerance`?"]);
        refused("[rules.interval]\nratio = 0.1\n", "2:1", &["the rule `interval` has `tolerance`"]);
        refused(&default("rank", "significance = 0.0"), "4:1", &["less than 1"]);
        refused(&default("bands", "fail = 0.02\nwarn = 0.05"), "5:1", &["at most the value of `fail`"]);
        let entry = |rest: &str| format!("[[rules.metric]]\nmatch = \"x\"\n{rest}\n");
        let warn = entry("rule = \"bands\"\nwith = { warn = 0.2 }");
        refused(&warn, "4:10", &["`rules.metric.with.warn` is 0.2, at most the value of `fail`"]);
        let fail = entry("rule = \"interval\"\nwith = { fail = 0.2 }");
        refused(&fail, "4:10", &["the rule `interval` has `tolerance`"]);
        refused(&entry("rule = \"other\""), "1:1", &["no rule `other`"]);
        refused("[[rules.metric]]\nmatch = \" \"\nrule = \"bands\"\n", "1:1", &["empty `match`"]);
    }

    #[test]
    fn the_first_matching_entry_applies_over_the_section() {
        let check = |text: &str, benchmark: &str, metric: &str, expected: (SensitivityName, f64)| {
            let trend = parse(text).expect("all is known").trend;
            assert_eq!(trend.settings_for(benchmark, metric), expected, "{benchmark} {metric}");
        };
        assert_eq!(parse("").expect("nothing is valid").trend, TrendSettings::default());
        check("", "cpu/infer @fast", "time", (Balanced, 0.004));
        check("[trend]\nleast = 0.02\n", "cpu/infer @fast", "time", (Balanced, 0.02));
        let text = "[trend]\nsensitivity = \"strict\"\nleast = 0.01\n\
                    [[trend.metric]]\nmatch = \"infer\"\nsensitivity = \"loose\"\n\
                    [[trend.metric]]\nmatch = \"@fast peak_memory\"\nleast = 0.0\n\
                    [[trend.metric]]\nmatch = \"tile\"\nsensitivity = \"balanced\"\nleast = 1.0\n";
        check(text, "cpu/ordering @fast", "time", (Strict, 0.01));
        check(text, "cpu/infer @fast", "time", (Loose, 0.01));
        check(text, "cpu/infer @fast", "peak_memory", (Loose, 0.01));
        check(text, "cpu/tile_pack @fast", "peak_memory", (Strict, 0.0));
        check(text, "cpu/tile_pack @fast", "time", (Balanced, 1.0));
    }

    #[test]
    fn faults_of_trend_settings_are_reported() {
        refused("[trnd]\nleast = 0.1\n", "1:2", &["unknown field `trnd`", "did you mean `trend`?"]);
        refused("[trend]\nsensitivty = \"loose\"\n", "2:1", &["did you mean `sensitivity`?"]);
        refused("[trend]\nbudget = 0.05\n", "2:1", &["unknown field `budget`"]);
        refused("[trend]\nleast = \"1 %\"\n", "2:9", &["invalid type"]);
        refused("[trend]\nmost = -1\n", "2:8", &["integer `-1`, expected a whole number from 0 to 4294967295"]);
        refused("[trend]\nsensitivity = \"stict\"\n", "2:15", &["unknown variant `stict`", "did you mean `strict`?"]);
        let allowed = "from 0 to 1 is allowed (0.01 is 1 %)";
        refused("[trend]\n least = 5.0\n", "2:2", &["`trend.least` is 5", allowed]);
        refused("[trend]\nleast = -0.1\n", "2:1", &["`trend.least` is -0.1", allowed]);
        refused("[trend]\nleast = nan\n", "2:1", &["`trend.least` is NaN", allowed]);
        // The entry before has the same keys, so finding the first of a name is not enough.
        let entry = |rest: &str| {
            format!("[[trend.metric]]\nmatch = \"x\"\nleast = 0.1\nsensitivity = \"loose\"\n[[trend.metric]]\n{rest}\n")
        };
        refused(&entry("match = \"y\"\nleast = 1.5"), "7:1", &["`trend.metric.least` is 1.5", allowed]);
        refused(&entry("match = \" \"\nleast = 0.5"), "6:1", &["empty `match`", "under `[trend]`"]);
        refused(&entry("match = \"y\""), "5:1", &["changes nothing", "`sensitivity` or a `least`"]);
        refused(&entry("match = \"y\"\nsensitivity = \"lose\""), "7:15", &["did you mean `loose`?"]);
        refused(&entry("match = \"y\"\nrule = \"bands\""), "7:1", &["unknown field `rule`"]);
        refused(&entry("least = 0.5"), "5:1", &["missing field `match`"]);
    }
}
