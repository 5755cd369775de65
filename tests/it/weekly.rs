//! `sprag weekly`: measure, record, analyse, render, report.

use crate::sandbox::{Sandbox, assert_contains};

#[test]
fn a_weekly_build_measures_records_and_renders() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.ends(0, &["weekly", "--quick"]).prints(&["tile_ssm_scan", "Site: [project]/_site/index.html"]);

    let records = sandbox.records("main");
    let [record] = &records[..] else { panic!("one record: {records:?}") };
    assert!(record.starts_with("history/v1/cpu/") && record.contains(&head[..12]), "{record}");
    let run = sandbox.json(record);
    assert_eq!(run["commit"]["sha"], head.as_str());
    assert_eq!(run["commit"]["dirty"], false);
    assert_eq!(run["status"], "ok");
    assert!(run["benchmarks"][0]["metrics"][0]["value"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert_ne!(run["benchmarks"][0]["parity"]["status"], "mismatch");

    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "the working tree is not clean");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), format!("sprag: cpu ok at {}", &head[..12]));
    assert_contains(&sandbox.read("_site/index.html"), &["tile_ssm_scan"]);
    assert!(!sandbox.project.join(".sprag/pending").read_dir().is_ok_and(|mut files| files.next().is_some()));

    // The next run measures the same commit, not the one of the record.
    sandbox.ends(0, &["run", "--quick", "--record"]);
    assert_eq!(sandbox.records("main").iter().filter(|path| path.contains(&head[..12])).count(), 2);
}

#[test]
fn a_release_at_fault_holds_up_no_week() {
    let sandbox = Sandbox::new();
    let first = sandbox.git(&["rev-parse", "HEAD"]);
    let item = "[[item]]\nid = \"events\"\ntitle = \"T\"\nrule = \"events_resolved\"\nproducer = \"sprag trend\"\n";
    sandbox.write("release/checklist.toml", &format!("schema_version = 1\n{item}"));
    let releases =
        format!("schema_version = 1\n[[release]]\nname = \"v1\"\ncommit = \"{first}\"\n[[release]]\nname = \"v2\"\n");
    sandbox.commit_with("release/releases.toml", &releases, "List the releases");
    let moved = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["tag", "v1", &moved]);
    sandbox.ends(0, &["weekly", "--quick"]).says(&["the release `v1` is no-go: the tag `v1` moved"]);
    let records = sandbox.records("main");
    assert!(matches!(&records[..], [record] if record.contains(&moved[..12])), "{records:?}");
    assert_contains(&sandbox.read("_site/index.html"), &["tile_ssm_scan"]);
    let page = sandbox.read("_site/release/v1.html");
    assert_contains(&page, &["No-go", &first, &moved]);
    let page = sandbox.read("_site/release/v2.html");
    assert!(page.contains("Not yet tagged") && !page.contains("moved"), "{page}");
}

#[test]
fn runs_of_one_build_share_a_commit_that_names_them() {
    let sandbox = Sandbox::new();
    sandbox.append("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n");
    sandbox.commit("Add the GPU suite");
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.ends(0, &["weekly", "--quick"]).says(&["recorded 2 runs on main"]);
    let subject = sandbox.git(&["log", "-1", "--format=%s"]);
    assert_eq!(subject, format!("sprag: cpu ok, gpu skipped at {}", &head[..12]));
}

#[test]
fn the_gpu_suite_is_there_with_its_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n");
    sandbox.ends(5, &["weekly", "--quick"]).prints(&["skipped"]);
    let records = sandbox.records("main");
    let run = sandbox.json(&records[0]);
    assert_eq!(run["status"], "skipped");
    let reason = run["reason"].as_str().expect("a skipped run says why");
    assert!(reason.starts_with("cuda_") || reason.starts_with("gpu_"), "{reason}");
    assert_eq!(run["commit"]["dirty"], true, "sprag.toml was changed and not committed");
}

#[test]
fn a_dirty_tree_is_recorded_as_such() {
    let sandbox = Sandbox::new();
    sandbox.append("sprag.toml", "\n# changed\n");
    sandbox.ends(0, &["run", "--quick", "--output-run", "run.json"]).prints(&["(changed files)"]);
    assert_eq!(sandbox.json("run.json")["commit"]["dirty"], true);
    assert!(sandbox.records("HEAD").is_empty(), "nothing was to be recorded");
}

#[test]
fn a_history_of_its_own_leaves_the_branch_alone() {
    let sandbox = Sandbox::new();
    sandbox.append("sprag.toml", "[history]\nref = \"perf\"\n");
    sandbox.commit("Keep records apart");
    let head = sandbox.git(&["rev-parse", "main"]);
    sandbox.ends(0, &["weekly", "--quick"]);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), head);
    assert_eq!(sandbox.records("perf").len(), 1);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
