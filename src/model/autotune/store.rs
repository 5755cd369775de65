//! Choices kept from one run to the next, in `.sprag/autotune.json`.
//!
//! A cache: whatever is wrong with it costs a tuning, never a measurement. The rule by which a choice is replaced is
//! that of the tuning; here the newest choice of a key stands.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Key;
use crate::schema::{self, patterns};
use sprag_base::json;

/// The version of the file that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 1;

/// The most choices that are kept: each edit of a kernel makes new keys, and the file is read by every run. The oldest
/// go first. All operations, shapes and element types of some forty versions of the kernels fit.
const MOST_CHOICES: usize = 10_000;

/// The choice for one key.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    #[schemars(extend("minLength" = 1))]
    pub selected: String,
    /// Its time over that of the one it replaced, below one; absent where it was in use before and stayed.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub ratio: Option<f64>,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub date: DateTime<Utc>,
    /// Every candidate with its time over that of the one then in use; absent where it could not be timed.
    #[schemars(extend("additionalProperties" = { "type": ["number", "null"], "exclusiveMinimum": 0 }))]
    pub candidates: BTreeMap<String, Option<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    choices: BTreeMap<Key, Stored>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Its choices; none of a damaged file.
    pub store: Store,
    /// What is wrong with the file, as a fragment that reads after its name.
    pub damage: Option<String>,
}

/// The file is of a newer Sprag: it is neither read nor written over.
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

/// A choice and what it holds for.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    key: Key,
    choice: Stored,
}

impl Store {
    /// The choice for exactly this key.
    pub fn get(&self, key: &Key) -> Option<&Stored> {
        self.choices.get(key)
    }

    /// Every key with its choice, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Stored)> {
        self.choices.iter()
    }

    /// Keeps a choice; a newer one of the same key stays.
    pub fn keep(&mut self, key: Key, stored: Stored) {
        match self.choices.get(&key) {
            Some(known) if rank(known) >= rank(&stored) => {}
            _ => {
                self.choices.insert(key, stored);
            }
        }
    }

    /// Both together: of each key the newer choice. The order of the two makes no difference.
    pub fn merged(mut self, other: Store) -> Store {
        for (key, stored) in other.choices {
            self.keep(key, stored);
        }
        self.shortened(MOST_CHOICES)
    }

    /// The newest choices, at most so many.
    fn shortened(mut self, most: usize) -> Store {
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
        json::to_pretty(&serde_json::to_value(file).expect("texts, finite numbers and dates are JSON"))
    }

    /// Reads the file. A damaged one holds nothing, and says why.
    ///
    /// # Errors
    /// A file of a newer version.
    pub fn from_json(bytes: &[u8]) -> Result<Reading, NewerVersion> {
        let damaged = |reason: String| Ok(Reading { store: Store::default(), damage: Some(reason) });
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
        let mut store = Store::default();
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

/// What decides between two choices of a key: the date, and where that is the same the text, so that it is the same
/// one whoever comes first.
fn rank(stored: &Stored) -> (DateTime<Utc>, String) {
    let text = serde_json::to_value(stored).expect("texts, finite numbers and dates are JSON");
    (stored.date, json::to_canonical(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autotune::key::tests::key;

    fn date(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000 + seconds, 0).expect("a date")
    }

    fn stored(selected: &str, seconds: i64) -> Stored {
        let candidates = BTreeMap::from([("block128".to_owned(), Some(1.0)), ("block64".to_owned(), None)]);
        Stored { selected: selected.to_owned(), ratio: Some(0.875), date: date(seconds), candidates }
    }

    fn store(choices: &[(&str, &str, i64)]) -> Store {
        let mut store = Store::default();
        choices.iter().for_each(|(op, selected, seconds)| store.keep(key(op), stored(selected, *seconds)));
        store
    }

    #[test]
    fn a_file_reads_back() {
        let store = store(&[("tile_pack", "block128", 0), ("fusion_gate", "block64", 5)]);
        let text = store.to_json();
        assert!(text.starts_with("{\n  \"choices\": [") && text.ends_with("}\n"), "{text}");
        assert_eq!(Store::from_json(text.as_bytes()), Ok(Reading { store: store.clone(), damage: None }));
        assert_eq!(store.get(&key("tile_pack")).map(|one| one.selected.as_str()), Some("block128"));
        assert_eq!(store.get(&key("tile_unpack")), None);
        let other_driver = Key { driver: "590.1".into(), ..key("tile_pack") };
        assert_eq!(store.get(&other_driver), None);
        assert_eq!(store.iter().count(), 2);
    }

    #[test]
    fn a_damaged_file_holds_nothing_and_says_why() {
        let whole = store(&[("tile_pack", "block128", 0)]).to_json();
        let check = |text: &str, word: &str| {
            let reading = Store::from_json(text.as_bytes()).expect("it is no newer version");
            assert_eq!(reading.store, Store::default(), "{text}");
            let damage = reading.damage.expect("it is damaged");
            assert!(damage.contains(word), "`{word}` is not in `{damage}`");
        };
        check("", "not JSON");
        check(&whole[..whole.len() / 2], "not JSON");
        check("[]", "schema_version");
        check("{\"choices\": []}", "schema_version");
        check(&whole.replace("\"schema_version\": 1", "\"schema_version\": 0"), "schema_version");
        check(&whole.replace("\"schema_version\": 1", "\"schema_version\": \"1\""), "schema_version");
        check(&whole.replace("0.875", "-0.875"), "-0.875");
        check(&whole.replace("0.875", "1e999"), "not JSON");
        check(&whole.replace("\"selected\": \"block128\"", "\"selected\": \"\""), "selected");
        check(&whole.replace("\"ratio\"", "\"share\""), "share");
        check(&whole.replace("\"date\": \"2026", "\"date\": \"noon"), "schema version 1");
    }

    #[test]
    fn a_newer_file_is_refused_with_a_hint() {
        let newer = b"{\"schema_version\": 2, \"whatever\": true}";
        let refusal = Store::from_json(newer).expect_err("it is newer");
        assert_eq!(refusal, NewerVersion(2));
        assert!(refusal.to_string().contains("schema version 2") && refusal.hint().contains("remove"));
    }

    #[test]
    fn of_two_files_the_newer_choice_stands_whichever_comes_first() {
        let ours = store(&[("a", "old", 0), ("b", "new", 9), ("c", "same", 3)]);
        let theirs = store(&[("a", "new", 1), ("b", "old", 8), ("c", "tied", 3), ("d", "only", 0)]);
        let merged = ours.clone().merged(theirs.clone());
        assert_eq!(merged, theirs.clone().merged(ours.clone()));
        assert_eq!(merged, merged.clone().merged(ours).merged(theirs));
        let selected = |op: &str| merged.get(&key(op)).map(|one| one.selected.clone());
        assert_eq!(["a", "b", "d"].map(selected), ["new", "new", "only"].map(|name| Some(name.to_owned())));
        assert_eq!(merged.iter().count(), 4);
    }

    #[test]
    fn the_oldest_choices_go_first() {
        let kept = store(&[("a", "x", 2), ("b", "x", 0), ("c", "x", 1)]).shortened(2);
        assert_eq!(kept.iter().map(|(key, _)| key.op.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    }
}
