//! The record of a run, as it lies in `history/`.
//!
//! A record is canonical JSON and one line feed. Its name bears the start of the SHA-256 of that JSON, so a name
//! that does not match its content is damage.

use serde::Deserialize;
use serde_json::Value;

use self::fields::{Interner, RunRecord};
use crate::run::Run;
use sprag_base::{digest, json};

mod fields;

pub use fields::{MAX_RECORD_BYTES, RecordError, SCHEMA_VERSION, YEARS, schema};

/// Whether a word can be the name of a suite: it names folders and files.
pub fn is_suite(word: &str) -> bool {
    fields::check_path_word("suite", word).is_ok()
}

impl Run {
    /// The record of the run: its id, the path it belongs at, and its bytes.
    pub fn to_record(&self) -> (String, String, Vec<u8>) {
        let mut text = json::to_canonical(&RunRecord::from_run(self));
        let id = id_of(text.as_bytes());
        text.push('\n');
        (id.clone(), self.path(&id), text.into_bytes())
    }

    /// Reads a record; the file must hold exactly the bytes that [`Run::to_record`] writes.
    pub fn from_record(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        let (id, run) = Reader::default().read(bytes)?;
        // What is in canonical form has no key twice, so the quick reader will do.
        let text = json::to_canonical(&RunRecord::from_run(&run));
        if bytes.strip_suffix(b"\n").is_none_or(|bytes| bytes != text.as_bytes()) {
            return Err(RecordError::NotCanonical);
        }
        Ok((id, run))
    }

    /// Reads a record in any JSON layout, as a file that came from elsewhere may have. No object may have a key twice.
    pub fn from_json(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        // Most are as they were written, and those are read in a third of the time.
        if let Ok(read) = Run::from_record(bytes) {
            return Ok(read);
        }
        let value = value_of(bytes)?;
        let record = RunRecord::deserialize(&value).map_err(RecordError::Schema)?;
        let run = record.into_run(&mut Interner::default())?;
        let (id, _, _) = run.to_record();
        Ok((id, run))
    }
}

/// Reads records of which the names vouch for the content, many one after another.
#[derive(Default)]
pub struct Reader {
    interner: Interner,
}

impl Reader {
    /// Reads a record that somebody wrote by [`Run::to_record`], and gives the id that its bytes make.
    ///
    /// All is checked but one thing: that these very bytes are what would be written. Where the name of the file bears
    /// that id, it is the file that was once recorded, and then this was checked; [`Run::from_record`] checks it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(String, Run), RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::Large(bytes.len()));
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // To look for broken UTF-8 in all of it at once is quicker than in each string.
        let sized = json::check_size(text).ok().and_then(|()| std::str::from_utf8(text).ok());
        let read = sized.map_or(Ok(None), |text| self.run(text))?;
        let Some((version, run)) = read else { return Err(why_not(bytes)) };
        if text.len() == bytes.len() || version != fields::lowest_version(&run) {
            return Err(RecordError::NotCanonical);
        }
        Ok((id_of(text), run))
    }

    /// The run of a record and the version that the record says it has; absent where it does not follow the schema.
    fn run(&mut self, text: &str) -> Result<Option<(u64, Run)>, RecordError> {
        let is_read = |version: u64| (1..=SCHEMA_VERSION).contains(&version);
        let record: Option<RunRecord<'_>> = serde_json::from_str(text).ok();
        let Some(record) = record.filter(|record| is_read(record.schema_version())) else { return Ok(None) };
        let version = record.schema_version();
        Ok(Some((version, record.into_run(&mut self.interner)?)))
    }
}

fn why_not(bytes: &[u8]) -> RecordError {
    let why =
        |value: Value| RunRecord::deserialize(&value).map_err(RecordError::Schema)?.into_run(&mut Interner::default());
    match value_of(bytes).and_then(why) {
        Err(error) => error,
        Ok(_) => RecordError::NotCanonical,
    }
}

