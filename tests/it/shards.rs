//! `run --shard`: the shards of a suite make one run.

use crate::sandbox::{Sandbox, assert_contains};

/// Kernels of more than one group, quick also in an unoptimised build.
const SUITE: &str =
    "[project]\nname = \"sandbox\"\n[suites.cpu]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\", \"tile_pack\"]\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_with("sprag.toml", SUITE, "Take more kernels");
    sandbox
}

/// The judged benchmarks of a record, which must have a control as well.
fn ids(record: &str) -> Vec<String> {
    let record: serde_json::Value = serde_json::from_str(record).expect("a record is JSON");
    let benchmarks = record["benchmarks"].as_array().expect("there are benchmarks");
    assert!(benchmarks.iter().any(|one| one["role"] == "control"), "a shard without a control");
    let tracked = benchmarks.iter().filter(|one| one["role"].is_null());
    tracked.map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_complete_set_of_shards_is_judged_as_one_run() {
    let sandbox = sandbox();
    let mut shards: Vec<Vec<String>> = Vec::new();
    let mut missing = Vec::new();
    for index in 1..=3 {
        let shard = format!("{index}/3");
        let ended = sandbox.ends(0, &["run", "--quick", "--record", "--shard", &shard, "--output-run", "run.json"]);
        if ended.err.contains(&format!("the shard {shard} holds no benchmark of `cpu`")) {
            continue;
        }
        let record = sandbox.read("run.json");
        assert_contains(&record, &[&format!("\"shard\":\"{shard}\"")]);
        shards.push(ids(&record));
        missing.push(shard);
        if shards.len() == 1 {
            sandbox.ends(2, &["check"]).says(&["no complete run", "missing", "hint:"]);
            sandbox.ends(2, &["baseline", "emit"]).says(&["missing"]);
        }
    }
    assert!(shards.len() > 1, "the suite lies on one shard: {shards:?}");
    // The forms of a kernel are on one shard, and no benchmark is on two.
    for (place, ids) in shards.iter().enumerate() {
        for id in ids {
            assert!(shards.iter().enumerate().all(|(other, more)| other == place || !more.contains(id)), "{id} twice");
            let kernel = id.split_once(" @").expect("an id has a variant").0;
            assert!(ids.iter().filter(|one| one.starts_with(kernel)).count() > 1, "{kernel} lost a form: {ids:?}");
        }
    }
    sandbox.ends(0, &["run", "--quick", "--output-run", "whole.json"]);
    let (mut all, mut unsharded) = (shards.concat(), ids(&sandbox.read("whole.json")));
    all.sort();
    unsharded.sort();
    assert_eq!(all, unsharded);

    sandbox.ends(0, &["baseline", "emit"]);
    let ended = sandbox.ends(0, &["check"]);
    assert!(unsharded.iter().all(|id| ended.out.contains(id)), "{}", ended.out);
    sandbox.ends(0, &["site"]);
    let page = sandbox.read("_site/index.html");
    assert!(!page.contains("missing"), "the digest takes the shards as one run");
}

#[test]
fn a_suite_is_planned_on_the_machine_that_measured_it_last() {
    let sandbox = sandbox();
    sandbox.sprag_with(&[("SPRAG_MACHINE", "b")], &["run", "--quick", "--record"]).expect(0);
    let fleet = "[[machine]]\nname = \"a\"\nclass = \"x\"\n[[machine]]\nname = \"b\"\nclass = \"y z\"\n";
    sandbox.write("fleet.toml", fleet);
    let plan = |format: &str| sandbox.ends(0, &["plan", "--machines", "fleet.toml", "--format", format]).out;
    assert_contains(&plan("github"), &["\"machine\": \"b\"", "\"suite\": \"cpu\"", "\"shard\": null"]);
    assert_contains(&plan("table"), &["  cpu    y z\n"]);
    // The scripts are of words that a shell takes as they are.
    sandbox.write("plan.sh", &plan("slurm"));
    assert_eq!(sandbox.step(&[], "sh -n plan.sh").code, 0);
    sandbox.write("fleet.toml", &fleet.replace("y z", r"y\nEND\ntouch pwned\nexit\n"));
    sandbox.ends(2, &["plan", "--machines", "fleet.toml", "--format", "slurm"]).says(&["fleet.toml:6:1: `class` has"]);
    sandbox.write("fleet.toml", &fleet.replace("\"a\"", "\"a;b\""));
    let ended = sandbox.ends(2, &["plan", "--machines", "fleet.toml"]);
    ended.says(&["fleet.toml:2:1: `name` has `a;b`"]);
    sandbox.ends(2, &["plan", "--machines", "none.toml"]).says(&["none.toml"]);
}

#[test]
fn a_shard_without_benchmarks_leaves_no_record() {
    let sandbox = Sandbox::new();
    let runs: Vec<String> = (1..=2)
        .map(|index| {
            let shard = format!("{index}/2");
            sandbox.sprag_with(&[("SPRAG_SHARD", &shard)], &["run", "--quick", "--record", "--shard"]).expect(0).err
        })
        .collect();
    let empty: Vec<&String> = runs.iter().filter(|err| err.contains("nothing to measure or to record")).collect();
    assert_eq!((empty.len(), sandbox.records("main").len()), (1, 1), "{runs:?}");
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.ends(0, &["check"]);
}

#[test]
fn what_is_no_shard_is_refused() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag_with(&[("SPRAG_SHARD", "2")], &["run", "--quick", "--shard"]).expect(2);
    ended.says(&["SPRAG_SHARD: `2` is not a shard", "--shard i/n", "STRATEGY_JOB_INDEX"]);
    assert!(sandbox.records("HEAD").is_empty(), "it measured all the same");
}
