//! Two builds against each other.

use serde_json::Value;

use crate::sandbox::Sandbox;

const PAIR: [&str; 3] = ["compare", "HEAD", "HEAD"];
const SCAN: [&str; 4] = ["--measure", "--quick", "--filter", "scan"];

#[test]
fn a_build_against_itself_is_measured_and_one_pair_decides_nothing() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag(&[&PAIR[..], &SCAN, &["--json"]].concat()).expect(3);
    let report: Value = serde_json::from_str(&ended.out).expect("the report is JSON");
    let benchmarks = report["benchmarks"].as_array().expect("a list");
    assert_eq!((report["schema_version"].clone(), benchmarks.len()), (1.into(), 2));
    for one in benchmarks {
        assert_eq!(one["measured"]["pairs"].as_array().map(Vec::len), Some(1));
        assert!(one["ratio"].as_f64().is_some_and(|ratio| ratio > 0.1 && ratio < 10.0), "{one}");
        assert_eq!((&one["verdict"], &one["interval"]), (&"inconclusive".into(), &Value::Null));
    }
    let ended = sandbox.sprag(&[&PAIR[..], &SCAN, &["--inconclusive", "ok"]].concat()).expect(0);
    assert!(ended.out.contains("compare: 2 inconclusive; 1 pairs of processes"), "{}", ended.out);
    sandbox.sprag(&[&PAIR[..], &SCAN, &["--inconclusive", "fail"]].concat()).expect(1);
}

#[test]
fn a_program_that_breaks_at_a_benchmark_fails_the_comparison() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_sprag");
    // It knows one of the two benchmarks only.
    let script =
        format!("#!/bin/sh\nread plan\n{{ echo \"$plan\" | sed 's/@reference/@gone/'; cat; }} | {program} \"$@\"\n");
    sandbox.write("old.sh", &script);
    let path = sandbox.project.join("old.sh");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a file of ours");
    let ended = sandbox.sprag(&[&["compare", "old.sh", program][..], &SCAN].concat()).expect(1);
    assert!(ended.out.contains("the base: this build has no such benchmark"), "{}", ended.out);
    assert!(ended.out.contains("1 missing"), "{}", ended.out);
}

#[test]
fn wrong_sides_are_refused_with_advice() {
    let sandbox = Sandbox::new();
    sandbox.commit("Second");
    let check = |arguments: &[&str], words: &[&str]| {
        sandbox.sprag(&[&["compare"], arguments].concat()).expect(2).says(words);
    };
    check(&["HEAD", "HEAD"], &["--measure"]);
    check(&["HEAD", "no-such-tag", "--measure"], &["no-such-tag"]);
    check(&["HEAD", "HEAD", "--measure", "--filter", "tile_pak"], &["did you mean `tile_pack`?"]);
    check(&["HEAD", "HEAD", "--measure", "--suite", "gpu"], &["there is no suite `gpu`"]);
    check(&["HEAD", "HEAD", "--measure", "--budget", "0"], &["out of range"]);
    sandbox.write("code.rs", "fn main() {}\n");
    sandbox.commit("Third");
    check(&["HEAD~1", "HEAD", "--measure"], &["not the commit that is checked out", "path of its `sprag` program"]);
    check(&["/bin/true", "HEAD", "--measure", "--quick", "--filter", "scan"], &["the base: it ended without a report"]);
}
