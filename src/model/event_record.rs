//! The record of an event, as it lies in `history/`: what was told of it at one moment.
//!
//! An event keeps its identity by such records, which are only ever added: the first opens it, others narrow its range or
//! retract it. As with runs, a record is canonical JSON and one line feed, and its name bears the start of the SHA-256 of
//! that JSON, so a name that does not match its content is damage.

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::{Direction, EventKind};
use crate::record::{MAX_RECORD_BYTES, YEARS};
use crate::schema::{self, patterns};
use crate::series::Series;
use sprag_base::digest::{Digest, is_hex};
use sprag_base::json;

#[doc(hidden)]
pub mod example;

/// The version of the record that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 1;

/// What was told of an event at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [reasoned()]))]
pub struct EventRecord {
    /// Which event: `e-` and 6 to 16 digits.
    #[schemars(extend("pattern" = patterns::EVENT))]
    pub event: String,
    pub step: EventStep,
    /// When the newest run took place that it was told from, to the second.
    #[schemars(extend("pattern" = patterns::SECOND))]
    pub time: DateTime<Utc>,
    pub kind: EventKind,
    pub direction: Direction,
    /// The ids of the machines that saw it, in order.
    #[schemars(extend("minItems" = 1, "uniqueItems" = true, "items" = schema::matching(patterns::DIGITS)))]
    pub machines: Vec<String>,
    /// The last commit measured before; absent where there was none.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub last_good: Option<String>,
    /// The first commit that may be to blame.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub first_suspect: String,
    /// The last commit that may be to blame.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub last_suspect: String,
    /// The commit that is most likely to blame.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub most_likely: String,
    #[schemars(extend("minItems" = 1))]
    pub members: Vec<EventMember>,
    /// The false discovery rate at which it is told, from 0 to 1.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub chance: f64,
    /// Why it was retracted; absent of any other step.
    #[schemars(with = "String", extend("pattern" = patterns::REASON))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventStep {
    /// It was told for the first time.
    Opened,
    /// Fewer commits may be to blame, or more series are known to have changed.
    Narrowed,
    /// It is no longer believed.
    Retracted,
}

impl EventStep {
    /// The word that records and commit subjects bear.
    pub fn word(self) -> &'static str {
        match self {
            EventStep::Opened => "opened",
            EventStep::Narrowed => "narrowed",
            EventStep::Retracted => "retracted",
        }
    }
}

/// A series that changed with an event. Levels are in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventMember {
    #[schemars(extend("pattern" = patterns::SERIES))]
    pub series: String,
    pub before: f64,
    pub after: f64,
}

/// Why a file is not an event record, as a fragment that reads after its path.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    #[error("holds {0} bytes, more than the {MAX_RECORD_BYTES} that a record may have")]
    Large(usize),
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    #[error("is not an event record: it has no `schema_version` from 1 on")]
    Foreign,
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    #[error("does not follow the schema of its version: {0}")]
    Schema(serde_json::Error),
    #[error("has `{field}` {reason}")]
    Field { field: &'static str, reason: String },
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
    #[error("{0}")]
    Name(String),
}

impl EventRecord {
    pub fn schema() -> Value {
        let mut schema = schema::for_type::<EventRecord>();
        let version = json!({ "description": "The version of the record.", "const": SCHEMA_VERSION });
        let mut properties = Map::from_iter([("schema_version".to_owned(), version)]);
        properties.extend(schema["properties"].as_object().cloned().unwrap_or_default());
        schema["properties"] = Value::Object(properties);
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        schema["required"] = [vec![json!("schema_version")], required].concat().into();
        schema
    }

    /// The file of the record: the path it belongs at, its bytes, and the subject of the commit that records it.
    pub fn to_file(&self) -> (String, Vec<u8>, String) {
        let mut text = self.text();
        let digest = Digest::from_parts(&[text.as_bytes()]).short();
        text.push('\n');
        (self.with_name(&digest, |name| name.path()), text.into_bytes(), self.subject())
    }

