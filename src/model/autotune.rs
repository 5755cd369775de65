//! The configurations of tuned kernels: those that one run used, and those that are stored between runs.
//!
//! [`Registry`] counts the launches of one run, by the rules of Apex-X, whose report shows them. A launch looks its
//! configuration up, chooses one where there is none, runs, and is recorded. The first launch of an operation at a shape
//! is a miss, each further one a hit.
//!
//! [`TuneStore`] is a cache in `.sprag/autotune.json`, of choices for the same code, compiler, driver, device, element type and
//! shape. A damaged cache costs a tuning, never a measurement.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;
use crate::schema::patterns;
use sprag_base::{digest, json};

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

/// The conditions of a choice, all of which must match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The operation, such as `tile_pack`.
    pub op: String,
    /// The exact shape: `name=value` for each dimension, in the order of names, joined by a vertical bar.
    pub bucket: String,
    /// The element type, such as `f16`.
    pub dtype: String,
    /// The digest of the source of the kernel.
    pub source_digest: String,
    /// The version of the compiler, such as `13.0`.
    pub nvrtc: String,
    /// The version of the driver, such as `580.65.06`.
    pub driver: String,
    pub device: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
}

impl Key {
    /// The first sixteen hexadecimal digits of the SHA-256 of its canonical JSON, the same in every build.
    pub fn digest(&self) -> String {
        digest::sha256_hex(json::to_canonical(self).as_bytes())[..16].to_owned()
    }
}

/// The version of the file that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 1;

/// The most choices in the file: enough for some forty versions of all kernels. Each edit of a kernel makes new keys, and
/// every run reads the file. The oldest choices go first.
const MOST_CHOICES: usize = 10_000;

/// The choice for one key.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    #[schemars(extend("minLength" = 1))]
    pub selected: String,
    /// Its time over that of the one it replaced, below one; absent where it was not replaced.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ratio: Option<f64>,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub date: DateTime<Utc>,
    /// Every candidate with its time over that of the one in use; null where it could not be timed.
    #[schemars(extend("additionalProperties" = { "type": ["number", "null"], "exclusiveMinimum": 0 }))]
    pub candidates: BTreeMap<String, Option<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuneStore {
    choices: BTreeMap<Key, Stored>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Empty where the file is damaged.
    pub store: TuneStore,
    /// The damage, as a fragment that reads after the name of the file.
    pub damage: Option<String>,
}

/// The file of a newer Sprag is neither read nor overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}")]
pub struct NewerVersion(pub u64);

impl NewerVersion {
    pub fn hint(self) -> String {
        "use the newer sprag, or remove the file: it holds only what a tuning finds again".to_owned()
    }
}

/// The choices of earlier tunings.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u64,
    choices: Vec<Choice>,
}

/// A choice and its conditions.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    key: Key,
    choice: Stored,
}

impl TuneStore {
    pub fn get(&self, key: &Key) -> Option<&Stored> {
        self.choices.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Stored)> {
        self.choices.iter()
    }

    /// Adds a choice, unless there is a newer one for the key.
    pub fn keep(&mut self, key: Key, stored: Stored) {
        if self.choices.get(&key).is_none_or(|other| rank(other) < rank(&stored)) {
            self.choices.insert(key, stored);
        }
    }

    /// The newer choice of each key, in any order of the two stores.
    pub fn merged(mut self, other: TuneStore) -> TuneStore {
        for (key, stored) in other.choices {
            self.keep(key, stored);
        }
        self.shortened(MOST_CHOICES)
    }

    fn shortened(mut self, most: usize) -> TuneStore {
        if self.choices.len() > most {
            let mut newest: Vec<(Key, Stored)> = self.choices.into_iter().collect();
            newest.sort_by(|a, b| (b.1.date, &b.0).cmp(&(a.1.date, &a.0)));
            newest.truncate(most);
            self.choices = newest.into_iter().collect();
        }
        self
    }

    pub fn schema() -> Value {
        schema::for_type::<File>()
    }

    pub fn to_json(&self) -> String {
        let choice = |(key, stored): (&Key, &Stored)| Choice { key: key.clone(), choice: stored.clone() };
        let file = File { schema_version: SCHEMA_VERSION, choices: self.choices.iter().map(choice).collect() };
        json::to_pretty(&file)
    }

    pub fn from_json(bytes: &[u8]) -> Result<Reading, NewerVersion> {
        let damaged = |reason: String| Ok(Reading { store: TuneStore::default(), damage: Some(reason) });
        let value: Value = match json::parse(bytes) {
            Ok(value) => value,
            Err(error) => return damaged(format!("is not JSON: {error}")),
        };
        match value.get("schema_version").and_then(Value::as_u64) {
            Some(version) if version > SCHEMA_VERSION => return Err(NewerVersion(version)),
            Some(SCHEMA_VERSION) => {}
            _ => return damaged("has no `schema_version` from 1 on".to_owned()),
        }
        let file: File = match serde_json::from_value(value) {
            Ok(file) => file,
            Err(error) => return damaged(format!("does not follow schema version {SCHEMA_VERSION}: {error}")),
        };
        let mut store = TuneStore::default();
        for Choice { key, choice } in file.choices {
            let ratios = choice.candidates.values().flatten().chain(&choice.ratio);
            if let Some(ratio) = ratios.into_iter().find(|ratio| **ratio <= 0.0) {
                return damaged(format!("has the ratio {ratio} for `{}`, where more than zero is needed", key.op));
            }
            if choice.selected.is_empty() {
                return damaged(format!("has no `selected` for `{}`", key.op));
            }
            store.keep(key, choice);
        }
        Ok(Reading { store, damage: None })
    }
}

