//! Choices of tuners that are stored between runs: a cache in `.sprag/autotune.json`, of choices for the same code, compiler,
//! driver, device, element type and shape. A damaged cache costs a tuning, never a measurement.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema;
use crate::schema::patterns;
use sprag_base::{digest, json};

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
    use super::*;

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
