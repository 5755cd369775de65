//! What a release is for: the list of releases states it, and checklist, evidence, pages and waivers go by that alone.

use std::fs;

use crate::released::{Project, forge};

#[test]
fn a_release_is_looked_at_for_all_that_it_states() {
    let project = Project::new();
    let sandbox = project.sandbox();
    let told = project.checklist(0, &[]).out;
    assert!(told.contains("), for cpu\n") && told.contains("for tensorrt only"), "{told}");
    let list = "release/releases.toml";
    let stated = |targets: &str| project.0.altered(list, "previous", &format!("targets = [{targets}]\nprevious"));
    let both = stated("\"tensorrt\", \"cpu\"");
    for (targets, words) in [
        ("\"tensort\"", "release/releases.toml:8: `v2` is for `tensort`, which is no target; did you mean `tensorrt`?"),
        ("\"cpu\", \"cpu\"", "`v2` names the target `cpu` twice"),
        ("", "`v2` is for no target"),
    ] {
        sandbox.write(list, &stated(targets));
        project.checklist(2, &[]).says(&[words]);
        sandbox.git(&["checkout", "-q", list]);
    }

    sandbox.write(list, &both);
    sandbox.commit("Say what it is for");
    let told = project.checklist(1, &[]).out;
    assert!(
        told.contains("), for cpu, tensorrt\n") && told.contains("`out/engine.bin` (engine) is not there"),
        "{told}"
    );
    // No option takes away what is stated.
    project.checklist(2, &["--runtime-target", "cpu"]);
    sandbox.sprag(&["site"]).expect(0);
    let page = sandbox.read("_site/release/v2.html");
    assert!(page.contains("no-go") && page.contains("for cpu, tensorrt"), "{page}");
    assert!(sandbox.read("_site/releases/index.html").contains("cpu, tensorrt"));

    // What it needs for a target is waived for that target, and for no other.
    let waive = |target: &str| {
        let words = ["release", "waive", "--release", "v2", "--item", "engine", "--reason", "x", "--target", target];
        sandbox.sprag(&words)
    };
    waive("triton").expect(2).says(&["`v2` does not need `engine` for `triton`", "there are: tensorrt"]);
    waive("tensorrt").expect(0);
    project.checklist(0, &[]);
    fs::remove_file(sandbox.project.join("ledger/v2-engine-tensorrt.toml")).expect("a file");

    sandbox.write("out/engine.bin", "engine");
    project.attest(&[]);
    project.verify(0, &[]);
    assert_eq!(project.json("checklist.json")["targets"], serde_json::json!(["cpu", "tensorrt"]));
    sandbox
        .sprag(&["release", "attest", "v2", "--format", "apex-x", "--out", "evidence-2"])
        .expect(2)
        .says(&["for one target, and not for cpu and tensorrt"]);
    // Evidence that leaves one out.
    let less = project.0.altered("evidence/checklist.json", "\"cpu\",\n    \"tensorrt\"\n", "\"cpu\"\n");
    sandbox.write("evidence/checklist.json", &less);
    forge(&project.evidence(""));
    let told = project.verify(4, &[]).out;
    assert!(told.contains("fails: checklist.json at byte"), "{told}");
    assert!(told.contains("is for cpu, and `release/releases.toml` says cpu, tensorrt"), "{told}");
}
