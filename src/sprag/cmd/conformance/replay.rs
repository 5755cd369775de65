//! Cases of `replay_golden`: what a fixture comes to, its trace and its manifest; all exact.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use super::case::{Fields, Form, Stop, judge, unknown};
use crate::cmd::replay::{Played, play};
use sprag_base::digest::sha256_hex;
use sprag_base::json;
use sprag_evidence::fixture::Fixture;

/// What a case has of a fixture.
const FIELDS: [&str; 5] = ["name", "seed", "mode", "config", "inputs"];

pub(super) fn run(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| -> Result<Fixture, Stop> {
        let fields = FIELDS.into_iter().map(|name| Ok((name.to_owned(), case.get(name)?.clone())));
        let fixture = Value::Object(fields.collect::<Result<Map<String, Value>>>()?);
        Ok(serde_json::from_value(fixture).context("it is no fixture")?)
    };
    let compute = |_, fixture: &Fixture| {
        let played = play(fixture, "trace.json").map_err(|error| Stop::Refused(format!("{error:#}")))?;
        let elsewhere = play(fixture, "elsewhere/trace.json").map_err(|error| Stop::Refused(format!("{error:#}")))?;
        if played.expected != elsewhere.expected {
            return Err(Stop::Unreadable(anyhow::anyhow!("it hangs on where the trace lies, or on the time")));
        }
        Ok(played)
    };
    judge(case, &FIELDS[1..], Form::ONE, read, compute, |name, expected, got: &Played| {
        let text = |value: &str| Value::from(value);
        let got = match name {
            "summary" => Value::Object(got.expected.summary.clone()),
            "trace" => got.trace.to_value(),
            "trace_sha256" => text(&got.expected.trace_sha256),
            "trace_file_text" => text(&got.trace.to_file()),
            "trace_file_sha256" => text(&sha256_hex(got.trace.to_file().as_bytes())),
            "config_sha256" => text(&got.manifest.config_sha256),
            "manifest_sha256" => text(&got.expected.manifest_sha256),
            _ => return unknown(name),
        };
        let [expected, got] = [expected, &got].map(json::to_canonical);
        ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        Ok(())
    })
}
