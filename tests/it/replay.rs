//! `sprag replay`: recordings equal those of the original, and everything that differs is named.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::schemas::follows;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/replay").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

#[test]
fn a_fixture_is_recorded_as_the_original_does() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/apex-x/replay_golden.json");
    let golden: Value = serde_json::from_str(&fs::read_to_string(golden).expect("it is there")).expect("JSON");
    let sandbox = Sandbox::empty();
    for (place, name) in ["small.json", "medium.json"].into_iter().enumerate() {
        let (recorded, case) = (fixture(name), &golden["cases"][place]);
        let mut bare: Value = serde_json::from_str(&recorded).expect("JSON");
        bare.as_object_mut().expect("an object").remove("expected");
        sandbox.write("bare.json", &bare.to_string());
        let files = ["--trace", "out/trace.json", "--manifest", "out/manifest.json", "--output", "out/fixture.json"];
        sandbox.ends(0, &[&["replay", "record", "--fixture", "bare.json"], &files[..]].concat());
        assert_eq!(sandbox.read("out/fixture.json"), recorded);
        assert_eq!(sandbox.read("out/trace.json"), case["expected"]["trace_file_text"].as_str().expect("a text"));
        let manifest = sandbox.json("out/manifest.json");
        for field in ["manifest_sha256", "config_sha256"] {
            assert_eq!(manifest[field], case["expected"][field], "{name}");
        }
        let expected: Value = serde_json::from_str(&recorded).expect("JSON");
        assert_eq!(expected["expected"]["summary"], case["expected"]["summary"], "{name}");
        follows("replay-fixture-1", &recorded);
        follows("replay-manifest-1", &manifest.to_string());
        let verified = sandbox.ends(0, &["replay", "verify", "out/fixture.json", "out/manifest.json"]);
        assert_eq!(verified.out, "holds: out/fixture.json\nholds: out/manifest.json\n");
    }
}

#[test]
fn what_does_not_hold_is_named() {
    let sandbox = Sandbox::empty();
    sandbox.write("config.json", r#"{"kmax": 32, "profile": "quality"}"#);
    sandbox.write("trace.json", "{}\n");
    let record = [
        "replay", "record", "--config", "config.json", "--seed", "11", "--artifact", "trace=trace.json", "--output",
        "m.json",
    ];
    sandbox.ends(0, &record);
    sandbox.ends(0, &["replay", "verify", "m.json"]);
    sandbox.write("trace.json", "{}\r");
    let fails = |words: &str, arguments: &[&str]| {
        sandbox.ends(4, &[&["replay", "verify"], arguments].concat()).prints(&[words]);
    };
    fails("fails: m.json: `artifact_hashes.trace.sha256` is `", &["m.json"]);
    sandbox.write("there/trace.json", "{}\n");
    sandbox.ends(0, &["replay", "verify", "m.json", "--root", "there"]);
    fs::create_dir(sandbox.project.join("empty")).expect("a folder");
    fails("the file `trace`, `trace.json`, cannot be read", &["m.json", "--root", "empty"]);
    let mut one: Value = serde_json::from_str(&fixture("small.json")).expect("JSON");
    one["expected"]["summary"]["valid_count"] = json!(5);
    sandbox.write("f.json", &one.to_string());
    fails("fails: f.json: `summary.valid_count` is 5, and this build gives 4", &["f.json"]);
    let mut one: Value = serde_json::from_str(&fixture("small.json")).expect("JSON");
    one["inputs"]["utilities"][0] = json!(0.9000000000000001);
    sandbox.write("f.json", &one.to_string());
    fails("`trace_sha256` is `", &["f.json"]);
    one["seed"] = json!(12);
    sandbox.write("f.json", &one.to_string());
    fails("`manifest_sha256` is `", &["f.json"]);
}

#[test]
fn wrong_input_is_named_with_what_helps() {
    let sandbox = Sandbox::empty();
    let small: Value = serde_json::from_str(&fixture("small.json")).expect("JSON");
    let changed = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut one = small.clone();
        change(&mut one);
        sandbox.write("f.json", &one.to_string());
        sandbox.ends(2, &["replay", "verify", "f.json"]).says(words);
    };
    changed(&|one| drop(one.as_object_mut().expect("an object").remove("expected")), &["it has no `expected`"]);
    changed(&|one| one["mode"] = json!("three_stage"), &["no fixture", "three_stage"]);
    changed(&|one| one["inputs"]["more"] = json!(1), &["cannot run `f.json`", "`inputs` cannot be read", "more"]);
    changed(&|one| one["inputs"]["budget"] = json!(-1.0), &["cannot run `f.json`", "budget"]);
    changed(&|one| one["inputs"]["delta_costs"] = json!([1.0]), &["cannot run `f.json`"]);
}