    pub fn subject(&self) -> String {
        let commit = self.most_likely.get(..12).unwrap_or(&self.most_likely);
        format!("sprag: event {} {} at {commit}", self.event, self.step.word())
    }

    /// Reads the file at `path`, which must hold exactly the bytes that [`EventRecord::to_file`] writes, under its name.
    pub fn from_file(path: &str, bytes: &[u8]) -> Result<EventRecord, String> {
        EventRecord::read(path, bytes).map_err(|error| error.to_string())
    }

    /// As [`EventRecord::from_file`], for those who treat one fault otherwise than another.
    ///
    /// # Errors
    /// [`EventError::Name`] only where the content is a record.
    pub fn read(path: &str, bytes: &[u8]) -> Result<EventRecord, EventError> {
        let record = EventRecord::from_bytes(bytes)?;
        let name = EventName::parse(path).map_err(EventError::Name)?;
        let digest = Digest::from_parts(&[bytes.strip_suffix(b"\n").unwrap_or(bytes)]).short();
        match record.with_name(&digest, |content| name.difference(&content)) {
            Some(difference) => Err(EventError::Name(difference)),
            None => Ok(record),
        }
    }

    /// Reads a record, whatever it is named.
    pub fn from_bytes(bytes: &[u8]) -> Result<EventRecord, EventError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(EventError::Large(bytes.len()));
        }
        let mut value = json::parse(bytes).map_err(EventError::Json)?;
        match value.get("schema_version").and_then(Value::as_u64) {
            None | Some(0) => return Err(EventError::Foreign),
            Some(version) if version > SCHEMA_VERSION => return Err(EventError::Newer(version)),
            Some(_) => {}
        }
        value.as_object_mut().and_then(|fields| fields.remove("schema_version"));
        let record = EventRecord::deserialize(value).map_err(EventError::Schema)?;
        record.check()?;
        match bytes.strip_suffix(b"\n") == Some(record.text().as_bytes()) {
            true => Ok(record),
            false => Err(EventError::NotCanonical),
        }
    }

    fn text(&self) -> String {
        let mut value = serde_json::to_value(self).expect("a record is made of lists, texts and numbers");
        value["schema_version"] = SCHEMA_VERSION.into();
        json::to_canonical(&value)
    }

    fn with_name<T>(&self, digest: &str, take: impl FnOnce(EventName<'_>) -> T) -> T {
        let (year, month) = (self.time.format("%Y").to_string(), self.time.format("%m").to_string());
        take(EventName { year: &year, month: &month, event: &self.event, step: self.step.word(), digest })
    }

    /// Whether every value is one that its field can have.
    fn check(&self) -> Result<(), EventError> {
        let fault = |field, reason: String| Err(EventError::Field { field, reason });
        if !is_event(&self.event) {
            let wanted = "which is not `e-` and 6 to 16 lower-case hexadecimal digits";
            return fault("event", format!("`{}`, {wanted}", self.event.escape_debug()));
        }
        if self.time.timestamp_subsec_nanos() != 0 {
            return fault("time", "with fractions of a second".to_owned());
        }
        if !YEARS.contains(&self.time.year()) {
            return fault("time", "outside the years 1970 to 9999".to_owned());
        }
        if self.machines.is_empty() {
            return fault("machines", "without any".to_owned());
        }
        for machine in &self.machines {
            check_hex("machines", machine, 16)?;
        }
        if let Some(pair) = self.machines.windows(2).find(|pair| pair[0] >= pair[1]) {
            return fault(
                "machines",
                format!("with `{}` after `{}`: they stand in order, each once", pair[1], pair[0]),
            );
        }
        if let Some(commit) = &self.last_good {
            check_hex("last_good", commit, 40)?;
        }
        check_hex("first_suspect", &self.first_suspect, 40)?;
        check_hex("last_suspect", &self.last_suspect, 40)?;
        check_hex("most_likely", &self.most_likely, 40)?;
        if self.members.is_empty() {
            return fault("members", "without any".to_owned());
        }
        if let Some(wrong) = self.members.iter().find(|member| !Series::is_id(&member.series)) {
            return fault("members", format!("with `{}`, which is no id of a series", wrong.series.escape_debug()));
        }
        let mut pairs = self.members.windows(2).map(|pair| (&pair[0].series, &pair[1].series));
        if let Some((first, second)) = pairs.find(|(first, second)| first >= second) {
            return fault("members", format!("with `{second}` after `{first}`: they stand in order, each once"));
        }
        if !(0.0..=1.0).contains(&self.chance) {
            return fault("chance", format!("{}, which is not from 0 to 1", self.chance));
        }
        match (self.step, self.reason.as_deref().map(str::trim)) {
            (EventStep::Retracted, None | Some("")) => fault("reason", "missing, though it was retracted".to_owned()),
            (EventStep::Opened | EventStep::Narrowed, Some(_)) => {
                fault("reason", format!("set, though it was {}, not retracted", self.step.word()))
            }
            _ => Ok(()),
        }
    }
}

