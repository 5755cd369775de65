//! The launches of tuned kernels in one run: which configuration each shape ran with, where that came from, and how
//! often it was known already.
//!
//! The protocol of a launch is: look up; where nothing is found choose a configuration; launch; record. An entry is of
//! one operation and one shape bucket. Its first launch is a miss, each further one a hit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::json;

/// Where a configuration came from.
///
/// The seed's reports know the words `heuristic`, `triton_best_config` and `registry_cache`. Ours bear `heuristic`,
/// `autotuned` and `registry_cache`: Triton has no part in our choices, and its word would claim one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The one used untuned. The same in the seed.
    Heuristic,
    /// Chosen earlier and known. In ours: by an earlier run, kept in the [`Store`](super::Store). In the seed: by an
    /// earlier launch of the same process; its reports never show it, for an entry keeps the source of its first launch.
    RegistryCache,
    /// Chosen by Triton's own tuner. In the seed's files only.
    TritonBestConfig,
    /// Measured and chosen in this run: our counterpart of `triton_best_config`.
    Autotuned,
}

impl Source {
    pub fn parse(word: &str) -> Option<Source> {
        [Source::Heuristic, Source::RegistryCache, Source::TritonBestConfig, Source::Autotuned]
            .into_iter()
            .find(|source| source.word() == word)
    }

    pub fn word(self) -> &'static str {
        match self {
            Source::Heuristic => "heuristic",
            Source::RegistryCache => "registry_cache",
            Source::TritonBestConfig => "triton_best_config",
            Source::Autotuned => "autotuned",
        }
    }

    /// Whether a tuner speaks: its choice replaces whatever is recorded.
    fn is_tuned(self) -> bool {
        matches!(self, Source::TritonBestConfig | Source::Autotuned)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// The operation, such as `tilepack`.
    pub op_name: String,
    pub kernel_name: String,
    /// Its exact shape, by [`shape_bucket`].
    pub shape_bucket: String,
    pub selected_config: BTreeMap<String, Value>,
    /// Where that came from.
    pub selection_source: Source,
}

/// What is known of one operation at one shape.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub op_name: String,
    /// The kernel of its first launch.
    pub kernel_name: String,
    /// Its exact shape.
    pub shape_bucket: String,
    pub selected_config: BTreeMap<String, Value>,
    pub selection_source: Source,
    pub launches: u64,
    pub cache_hits: u64,
    /// Launches that found none: the first.
    pub cache_misses: u64,
}

/// The entries of a registry together.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    pub cache_entries: u64,
    pub launches: u64,
    pub cache_hits: u64,
    /// Those that found none.
    pub cache_misses: u64,
    /// Hits over launches; absent without launches.
    pub cache_hit_rate: Option<f64>,
}

/// What a registry held at one moment: the block `triton_autotune` of the seed's report.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    pub summary: Summary,
    /// Each, in the order of operation and shape.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: BTreeMap<(String, String), Entry>,
}

impl Registry {
    /// The configuration recorded for the operation at the shape. Looking counts as nothing.
    pub fn lookup(&self, op_name: &str, shape_bucket: &str) -> Option<&BTreeMap<String, Value>> {
        self.entries.get(&(op_name.to_owned(), shape_bucket.to_owned())).map(|entry| &entry.selected_config)
    }

    /// The configuration of a launch, and where it comes from: what is recorded for the key, an operation at a shape;
    /// else the best one that a tuner chose; else the fallback. Counts as nothing.
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

    /// Counts a launch. What is recorded stays, unless a tuner chose what was launched now, or nothing was recorded of
    /// the configuration and something is known of it now.
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
                let entry = Entry {
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

    pub fn snapshot(&self) -> Snapshot {
        let sum = |count: fn(&Entry) -> u64| self.entries.values().map(count).sum::<u64>();
        let (hits, misses) = (sum(|entry| entry.cache_hits), sum(|entry| entry.cache_misses));
        let lookups = hits + misses;
        let summary = Summary {
            cache_entries: self.entries.len() as u64,
            launches: sum(|entry| entry.launches),
            cache_hits: hits,
            cache_misses: misses,
            cache_hit_rate: (lookups > 0).then(|| hits as f64 / lookups as f64),
        };
        Snapshot { summary, entries: self.entries.values().cloned().collect() }
    }
}

/// A shape as one text: its fields in the order of their names, `name=value`, joined by `|`. Values are exact; nothing
/// is rounded into classes.
pub fn shape_bucket(fields: &BTreeMap<String, Value>) -> String {
    let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", python_text(value))).collect();
    parts.join("|")
}

/// A configuration with single values only: what is a list or an object becomes its text.
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
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let mut quoted = String::from(quote);
            for character in text.chars() {
                match character {
                    '\n' => quoted.push_str("\\n"),
                    '\r' => quoted.push_str("\\r"),
                    '\t' => quoted.push_str("\\t"),
                    '\\' => quoted.push_str("\\\\"),
                    mark if mark == quote => quoted.extend(['\\', mark]),
                    other => quoted.push(other),
                }
            }
            quoted.push(quote);
            quoted
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python_representation).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", python_representation(&Value::from(name.as_str())), python_representation(value))
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    /// What is recorded after launches with the given configurations.
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
    fn only_a_tuner_replaces_what_is_recorded() {
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
        let launch = launched(json!({"block": 64}), Source::Heuristic);
        (0..61).for_each(|_| one_by_one.record(launch.clone()));
        at_once.record_many(launch.clone(), 0);
        assert_eq!(at_once.snapshot(), Snapshot::default());
        at_once.record_many(launch.clone(), 60);
        at_once.record_many(launch, 1);
        assert_eq!(at_once.snapshot(), one_by_one.snapshot());
        assert_eq!(at_once.snapshot().summary.cache_hit_rate, Some(60.0 / 61.0));
    }

    #[test]
    fn a_shape_is_exact_and_reads_as_python_writes_it() {
        let check = |fields: Value, expected: &str| assert_eq!(shape_bucket(&object(fields)), expected);
        check(json!({"kmax": 32, "batch": 1, "dtype": "float16"}), "batch=1|dtype=float16|kmax=32");
        check(json!({"b": true, "a": null, "d": 1.5, "c": 1e20}), "a=None|b=True|c=1e+20|d=1.5");
        check(json!({"s": [1, "it's", {"x": "\"'"}]}), r#"s=[1, "it's", {'x': '"\''}]"#);
        check(json!({}), "");
    }

    #[test]
    fn a_configuration_holds_single_values() {
        let config = object(json!({"a": [1, 2], "b": {"c": true}, "d": null, "e": 1.0, "f": "x"}));
        let expected = json!({"a": "[1, 2]", "b": "{'c': True}", "d": null, "e": 1.0, "f": "x"});
        assert_eq!(normalised(&config), object(expected));
    }

    #[test]
    fn a_snapshot_travels_as_json() {
        for source in [Source::Heuristic, Source::RegistryCache, Source::TritonBestConfig, Source::Autotuned] {
            assert_eq!(Source::parse(source.word()), Some(source));
            assert_eq!(serde_json::to_value(source).ok(), Some(json!(source.word())));
        }
        assert_eq!(Source::parse("guess"), None);
        let mut registry = Registry::default();
        registry.record(launched(json!({"block": 64}), Source::Autotuned));
        let text = serde_json::to_string(&registry.snapshot()).expect("a snapshot is JSON");
        assert_eq!(serde_json::from_str::<Snapshot>(&text).ok(), Some(registry.snapshot()));
    }
}