/// Orders the choices of a key by date, and those of one date by their text.
fn rank(stored: &Stored) -> (DateTime<Utc>, String) {
    (stored.date, json::to_canonical(stored))
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

    fn key(op: &str) -> Key {
        Key {
            op: op.to_owned(),
            bucket: "batch=1|kmax=32".to_owned(),
            dtype: "f16".to_owned(),
            source_digest: "0123456789abcdef".to_owned(),
            nvrtc: "13.0".to_owned(),
            driver: "580.65.06".to_owned(),
            device: "NVIDIA H200".to_owned(),
            compute_capability: "9.0".to_owned(),
        }
    }

    /// A change would invalidate every stored choice.
    #[test]
    fn the_digest_of_a_key_is_frozen() {
        let text = concat!(
            r#"{"bucket":"batch=1|kmax=32","compute_capability":"9.0","device":"NVIDIA H200","driver":"580.65.06","#,
            r#""dtype":"f16","nvrtc":"13.0","op":"tile_pack","source_digest":"0123456789abcdef"}"#
        );
        assert_eq!(key("tile_pack").digest(), digest::sha256_hex(text.as_bytes())[..16]);
    }

    /// A store of these choices: operation, configuration, seconds of the date.
    fn store(choices: &[(&str, &str, i64)]) -> TuneStore {
        let mut store = TuneStore::default();
        for (op, selected, seconds) in choices {
            let date = DateTime::from_timestamp(1_790_000_000 + seconds, 0).expect("a date");
            let candidates = BTreeMap::from([("block128".to_owned(), Some(1.0)), ("block64".to_owned(), None)]);
            store.keep(key(op), Stored { selected: (*selected).to_owned(), ratio: Some(0.875), date, candidates });
        }
        store
    }

    #[test]
    fn a_file_reads_back() {
        let store = store(&[("tile_pack", "block128", 0), ("fusion_gate", "block64", 5)]);
        let text = store.to_json();
        assert!(text.starts_with("{\n  \"choices\": [") && text.ends_with("}\n"), "{text}");
        assert_eq!(TuneStore::from_json(text.as_bytes()), Ok(Reading { store: store.clone(), damage: None }));
        assert_eq!(store.get(&key("tile_pack")).map(|one| one.selected.as_str()), Some("block128"));
        assert_eq!((store.get(&key("tile_unpack")), store.iter().count()), (None, 2));
        assert_eq!(store.get(&Key { driver: "590.1".into(), ..key("tile_pack") }), None);
    }

    #[test]
    fn a_damaged_file_has_no_choices() {
        let valid = store(&[("tile_pack", "block128", 0)]).to_json();
        let check = |text: &str, word: &str| {
            let reading = TuneStore::from_json(text.as_bytes()).expect("it is no newer version");
            assert_eq!(reading.store, TuneStore::default(), "{text}");
            let damage = reading.damage.expect("it is damaged");
            assert!(damage.contains(word), "`{word}` is not in `{damage}`");
        };
        check("", "not JSON");
        check(&valid[..valid.len() / 2], "not JSON");
        check("[]", "schema_version");
        check("{\"choices\": []}", "schema_version");
        for (from, to, word) in [
            ("\"schema_version\": 1", "\"schema_version\": 0", "schema_version"),
            ("\"schema_version\": 1", "\"schema_version\": \"1\"", "schema_version"),
            ("0.875", "-0.875", "-0.875"),
            ("0.875", "1e999", "not JSON"),
            ("\"selected\": \"block128\"", "\"selected\": \"\"", "selected"),
            ("\"ratio\"", "\"share\"", "share"),
            ("\"date\": \"2026", "\"date\": \"noon", "schema version 1"),
        ] {
            check(&valid.replace(from, to), word);
        }
        let newer = b"{\"schema_version\": 2, \"whatever\": true}";
        let refusal = TuneStore::from_json(newer).expect_err("it is newer");
        assert_eq!(refusal, NewerVersion(2));
        assert!(refusal.to_string().contains("schema version 2") && refusal.hint().contains("remove"));
    }

    #[test]
    fn a_merged_store_has_the_newest_choices() {
        let ours = store(&[("a", "old", 0), ("b", "new", 9), ("c", "same", 3)]);
        let theirs = store(&[("a", "new", 1), ("b", "old", 8), ("c", "tied", 3), ("d", "only", 0)]);
        let merged = ours.clone().merged(theirs.clone());
        assert_eq!(merged, theirs.clone().merged(ours.clone()));
        assert_eq!(merged, merged.clone().merged(ours).merged(theirs));
        let selected = |op: &str| merged.get(&key(op)).map(|one| one.selected.clone());
        assert_eq!(["a", "b", "d"].map(selected), ["new", "new", "only"].map(|name| Some(name.to_owned())));
        assert_eq!(merged.iter().count(), 4);
        let shortened = store(&[("a", "x", 2), ("b", "x", 0), ("c", "x", 1)]).shortened(2);
        assert_eq!(shortened.iter().map(|(key, _)| key.op.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    }
}
