//! Event records: written, read back, and told from what is none.

use proptest::collection::vec;
use proptest::prelude::*;

use super::example::{opened, retracted};
use super::*;
use sprag_base::digest;

#[test]
fn a_record_reads_back_and_is_named_after_its_content() {
    let (path, bytes, subject) = opened(0x7c1f03).to_file();
    assert_eq!(EventRecord::from_file(&path, &bytes), Ok(opened(0x7c1f03)));
    let digest = &digest::sha256_hex(&bytes[..bytes.len() - 1])[..16];
    assert_eq!(path, format!("history/v1/_events/2026/05/e-7c1f03-opened-{digest}.json"));
    assert_eq!(subject, "sprag: event e-7c1f03 opened at cccccccccccc");
    let text = String::from_utf8(bytes).expect("a record is ASCII");
    assert!(text.ends_with("}\n") && text.starts_with("{\"chance\":0.01,\"direction\":\"worse\","), "{text}");
    assert!(text.contains("\"schema_version\":1") && !text.contains("reason"), "{text}");
    let (path, bytes, subject) = retracted(2).to_file();
    assert_eq!(EventRecord::from_file(&path, &bytes), Ok(retracted(2)));
    assert_eq!(subject, "sprag: event e-000002 retracted at cccccccccccc");
    assert!(EVENT_ROOT.starts_with(&format!("{}/", crate::run::RECORD_ROOT)));
}

#[test]
fn every_flipped_bit_is_seen() {
    let (path, bytes, _) = opened(1).to_file();
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << bit;
            assert!(EventRecord::from_file(&path, &damaged).is_err(), "bit {bit} of byte {position}");
        }
    }
}

