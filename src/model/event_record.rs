//! The record of an event in `history/`: what was reported of it at one time.
//!
//! An event keeps its identity by such records, which are only ever added: the first opens it, others narrow its range or
//! retract it. As with runs, a record is canonical JSON and one line feed, and its name contains the start of the SHA-256
//! of that JSON. A name that contradicts its content is damage.

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ledger::is_event_id;
use crate::record::{MAX_RECORD_BYTES, YEARS, check_hex};
use crate::schema::patterns;
use crate::{Bisection, Direction, EventKind, Series, schema};
use sprag_base::digest::{Digest, is_hex};
use sprag_base::json;
use sprag_base::words;

/// The newest version of the record. One without a bisection is written in version 1, which older builds read.
pub const SCHEMA_VERSION: u64 = 2;

/// A report of an event at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [reasoned()]))]
pub struct EventRecord {
    /// Which event: `e-` and 6 to 16 digits.
    #[schemars(extend("pattern" = patterns::EVENT))]
    pub event: String,
    pub step: EventStep,
    /// The time of the newest run of the report, to the second.
    #[schemars(extend("pattern" = patterns::SECOND))]
    pub time: DateTime<Utc>,
    pub kind: EventKind,
    pub direction: Direction,
    /// The ids of the machines on which it was observed, in order.
    #[schemars(extend("minItems" = 1, "uniqueItems" = true, "items" = json!({ "type": "string", "pattern": patterns::DIGITS })))]
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
    /// The false discovery rate at which it is reported, from 0 to 1.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub chance: f64,
    /// Why it was retracted; absent in other steps.
    #[schemars(with = "String", extend("pattern" = patterns::REASON))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The bisection that named the cause.
    #[schemars(with = "Bisection")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisection: Option<Bisection>,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventStep {
    /// It was reported for the first time.
    Opened,
    /// Fewer commits may be to blame, or more series have changed.
    Narrowed,
    /// It is withdrawn.
    Retracted,
}

words!(EventStep { Opened: "opened", Narrowed: "narrowed", Retracted: "retracted" });

/// A series that changed in an event. Levels are in base units.
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
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
    #[error("{0}")]
    Content(String),
    /// The content is a record, but the path is not the one it belongs at.
    #[error("{0}")]
    Name(String),
}

impl EventRecord {
    /// Of both versions; that of version 1 alone is frozen.
    pub fn schema() -> Value {
        let mut schema = schema::for_type::<EventRecord>();
        let versions = "The version of the record: 2 with a bisection, else 1.";
        let version = json!({ "description": versions, "enum": [1, SCHEMA_VERSION] });
        let mut properties = Map::from_iter([("schema_version".to_owned(), version)]);
        properties.extend(schema["properties"].as_object().cloned().unwrap_or_default());
        schema["properties"] = Value::Object(properties);
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        schema["required"] = [vec![json!("schema_version")], required].concat().into();
        schema
    }

    /// The path of the record, its bytes, and the subject of the commit that adds it.
    pub fn to_file(&self) -> (String, Vec<u8>, String) {
        let mut text = self.text();
        let digest = Digest::from_parts(&[text.as_bytes()]).short();
        text.push('\n');
        let (month, step) = (self.time.format("%Y/%m"), self.step.word());
        let path = format!("{EVENT_ROOT}/{month}/{}-{step}-{digest}.json", self.event);
        (path, text.into_bytes(), self.subject())
    }

    pub fn subject(&self) -> String {
        let commit = self.most_likely.get(..12).unwrap_or(&self.most_likely);
        format!("sprag: event {} {} at {commit}", self.event, self.step.word())
    }

    /// As [`EventRecord::read`], for callers that only show the error.
    pub fn from_file(path: &str, bytes: &[u8]) -> Result<EventRecord, String> {
        EventRecord::read(path, bytes).map_err(|error| error.to_string())
    }

    /// Reads the file at `path`, which must hold exactly the bytes that [`EventRecord::to_file`] writes there.
    pub fn read(path: &str, bytes: &[u8]) -> Result<EventRecord, EventError> {
        let record = EventRecord::from_bytes(bytes)?;
        let name = EventName::parse(path).map_err(EventError::Name)?;
        let (own_path, ..) = record.to_file();
        match name.difference(&EventName::parse(&own_path).map_err(EventError::Name)?) {
            Some(difference) => Err(EventError::Name(difference)),
            None => Ok(record),
        }
    }

