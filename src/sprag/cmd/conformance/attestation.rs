//! Cases of `attestation`: whole runs of the seed's tool, with the files that it finds; what it writes and says, exact.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

use super::case::{Fields, each, unknown};
use sprag_base::digest::sha256_hex;
use sprag_formats::compat::apex_x::attestation::{ARTIFACTS, Attestation, FoundFile, GATES, Metadata, Status, TARGETS};

/// What cases hold in place of a time.
const TIME: &str = "__TIMESTAMP__";

/// How the seed's tool ended.
#[derive(Default)]
struct Ended {
    exit_code: i64,
    stdout: String,
    stderr_last_line: String,
    /// JSON and Markdown, by the path that they are written to.
    written: Vec<(String, String)>,
}

pub(super) fn run(case: &Value) -> Result<()> {
    let fields = Fields::of(case, "the case", &["name", "files_utf8", "empty_dirs", "args", "env", "expected"])?;
    let files = object(&fields, "files_utf8")?;
    let (env, dirs) = (object(&fields, "env")?, texts(fields.get("empty_dirs")?)?);
    let ended = follow(&texts(fields.get("args")?)?, &env, &files, &dirs);
    each("expected", fields.get("expected")?, |name, expected| {
        let written = |place: usize| ended.written.get(place).map_or(Value::Null, |one| Value::from(one.1.as_str()));
        let got = match name {
            "exit_code" => Value::from(ended.exit_code),
            "stdout" => Value::from(ended.stdout.as_str()),
            "stderr_last_line" => Value::from(ended.stderr_last_line.as_str()),
            "outputs_written" => Value::from(!ended.written.is_empty()),
            "attestation_json_text" => written(0),
            "attestation_md_text" => written(1),
            _ => return unknown(name),
        };
        ensure!(*expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        Ok(())
    })?;
    Ok(())
}

/// Does what the seed's tool does with these arguments, variables and files.
fn follow(args: &[String], env: &Texts, files: &Texts, dirs: &[String]) -> Ended {
    let refused = |message: String| Ended {
        exit_code: 2,
        stderr_last_line: format!("release_attestation.py: error: {message}"),
        ..Ended::default()
    };
    let (attestation, [json, md], is_strict) = match read(args, env, files, dirs) {
        Err(error) => return refused(error.to_string()),
        // A status that there is not is no fault of usage to the seed, but an exception.
        Ok((None, ..)) => return Ended { exit_code: 1, ..Ended::default() },
        Ok((Some(attestation), outputs, is_strict)) => (attestation, outputs, is_strict),
    };
    let summary = attestation.summary();
    Ended {
        exit_code: if is_strict && summary.missing + summary.failed > 0 { 2 } else { 0 },
        stdout: format!(
            "release_attestation status={} required_failed={} gates_failed={} gates_pending={} json={json} md={md}\n",
            summary.word(),
            summary.missing,
            summary.failed,
            summary.pending
        ),
        stderr_last_line: String::new(),
        written: vec![(json, attestation.to_json()), (md, attestation.to_markdown())],
    }
}

type Texts = BTreeMap<String, String>;

/// What the arguments ask for, absent where a status is none; where it is written; and whether it is strict.
fn read(
    args: &[String],
    env: &Texts,
    files: &Texts,
    dirs: &[String],
) -> Result<(Option<Attestation>, [String; 2], bool)> {
    let mut single: Texts = BTreeMap::new();
    let mut mappings: BTreeMap<&str, Texts> = BTreeMap::new();
    let mut is_strict = false;
    let mut rest = args.iter();
    let artifacts: Vec<&str> = ARTIFACTS.iter().map(|kind| kind.key).collect();
    let gates: Vec<&str> = GATES.iter().map(|gate| gate.0).collect();
    while let Some(argument) = rest.next() {
        if argument == "--strict" {
            is_strict = true;
            continue;
        }
        let value = rest.next().with_context(|| format!("argument {argument}: expected one argument"))?;
        let (option, keys) = match argument.as_str() {
            "--artifact-path" => ("--artifact-path", &artifacts),
            "--gate-status" => ("--gate-status", &gates),
            "--gate-evidence" => ("--gate-evidence", &gates),
            other => {
                single.insert(other.to_owned(), value.clone());
                continue;
            }
        };
        let (key, value) = mapping(option, value, keys)?;
        mappings.entry(option).or_default().insert(key, value);
    }
    let take = |option: &str, variable: &str, default: &str| {
        single.get(option).or_else(|| env.get(variable)).map_or_else(|| default.to_owned(), Clone::clone)
    };
    let from_env = || {
        let [server, repository, id] =
            ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"].map(|variable| env.get(variable));
        Some(format!("{}/{}/actions/runs/{}", server?, repository?, id?))
    };
    let metadata = Metadata {
        release_tag: take("--release-tag", "GITHUB_REF_NAME", "unversioned"),
        commit_sha: take("--commit-sha", "GITHUB_SHA", "unknown"),
        time: TIME.to_owned(),
        release_owner: take("--release-owner", "GITHUB_ACTOR", "unknown"),
        runtime_target: take("--runtime-target", "", "cpu"),
        ci_run_url: single.get("--ci-run-url").cloned().or_else(from_env),
    };
    if !TARGETS.contains(&metadata.runtime_target.as_str()) {
        bail!("argument --runtime-target: invalid choice: '{}'", metadata.runtime_target);
    }
    let mut of = |option: &str| mappings.remove(option).unwrap_or_default();
    let (paths, statuses, evidence) = (of("--artifact-path"), of("--gate-status"), of("--gate-evidence"));
    let found = ARTIFACTS.iter().map(|kind| {
        let path = normal(paths.get(kind.key).map_or(kind.path, String::as_str));
        let content = files.get(&path).filter(|_| !dirs.contains(&path));
        FoundFile { content: content.map(|text| (sha256_hex(text.as_bytes()), text.len() as u64)), path }
    });
    let files = found.collect();
    let gates: Option<BTreeMap<String, Status>> =
        statuses.into_iter().map(|(key, word)| Some((key, Status::parse(&word)?))).collect();
    let outputs = [
        take("--output-json", "", "artifacts/release/release_attestation.json"),
        take("--output-md", "", "artifacts/release/release_attestation.md"),
    ];
    Ok((gates.map(|gates| Attestation { metadata, files, gates, evidence }), outputs, is_strict))
}

/// A mapping `key=value` of an option, whose key must be known.
fn mapping(option: &str, text: &str, keys: &[&str]) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let (key, value) = (key.trim(), value.trim());
    ensure!(!key.is_empty() && !value.is_empty(), "invalid mapping '{text}' for {option}; expected key=value");
    if !keys.contains(&key) {
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        bail!("unknown key '{key}' for {option}; valid keys: {}", sorted.join(", "));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// A path as Python's pathlib writes it.
fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    match root.to_owned() + &parts.join("/") {
        empty if empty.is_empty() => ".".to_owned(),
        normal => normal,
    }
}

fn object(fields: &Fields<'_>, name: &str) -> Result<Texts> {
    let object: &Map<String, Value> =
        fields.get(name)?.as_object().with_context(|| format!("`{name}` is no object"))?;
    let text = |(key, value): (&String, &Value)| {
        Ok((key.clone(), value.as_str().with_context(|| format!("`{key}` of `{name}` is no text"))?.to_owned()))
    };
    object.iter().map(text).collect()
}

fn texts(value: &Value) -> Result<Vec<String>> {
    let all = value.as_array().context("it is no list")?;
    all.iter().map(|one| Ok(one.as_str().context("it is no text")?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_statuses_and_targets_are_read_as_the_seed_reads_them() {
        assert_eq!(["./a//b", "/a/", "", "a/../b"].map(normal), ["a/b", "/a", ".", "a/../b"]);
        let none = Texts::new();
        let ended = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|one| (*one).to_owned()).collect();
            follow(&args, &none, &none, &[])
        };
        assert_eq!(ended(&["--gate-status", "security_review=maybe"]).exit_code, 1);
        assert!(ended(&["--gate-status", "security_review=maybe"]).written.is_empty());
        assert_eq!(ended(&["--gate-status", "security_review = n/a "]).exit_code, 0);
        let refused = ended(&["--gate-status", "security_review="]);
        assert!(refused.exit_code == 2 && refused.stderr_last_line.contains("invalid mapping"));
        assert!(ended(&["--runtime-target", "rocm"]).stderr_last_line.contains("invalid choice"));
        // A release for TensorRT needs its engine.
        let json = &ended(&["--runtime-target", "tensorrt"]).written[0].1;
        assert!(json.contains("\"required_artifacts_total\": 8"), "{json}");
    }
}
