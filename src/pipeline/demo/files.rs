//! The files of the generated project beside its code: baselines, a checklist, the list of releases, and waivers.

use chrono::{DateTime, TimeDelta, Utc};

use super::machines::BENCHES;
use crate::error::Context as _;
use sprag_analysis::reference;
use sprag_analysis::reference::Level;
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::Author;
use sprag_model::baseline::{Acceptance, Baseline};
use sprag_model::rule::Policy;
use sprag_model::run::{RecordedRun, Run, RunStatus};

/// A baseline for the suite `cpu` on each class of machine: path and content. Each is what the newest run and the sessions
/// before it come to, taken by `author` at `time`.
pub(super) fn baselines(runs: &[Run], author: &Author, time: DateTime<Utc>) -> crate::Result<Vec<(String, String)>> {
    let machines = BENCHES.iter().filter(|bench| bench.suite == "cpu").map(|bench| bench.machine());
    machines
        .map(|machine| {
            let of_machine = runs.iter().filter(|run| run.machine == machine && run.status == RunStatus::Ok);
            let baseline =
                take(of_machine).with_context(|| format!("no runs of `{}` to take a baseline from", machine.name))?;
            let why = "v0.3.0 is released: this is what later work is held to".to_owned();
            let by = format!("{} <{}>", author.name, author.email);
            let accepted = Acceptance { by, at_utc: time, why, replaces: None, metrics: None };
            let baseline = Baseline { accepted: Some(accepted), ..baseline };
            Ok((Baseline::path(&baseline.suite, &baseline.machine_class), baseline.to_json()))
        })
        .collect()
}

fn take<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Baseline> {
    let recorded = |run: &Run| {
        let (id, path, _) = run.to_record();
        RecordedRun { path, id, run: run.clone() }
    };
    let mut all: Vec<RecordedRun> = runs.map(recorded).collect();
    let newest = all.pop()?;
    let alike = |one: &&RecordedRun| one.run.environment.key == newest.run.environment.key;
    let before: Vec<&RecordedRun> = all.iter().filter(alike).collect();
    reference::baseline(&[&newest], &before, Level::Joined, &Policy::default())
}

/// How long a waiver holds.
const WAIVED: TimeDelta = TimeDelta::days(60);

const CHECKLIST: &str = r#"# What must hold before a release goes. This file holds no status: each is derived by the rule of its item.
schema_version = 1

[[item]]
id = "cpu_perf_regression"
title = "No CPU kernel got slower"
rule = "suite_verdict"
suite = "cpu"
producer = "sprag weekly"

[[item]]
id = "gpu_perf_regression"
title = "No GPU kernel got slower"
targets = ["torch", "triton", "tensorrt"]
rule = "suite_verdict"
suite = "gpu"
producer = "sprag weekly"

[[item]]
id = "runtime_backend_parity"
title = "Every CPU kernel gives what its reference gives"
rule = "parity"
suite = "cpu"
producer = "sprag weekly"

[[item]]
id = "runtime_capability_transparency"
title = "What measured is known"
rule = "environment"
suite = "cpu"
producer = "sprag weekly"

[[item]]
id = "events"
title = "No regression is open"
rule = "events_resolved"
producer = "sprag trend"

[[item]]
id = "coverage"
title = "Every CPU series can be judged"
rule = "coverage"
suites = ["cpu"]
producer = "sprag weekly"

[[item]]
id = "readme"
title = "Users can read what this is"
rule = "file"
artifacts = [{ key = "readme", path = "README.md" }]
producer = "an editor"

[rollback]
triggers = ["p95 of a kernel is above what the release before had, by more than its tolerance"]
steps = ["install the release before", "measure it with `sprag weekly`, and hold its p95 against this one"]

[[sign_off]]
role = "Release owner"

[[sign_off]]
role = "Reviewer"
"#;

/// The files: path and content. One release is that commit; the next is not yet tagged. `author` waives at `time` what is
/// known of the first.
pub(super) fn release(released: &str, author: &Author, time: DateTime<Utc>) -> Vec<(String, String)> {
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d").to_string();
    let by = format!("{} <{}>", author.name, author.email);
    let releases = format!(
        "schema_version = 1\n\n[[release]]\nname = \"v0.4.0\"\ncommit = \"{released}\"\nsigned = [\n    \
         {{ role = \"Release owner\", owner = \"{by}\", date = \"{}\" }},\n]\n\n[[release]]\nname = \"v0.5.0\"\n\
         previous = \"v0.4.0\"\ntargets = [\"cpu\", \"triton\"]\n",
        day(time)
    );
    let waiver = |item: &str, reason: &str| {
        format!(
            "[[waive]]\nrelease = \"v0.4.0\"\nitem = \"{item}\"\nreason = \"{reason}\"\nauthor = \"{by}\"\ndate = \"{}\"\n\
             commit = \"{released}\"\nexpires = \"{}\"\n",
            day(time),
            day(time + WAIVED)
        )
    };
    let ledger = [
        waiver("cpu_perf_regression", "What cannot be judged on one machine was measured by hand, and did not move"),
        waiver("events", "The drift of infer is known, and its cure is not ready"),
    ];
    vec![
        (CHECKLIST_PATH.to_owned(), CHECKLIST.to_owned()),
        (RELEASES_PATH.to_owned(), releases),
        ("ledger/v0.4.0.toml".to_owned(), ledger.join("\n")),
    ]
}
