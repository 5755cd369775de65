//! `sprag schema`: the JSON Schema of every file that Sprag writes.

use std::io::Write;

use serde_json::Value;

use super::{Advice, Exit, doctor, kernels, text};
use crate::cli::SchemaArgs;
use sprag_base::json;
use sprag_evidence::fixture::Fixture;
use sprag_evidence::manifest::Manifest;
use sprag_formats::compat::apex_x::schema as seed;
use sprag_formats::{custom_schema, json_lines};
use sprag_model::autotune::Store;
use sprag_model::baseline::Baseline;
use sprag_model::baseline::diff::BaselineDiffs;
use sprag_model::baseline::list::BaselineList;
use sprag_model::calibration::Calibration;
use sprag_model::checklist::FilledChecklist;
use sprag_model::event_record::EventRecord;
use sprag_model::fsck::FsckReport;
use sprag_model::history_log::{HistoryLog, HistoryRoot};
use sprag_model::proof::Proof;
use sprag_model::statement::{Envelope, Statement};
use sprag_model::{record, schema};
use sprag_pipeline::compare;
use sprag_report::{gate, trend};

/// A file that is described.
struct Published {
    /// The name of the schema: the file and its version.
    name: &'static str,
    title: &'static str,
    schema: fn() -> Value,
}

/// Every file that Sprag writes for others to read, and the one that it asks other programs to write. A version stays
/// when a newer one comes: its files are read for ever.
const SCHEMAS: [Published; 33] = [
    Published {
        name: "run-1",
        title: "A run record under history/v1, version 1",
        schema: || record::schema(1).expect("the version is known"),
    },
    Published {
        name: "run-2",
        title: "A run record under history/v1, version 2",
        schema: || record::schema(2).expect("the version is known"),
    },
    Published { name: "event-1", title: "An event record under history/v1/_events", schema: EventRecord::schema },
    Published { name: "baseline-1", title: "A file under baselines/", schema: Baseline::schema_1 },
    Published { name: "baseline-2", title: "A file under baselines/, version 2", schema: Baseline::schema },
    Published {
        name: "baseline-list-1",
        title: "What `sprag baseline list --json` prints",
        schema: BaselineList::schema,
    },
    Published {
        name: "baseline-diff-1",
        title: "What `sprag baseline diff --json` prints",
        schema: BaselineDiffs::schema,
    },
    Published { name: "autotune-1", title: "Kept choices of the tuner, .sprag/autotune.json", schema: Store::schema },
    Published {
        name: "metrics-1",
        title: "The report of a program that measures itself, as a suite of the format `custom` reads it",
        schema: custom_schema::schema,
    },
    Published { name: "export-1", title: "A line of `sprag export jsonl`", schema: json_lines::schema },
    Published {
        name: "history-log-1",
        title: "What `sprag history log --json` prints",
        schema: schema::for_type::<HistoryLog>,
    },
    Published {
        name: "history-root-1",
        title: "What `sprag history root --json` prints",
        schema: schema::for_type::<HistoryRoot>,
    },
    Published {
        name: "history-fsck-1",
        title: "What `sprag history fsck --json` prints",
        schema: schema::for_type::<FsckReport>,
    },
    Published {
        name: "replay-manifest-1",
        title: "A manifest of `sprag replay record`",
        schema: schema::for_type::<Manifest>,
    },
    Published {
        name: "release-checklist-1",
        title: "A release's checklist.json, as `sprag release` fills it",
        schema: schema::for_type::<FilledChecklist>,
    },
    Published {
        name: "release-statement-1",
        title: "A release's statement.json: an in-toto Statement v1 with the predicate test-result",
        schema: schema::for_type::<Statement>,
    },
    Published {
        name: "release-envelope-1",
        title: "A release's statement.dsse.json: the signed statement",
        schema: schema::for_type::<Envelope>,
    },
    Published {
        name: "replay-fixture-1",
        title: "A fixture of `sprag replay record`",
        schema: schema::for_type::<Fixture>,
    },
    Published { name: "history-proof-1", title: "A proof of `sprag history prove`", schema: schema::for_type::<Proof> },
    Published { name: "doctor-1", title: "What `sprag doctor --json` prints", schema: doctor::schema },
    Published { name: "check-1", title: "What `--report json=PATH` writes of a gate", schema: gate::gate_schema },
    Published {
        name: "compare-1",
        title: "What `sprag compare --json` prints",
        schema: || schema::frozen(include_str!("../../../schemas/compare-1.json")),
    },
    Published { name: "compare-2", title: "What `sprag compare --measure --json` prints", schema: compare::schema },
    Published {
        name: "calibration-1",
        title: "What `sprag check --calibrate --json` prints",
        schema: schema::for_closed_type::<Calibration>,
    },
    Published { name: "trend-1", title: "What `sprag trend --format json` prints", schema: trend::schema },
    Published {
        name: "kernels-compile-1",
        title: "What `sprag kernels compile --json` prints",
        schema: kernels::compile_schema,
    },
    Published {
        name: "kernels-check-1",
        title: "What `sprag kernels check --json` prints",
        schema: kernels::check_schema,
    },
    Published { name: "apex-x-cpu-report-1", title: "The report of the seed's CPU suite", schema: seed::cpu },
    Published { name: "apex-x-gpu-report-1", title: "The report of the seed's GPU suite", schema: seed::gpu },
    Published { name: "apex-x-trt-report-1", title: "The report of the seed's TensorRT sweep", schema: seed::trt },
    Published { name: "apex-x-baseline-1", title: "A baseline of the seed", schema: seed::baseline },
    Published {
        name: "apex-x-summary-1",
        title: "The summary of a comparison, as the seed writes it",
        schema: seed::summary,
    },
    Published {
        name: "apex-x-trend-1",
        title: "The trend of a comparison, as the seed writes it",
        schema: seed::trend,
    },
];

pub(super) fn run(args: &SchemaArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let Some(name) = &args.name else {
        let rows: Vec<Vec<String>> =
            SCHEMAS.iter().map(|one| vec![one.name.to_owned(), one.title.to_owned()]).collect();
        write!(out, "{}", text::columns(&rows, &[]))?;
        return Ok(Exit::Done);
    };
    let Some(one) = SCHEMAS.iter().find(|one| one.name == name) else {
        let message = format!("there is no schema `{}`", text::printable(name));
        return Err(Advice { message, hint: "`sprag schema` lists them".to_owned() }.into());
    };
    let schema = schema::published(one.name, one.title, (one.schema)());
    writeln!(out, "{}", json::to_indented(&schema))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_schema_is_one() {
        let names: BTreeSet<&str> = SCHEMAS.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), SCHEMAS.len());
        for one in &SCHEMAS {
            let schema = schema::published(one.name, one.title, (one.schema)());
            if let Err(error) = jsonschema::meta::validate(&schema) {
                panic!("{}: {error}", one.name);
            }
            for wrong in [serde_json::json!([]), serde_json::json!({}), serde_json::json!({ "schema_version": 99 })] {
                assert!(!jsonschema::is_valid(&schema, &wrong), "{} takes {wrong}", one.name);
            }
        }
    }
}