    /// Reads a record under any name.
    pub fn from_bytes(bytes: &[u8]) -> Result<EventRecord, EventError> {
        let fault = |reason: String| Err(EventError::Content(reason));
        if bytes.len() > MAX_RECORD_BYTES {
            return fault(format!(
                "holds {} bytes, more than the {MAX_RECORD_BYTES} that a record may have",
                bytes.len()
            ));
        }
        let mut value = json::parse(bytes).map_err(|error| EventError::Content(format!("is not JSON: {error}")))?;
        match value.get("schema_version").and_then(Value::as_u64) {
            None | Some(0) => return fault("is not an event record: it has no `schema_version` from 1 on".to_owned()),
            Some(version) if version > SCHEMA_VERSION => return Err(EventError::Newer(version)),
            Some(_) => {}
        }
        value.as_object_mut().and_then(|fields| fields.remove("schema_version"));
        let record = EventRecord::deserialize(value)
            .map_err(|error| EventError::Content(format!("does not follow the schema of its version: {error}")))?;
        record.check().map_err(EventError::Content)?;
        match bytes.strip_suffix(b"\n") == Some(record.text().as_bytes()) {
            true => Ok(record),
            false => Err(EventError::NotCanonical),
        }
    }

    fn text(&self) -> String {
        let mut value = serde_json::to_value(self).expect("a record is made of lists, texts and numbers");
        value["schema_version"] = self.version().into();
        json::to_canonical(&value)
    }

    fn version(&self) -> u64 {
        if self.bisection.is_some() { SCHEMA_VERSION } else { 1 }
    }

    /// Checks the values of the fields.
    fn check(&self) -> Result<(), String> {
        let fault = |field: &str, reason: &str| Err(format!("has `{field}` {reason}"));
        if !is_event_id(&self.event) {
            let event = self.event.escape_debug();
            return Err(format!("has `event` `{event}`, which is not `e-` and 6 to 16 lower-case hexadecimal digits"));
        }
        if self.time.timestamp_subsec_nanos() != 0 {
            return fault("time", "with fractions of a second");
        }
        if !YEARS.contains(&self.time.year()) {
            return fault("time", "outside the years 1970 to 9999");
        }
        if self.machines.is_empty() {
            return fault("machines", "without any");
        }
        self.machines.iter().try_for_each(|machine| check_hex("machines", machine, 16))?;
        check_order("machines", self.machines.iter())?;
        self.last_good.iter().try_for_each(|commit| check_hex("last_good", commit, 40))?;
        check_hex("first_suspect", &self.first_suspect, 40)?;
        check_hex("last_suspect", &self.last_suspect, 40)?;
        check_hex("most_likely", &self.most_likely, 40)?;
        self.bisection.iter().try_for_each(Bisection::check)?;
        if self.members.is_empty() {
            return fault("members", "without any");
        }
        if let Some(wrong) = self.members.iter().find(|member| !Series::is_id(&member.series)) {
            return fault(
                "members",
                &format!("with `{}`, which is not an id of a series", wrong.series.escape_debug()),
            );
        }
        check_order("members", self.members.iter().map(|member| &member.series))?;
        if !(0.0..=1.0).contains(&self.chance) {
            return fault("chance", &format!("{}, which is not from 0 to 1", self.chance));
        }
        match (self.step, self.reason.as_deref().map(str::trim)) {
            (EventStep::Retracted, None | Some("")) => fault("reason", "missing, though it was retracted"),
            (EventStep::Opened | EventStep::Narrowed, Some(_)) => {
                fault("reason", &format!("set, though it was {}, not retracted", self.step.word()))
            }
            _ => Ok(()),
        }
    }
}

/// A list without repetitions has one canonical order.
fn check_order<'a>(field: &str, ids: impl Iterator<Item = &'a String> + Clone) -> Result<(), String> {
    match ids.clone().zip(ids.skip(1)).find(|(first, second)| first >= second) {
        Some((first, second)) => {
            Err(format!("has `{field}` with `{second}` after `{first}`: they stand in order, each once"))
        }
        None => Ok(()),
    }
}

