//! Two builds against each other.

use crate::commits::{self, SUITE};
use crate::sandbox::Sandbox;

const PAIR: [&str; 3] = ["compare", "HEAD", "HEAD"];
const SCAN: [&str; 4] = ["--measure", "--quick", "--filter", "scan"];

#[test]
fn a_build_against_itself_sets_the_exit_code() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag(&[&PAIR[..], &SCAN, &["--json"]].concat());
    let report = crate::schemas::follows("compare-2", &ended.out);
    let benchmarks = report["benchmarks"].as_array().expect("a list");
    assert_eq!((report["schema_version"].clone(), benchmarks.len()), (2.into(), 2));
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!((&report["base"]["named"], &report["base"]["commit"]), (&"HEAD".into(), &head.into()));
    let mut verdicts = Vec::new();
    for one in benchmarks {
        assert_eq!(one["measured"]["pairs"].as_array().map(Vec::len), Some(3));
        let interval = one["interval"].as_array().expect("three pairs have an interval");
        let (low, high) = (interval[0].as_f64().expect("a number"), interval[1].as_f64().expect("a number"));
        assert!(one["ratio"].as_f64().is_some_and(|ratio| low <= ratio && ratio <= high), "{one}");
        verdicts.push(one["verdict"].as_str().expect("a word").to_owned());
    }
    let code = match verdicts.as_slice() {
        all if all.iter().any(|one| one == "regressed") => 1,
        all if all.iter().any(|one| one == "inconclusive") => 3,
        _ => 0,
    };
    assert_eq!(ended.code, code, "{verdicts:?}");
}

#[test]
fn wrong_sides_are_refused_with_advice() {
    let sandbox = Sandbox::new();
    sandbox.commit("Second");
    let check = |arguments: &[&str], words: &[&str]| {
        sandbox.ends(2, &[&["compare"], arguments].concat()).says(words);
    };
    check(&["HEAD", "HEAD"], &["has no recorded run", "sprag run --commit HEAD --record", "--measure"]);
    sandbox.commit_with("code.rs", "fn main() {}\n", "Third");
    check(&["HEAD~1", "HEAD", "--measure"], &["holds no sources of Sprag", "two `sprag` programs by their paths"]);
    check(&["/bin/true", "HEAD", "--measure", "--quick", "--filter", "scan"], &["the base: it ended without a report"]);
}

#[test]
fn a_file_named_like_a_revision_is_never_run() {
    let sandbox = Sandbox::new();
    sandbox.program("HEAD", "#!/bin/sh\ntouch was-run\n");
    sandbox.commit("A trap");
    sandbox.sprag(&[&PAIR[..], &SCAN, &["--inconclusive", "ok"]].concat());
    assert!(!sandbox.project.join("was-run").exists());
}

#[test]
fn a_suite_that_the_base_lacks_has_no_baseline() {
    let sandbox = commits::sandbox();
    let later = "[suites.later]\nkind = \"command\"\ncommand = [\"sh\", \"later.sh\"]\nprocesses = 2\n";
    sandbox.write("later.sh", "cat rate > built\n. ./bench.sh\n");
    sandbox.commit_with("sprag.toml", &format!("{SUITE}{later}"), "Add a suite");
    let compare = ["compare", "v3", "HEAD", "--measure", "--suite", "later"];
    let said = "the suite `later` is new, so it has no baseline: `sprag.toml` of the base lacks it, or differs";
    let ended = commits::sprag(&sandbox, &[&compare[..], &["--json"]].concat())
        .expect(3)
        .says(&[said, "the base: it ended with"]);
    let report = ended.json();
    assert_eq!(report["new"], serde_json::json!(["later/sort @default", "later/tiles @default"]));
    assert!(report["faults"][0].as_str().is_some_and(|fault| fault.starts_with(said)), "{report}");
    commits::sprag(&sandbox, &[&compare[..], &["--inconclusive", "ok"]].concat()).expect(0).says(&[said]);
    commits::sprag(&sandbox, &[&compare[..], &["--inconclusive", "fail"]].concat()).expect(1);
    // No commit that git tries would fix the base.
    commits::sprag(&sandbox, &[&compare[..], &["--bisect"]].concat()).expect(128);
    // A base that cannot build it, a new suite that breaks, and a broken base that has the suite.
    sandbox.write("sprag.toml", &format!("{SUITE}{later}build = [\"sh\", \"-c\", \"test -f later.sh\"]\n"));
    commits::sprag(&sandbox, &compare).expect(3).says(&[said, "cannot build"]);
    sandbox.commit_with("later.sh", "exit 7\n", "Break it");
    commits::sprag(&sandbox, &compare).expect(2).says(&["the other side: it ended with exit code 7"]);
    sandbox.commit_with("later.sh", "cat rate > built\n. ./bench.sh\n", "Mend it");
    let broken = ["compare", "HEAD~1", "HEAD", "--measure", "--suite", "later", "--inconclusive", "ok"];
    commits::sprag(&sandbox, &broken).expect(2).says(&["the base: it ended with exit code 7"]);
    // What runs on both sides is compared.
    sandbox.write("sprag.toml", &SUITE.replace("[suites.theirs]", "[suites.other]"));
    commits::sprag(&sandbox, &["compare", "v1", "v2", "--measure", "--suite", "other"]).expect(1);
}

#[cfg(unix)]
#[test]
fn a_benchmark_that_only_one_program_has_is_missing_or_new() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_sprag");
    // It has one of the two benchmarks only.
    let script =
        format!("#!/bin/sh\nread plan\n{{ echo \"$plan\" | sed 's/@reference/@gone/'; cat; }} | {program} \"$@\"\n");
    sandbox.program("old.sh", &script);
    sandbox
        .ends(1, &[&["compare", program, "old.sh"][..], &SCAN].concat())
        .prints(&["the other side: this build has no such benchmark", "1 missing"]);
    let ended = sandbox.sprag(&[&["compare", "old.sh", program, "--inconclusive", "ok"][..], &SCAN].concat());
    // The width of the column of verdicts depends on the other benchmark.
    let is_new = |line: &str| line.starts_with("no baseline ") && line.contains(" cpu/tile_ssm_scan");
    assert!(ended.out.lines().any(is_new) && !ended.out.contains("missing"), "{}", ended.out);
    ended.prints(&[" without a baseline"]);
}