#[test]
fn a_name_has_its_parts_or_is_none() {
    const NAME: &str = "history/v1/_events/2026/05/e-7c1f03-opened-0123456789abcdef.json";
    let name = EventName::parse(NAME).expect("it is a name");
    let expected =
        EventName { year: "2026", month: "05", event: "e-7c1f03", step: "opened", digest: "0123456789abcdef" };
    assert_eq!((name, name.path()), (expected, NAME.to_owned()));
    assert!(EventName::parse(&NAME.replace("opened", "merged")).is_ok(), "of a later version");
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
fn a_name_that_its_content_contradicts_is_told_part_by_part() {
    let (path, bytes, _) = opened(1).to_file();
    let check = |path: &str, words: &str| {
        let error = EventRecord::from_file(path, &bytes).expect_err("the name is wrong");
        assert!(error.contains(words), "{error}");
        assert!(matches!(EventRecord::read(path, &bytes), Err(EventError::Name(_))));
    };
    check(&path.replace("2026", "2025"), "bears the year `2025` in its path, but its content has `2026`");
    check(&path.replace("/05/", "/06/"), "bears the month `06` in its path, but its content has `05`");
    check(
        &path.replace("e-000001", "e-000002"),
        "bears the event `e-000002` in its path, but its content has `e-000001`",
    );
    check(&path.replace("opened", "retracted"), "bears the step `retracted` in its path, but its content has `opened`");
    let digest = &path[path.len() - 21..path.len() - 5];
    check(&path.replace(digest, "0123456789abcdef"), "bears the digest `0123456789abcdef` in its path");
    check("history/v1/_events/2026/x.json", "is not named `_events/<yyyy>/<mm>/<event>-<step>-<digest16>.json`");
}

/// Fails the test unless the text is refused with these words, at the path that its own digest makes.
#[track_caller]
fn refused(text: &str, words: &str) {
    let digest = &digest::sha256_hex(text.trim_end().as_bytes())[..16];
    let path = format!("{EVENT_ROOT}/2026/05/e-000001-opened-{digest}.json");
    let error = EventRecord::from_file(&path, text.as_bytes()).expect_err(text);
    assert!(error.contains(words), "{error}");
}

#[test]
fn what_is_no_record_says_why() {
    let text = String::from_utf8(opened(1).to_file().1).expect("a record is ASCII");
    let check = |from: &str, to: &str, words: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        refused(&text.replacen(from, to, 1), words);
    };
    refused("", "is not JSON");
    refused("[]\n", "is not an event record: it has no `schema_version` from 1 on");
    refused(&text[..text.len() / 2], "is not JSON");
    refused(&text.replace("\"schema_version\":1", "\"schema_version\":0"), "no `schema_version` from 1 on");
    refused(&text.replace("\"schema_version\":1", "\"schema_version\":1.0"), "no `schema_version` from 1 on");
    let newer = "has schema version 2, this build reads up to 1; a newer sprag can read it";
    check("\"schema_version\":1", "\"schema_version\":2", newer);
    check("{", "{\"other\":1,", "unknown field `other`");
    check("\"after\":0.00125,", "\"after\":0.00125,\"other\":1,", "unknown field `other`");
    check("\"step\":\"opened\",", "", "missing field `step`");
    check("\"last_good\":", "\"last_god\":", "unknown field `last_god`");
    check("\"step\":\"opened\"", "\"step\":\"opened\",\"step\":\"opened\"", "occurs twice in one object");
    check("\"opened\"", "\"merged\"", "unknown variant `merged`");
    check("\"change\"", "\"jump\"", "unknown variant `jump`");
    check("\"worse\"", "\"Worse\"", "unknown variant `Worse`");
    check("e-000001", "e-00001", "has `event` `e-00001`, which is not `e-` and 6 to 16 lower-case");
    check("e-000001", "e-00000A", "has `event` `e-00000A`, which is not");
    check("e-000001", "../00000a", "has `event` `../00000a`, which is not");
    check("03:02:01Z", "03:02:01.5Z", "has `time` with fractions of a second");
    check("2026-05-04", "1969-05-04", "has `time` outside the years 1970 to 9999");
    check("2026-05-04T03:02:01Z", "yesterday", "does not follow the schema of its version");
    check("2026-05-04T03:02:01Z", "2026-05-04T04:02:01+01:00", "is not in canonical form");
    let machines = "\"machines\":[\"0123456789abcdef\",\"123456789abcdef0\"]";
    check(machines, "\"machines\":[]", "has `machines` without any");
    check("\"0123456789abcdef\"", "\"0123456789ABCDEF\"", "has `machines` `0123456789ABCDEF`, which is not 16 lower");
    check("\"0123456789abcdef\"", "\"f123456789abcdef\"", "has `machines` with `123456789abcdef0` after `f123456789");
    check("\"0123456789abcdef\"", "\"123456789abcdef0\"", "they stand in order, each once");
    for (field, digit) in [("last_good", "a"), ("first_suspect", "b"), ("last_suspect", "d"), ("most_likely", "c")] {
        let from = format!("\"{field}\":\"{}\"", digit.repeat(40));
        check(&from, &format!("\"{field}\":\"0123\""), &format!("has `{field}` `0123`, which is not 40 lower-case"));
    }
    check(&format!("\"first_suspect\":\"{}\"", "b".repeat(40)), "\"first_suspect\":null", "invalid type: null");
    check("cpu-infer-fast-time-0a1b2c3d", "../x", "has `members` with `../x`, which is no id of a series");
    check("cpu-infer-fast", "zpu-infer-fast", "has `members` with `cpu-tile-pack-c-64-fast-time-00000000` after `zpu-");
    check("0.00125", "NaN", "is not JSON");
    check("0.00125", "1e999", "is not JSON");
    check("0.00125", "null", "invalid type: null, expected f64");
    check("0.00125", "\"0.1\"", "does not follow the schema");
    check("0.00125", "1.25e-3", "is not in canonical form, so its name cannot vouch for it");
    check("0.00125", "1", "is not in canonical form");
    check("\"chance\":0.01", "\"chance\":1.5", "has `chance` 1.5, which is not from 0 to 1");
    check("\"chance\":0.01", "\"chance\":-0.5", "has `chance` -0.5, which is not from 0 to 1");
    check("\"schema_version\":1", "\"reason\":\"x\",\"schema_version\":1", "has `reason` set, though it was opened");
    check("\"schema_version\":1", "\"reason\":null,\"schema_version\":1", "is not in canonical form");
    check("{", "{ ", "is not in canonical form");
    refused(text.trim_end(), "is not in canonical form");
    refused(&format!("{text}\n"), "is not in canonical form");

    let mut empty = opened(1);
    empty.members.clear();
    refused(&String::from_utf8(empty.to_file().1).expect("a record is ASCII"), "has `members` without any");
    let mut endless = opened(1);
    endless.members[0].before = f64::INFINITY;
    refused(&String::from_utf8(endless.to_file().1).expect("a record is ASCII"), "invalid type: null");
    let text = String::from_utf8(retracted(1).to_file().1).expect("a record is ASCII");
    refused(&text.replace("\"reason\":\"the level came back\",", ""), "has `reason` missing, though it was retracted");
    refused(&text.replace("the level came back", " "), "has `reason` missing, though it was retracted");
}

