//! A benchmark as the lists and the history of github-action-benchmark hold it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::{FormatError, figure, json, number};
use super::tool;
use sprag_base::json::Strict;
use sprag_model::imported::{Entry, EntryStatus, Observation};

/// The longest free text that is kept, in characters.
const MOST_TEXT: usize = 500;

/// One element of a list of benchmarks. `value` may be digits in quotes, `range` a number or any text.
#[derive(Deserialize)]
pub(super) struct Bench {
    pub(super) name: Word,
    unit: Word,
    value: Strict,
    range: Option<Strict>,
    extra: Option<Strict>,
}

/// A text; a number counts as its digits.
pub(super) struct Word(pub(super) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        match Strict::deserialize(deserializer)?.0 {
            Value::String(text) => Ok(Word(text)),
            Value::Number(number) => Ok(Word(number.to_string())),
            _ => Err(D::Error::custom("neither a text nor a number, where a name or a unit is needed")),
        }
    }
}

impl Bench {
    /// The benchmark as it is imported, under the name of its whole series. One whose number cannot be has failed.
    pub(super) fn entry(&self, tool: &str, series: String) -> Entry {
        let (metric, factor) = tool::reading(tool, &self.unit.0);
        let (status, observations) = match figure::figure("value", &self.value.0, &metric, factor) {
            Ok(value) => (EntryStatus::Ok, vec![Observation::summary(metric, &self.unit.0, value)]),
            Err(reason) => (EntryStatus::Failed(reason), Vec::new()),
        };
        let mut entry = Entry { series, name: self.name.0.clone(), status, observations, ..Entry::default() };
        // The range is in no unit that can be relied on: the action rescales values, and leaves it as it was.
        for (key, told) in [("range", &self.range), ("extra", &self.extra)] {
            if let Some(value) = told.as_ref().and_then(|Strict(value)| kept(value)) {
                entry.extras.insert(key.to_owned(), value);
            }
        }
        entry
    }

    /// The element as JSON, for the digest of the run: its fields in a list.
    pub(super) fn into_json(self) -> Value {
        let told = |part: Option<Strict>| part.map_or(Value::Null, |Strict(value)| value);
        let (name, unit) = (Value::String(self.name.0), Value::String(self.unit.0));
        Value::Array(vec![name, unit, self.value.0, told(self.range), told(self.extra)])
    }
}

fn kept(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::String(text.chars().take(MOST_TEXT).collect())),
        Value::Number(_) | Value::Bool(_) => Some(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The typed content of a text that stands in the output of that name; numbers that JSON lacks are read as their
/// spelling, so that the one benchmark fails which has such a number.
///
/// # Errors
/// When it is no JSON, has a key twice or lacks one; the line is told.
pub(super) fn typed<T: for<'de> Deserialize<'de>>(name: &str, text: &str, what: &str) -> Result<T, FormatError> {
    json::check_size(name, text)?;
    let mut error = match serde_json::from_str(text) {
        Ok(content) => return Ok(content),
        Err(error) => error,
    };
    if error.is_syntax() {
        match serde_json::from_str(&number::quote_not_finite(text)) {
            Ok(content) => return Ok(content),
            Err(second) => error = second,
        }
    }
    if error.is_data() {
        return Err(FormatError::Schema { name: name.to_owned(), reason: format!("is no {what}: {error}") });
    }
    Err(FormatError::Json { name: name.to_owned(), error })
}
