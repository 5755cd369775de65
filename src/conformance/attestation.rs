//! Cases of `attestation`: runs of Apex-X's tool with the files that it finds; what it writes and prints, exact.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::case::judge;
use crate::expected::{Results, exactly};
use crate::failure::Outcome;
use sprag_base::digest::sha256_hex;
use sprag_formats::compat::apex_x::attestation::{
    ARTIFACTS, Attestation, AttestationSummary, GATES, Grade, Metadata, ReleaseFile, TARGETS,
};

/// What cases hold in place of a time.
const TIME: &str = "__TIMESTAMP__";

type Texts = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    files_utf8: Texts,
    empty_dirs: Vec<String>,
    args: Vec<String>,
    env: Texts,
}

pub(crate) fn run(case: Value) -> Outcome {
    judge(case, |case: &Case| Ok(case.follow()))
}

/// How Apex-X's tool ends: its exit code, the last line of its errors, and what it prints and writes.
fn ended(exit_code: i32, last_line: String, stdout: String, files: Option<[String; 2]>) -> Results {
    vec![
        ("exit_code", exactly(exit_code)),
        ("stdout", exactly(stdout)),
        ("stderr_last_line", exactly(last_line)),
        ("outputs_written", exactly(files.is_some())),
        ("attestation_json_text", exactly(files.as_ref().map(|[json, _]| json))),
        ("attestation_md_text", exactly(files.as_ref().map(|[_, markdown]| markdown))),
    ]
}

impl Case {
    fn follow(&self) -> Results {
        let options = match Options::read(&self.args) {
            Ok(options) => options,
            Err(message) => {
                return ended(2, format!("release_attestation.py: error: {message}"), String::new(), None);
            }
        };
        // To Apex-X an unknown status is not a fault of usage, but an exception.
        let statuses = options.mapping("--gate-status").into_iter();
        let gates: Option<BTreeMap<String, Grade>> =
            statuses.map(|(key, word)| Some((key, Grade::parse(&word)?))).collect();
        let Some(gates) = gates else { return ended(1, String::new(), String::new(), None) };
        let paths = options.mapping("--artifact-path");
        let file = |path: &str| {
            let path = normal(path);
            let content = self.files_utf8.get(&path).filter(|_| !self.empty_dirs.contains(&path));
            ReleaseFile { content: content.map(|text| (sha256_hex(text.as_bytes()), text.len() as u64)), path }
        };
        let attestation = Attestation {
            metadata: options.metadata(&self.env),
            files: ARTIFACTS.iter().map(|kind| file(paths.get(kind.key).map_or(kind.path, String::as_str))).collect(),
            gates,
            evidence: options.mapping("--gate-evidence"),
        };
        let AttestationSummary { missing, failed, pending, .. } = attestation.summary();
        let [json, md] = ["json", "md"].map(|form| {
            let default = format!("artifacts/release/release_attestation.{form}");
            options.single.get(&format!("--output-{form}")).cloned().unwrap_or(default)
        });
        let stdout = format!(
            "release_attestation status={} required_failed={missing} gates_failed={failed} gates_pending={pending} \
             json={json} md={md}\n",
            attestation.summary().word()
        );
        let exit_code = if options.is_strict && missing + failed > 0 { 2 } else { 0 };
        ended(exit_code, String::new(), stdout, Some([attestation.to_json(), attestation.to_markdown()]))
    }
}

#[derive(Default)]
struct Options {
    single: Texts,
    mappings: BTreeMap<String, Texts>,
    is_strict: bool,
}

impl Options {
    fn read(args: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let artifacts: Vec<&str> = ARTIFACTS.iter().map(|kind| kind.key).collect();
        let gates: Vec<&str> = GATES.iter().map(|gate| gate.0).collect();
        let mut rest = args.iter();
        while let Some(argument) = rest.next() {
            if argument == "--strict" {
                options.is_strict = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("argument {argument}: expected one argument"))?;
            let keys = match argument.as_str() {
                "--artifact-path" => &artifacts,
                "--gate-status" | "--gate-evidence" => &gates,
                _ => {
                    options.single.insert(argument.clone(), value.clone());
                    continue;
                }
            };
            let (key, value) = mapping(argument, value, keys)?;
            options.mappings.entry(argument.clone()).or_default().insert(key, value);
        }
        match options.single.get("--runtime-target") {
            Some(target) if !TARGETS.contains(&target.as_str()) => {
                Err(format!("argument --runtime-target: invalid choice: '{target}'"))
            }
            _ => Ok(options),
        }
    }

    fn mapping(&self, option: &str) -> Texts {
        self.mappings.get(option).cloned().unwrap_or_default()
    }

    fn metadata(&self, env: &Texts) -> Metadata {
        let take = |option: &str, variable: &str, usual: &str| {
            self.single.get(option).or_else(|| env.get(variable)).map_or_else(|| usual.to_owned(), Clone::clone)
        };
        let from_env = || {
            let [server, repository, id] =
                ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"].map(|variable| env.get(variable));
            Some(format!("{}/{}/actions/runs/{}", server?, repository?, id?))
        };
        Metadata {
            release_tag: take("--release-tag", "GITHUB_REF_NAME", "unversioned"),
            commit_sha: take("--commit-sha", "GITHUB_SHA", "unknown"),
            time: TIME.to_owned(),
            release_owner: take("--release-owner", "GITHUB_ACTOR", "unknown"),
            runtime_target: take("--runtime-target", "", "cpu"),
            ci_run_url: self.single.get("--ci-run-url").cloned().or_else(from_env),
        }
    }
}

/// A mapping `key=value` of an option, whose key must be one of `keys`.
fn mapping(option: &str, text: &str, keys: &[&str]) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(format!("invalid mapping '{text}' for {option}; expected key=value"));
    }
    if !keys.contains(&key) {
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        return Err(format!("unknown key '{key}' for {option}; valid keys: {}", sorted.join(", ")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_pathlib_writes_them() {
        assert_eq!(["./a//b", "/a/", "", "a/../b"].map(normal), ["a/b", "/a", ".", "a/../b"]);
    }
}
