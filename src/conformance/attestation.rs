//! Cases of `attestation`: runs of the seed's tool with the files that it finds; what it writes and prints, exact.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Form, judge};
use crate::expected::exactly;
use crate::failure::Outcome;
use sprag_base::digest::sha256_hex;
use sprag_formats::compat::apex_x::attestation::{ARTIFACTS, Attestation, FoundFile, GATES, Metadata, Status, TARGETS};

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

/// How the seed's tool ended.
#[derive(Default)]
struct Ended {
    exit_code: i32,
    stdout: String,
    stderr_last_line: String,
    json: Option<String>,
    markdown: Option<String>,
}

pub(crate) fn run(case: Value) -> Outcome {
    judge(case, Form::ONE, |_, case: &Case| {
        let ended = case.follow();
        Ok(vec![
            ("exit_code", exactly(ended.exit_code)),
            ("stdout", exactly(ended.stdout)),
            ("stderr_last_line", exactly(ended.stderr_last_line)),
            ("outputs_written", exactly(ended.json.is_some())),
            ("attestation_json_text", exactly(ended.json)),
            ("attestation_md_text", exactly(ended.markdown)),
        ])
    })
}

impl Case {
    /// Does what the seed's tool does with these arguments, variables and files.
    fn follow(&self) -> Ended {
        let options = match Options::read(&self.args) {
            Ok(options) => options,
            Err(message) => {
                let stderr_last_line = format!("release_attestation.py: error: {message}");
                return Ended { exit_code: 2, stderr_last_line, ..Ended::default() };
            }
        };
        // A status that there is not is no fault of usage to the seed, but an exception.
        let statuses = options.mapping("--gate-status").into_iter();
        let gates: Option<BTreeMap<String, Status>> =
            statuses.map(|(key, word)| Some((key, Status::parse(&word)?))).collect();
        let Some(gates) = gates else { return Ended { exit_code: 1, ..Ended::default() } };
        let paths = options.mapping("--artifact-path");
        let file = |path: &str| {
            let path = normal(path);
            let content = self.files_utf8.get(&path).filter(|_| !self.empty_dirs.contains(&path));
            FoundFile { content: content.map(|text| (sha256_hex(text.as_bytes()), text.len() as u64)), path }
        };
        let attestation = Attestation {
            metadata: options.metadata(&self.env),
            files: ARTIFACTS.iter().map(|kind| file(paths.get(kind.key).map_or(kind.path, String::as_str))).collect(),
            gates,
            evidence: options.mapping("--gate-evidence"),
        };
        let summary = attestation.summary();
        let [json, md] = ["json", "md"].map(|form| {
            let usual = format!("artifacts/release/release_attestation.{form}");
            options.single.get(&format!("--output-{form}")).cloned().unwrap_or(usual)
        });
        Ended {
            exit_code: if options.is_strict && summary.missing + summary.failed > 0 { 2 } else { 0 },
            stdout: format!(
                "release_attestation status={} required_failed={} gates_failed={} gates_pending={} json={json} md={md}\n",
                summary.word(),
                summary.missing,
                summary.failed,
                summary.pending
            ),
            stderr_last_line: String::new(),
            json: Some(attestation.to_json()),
            markdown: Some(attestation.to_markdown()),
        }
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
    fn paths_statuses_and_targets_are_read_as_the_seed_reads_them() {
        assert_eq!(["./a//b", "/a/", "", "a/../b"].map(normal), ["a/b", "/a", ".", "a/../b"]);
        let ended = |args: &[&str]| {
            let args = args.iter().map(|one| (*one).to_owned()).collect();
            Case { files_utf8: Texts::new(), empty_dirs: Vec::new(), args, env: Texts::new() }.follow()
        };
        assert_eq!(ended(&["--gate-status", "security_review=maybe"]).exit_code, 1);
        assert!(ended(&["--gate-status", "security_review=maybe"]).json.is_none());
        assert_eq!(ended(&["--gate-status", "security_review = n/a "]).exit_code, 0);
        let refused = ended(&["--gate-status", "security_review="]);
        assert!(refused.exit_code == 2 && refused.stderr_last_line.contains("invalid mapping"));
        assert!(ended(&["--runtime-target", "rocm"]).stderr_last_line.contains("invalid choice"));
        // A release for TensorRT needs its engine.
        let json = ended(&["--runtime-target", "tensorrt"]).json.expect("it is written");
        assert!(json.contains("\"required_artifacts_total\": 8"), "{json}");
    }
}
