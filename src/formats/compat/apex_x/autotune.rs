//! The registry of Apex-X, which counts the launches of one run; its report shows them. A launch looks its configuration up,
//! chooses one where there is none, runs, and is recorded. The first launch of an operation at a shape is a miss, each further
//! one a hit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compat::python::quoted;
use sprag_base::json;

/// The source of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The untuned default.
    Heuristic,
    /// Chosen earlier: in Apex-X by an earlier launch of the process, in ours by an earlier run.
    RegistryCache,
    /// Chosen by Triton's tuner, in files of Apex-X only.
    TritonBestConfig,
    /// Chosen by our own tuner in this run.
    Autotuned,
}

impl Source {
    /// Whether a tuner chose it: such a choice replaces the recorded one.
    fn is_tuned(self) -> bool {
        matches!(self, Source::TritonBestConfig | Source::Autotuned)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    pub op_name: String,
    pub kernel_name: String,
    pub shape_bucket: String,
    pub selected_config: BTreeMap<String, Value>,
    pub selection_source: Source,
}

/// The launches of one operation at one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutotuneEntry {
    pub op_name: String,
    /// The kernel of its first launch.
    pub kernel_name: String,
    pub shape_bucket: String,
    pub selected_config: BTreeMap<String, Value>,
    pub selection_source: Source,
    pub launches: u64,
    pub cache_hits: u64,
    pub cache_misses: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutotuneSummary {
    pub cache_entries: u64,
    pub launches: u64,
    pub cache_hits: u64,
    pub cache_misses: u64,
    /// Hits over launches; absent without launches.
    pub cache_hit_rate: Option<f64>,
}

/// The block `triton_autotune` of Apex-X's report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutotuneSnapshot {
    pub summary: AutotuneSummary,
    /// In the order of operation and shape.
    pub entries: Vec<AutotuneEntry>,
}

#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: BTreeMap<(String, String), AutotuneEntry>,
}

impl Registry {
    /// Is not treated as a launch.
    pub fn lookup(&self, op_name: &str, shape_bucket: &str) -> Option<&BTreeMap<String, Value>> {
        self.entries.get(&(op_name.to_owned(), shape_bucket.to_owned())).map(|entry| &entry.selected_config)
    }

    /// The configuration of a launch and its source: that recorded for the operation and shape, else the best one of a
    /// tuner, else the fallback. Is not treated as a launch.
    pub fn resolve(
        &self,
        key: Option<(&str, &str)>,
        best: Option<&BTreeMap<String, Value>>,
        fallback: &BTreeMap<String, Value>,
    ) -> (BTreeMap<String, Value>, Source) {
        match (key.and_then(|(op_name, shape_bucket)| self.lookup(op_name, shape_bucket)), best) {
            (Some(recorded), _) => (recorded.clone(), Source::RegistryCache),
            (None, Some(best)) => (normalised(best), Source::TritonBestConfig),
            (None, None) => (normalised(fallback), Source::Heuristic),
        }
    }

    /// Counts a launch. The recorded configuration stays, unless it is empty or a tuner chose the new one.
    pub fn record(&mut self, launched: Launched) {
        self.record_many(launched, 1);
    }

    pub fn record_many(&mut self, launched: Launched, times: u64) {
        if times == 0 {
            return;
        }
        let config = normalised(&launched.selected_config);
        let key = (launched.op_name.clone(), launched.shape_bucket.clone());
        match self.entries.get_mut(&key) {
            Some(entry) => {
                entry.launches += times;
                entry.cache_hits += times;
                if launched.selection_source.is_tuned() || (entry.selected_config.is_empty() && !config.is_empty()) {
                    entry.selected_config = config;
                    entry.selection_source = launched.selection_source;
                }
            }
            None => {
                let entry = AutotuneEntry {
                    op_name: launched.op_name,
                    kernel_name: launched.kernel_name,
                    shape_bucket: launched.shape_bucket,
                    selected_config: config,
                    selection_source: launched.selection_source,
                    launches: times,
                    cache_hits: times - 1,
                    cache_misses: 1,
                };
                self.entries.insert(key, entry);
            }
        }
    }

    pub fn snapshot(&self) -> AutotuneSnapshot {
        let sum = |count: fn(&AutotuneEntry) -> u64| self.entries.values().map(count).sum::<u64>();
        let (hits, misses) = (sum(|entry| entry.cache_hits), sum(|entry| entry.cache_misses));
        let lookups = hits + misses;
        let summary = AutotuneSummary {
            cache_entries: self.entries.len() as u64,
            launches: sum(|entry| entry.launches),
            cache_hits: hits,
            cache_misses: misses,
            cache_hit_rate: (lookups > 0).then(|| hits as f64 / lookups as f64),
        };
        AutotuneSnapshot { summary, entries: self.entries.values().cloned().collect() }
    }
}

/// The fields of a shape in the order of their names, as `name=value` joined by `|`, with exact values.
pub fn shape_bucket(fields: &BTreeMap<String, Value>) -> String {
    let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", python_text(value))).collect();
    parts.join("|")
}

