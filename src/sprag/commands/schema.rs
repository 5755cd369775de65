//! `sprag schema`: the JSON Schema of every file that Sprag writes.

use std::io::Write;

use serde_json::Value;

use sprag_base::json;
use sprag_evidence::fixture::Fixture;
use sprag_evidence::manifest::Manifest;
use sprag_formats::compat::apex_x::schema as seed;
use sprag_formats::{custom, json_lines};
use sprag_model::autotune::TuneStore;
use sprag_model::calibration::Calibration;
use sprag_model::checklist::FilledChecklist;
use sprag_model::fsck::FsckReport;
use sprag_model::{
    Archive, Baseline, BaselineDiffs, BaselineList, Envelope, EventRecord, HistoryLog, HistoryRoot, Proof, Retraction,
    Statement, record, schema,
};
use sprag_pipeline::bisect::BisectReport;
use sprag_pipeline::config::Config;
use sprag_pipeline::error::Exit;
use sprag_pipeline::{Result, compare, dataset, refuse, text};
use sprag_report::{gate, trend};

/// Name with version, title, and schema.
type Published = (&'static str, &'static str, fn() -> Value);

/// Every file that Sprag writes for others, or reads of them. A version stays when a newer one comes: it is read forever.
const SCHEMAS: [Published; 39] = [
    ("config-1", "The configuration of a project, sprag.toml", Config::schema),
    ("run-1", "A run record under history/v1, version 1", || record::schema(1).expect("the version is known")),
    ("run-2", "A run record under history/v1, version 2", || record::schema(2).expect("the version is known")),
    ("event-1", "An event record under history/v1/_events", || {
        schema::frozen(include_str!("../../../schemas/event-1.json"))
    }),
    ("event-2", "An event record under history/v1/_events, version 2", EventRecord::schema),
    ("archive-1", "A note under history/v1/_archive", schema::for_type::<Archive>),
    ("retraction-1", "A record under history/v1/_retracted or _restored", schema::for_type::<Retraction>),
    ("baseline-1", "A file under baselines/", Baseline::schema_1),
    ("baseline-2", "A file under baselines/, version 2", Baseline::schema),
    ("baseline-list-1", "What `sprag baseline list --json` prints", BaselineList::schema),
    ("baseline-diff-1", "What `sprag baseline diff --json` prints", BaselineDiffs::schema),
    ("autotune-1", "Saved choices of the tuner, .sprag/autotune.json", TuneStore::schema),
    (
        "metrics-1",
        "The report of a program that measures itself, as a suite of the format `custom` reads it",
        custom::schema,
    ),
    ("export-1", "A line of `sprag export jsonl`", json_lines::schema),
    ("series-manifest-2", "The manifest.json of `sprag export series`", schema::for_type::<dataset::Manifest>),
    ("history-log-1", "What `sprag history log --json` prints", schema::for_type::<HistoryLog>),
    ("history-root-1", "What `sprag history root --json` prints", schema::for_type::<HistoryRoot>),
    ("history-fsck-1", "What `sprag history fsck --json` prints", schema::for_type::<FsckReport>),
    ("replay-manifest-1", "A manifest of `sprag replay record`", schema::for_type::<Manifest>),
    (
        "release-checklist-1",
        "A release's checklist.json, as `sprag release` fills it",
        schema::for_type::<FilledChecklist>,
    ),
    (
        "release-statement-1",
        "A release's statement.json: an in-toto Statement v1 with the predicate test-result",
        schema::for_type::<Statement>,
    ),
    ("release-envelope-1", "A release's statement.dsse.json: the signed statement", schema::for_type::<Envelope>),
    ("replay-fixture-1", "A fixture of `sprag replay record`", schema::for_type::<Fixture>),
    ("history-proof-1", "A proof of `sprag history prove`", schema::for_type::<Proof>),
    ("doctor-1", "What `sprag doctor --json` prints", sprag_measure::doctor::findings::schema),
    ("check-1", "What `--report json=PATH` writes of a gate", gate::gate_schema),
    ("bisect-1", "What `sprag bisect --format json` prints", schema::for_type::<BisectReport>),
    ("compare-1", "What `sprag compare --json` prints", || {
        schema::frozen(include_str!("../../../schemas/compare-1.json"))
    }),
    ("compare-2", "What `sprag compare --measure --json` prints", compare::schema),
    ("calibration-1", "What `sprag check --calibrate --json` prints", schema::for_closed_type::<Calibration>),
    ("trend-1", "What `sprag trend --format json` prints", trend::schema),
    ("kernels-compile-1", "What `sprag kernels compile --json` prints", || {
        schema::frozen(include_str!("../../../schemas/kernels-compile-1.json"))
    }),
    ("kernels-check-1", "What `sprag kernels check --json` prints", || {
        schema::frozen(include_str!("../../../schemas/kernels-check-1.json"))
    }),
    ("apex-x-cpu-report-1", "The report of Apex-X's CPU suite", seed::cpu),
    ("apex-x-gpu-report-1", "The report of Apex-X's GPU suite", seed::gpu),
    ("apex-x-trt-report-1", "The report of Apex-X's TensorRT sweep", seed::trt),
    ("apex-x-baseline-1", "A baseline of Apex-X", seed::baseline),
    ("apex-x-summary-1", "The summary of a comparison, as Apex-X writes it", seed::summary),
    ("apex-x-trend-1", "The trend of a comparison, as Apex-X writes it", seed::trend),
];

pub(super) fn run(name: Option<&str>, out: &mut dyn Write) -> Result<Exit> {
    let Some(name) = name else {
        let rows: Vec<Vec<String>> =
            SCHEMAS.iter().map(|(name, title, _)| vec![(*name).to_owned(), (*title).to_owned()]).collect();
        write!(out, "{}", text::columns(&rows, &[]))?;
        return Ok(Exit::Done);
    };
    let Some((name, title, schema)) = SCHEMAS.iter().find(|(other, ..)| *other == name) else {
        return refuse(format!("there is no schema `{}`", text::printable(name)), "`sprag schema` lists them");
    };
    let schema = schema::published(name, title, schema());
    writeln!(out, "{}", json::to_indented(&schema))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_schema_is_valid() {
        let names: BTreeSet<&str> = SCHEMAS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names.len(), SCHEMAS.len());
        for (name, title, schema) in &SCHEMAS {
            let schema = schema::published(name, title, schema());
            if let Err(error) = jsonschema::meta::validate(&schema) {
                panic!("{name}: {error}");
            }
            for wrong in [serde_json::json!([]), serde_json::json!({}), serde_json::json!({ "schema_version": 99 })] {
                // An empty `sprag.toml` is one.
                let is_right = *name == "config-1" && wrong == serde_json::json!({});
                assert_eq!(jsonschema::is_valid(&schema, &wrong), is_right, "{name}: {wrong}");
            }
        }
    }
}
