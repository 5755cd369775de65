//! Cases of `replay_manifest`: the canonical text of a value and its SHA-256, and whole manifests; all exact.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

use super::case::{Fields, Form, Stop, judge, unknown};
use sprag_base::digest::sha256_hex;
use sprag_base::json;
use sprag_evidence::manifest::{Artifact, Manifest};

pub(super) fn run(case: &Value) -> Result<()> {
    match Fields::any(case, "the case")?.text("kind")? {
        "canonical_json" => run_text(case),
        "manifest" => run_manifest(case),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

/// The seed, which may be none, the settings, and the files.
type Inputs = (i64, Map<String, Value>, BTreeMap<String, Artifact>);

fn run_manifest(case: &Value) -> Result<()> {
    let compute = |_, (seed, config, artifacts): &Inputs| {
        let seed = u64::try_from(*seed).map_err(|_| Stop::Refused(format!("the seed {seed} is below zero")))?;
        let manifest = Manifest::of(seed, config.clone(), artifacts.clone());
        let read = Manifest::read(&manifest.to_file()).map_err(anyhow::Error::from)?;
        if read != manifest {
            return Err(Stop::Unreadable(anyhow::anyhow!("the manifest is not what its file says")));
        }
        Ok(manifest)
    };
    judge(
        case,
        &["kind", "seed", "config", "artifacts"],
        Form::ONE,
        inputs,
        compute,
        |name, expected, got: &Manifest| {
            let (expected, got) = match name {
                "manifest" => (json::to_canonical(expected), json::to_canonical(got)),
                "hashed_bytes_of_manifest" => {
                    (expected.as_str().context("it is no text")?.to_owned(), got.hashed_text())
                }
                _ => return unknown(name),
            };
            ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
            Ok(())
        },
    )
}

fn inputs(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let object = |name: &str| -> Result<Map<String, Value>> {
        Ok(case.get(name)?.as_object().with_context(|| format!("`{name}` is no object"))?.clone())
    };
    let seed = case.get("seed")?.as_i64().context("`seed` is no whole number")?;
    let mut artifacts = BTreeMap::new();
    for (name, artifact) in object("artifacts")? {
        let fields = Fields::of(&artifact, "an artifact", &["path", "content_utf8"])?;
        let sha256 = sha256_hex(fields.text("content_utf8")?.as_bytes());
        artifacts.insert(name, Artifact { path: fields.text("path")?.to_owned(), sha256 });
    }
    Ok((seed, object("config")?, artifacts))
}

fn run_text(case: &Value) -> Result<()> {
    let compute = |_, value: &Value| Ok(json::to_canonical(value));
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