/// A configuration in which lists and objects are replaced by their texts.
pub fn normalised(config: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let single = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => Value::String(python_text(value)),
        single => single.clone(),
    };
    config.iter().map(|(name, value)| (name.clone(), single(value))).collect()
}

/// A value as Python's `str` writes it.
fn python_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => python_representation(other),
    }
}

/// A value as Python's `repr` writes it.
fn python_representation(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) => json::to_canonical(value),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python_representation).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{}: {}", quoted(name), python_representation(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> BTreeMap<String, Value> {
        value.as_object().expect("an object").clone().into_iter().collect()
    }

    fn launched(config: Value, selection_source: Source) -> Launched {
        Launched {
            op_name: "tilepack".into(),
            kernel_name: "pack".into(),
            shape_bucket: "batch=1".into(),
            selected_config: object(config),
            selection_source,
        }
    }

    fn check(launches: &[(Value, Source)], config: Value, source: Source) {
        let mut registry = Registry::default();
        for (config, source) in launches {
            registry.record(launched(config.clone(), *source));
        }
        let snapshot = registry.snapshot();
        let entry = &snapshot.entries[0];
        assert_eq!((&entry.selected_config, entry.selection_source), (&object(config), source), "{launches:?}");
        assert_eq!((entry.launches, entry.cache_misses), (launches.len() as u64, 1));
        assert_eq!(registry.lookup("tilepack", "batch=1"), Some(&entry.selected_config));
        assert_eq!(registry.lookup("tilepack", "batch=2"), None);
    }

    #[test]
    fn only_a_tuner_replaces_the_recorded_configuration() {
        let (a, b, none) = (json!({"block": 1}), json!({"block": 2}), json!({}));
        let launches = |one: &Value, first, other: &Value, second| [(one.clone(), first), (other.clone(), second)];
        let heuristic = Source::Heuristic;
        check(&launches(&a, heuristic, &b, heuristic), a.clone(), heuristic);
        check(&launches(&a, heuristic, &b, Source::RegistryCache), a.clone(), heuristic);
        check(&launches(&a, heuristic, &b, Source::TritonBestConfig), b.clone(), Source::TritonBestConfig);
        check(&launches(&a, heuristic, &b, Source::Autotuned), b.clone(), Source::Autotuned);
        check(&launches(&a, Source::RegistryCache, &b, heuristic), a.clone(), Source::RegistryCache);
        check(&launches(&none, heuristic, &b, Source::RegistryCache), b.clone(), Source::RegistryCache);
        check(&launches(&none, heuristic, &none, Source::RegistryCache), none, heuristic);
    }

    #[test]
    fn many_launches_count_as_each_by_itself() {
        let (mut one_by_one, mut at_once) = (Registry::default(), Registry::default());
        let launch = launched(json!({"block": 64}), Source::Autotuned);
        (0..61).for_each(|_| one_by_one.record(launch.clone()));
        at_once.record_many(launch.clone(), 0);
        assert_eq!(at_once.snapshot(), AutotuneSnapshot::default());
        at_once.record_many(launch.clone(), 60);
        at_once.record_many(launch, 1);
        assert_eq!(at_once.snapshot(), one_by_one.snapshot());
        assert_eq!(at_once.snapshot().summary.cache_hit_rate, Some(60.0 / 61.0));
        let text = serde_json::to_string(&at_once.snapshot()).expect("a snapshot is JSON");
        assert_eq!(serde_json::from_str::<AutotuneSnapshot>(&text).ok(), Some(at_once.snapshot()));
        for (source, word) in [
            (Source::Heuristic, "heuristic"),
            (Source::RegistryCache, "registry_cache"),
            (Source::TritonBestConfig, "triton_best_config"),
            (Source::Autotuned, "autotuned"),
        ] {
            assert_eq!(serde_json::to_value(source).ok(), Some(json!(word)));
            assert_eq!(serde_json::from_value(json!(word)).ok(), Some(source));
        }
        assert!(serde_json::from_value::<Source>(json!("guess")).is_err());
    }

    #[test]
    fn values_are_written_as_in_python() {
        let check = |fields: Value, expected: &str| assert_eq!(shape_bucket(&object(fields)), expected);
        check(json!({"kmax": 32, "batch": 1, "dtype": "float16"}), "batch=1|dtype=float16|kmax=32");
        check(json!({"b": true, "a": null, "d": 1.5, "c": 1e20}), "a=None|b=True|c=1e+20|d=1.5");
        check(json!({"s": [1, "it's", {"x": "\"'"}]}), r#"s=[1, "it's", {'x': '"\''}]"#);
        check(json!({}), "");
        let config = object(json!({"a": [1, 2], "b": {"c": true}, "d": null, "e": 1.0, "f": "x"}));
        let expected = json!({"a": "[1, 2]", "b": "{'c': True}", "d": null, "e": 1.0, "f": "x"});
        assert_eq!(normalised(&config), object(expected));
    }
}