/// A retraction has a reason, and no other step has one.
fn reasoned() -> Value {
    json!({
        "if": { "properties": { "step": { "const": "retracted" } } },
        "then": { "required": ["reason"] },
        "else": { "properties": { "reason": false } },
    })
}

pub const EVENT_ROOT: &str = "history/v1/_events";

/// The parts of the path `history/v1/_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventName<'a> {
    pub year: &'a str,
    pub month: &'a str,
    pub event: &'a str,
    /// Any word, as later versions may add steps.
    pub step: &'a str,
    /// The first sixteen digits of the digest of the content.
    pub digest: &'a str,
}

impl<'a> EventName<'a> {
    pub fn parse(path: &'a str) -> Result<EventName<'a>, String> {
        parts(path).ok_or_else(|| "is not named `_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`".to_owned())
    }

    /// The first part that differs from the content, as a fragment that reads after the path.
    fn difference(&self, content: &EventName<'_>) -> Option<String> {
        let parts = [
            ("year", self.year, content.year),
            ("month", self.month, content.month),
            ("event", self.event, content.event),
            ("step", self.step, content.step),
            ("digest", self.digest, content.digest),
        ];
        let (part, named, actual) = parts.into_iter().find(|(_, named, actual)| named != actual)?;
        Some(format!("has the {part} `{named}` in its path, but in its content `{actual}`"))
    }
}

fn parts(path: &str) -> Option<EventName<'_>> {
    let inside = path.strip_prefix(EVENT_ROOT)?.strip_prefix('/')?;
    let [year, month, file] = inside.split('/').collect::<Vec<_>>()[..] else { return None };
    let (rest, digest) = file.strip_suffix(".json")?.rsplit_once('-')?;
    let (event, step) = rest.rsplit_once('-')?;
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    let is_step = (1..=20).contains(&step.len()) && step.bytes().all(|b| b.is_ascii_lowercase());
    let fine = digits(year, 4) && digits(month, 2) && is_event_id(event) && is_step && is_hex(digest, 16..=16);
    fine.then_some(EventName { year, month, event, step, digest })
}

#[doc(hidden)]
pub mod example {
    //! Event records for tests.

    use super::*;
    use crate::{BisectEffect, BisectMeasurement, BisectSuspect};

    /// The event `e-` and the number in six digits, opened; two series on two machines.
    pub fn opened(number: u32) -> EventRecord {
        let member = |series: &str, before, after| EventMember { series: series.to_owned(), before, after };
        EventRecord {
            event: format!("e-{number:06x}"),
            step: EventStep::Opened,
            time: "2026-05-04T03:02:01Z".parse().expect("the text is a time"),
            kind: EventKind::Change,
            direction: Direction::Worse,
            machines: vec!["0123456789abcdef".to_owned(), "123456789abcdef0".to_owned()],
            last_good: Some("a".repeat(40)),
            first_suspect: "b".repeat(40),
            last_suspect: "d".repeat(40),
            most_likely: "c".repeat(40),
            members: vec![
                member("cpu-infer-fast-time-0a1b2c3d", 1e-3, 1.25e-3),
                member("cpu-tile-pack-c-64-fast-time-00000000", 2e-6, 2.5e-6),
            ],
            chance: 0.01,
            reason: None,
            bisection: None,
        }
    }

    pub fn bisected(number: u32) -> EventRecord {
        let commit = "c".repeat(40);
        let measurement = BisectMeasurement { commit: commit.clone(), pairs: 4, level: 0.98, probability: 0.97 };
        let change = BisectEffect { benchmark: "cpu/infer @fast".to_owned(), change: 0.25, interval: (0.24, 0.26) };
        let bisection = Bisection {
            good: "a".repeat(40),
            bad: "d".repeat(40),
            measurements: vec![measurement],
            suspects: vec![BisectSuspect { commit: commit.clone(), probability: 0.97 }],
            culprits: vec![commit],
            probability: 0.97,
            effects: vec![change],
            skipped: Vec::new(),
        };
        EventRecord { step: EventStep::Narrowed, bisection: Some(bisection), ..opened(number) }
    }

