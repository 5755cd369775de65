//! The section `[rules]`: by which rule each metric is judged, and with which parameters.

use serde::Deserialize;

use super::fault::Fault;
use sprag_base::text::nearest;
use sprag_model::rule::{Choice, Rule};

/// A quarter: on a shared machine a single session's medians move by up to 12 % (cached kernels), so less cries wolf.
const DEFAULT_RATIO: f64 = 0.25;

/// How verdicts are reached.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// The rule of metrics that no entry of `metric` names; `interval` where absent.
    pub default: Option<String>,
    /// The settings of the rule `interval`.
    pub interval: Option<Parameters>,
    /// The settings of the rule `tolerance`: allowed is `value * (1 + ratio) + abs`.
    pub tolerance: Option<Parameters>,
    /// The settings of the rule `bands`.
    pub bands: Option<Parameters>,
    /// The settings of the rule `rank`.
    pub rank: Option<Parameters>,
    /// Metrics that are judged otherwise, the first that fits.
    pub metric: Vec<MetricRule>,
}

/// The parameters of a rule; each rule knows its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Of `interval`: how much a metric may move and count as unchanged; follows from its noise where absent.
    pub tolerance: Option<f64>,
    /// Of `tolerance`: allowed relative worsening.
    pub ratio: Option<f64>,
    /// Of `tolerance`: allowed absolute worsening on top, in the base unit of the metric.
    pub abs: Option<f64>,
    /// Of `bands`: relative worsening that fails.
    pub fail: Option<f64>,
    /// Of `bands`: relative worsening that warns.
    pub warn: Option<f64>,
    /// Of `rank`: the least relative change of the median that counts.
    pub noise_threshold: Option<f64>,
    /// Of `rank`: the p-value below which samples differ.
    pub significance: Option<f64>,
    /// Of `rank`: how many median absolute deviations the median may move.
    pub mad_multiplier: Option<f64>,
}

/// Metrics that are judged by a rule of their own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricRule {
    /// What must stand in `<benchmark id> <metric name>`.
    #[serde(rename = "match")]
    pub part: String,
    pub rule: String,
    /// Its parameters where they differ from those of its section.
    #[serde(default)]
    pub with: Parameters,
}

