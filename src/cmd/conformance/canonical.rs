//! Cases of `replay_manifest`: the canonical text of a value and its SHA-256, exact. Manifests are not built yet.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::case::{Fields, Form, Outcome, judge, unknown};
use super::family::NOT_BUILT;
use crate::model::canonical;
use crate::model::digest::sha256_hex;

pub(super) fn run(case: &Value) -> Result<Outcome> {
    match Fields::any(case, "the case")?.text("kind")? {
        "canonical_json" => run_text(case),
        "manifest" => Ok(Outcome::Skipped(NOT_BUILT)),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

fn run_text(case: &Value) -> Result<Outcome> {
    let compute = |_, value: &Value| Ok(canonical::to_string(value));
    let read = |case: &Fields<'_>| Ok(case.get("value")?.clone());
    judge(case, &["kind", "value"], Form::ONE, read, compute, |name, expected, text: &String| {
        let got = match name {
            "canonical" => text.clone(),
            "sha256" => sha256_hex(text.as_bytes()),
            _ => return unknown(name),
        };
        ensure!(expected.as_str() == Some(&got), "`{name}`: expected {expected}, got {got:?} (exact)");
        Ok(())
    })
}