    pub fn retracted(number: u32) -> EventRecord {
        EventRecord { step: EventStep::Retracted, reason: Some("the level came back".to_owned()), ..opened(number) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::example::{bisected, opened, retracted};
    use super::*;
    use crate::SkippedCommit;

    const NAME: &str = "history/v1/_events/2026/05/e-7c1f03-opened-0123456789abcdef.json";

    fn text(record: &EventRecord) -> String {
        String::from_utf8(record.to_file().1).expect("a record is ASCII")
    }

    #[track_caller]
    fn refused(text: &str, words: &str) {
        let error = EventRecord::from_file(NAME, text.as_bytes()).expect_err(text);
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn a_record_reads_back_and_is_named_after_its_content() {
        let (path, bytes, subject) = opened(0x7c1f03).to_file();
        assert_eq!(EventRecord::from_file(&path, &bytes), Ok(opened(0x7c1f03)));
        let digest = &sprag_base::digest::sha256_hex(&bytes[..bytes.len() - 1])[..16];
        assert_eq!(path, format!("history/v1/_events/2026/05/e-7c1f03-opened-{digest}.json"));
        assert_eq!(subject, "sprag: event e-7c1f03 opened at cccccccccccc");
        let text = String::from_utf8(bytes).expect("a record is ASCII");
        assert!(text.ends_with("}\n") && text.starts_with("{\"chance\":0.01,\"direction\":\"worse\","), "{text}");
        assert!(text.contains("\"schema_version\":1") && !text.contains("reason"), "{text}");
        let (path, bytes, subject) = retracted(2).to_file();
        assert_eq!(EventRecord::from_file(&path, &bytes), Ok(retracted(2)));
        assert_eq!(subject, "sprag: event e-000002 retracted at cccccccccccc");
        let (path, bytes, _) = bisected(2).to_file();
        assert_eq!(EventRecord::from_file(&path, &bytes), Ok(bisected(2)));
        assert!(String::from_utf8_lossy(&bytes).contains("\"schema_version\":2"));
        assert!(EVENT_ROOT.starts_with(&format!("{}/", crate::run::RECORD_ROOT)));
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let (path, bytes, _) = opened(1).to_file();
        for (position, bit) in (0..bytes.len()).flat_map(|position| (0..8).map(move |bit| (position, bit))) {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << bit;
            assert!(EventRecord::from_file(&path, &damaged).is_err(), "bit {bit} of byte {position}");
        }
    }

    #[test]
    fn a_name_has_its_parts_or_is_refused() {
        let expected =
            EventName { year: "2026", month: "05", event: "e-7c1f03", step: "opened", digest: "0123456789abcdef" };
        assert_eq!(EventName::parse(NAME), Ok(expected));
        assert!(EventName::parse(&NAME.replace("opened", "merged")).is_ok(), "a later version may add steps");
        for (from, to) in [
            ("v1", "v2"),
            ("2026", "２０２６"),
            ("/05", "/5"),
            ("/05", "/05/06"),
            ("e-7c1f03", "7c1f03"),
            ("e-7c1f03", "e-7c1f0"),
            ("e-7c1f03", "e-7C1F03"),
            ("e-7c1f03", "e-0123456789abcdef0"),
            ("-opened", ""),
            ("opened", "Opened"),
            ("opened", ""),
            ("abcdef.", "ABCDEF."),
            (".json", ".txt"),
        ] {
            let error = EventName::parse(&NAME.replace(from, to)).expect_err("it is no name");
            assert!(error.starts_with("is not named `_events/"), "{error}");
        }
    }

    #[test]
    fn a_name_that_its_content_contradicts_is_refused() {
        let (path, bytes, _) = opened(1).to_file();
        let check = |path: &str, words: &str| match EventRecord::read(path, &bytes) {
            Err(EventError::Name(error)) => assert!(error.contains(words), "{error}"),
            other => panic!("{other:?}"),
        };
        check(&path.replace("2026", "2025"), "has the year `2025` in its path, but in its content `2026`");
        check(&path.replace("/05/", "/06/"), "has the month `06` in its path, but in its content `05`");
        check(&path.replace("e-000001", "e-000002"), "the event `e-000002` in its path, but in its content `e-000001`");
        check(&path.replace("opened", "retracted"), "the step `retracted` in its path, but in its content `opened`");
        let digest = &path[path.len() - 21..path.len() - 5];
        check(&path.replace(digest, "0123456789abcdef"), "has the digest `0123456789abcdef` in its path");
        check("history/v1/_events/2026/x.json", "is not named `_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`");
    }

    #[test]
    fn the_schema_accepts_every_step() {
        let schema = jsonschema::validator_for(&EventRecord::schema()).expect("the schema is one");
        let value = |record: &EventRecord| serde_json::from_str::<Value>(&text(record)).expect("a record is JSON");
        let first = EventRecord { last_good: None, ..opened(1) };
        for record in [opened(1), retracted(1), bisected(1), first] {
            assert!(schema.is_valid(&value(&record)), "{record:?}");
        }
    }

    #[test]
    fn a_bisection_has_commits_and_probabilities() {
        let check = |change: fn(&mut Bisection), words: &str| {
            let mut record = bisected(1);
            record.bisection.as_mut().map(change).expect("it has one");
            refused(&text(&record), words);
        };
        check(|one| one.good = "c".to_owned(), "has `bisection` `c`, which is not 40 lower-case");
        check(|one| one.probability = 1.5, "has `bisection` with the probability 1.5");
        check(|one| one.suspects[0].probability = -0.5, "has `bisection` with the probability -0.5");
        let skip = |one: &mut Bisection| {
            one.skipped.push(SkippedCommit { commit: "e".to_owned(), reason: "it lacks them".to_owned() });
        };
        check(skip, "has `bisection` `e`, which is not 40 lower-case");
        check(|one| one.culprits.clear(), "has `bisection` without a culprit");
        let plain = text(&bisected(1)).replace("\"schema_version\":2", "\"schema_version\":1");
        refused(&plain, "is not in canonical form");
    }

    #[test]
    fn the_reader_refuses_other_texts_of_a_record() {
        let record = text(&opened(1));
        let check = |from: &str, to: &str, words: &str| {
            assert!(record.contains(from), "{from} is not in {record}");
            refused(&record.replacen(from, to, 1), words);
        };
        refused("", "is not JSON");
        refused(&record[..record.len() / 2], "is not JSON");
        refused("[]\n", "is not an event record: it has no `schema_version` from 1 on");
        refused(&" ".repeat(MAX_RECORD_BYTES + 1), "more than the 33554432 that a record may have");
        check("\"schema_version\":1", "\"schema_version\":1.0", "no `schema_version` from 1 on");
        check("\"step\":\"opened\",", "", "missing field `step`");
        check("\"last_good\":", "\"last_god\":", "unknown field `last_god`");
        check("0.00125", "NaN", "is not JSON");
        check("0.00125", "1e999", "is not JSON");
        check("\"step\":\"opened\"", "\"step\":\"opened\",\"step\":\"opened\"", "occurs twice in one object");
        check("\"0123456789abcdef\"", "\"f123456789abcdef\"", "with `123456789abcdef0` after `f123456789abcdef`");
        check("cpu-infer-fast", "zpu-infer-fast", "with `cpu-tile-pack-c-64-fast-time-00000000` after `zpu-");
        let other = "is not in canonical form, so its name cannot vouch for it";
        check("2026-05-04T03:02:01Z", "2026-05-04T04:02:01+01:00", other);
        check("0.00125", "1.25e-3", other);
        check("0.00125", "1", other);
        check("\"schema_version\":1", "\"reason\":null,\"schema_version\":1", other);
        check("{", "{ ", other);
        refused(record.trim_end(), other);
        refused(&format!("{record}\n"), other);
        refused(
            &text(&retracted(1)).replace("the level came back", " "),
            "has `reason` missing, though it was retracted",
        );
        let mut infinite = opened(1);
        infinite.members[0].before = f64::INFINITY;
        refused(&text(&infinite), "invalid type: null");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(EventRecord::from_file("x", &bytes).is_err());
        }
    }
}