impl Parameters {
    /// The names of the parameters that a rule has.
    fn names(rule: &str) -> &'static [&'static str] {
        match rule {
            "interval" => &["tolerance"],
            "tolerance" => &["ratio", "abs"],
            "bands" => &["fail", "warn"],
            "rank" => &["noise_threshold", "significance", "mad_multiplier"],
            _ => &[],
        }
    }

    /// These, and those of `other` where these say nothing.
    pub fn or(self, other: Parameters) -> Parameters {
        Parameters {
            tolerance: self.tolerance.or(other.tolerance),
            ratio: self.ratio.or(other.ratio),
            abs: self.abs.or(other.abs),
            fail: self.fail.or(other.fail),
            warn: self.warn.or(other.warn),
            noise_threshold: self.noise_threshold.or(other.noise_threshold),
            significance: self.significance.or(other.significance),
            mad_multiplier: self.mad_multiplier.or(other.mad_multiplier),
        }
    }

    fn set(&self) -> Vec<(&'static str, f64)> {
        let all = [
            ("tolerance", self.tolerance),
            ("ratio", self.ratio),
            ("abs", self.abs),
            ("fail", self.fail),
            ("warn", self.warn),
            ("noise_threshold", self.noise_threshold),
            ("significance", self.significance),
            ("mad_multiplier", self.mad_multiplier),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The first parameter that the rule lacks, or by which no verdict can be reached; `place` leads to the table.
    fn fault(&self, rule: &str, place: &[&str]) -> Option<Fault> {
        let path = place.join(".");
        for (name, value) in self.set() {
            let keys: Vec<&str> = place.iter().copied().chain([name]).collect();
            if !Parameters::names(rule).contains(&name) {
                let list = Parameters::names(rule).join("`, `");
                return Some(Fault::new(&keys, format!("`{path}.{name}`: the rule `{rule}` has `{list}`")));
            }
            let (fine, wanted) = match name {
                "abs" => (value.is_finite() && value >= 0.0, "zero or more"),
                "significance" => (value > 0.0 && value < 1.0, "more than 0 and less than 1"),
                // The seed's own baselines allow a doubling.
                "ratio" | "mad_multiplier" => ((0.0..=100.0).contains(&value), "from 0 to 100"),
                // More than double is no tolerance but a slip of the unit: 10 for 10 %.
                _ => ((0.0..=1.0).contains(&value), "from 0 to 1"),
            };
            if !fine {
                let hint = if wanted == "from 0 to 1" || name == "ratio" { " (0.1 is 10 %)" } else { "" };
                return Some(Fault::new(&keys, format!("`{path}.{name}` is {value}, {wanted} is allowed{hint}")));
            }
        }
        if let (Some(fail), Some(warn)) = (self.fail, self.warn)
            && warn > fail
        {
            let keys: Vec<&str> = place.iter().copied().chain(["warn"]).collect();
            return Some(Fault::new(&keys, format!("`{path}.warn` is {warn}, more than `fail`, which is {fail}")));
        }
        None
    }
}

impl Rules {
    /// The rule of metrics that no entry names.
    pub fn default_rule(&self) -> &str {
        self.default.as_deref().unwrap_or(Rule::NAMES[0])
    }

    /// The parameters of a rule as its section and the built-in values say; the tolerance of `interval` may be absent.
    pub fn parameters(&self, rule: &str) -> Parameters {
        let section = self.section(rule).unwrap_or_default();
        section.or(Parameters {
            tolerance: None,
            ratio: Some(DEFAULT_RATIO),
            abs: Some(0.0),
            fail: Some(0.05),
            warn: Some(section.fail.map_or(0.02, |fail| fail.min(0.02))),
            noise_threshold: Some(0.01),
            significance: Some(0.05),
            mad_multiplier: Some(3.0),
        })
    }

    /// The rule of that name with these parameters and, where they say nothing, those of its section.
    pub fn choice(&self, rule: &str, with: Parameters) -> Choice {
        let Parameters { tolerance, ratio, abs, fail, warn, noise_threshold, significance, mad_multiplier } =
            with.or(self.parameters(rule));
        let number = |value: Option<f64>| value.expect("every parameter has a built-in value but that tolerance");
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

    fn section(&self, rule: &str) -> Option<Parameters> {
        match rule {
            "interval" => self.interval,
            "tolerance" => self.tolerance,
            "bands" => self.bands,
            "rank" => self.rank,
            _ => None,
        }
    }

    /// The first thing that TOML allows and we do not.
    pub fn fault(&self) -> Option<Fault> {
        let unknown = |rule: &str, keys: &[&str]| {
            let near = nearest(rule, &Rule::NAMES).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let list = Rule::NAMES.join("`, `");
            let message = format!("there is no rule `{}` (there is `{list}`){near}", rule.escape_debug());
            (!Rule::NAMES.contains(&rule)).then(|| Fault::new(keys, message))
        };
        if let Some(fault) = unknown(self.default_rule(), &["rules", "default"]) {
            return Some(fault);
        }
        for rule in Rule::NAMES {
            let Some(section) = self.section(rule) else { continue };
            if let Some(fault) = section.fault(rule, &["rules", rule]) {
                return Some(fault);
            }
            // Ground truths are judged by `rank` whatever the default is.
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
        for one in &self.metric {
            if one.part.trim().is_empty() {
                let message = "an entry of `rules.metric` has an empty `match`, which fits every metric: set `default`";
                return Some(Fault::new(&["rules", "metric"], message.to_owned()));
            }
            if let Some(fault) = unknown(&one.rule, &["rules", "metric"]) {
                return Some(fault);
            }
            if let Some(fault) = one.with.fault(&one.rule, &["rules", "metric", "with"]) {
                return Some(fault);
            }
            let whole = one.with.or(self.parameters(&one.rule));
            if one.rule == "bands"
                && let Some(fault) = whole.fault_of_bands()
            {
                return Some(fault);
            }
        }
        None
    }
}

impl Parameters {
    /// That the bands of an entry and of its section do not cross.
    fn fault_of_bands(&self) -> Option<Fault> {
        let (fail, warn) = (self.fail?, self.warn?);
        let message = format!("`rules.metric` has a `warn` of {warn}, more than its `fail` of {fail}");
        (warn > fail).then(|| Fault::new(&["rules", "metric"], message))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn rules(text: &str) -> Result<Rules, String> {
        Config::parse(text, Path::new("sprag.toml")).map(|config| config.rules).map_err(|error| error.to_string())
    }

    #[test]
    fn sections_give_parameters_and_entries_change_them() {
        let found = rules(
            "[rules]\ndefault = \"bands\"\n[rules.bands]\nfail = 0.1\n[[rules.metric]]\nmatch = \"tile\"\nrule = \
             \"interval\"\nwith = { tolerance = 0.03 }\n",
        )
        .expect("all is known");
        assert_eq!((found.default_rule(), found.parameters("bands").fail), ("bands", Some(0.1)));
        assert_eq!(found.parameters("bands").warn, Some(0.02));
        assert_eq!(found.metric[0].with.or(found.parameters("interval")).tolerance, Some(0.03));
        let none = Rules::default();
        assert_eq!((none.default_rule(), none.parameters("interval").tolerance), ("interval", None));
        assert_eq!(none.parameters("rank").significance, Some(0.05));
        let truths = rules("[rules.rank]\nsignificance = 0.01\n").expect("ground truths are judged by it");
        assert_eq!(truths.parameters("rank").significance, Some(0.01));
    }

    #[test]
    fn what_would_decide_nothing_is_named() {
        let check = |text: &str, words: &[&str]| {
            let error = rules(text).expect_err("the text is faulty");
            for word in words {
                assert!(error.contains(word), "{error}");
            }
        };
        check("[rules]\ndefault = \"bannds\"\n", &["sprag.toml:2:1", "no rule `bannds`", "did you mean `bands`?"]);
        check("[rules.tolerance]\nratio = 0.1\n", &["1:8", "no metric is judged by it", "default = \"tolerance\""]);
        check(
            "[rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = -0.5\n",
            &["4:1", "is -0.5, from 0 to 100"],
        );
        check("[rules.interval]\ntolerance = nan\n", &["2:1", "NaN"]);
        check("[rules.interval]\nratio = 0.1\n", &["2:1", "the rule `interval` has `tolerance`"]);
        check("[rules.interval]\ntolerence = 0.1\n", &["did you mean `tolerance`?"]);
        check("[rules]\ndefault = \"rank\"\n[rules.rank]\nsignificance = 0.0\n", &["4:1", "less than 1"]);
        check("[rules]\ndefault = \"bands\"\n[rules.bands]\nfail = 0.02\nwarn = 0.05\n", &["5:1", "more than `fail`"]);
        let entry = |rest: &str| format!("[[rules.metric]]\nmatch = \"x\"\n{rest}\n");
        check(&entry("rule = \"bands\"\nwith = { warn = 0.2 }"), &["`warn` of 0.2, more than its `fail` of 0.05"]);
        check(&entry("rule = \"interval\"\nwith = { fail = 0.2 }"), &["the rule `interval` has `tolerance`"]);
        check(&entry("rule = \"other\""), &["no rule `other`"]);
        check("[[rules.metric]]\nmatch = \" \"\nrule = \"bands\"\n", &["empty `match`"]);
    }
}
