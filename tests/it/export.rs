//! `sprag export`: every form of one history, and what it refuses.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;
use sprag_model::flat::{BENCHMARKS, ColumnKind, SAMPLES, Table};

use crate::demo::shop;
use crate::sandbox::{Sandbox, assert_contains, files};
use crate::schemas::follows;

fn export(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.ends(0, &[&["-C", "shop", "export"][..], arguments].concat()).out
}

/// One test, since the demo takes its time.
#[test]
fn the_history_of_the_demo_is_exported() {
    let sandbox = shop();
    every_form_gives_the_same(&sandbox);
    a_folder_that_is_not_ours_stays_and_an_earlier_export_is_replaced(&sandbox);
    a_reader_that_has_seen_enough_is_no_error(&sandbox);
}

fn every_form_gives_the_same(sandbox: &Sandbox) {
    let lines = export(sandbox, &["jsonl"]);
    for line in lines.lines().take(20).chain(lines.lines().last()) {
        follows("export-1", line);
    }
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let benchmarks: BTreeSet<(&str, Option<&str>)> =
        rows.iter().map(|row| (row["run_id"].as_str().expect("an id"), row["series"].as_str())).collect();
    assert!(rows.len() > 1_000 && benchmarks.len() > 500, "{} {}", rows.len(), benchmarks.len());

    let flat = export(sandbox, &["csv"]);
    assert!(flat.starts_with("run_id,suite,series,kernel,variant,"), "{}", &flat[..100]);
    assert_eq!(flat.matches("\r\n").count(), benchmarks.len() + 1);
    let long = export(sandbox, &["csv", "--long"]);
    assert!(long.starts_with("suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params\r\n"));
    let metrics = export(sandbox, &["openmetrics"]);
    assert!(metrics.ends_with("# EOF\n") && metrics.contains("# UNIT sprag_time_seconds seconds\n"));

    let part = export(sandbox, &["jsonl", "--suite", "cpu", "--metric", "time", "--until", "2026-09-30"]);
    let expected = rows.iter().filter(|row| {
        let early = row["run_time"].as_str().is_some_and(|time| time < "2026-10-01");
        row["suite"] == "cpu" && row["metric"] == "time" && early
    });
    assert_eq!(part.lines().count(), expected.count());

    let printed = export(sandbox, &["jsonl", "--out", "values.jsonl"]);
    assert_contains(&printed, &["values.jsonl: "]);
    assert_eq!(sandbox.read("shop/values.jsonl"), lines);
    export(sandbox, &["parquet", "--out", "../first"]);
    export(sandbox, &["parquet", "--out", "../second"]);
    let first = files(&sandbox.project.join("first"));
    assert!(first == files(&sandbox.project.join("second")), "equal input gives other bytes");
    let has = |start: &str| first.iter().any(|(name, bytes)| name.starts_with(start) && bytes.starts_with(b"PAR1"));
    assert!(has("benchmarks/suite=cpu/year=2026/month=") && has("samples/suite=cpu/year=2026/month="));
}

fn a_folder_that_is_not_ours_stays_and_an_earlier_export_is_replaced(sandbox: &Sandbox) {
    sandbox.write("mine/thesis.tex", "x");
    let refused = sandbox.ends(2, &["-C", "shop", "export", "parquet", "--out", "../mine"]);
    refused.says(&["holds files that `sprag export parquet` did not write", "hint: name an empty folder"]);
    sandbox
        .ends(2, &["-C", "shop", "export", "parquet", "--out", "_site"])
        .says(&["holds the site of `sprag site`, which `sprag export parquet` does not replace"]);
    export(sandbox, &["parquet", "--out", "../out"]);
    let before = files(&sandbox.project.join("out")).len();
    export(sandbox, &["parquet", "--out", "../out", "--until", "2026-08-31"]);
    assert!(files(&sandbox.project.join("out")).len() < before, "months that were not asked for stay");
    sandbox.ends(2, &["-C", "shop", "export", "parquet"]).says(&["--out"]);
}

#[test]
fn an_empty_history_exports_its_header() {
    let sandbox = Sandbox::new();
    let ended = sandbox.ends(0, &["export", "csv"]).says(&["warning: no run of the history matches"]);
    assert_eq!(ended.out.lines().count(), 1);
}

fn a_reader_that_has_seen_enough_is_no_error(sandbox: &Sandbox) {
    let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_sprag"));
    export.args(["-C", "shop", "export", "jsonl"]).current_dir(&sandbox.project);
    let mut child = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sprag starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("sprag ends");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn the_columns_are_documented() {
    let document = include_str!("../../docs/EXPORT.md");
    for column in [BENCHMARKS, SAMPLES].iter().flat_map(Table::columns) {
        let kind = match column.kind {
            ColumnKind::Text => "text",
            ColumnKind::Small => "int32",
            ColumnKind::Integer => "int64",
            ColumnKind::Number => "double",
            ColumnKind::Time => "timestamp",
            ColumnKind::Flag => "boolean",
            ColumnKind::Numbers => "list of double",
        };
        let row = format!("| `{}` | {kind} | {} |", column.name, column.meaning);
        assert_contains(document, &[&row]);
    }
}
