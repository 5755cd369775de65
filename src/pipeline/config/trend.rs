//! The section `[trend]`: how much it takes until a change over the history is told.

use serde::Deserialize;

use super::fault::Fault;

/// Smaller lasting changes are seldom worth a search, and on shared machines often none: 0.4 %.
const DEFAULT_LEAST: f64 = 0.004;

/// What counts as a change over the history.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trend {
    /// How much it takes; `balanced` where absent.
    pub sensitivity: Option<SensitivityName>,
    /// The least relative change that counts, 0 to 1; 0.004 where absent.
    pub least: Option<f64>,
    /// Metrics of which other settings hold, the first that fits.
    pub metric: Vec<MetricTrend>,
}

/// How much it takes until a change is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SensitivityName {
    /// Half of the false alarms, and fewer changes.
    Strict,
    /// Well under one false alarm in ten thousand points.
    #[default]
    Balanced,
    /// More changes, and more false alarms.
    Loose,
}

/// Metrics with settings of their own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricTrend {
    /// What must stand in `<benchmark id> <metric name>`.
    #[serde(rename = "match")]
    pub part: String,
    /// How much it takes; that of the section where absent.
    pub sensitivity: Option<SensitivityName>,
    /// The least relative change that counts; that of the section where absent.
    pub least: Option<f64>,
}

impl Trend {
    /// How much it takes until a change of that metric is told, and the least relative change that counts.
    pub fn settings_for(&self, benchmark: &str, metric: &str) -> (SensitivityName, f64) {
        let key = format!("{benchmark} {metric}");
        let own = self.metric.iter().find(|one| key.contains(&one.part));
        let sensitivity = own.and_then(|one| one.sensitivity).or(self.sensitivity);
        let least = own.and_then(|one| one.least).or(self.least);
        (sensitivity.unwrap_or_default(), least.unwrap_or(DEFAULT_LEAST))
    }

    /// The first thing that TOML allows and we do not.
    pub fn fault(&self) -> Option<Fault> {
        if let Some(fault) = fault_of_least(self.least, &["trend", "least"]) {
            return Some(fault);
        }
        for (place, one) in self.metric.iter().enumerate() {
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
            if let Some(fault) = fault_of_least(one.least, &[&keys[..], &["least"]].concat()) {
                return Some(fault);
            }
        }
        None
    }
}

fn fault_of_least(least: Option<f64>, keys: &[&str]) -> Option<Fault> {
    let least = least.filter(|least| !(0.0..=1.0).contains(least))?;
    let words: Vec<&str> = keys.iter().copied().filter(|key| key.parse::<usize>().is_err()).collect();
    let message = format!("`{}` is {least}, from 0 to 1 is allowed (0.01 is 1 %)", words.join("."));
    Some(Fault::new(keys, message))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::SensitivityName::{Balanced, Loose, Strict};
    use super::*;
    use crate::config::Config;

    fn trend(text: &str) -> Result<Trend, String> {
        Config::parse(text, Path::new("sprag.toml")).map(|config| config.trend).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_entry_that_fits_counts_and_what_it_leaves_out_is_of_the_section() {
        let none = trend("").expect("nothing is a valid configuration");
        assert_eq!((none.clone(), none.settings_for("cpu/infer @fast", "time")), (Trend::default(), (Balanced, 0.004)));
        let found = trend(
            "[trend]\nsensitivity = \"strict\"\nleast = 0.01\n\
             [[trend.metric]]\nmatch = \"infer\"\nsensitivity = \"loose\"\n\
             [[trend.metric]]\nmatch = \"@fast peak_memory\"\nleast = 0.0\n\
             [[trend.metric]]\nmatch = \"tile\"\nsensitivity = \"balanced\"\nleast = 1.0\n",
        )
        .expect("all is known");
        let check = |benchmark: &str, metric: &str, expected: (SensitivityName, f64)| {
            assert_eq!(found.settings_for(benchmark, metric), expected, "{benchmark} {metric}");
        };
        check("cpu/ordering @fast", "time", (Strict, 0.01));
        check("cpu/infer @fast", "time", (Loose, 0.01));
        check("cpu/infer @fast", "peak_memory", (Loose, 0.01));
        check("cpu/tile_pack @fast", "peak_memory", (Strict, 0.0));
        check("cpu/tile_pack @fast", "time", (Balanced, 1.0));
        let least = trend("[trend]\nleast = 0.02\n").expect("all is known");
        assert_eq!(least.settings_for("cpu/infer @fast", "time"), (Balanced, 0.02));
    }

    #[test]
    fn what_would_decide_nothing_is_named_with_its_place() {
        let check = |text: &str, place: &str, words: &[&str]| {
            let error = trend(text).expect_err("the text is faulty");
            assert!(error.starts_with(&format!("sprag.toml:{place}: ")), "{error}");
            for word in words {
                assert!(error.contains(word), "{error}");
            }
        };
        check("[trnd]\nleast = 0.1\n", "1:2", &["unknown field `trnd`", "did you mean `trend`?"]);
        check("[trend]\nsensitivty = \"loose\"\n", "2:1", &["did you mean `sensitivity`?"]);
        check("[trend]\nsensitivity = \"stict\"\n", "2:15", &["unknown variant `stict`", "did you mean `strict`?"]);
        check("[trend]\nbudget = 0.05\n", "2:1", &["unknown field `budget`"]);
        check("[trend]\nleast = \"1 %\"\n", "2:9", &["invalid type"]);
        let allowed = "from 0 to 1 is allowed (0.01 is 1 %)";
        check("[trend]\n least = 5.0\n", "2:2", &["`trend.least` is 5", allowed]);
        check("[trend]\nleast = -0.1\n", "2:1", &["`trend.least` is -0.1", allowed]);
        check("[trend]\nleast = nan\n", "2:1", &["`trend.least` is NaN", allowed]);
        // The entry before has the same keys, so that finding the first of a name is not enough.
        let entry = |rest: &str| {
            format!("[[trend.metric]]\nmatch = \"x\"\nleast = 0.1\nsensitivity = \"loose\"\n[[trend.metric]]\n{rest}\n")
        };
        check(&entry("match = \"y\"\nleast = 1.5"), "7:1", &["`trend.metric.least` is 1.5", allowed]);
        check(&entry("match = \" \"\nleast = 0.5"), "6:1", &["empty `match`", "under `[trend]`"]);
        check(&entry("match = \"y\""), "5:1", &["changes nothing", "`sensitivity` or a `least`"]);
        check(&entry("match = \"y\"\nsensitivity = \"lose\""), "7:15", &["did you mean `loose`?"]);
        check(&entry("match = \"y\"\nrule = \"bands\""), "7:1", &["unknown field `rule`"]);
        check(&entry("least = 0.5"), "5:1", &["missing field `match`"]);
    }
}