/// The start of the digest of canonical JSON, which names it.
fn id_of(text: &[u8]) -> String {
    digest::sha256_hex(text)[..16].to_owned()
}

/// The value that the text of a record by anyone holds, if it is of a version that this build reads.
fn value_of(bytes: &[u8]) -> Result<Value, RecordError> {
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(RecordError::Large(bytes.len()));
    }
    let value = json::parse(bytes).map_err(RecordError::Json)?;
    match value.get("schema_version").and_then(Value::as_u64) {
        None | Some(0) => Err(RecordError::Foreign),
        Some(version) if version > SCHEMA_VERSION => Err(RecordError::Newer(version)),
        Some(_) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::example::recorded;
    use crate::metric::Metric;
    use crate::sample::{Estimate, Measurement, Role};

    /// A run of one benchmark with one metric, which version 1 can hold.
    fn run() -> Run {
        let mut run = recorded().run;
        run.measurements.truncate(1);
        let estimates = &mut run.measurements[0].estimates;
        estimates.truncate(1);
        (estimates[0].min, estimates[0].detectable) = (None, None);
        run.config.insert("rounds".into(), 12.into());
        run
    }

    #[test]
    fn a_record_reads_back_and_is_named_after_its_content() {
        let (id, path, bytes) = run().to_record();
        assert_eq!(Run::from_record(&bytes).expect("our own record can be read"), (id.clone(), run()));
        assert_eq!(id, digest::sha256_hex(&bytes[..bytes.len() - 1])[..16]);
        let machine = &run().machine.id[..8];
        assert_eq!(path, format!("history/v1/cpu/2026/05/0123456789ab-{machine}-{id}.json"));
        let without = Run { commit: None, ..run() };
        assert!(without.path(&id).starts_with("history/v1/cpu/2026/05/000000000000-"));
        assert_eq!(run().subject(), "sprag: cpu ok at 0123456789ab");
    }

    #[test]
    fn a_record_has_the_lowest_version_that_holds_it() {
        let version = |run: &Run| {
            let bytes = run.to_record().2;
            assert_eq!(Run::from_record(&bytes).expect("our own record can be read").1, *run);
            serde_json::from_slice::<Value>(&bytes).expect("a record is JSON")["schema_version"].clone()
        };
        assert_eq!(version(&run()), 1);
        let with = |change: fn(&mut Measurement)| {
            let mut run = run();
            change(&mut run.measurements[0]);
            run
        };
        assert_eq!(version(&with(|one| one.role = Role::Control)), 2);
        assert_eq!(version(&with(|one| one.estimates[0].min = Some(0.1))), 2);
        assert_eq!(version(&with(|one| one.estimates[0].detectable = Some(0.01))), 2);
        let text = String::from_utf8(run().to_record().2).expect("a record is ASCII");
        let wrong = text.replace("\"schema_version\":1", "\"schema_version\":2");
        assert!(matches!(Run::from_record(wrong.as_bytes()), Err(RecordError::NotCanonical)));
    }

    #[test]
    fn a_metric_takes_little_room() {
        let one = run().to_record().2.len();
        let mut wide = run();
        let again = wide.measurements[0].estimates[0].clone();
        wide.measurements[0].estimates.push(Estimate { metric: Metric::throughput("tiles_per_s"), ..again });
        assert!(wide.to_record().2.len() - one <= 250);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (id, _, bytes) = run().to_record();
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                let seen = Run::from_record(&damaged).map_or(true, |(other, _)| other != id);
                assert!(seen, "bit {bit} of byte {position}");
            }
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_in_any_layout() {
        let text = String::from_utf8(run().to_record().2).expect("a record is ASCII");
        let spaced = text.replace("\":", "\": ");
        assert_eq!(Run::from_json(spaced.as_bytes()).expect("the layout is free").1, run());
        for (once, twice) in [
            ("\"suite\":\"cpu\"", "\"suite\":\"gpu\",\"suite\":\"cpu\""),
            ("\"rounds\":12", "\"rounds\":11,\"rounds\":12"),
            ("\"t\":\"8\"", "\"t\":\"9\",\"t\":\"8\""),
        ] {
            let error = Run::from_json(text.replace(once, twice).as_bytes()).expect_err("a key occurs twice");
            assert!(error.to_string().contains("occurs twice in one object"), "{error}");
            assert!(Run::from_record(text.replace(once, twice).as_bytes()).is_err());
        }
    }

    #[test]
    fn what_is_no_record_says_why() {
        let text = String::from_utf8(run().to_record().2).expect("a record is ASCII");
        let check = |damaged: &str, words: &str| {
            let error = Run::from_record(damaged.as_bytes()).expect_err("it is no record").to_string();
            assert!(error.contains(words), "{error}");
        };
        check(&text[..text.len() / 2], "is not JSON");
        check("{\"metrics\":{}}", "no `schema_version`");
        check(
            &text.replace("\"schema_version\":1", "\"schema_version\":3"),
            "schema version 3, this build reads up to 2",
        );
        check(&text.replace("\"status\":\"ok\"", "\"status\":\"fine\""), "does not follow the schema");
        check(&text.replace("\"dirty\":false,", ""), "missing field `dirty`");
        check(&text.replace("\"value\":0.25", "\"value\":NaN"), "is not JSON");
        check(&text.replace("\"value\":0.25", "\"value\":1e999"), "is not JSON");
        check(&text.replace("\"suite\":\"cpu\"", "\"suite\":\"../cpu\""), "cannot name a folder");
        for device in ["con", "NUL", "aux.x", "com1", "Lpt9.json"] {
            let suite = format!("\"suite\":\"{device}\"");
            check(&text.replace("\"suite\":\"cpu\"", &suite), "keeps for a device");
        }
        check(&text.replace("\"name\":\"tile_pack\"", "\"name\":\"tile\""), "its parts make");
        check(&text.replace("\"cpu_model\":\"EPYC 9\"", "\"cpu_model\":\"GPU\""), "does not follow from its facts");
        check(&text.replace("\"value\":0.25", "\"value\":-1.0"), "holds -1 s, where more than zero is needed");
        check(&text.replace("\"value\":0.25", "\"value\":0.0"), "holds 0 s, where more than zero is needed");
        check(&text.replace("\"value\":0.25", "\"value\":1e-300"), "holds 1e-300 s, which is too little");
        check(&text.replace("[0.2,0.3]", "[0.3,0.2]"), "has an interval from");
        check(&text.replace("\"status\":\"ok\"", "\"status\":\"skipped\""), "has `reason` missing");
        check(&text.replace("\"suite\":", " \"suite\":"), "not in canonical form");
        check(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)), "is not JSON");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_bring_a_reader_down(
            at: proptest::sample::Index, end: proptest::sample::Index,
            piece in "NaN|-1|0|1e999|\"|\\]|\\{|\n|null|,|:|\\PC{0,4}"
        ) {
            let mut bytes = run().to_record().2;
            let (at, end) = (at.index(bytes.len()), end.index(bytes.len()));
            bytes.splice(at.min(end)..at.max(end).min(at.min(end) + 8), piece.bytes());
            if let Ok((id, read)) = Run::from_json(&bytes) {
                proptest::prop_assert_eq!(read.to_record().0, id);
            }
            // A reader that has met the benchmark before says the same of it.
            let mut reader = Reader::default();
            proptest::prop_assert!(reader.read(&run().to_record().2).is_ok());
            let text = |read: Result<(String, Run), RecordError>| read.map_err(|error| error.to_string());
            proptest::prop_assert_eq!(text(reader.read(&bytes)), text(Reader::default().read(&bytes)));
            if let Ok((_, read)) = Run::from_record(&bytes) {
                proptest::prop_assert_eq!(read.to_record().2, bytes);
            }
        }
    }
}