#[test]
fn what_is_too_large_is_not_read() {
    let large = vec![b' '; MAX_RECORD_BYTES + 1];
    assert!(matches!(EventRecord::read("x", &large), Err(EventError::Large(size)) if size == large.len()));
}

#[test]
fn the_schema_takes_what_the_reader_takes_and_refuses_what_it_refuses() {
    let value = |record: &EventRecord| serde_json::from_slice::<Value>(&record.to_file().1).expect("a record is JSON");
    let schema = jsonschema::validator_for(&EventRecord::schema()).expect("the schema is one");
    let takes = |value: &Value| schema.is_valid(value);
    let first = EventRecord { last_good: None, ..opened(1) };
    for record in [opened(1), retracted(1), first] {
        assert!(takes(&value(&record)), "{record:?}");
    }
    let check = |pointer: &str, wrong: Option<Value>| {
        let mut damaged = value(&opened(1));
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = damaged.pointer_mut(parent).expect("the parent is there");
        match wrong {
            Some(wrong) => parent[field] = wrong,
            None => assert!(parent.as_object_mut().expect("an object").remove(field).is_some(), "{pointer}"),
        }
        assert!(!takes(&damaged), "the schema takes {pointer}: {damaged}");
        let text = format!("{}\n", json::to_canonical(&damaged));
        assert!(EventRecord::from_bytes(text.as_bytes()).is_err(), "the reader takes {pointer}");
    };
    for field in value(&opened(1)).as_object().expect("an object").keys() {
        check(&format!("/{field}"), None);
    }
    for field in ["series", "before", "after"] {
        check(&format!("/members/0/{field}"), None);
    }
    check("/other", Some(json!(1)));
    check("/members/0/other", Some(json!(1)));
    check("/schema_version", Some(json!(2)));
    check("/event", Some(json!("e-12345")));
    check("/step", Some(json!("merged")));
    check("/step", Some(json!("retracted")));
    check("/reason", Some(json!("because")));
    check("/time", Some(json!("2026-05-04T03:02:01.5Z")));
    check("/time", Some(json!("1969-05-04T03:02:01Z")));
    check("/kind", Some(json!("jump")));
    check("/direction", Some(json!("up")));
    check("/machines", Some(json!([])));
    check("/machines", Some(json!(["0123456789ABCDEF"])));
    check("/machines", Some(json!(["0123456789abcdef", "0123456789abcdef"])));
    check("/last_good", Some(json!("0123")));
    check("/most_likely", Some(json!(null)));
    check("/members", Some(json!([])));
    check("/members/0/series", Some(json!("../x")));
    check("/members/0/before", Some(json!("1")));
    check("/chance", Some(json!(1.5)));
    check("/chance", Some(json!(-0.5)));
}

proptest! {
    #[test]
    fn no_bytes_are_too_odd_to_be_told_of(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(EventRecord::from_file("x", &bytes).is_err());
    }
}