fn check_hex(field: &'static str, text: &str, length: usize) -> Result<(), EventError> {
    if is_hex(text, length..=length) {
        return Ok(());
    }
    let reason = format!("`{}`, which is not {length} lower-case hexadecimal digits", text.escape_debug());
    Err(EventError::Field { field, reason })
}

/// What was retracted says why, and nothing else does.
fn reasoned() -> Value {
    json!({
        "if": { "properties": { "step": { "const": "retracted" } } },
        "then": { "required": ["reason"] },
        "else": { "properties": { "reason": false } },
    })
}

// The path of an event record, by which its content is vouched for.

pub const EVENT_ROOT: &str = "history/v1/_events";

/// The parts of `history/v1/_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`.
///
/// The step may be any word, as a later version may know more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventName<'a> {
    pub year: &'a str,
    pub month: &'a str,
    pub event: &'a str,
    pub step: &'a str,
    /// The first sixteen digits of the digest of the content.
    pub digest: &'a str,
}

impl<'a> EventName<'a> {
    pub fn parse(path: &'a str) -> Result<EventName<'a>, String> {
        parts(path).ok_or_else(|| "is not named `_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`".to_owned())
    }

    pub fn path(&self) -> String {
        let EventName { year, month, event, step, digest } = self;
        format!("{EVENT_ROOT}/{year}/{month}/{event}-{step}-{digest}.json")
    }

    /// The first part that is another one in the content, as a fragment that reads after the path.
    fn difference(&self, content: &EventName<'_>) -> Option<String> {
        let parts = [
            ("year", self.year, content.year),
            ("month", self.month, content.month),
            ("event", self.event, content.event),
            ("step", self.step, content.step),
            ("digest", self.digest, content.digest),
        ];
        let (part, named, held) = parts.into_iter().find(|(_, named, held)| named != held)?;
        Some(format!("bears the {part} `{named}` in its path, but its content has `{held}`"))
    }
}

fn parts(path: &str) -> Option<EventName<'_>> {
    let inside = path.strip_prefix(EVENT_ROOT)?.strip_prefix('/')?;
    let [year, month, file] = inside.split('/').collect::<Vec<_>>()[..] else { return None };
    let (rest, digest) = file.strip_suffix(".json")?.rsplit_once('-')?;
    let (event, step) = rest.rsplit_once('-')?;
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    let is_step = (1..=20).contains(&step.len()) && step.bytes().all(|b| b.is_ascii_lowercase());
    let fine = digits(year, 4) && digits(month, 2) && is_event(event) && is_step && is_hex(digest, 16..=16);
    fine.then_some(EventName { year, month, event, step, digest })
}

/// Whether a text is `e-` and 6 to 16 digits.
fn is_event(text: &str) -> bool {
    text.strip_prefix("e-").is_some_and(|digits| is_hex(digits, 6..=16))
}

#[cfg(test)]
mod tests;
