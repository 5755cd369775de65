//! What must hold of workflows, one rule a function: each gives what is wrong, and nothing where all is well.

use std::collections::{BTreeMap, BTreeSet};

use yaml_rust2::Yaml;

use crate::workflow_files::{Job, Workflows, condition, jobs_of, keys, pairs, words};
use crate::workflow_trust::{own_runners, shell_text, silence, writers};

/// A rule.
type Rule = fn(&Workflows) -> Vec<String>;

/// Rules of every project.
const RULES: [Rule; 11] = [
    triggers,
    permissions,
    pins,
    limits,
    concurrency,
    artifacts,
    final_jobs,
    own_runners,
    shell_text,
    silence,
    writers,
];

/// Everything that is wrong.
pub(crate) fn complaints(workflows: &Workflows) -> Vec<String> {
    RULES.iter().flat_map(|rule| rule(workflows)).collect()
}

/// The workflow that this project alone has.
pub(crate) const NIGHTLY: &str = "nightly.yml";

/// What starts each workflow; no other event does.
const TRIGGERS: [(&str, &[&str]); 6] = [
    ("ci.yml", &["push", "pull_request", "merge_group"]),
    ("nightly.yml", &["schedule", "workflow_dispatch"]),
    ("perf.yml", &["pull_request", "merge_group"]),
    ("perf_gpu.yml", &["pull_request", "merge_group", "schedule", "workflow_dispatch"]),
    ("perf_trend_weekly.yml", &["schedule", "workflow_dispatch"]),
    ("release.yml", &["push"]),
];

fn triggers(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    let files: BTreeSet<&str> = workflows.workflows().map(|(file, _)| file).filter(|file| *file != NIGHTLY).collect();
    if files != TRIGGERS.iter().map(|(file, _)| *file).filter(|file| *file != NIGHTLY).collect() {
        wrong.push(format!("the workflows are {files:?}"));
    }
    for (file, yaml) in workflows.workflows() {
        let on = keys(&yaml["on"]);
        let wanted = TRIGGERS.iter().find(|(name, _)| *name == file).map_or(&[][..], |(_, wanted)| wanted);
        if on != wanted.iter().copied().collect() {
            wrong.push(format!("{file}: triggers are {on:?}"));
        }
        // A required check of a workflow that is left out by its paths never ends.
        if !yaml["on"]["pull_request"].is_null() && on.contains("pull_request") {
            wrong.push(format!("{file}: pull requests are filtered by the trigger"));
        }
        for time in yaml["on"]["schedule"].as_vec().into_iter().flatten() {
            if time["cron"].as_str().is_none_or(|time| time.starts_with("0 ")) {
                wrong.push(format!("{file}: the schedule is at a full hour"));
            }
        }
    }
    let mode = &workflows.workflow("perf_gpu.yml")["on"]["workflow_dispatch"]["inputs"]["run_mode"];
    if mode["default"].as_str() != Some("skip") || words(&mode["options"]) != ["skip", "self-hosted-gpu"] {
        wrong.push("perf_gpu.yml: `run_mode` does not default to skip".to_owned());
    }
    let run_gpu = &workflows.workflow("perf_trend_weekly.yml")["on"]["workflow_dispatch"]["inputs"]["run_gpu"];
    if run_gpu["default"].as_bool() != Some(false) {
        wrong.push("perf_trend_weekly.yml: `run_gpu` does not default to false".to_owned());
    }
    wrong
}

pub(crate) type Rights = &'static [(&'static str, &'static str)];

/// What jobs may do beyond reading the repository.
pub(crate) const WRITERS: [(&str, &str, Rights); 3] = [
    ("perf_trend_weekly.yml", "record", &[("contents", "write"), ("id-token", "write"), ("attestations", "write")]),
    ("perf_trend_weekly.yml", "deploy", &[("pages", "write"), ("id-token", "write")]),
    ("release.yml", "publish", &[("contents", "write"), ("id-token", "write"), ("attestations", "write")]),
];

fn permissions(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, yaml) in workflows.workflows() {
        if yaml["permissions"].as_hash().is_none_or(|all| !all.is_empty()) {
            wrong.push(format!("{file}: permissions do not begin with none"));
        }
    }
    for job in workflows.jobs() {
        let place = format!("{}: {}", job.file, job.key);
        let Some(_) = job.yaml["permissions"].as_hash() else {
            wrong.push(format!("{place}: permissions are not listed"));
            continue;
        };
        let granted: BTreeMap<&str, &str> = pairs(&job.yaml["permissions"])
            .into_iter()
            .map(|(key, value)| (key, value.as_str().unwrap_or("")))
            .collect();
        let wanted = WRITERS.iter().find(|(file, key, _)| (*file, *key) == (job.file, job.key));
        let checks_out = job.steps().iter().any(|step| uses(step).starts_with("actions/checkout@"));
        let wanted: BTreeMap<&str, &str> = match wanted {
            Some((_, _, wanted)) => wanted.iter().copied().collect(),
            None if checks_out => [("contents", "read")].into(),
            None => BTreeMap::new(),
        };
        if granted != wanted {
            wrong.push(format!("{place}: permissions are {granted:?}, wanted are {wanted:?}"));
        }
    }
    wrong
}

pub(crate) fn uses(step: &Yaml) -> &str {
    step["uses"].as_str().unwrap_or_default()
}

/// Actions by commit, one commit an action, each with its version beside it; only those of GitHub.
fn pins(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut commits: BTreeMap<&str, &str> = BTreeMap::new();
    for (place, step) in workflows.steps() {
        let named = uses(step);
        if named.is_empty() || named == "$/.github/actions/sprag" {
            continue;
        }
        let (action, commit) = named.split_once('@').unwrap_or((named, ""));
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_commit || !action.starts_with("actions/") {
            wrong.push(format!("{place}: `{named}` is not pinned to a commit"));
        }
        if *commits.entry(action).or_insert(commit) != commit {
            wrong.push(format!("{place}: `{action}` has two commits"));
        }
    }
    for (path, text, _) in workflows.all() {
        for line in text.lines().filter(|line| line.trim_start().trim_start_matches("- ").starts_with("uses: actions/"))
        {
            if line.split_once(" # v").is_none_or(|(_, version)| version.split('.').count() != 3) {
                wrong.push(format!("{path}: no version beside `{}`", line.trim()));
            }
        }
    }
    wrong
}

/// Every job ends by itself, no checkout keeps its token, and hosted runners are of a named version.
fn limits(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for job in workflows.jobs() {
        let place = format!("{}: {}", job.file, job.key);
        if job.yaml["timeout-minutes"].as_i64().is_none_or(|minutes| !(1..=120).contains(&minutes)) {
            wrong.push(format!("{place}: no timeout"));
        }
        if words(&job.yaml["runs-on"]).iter().any(|label| label.ends_with("-latest")) {
            wrong.push(format!("{place}: the runner has no version"));
        }
    }
    for (place, step) in workflows.steps() {
        let keeps = step["with"]["persist-credentials"].as_bool() != Some(false);
        if uses(step).starts_with("actions/checkout@") && keeps {
            wrong.push(format!("{place}: the checkout keeps its token"));
        }
    }
    wrong
}

fn concurrency(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, yaml) in workflows.workflows() {
        if yaml["concurrency"]["group"].as_str().is_none() || yaml["concurrency"]["cancel-in-progress"].is_badvalue() {
            wrong.push(format!("{file}: no concurrency"));
        }
    }
    if workflows.workflow("perf.yml")["concurrency"]["cancel-in-progress"].as_bool() != Some(true) {
        wrong.push("perf.yml: a newer push does not end the gate of an older one".to_owned());
    }
    let of = |key| &workflows.job("perf_trend_weekly.yml", key).yaml["concurrency"];
    let (record, deploy) = (of("record"), of("deploy"));
    if record["group"].as_str() != Some("perf-history")
        || record["queue"].as_str() != Some("max")
        || record["cancel-in-progress"].as_bool() != Some(false)
    {
        wrong.push("perf_trend_weekly.yml: a record that waits can be dropped".to_owned());
    }
    if deploy["group"].as_str() != Some("pages") || deploy["cancel-in-progress"].as_bool() != Some(false) {
        wrong.push("perf_trend_weekly.yml: a deployment can be cut short".to_owned());
    }
    wrong
}

/// All jobs that a job waits for, also by way of others.
fn needed<'a>(jobs: &[Job<'a>], of: &Job<'a>) -> BTreeSet<&'a str> {
    let (mut found, mut waiting) = (BTreeSet::new(), of.needs());
    while let Some(key) = waiting.pop() {
        if found.insert(key) {
            waiting.extend(jobs.iter().filter(|job| job.key == key).flat_map(Job::needs));
        }
    }
    found
}

/// What is downloaded was uploaded by a job before, and uploads happen also where something failed.
fn artifacts(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, yaml) in workflows.workflows() {
        let jobs = jobs_of(file, yaml);
        let mut uploads: Vec<(&str, &str)> = Vec::new();
        for job in &jobs {
            for step in job.steps().iter().filter(|step| uses(step).starts_with("actions/upload-artifact@")) {
                let name = step["with"]["name"].as_str().unwrap_or_default();
                if name.is_empty() || uploads.iter().any(|(_, other)| *other == name) {
                    wrong.push(format!("{file}: {}: the artifact `{name}` has no name of its own", job.key));
                }
                if !["always()", "!cancelled()"].contains(&condition(step).as_str()) {
                    wrong.push(format!("{file}: `{name}` is not kept where something failed"));
                }
                uploads.push((job.key, name));
            }
        }
        for job in &jobs {
            let before = needed(&jobs, job);
            for step in job.steps().iter().filter(|step| uses(step).starts_with("actions/download-artifact@")) {
                let (name, pattern) = (step["with"]["name"].as_str(), step["with"]["pattern"].as_str());
                let fits = |upload: &str| match (name, pattern) {
                    (Some(name), _) => upload == name,
                    (None, Some(pattern)) => upload.starts_with(pattern.trim_end_matches('*')),
                    (None, None) => false,
                };
                if !uploads.iter().any(|(key, upload)| before.contains(key) && fits(upload)) {
                    wrong.push(format!("{file}: {}: nobody before it uploads {name:?} {pattern:?}", job.key));
                }
            }
        }
    }
    wrong
}

/// The jobs to require: they run always, wait for all others, and do not look away.
pub(crate) const FINAL: [(&str, &str, &str); 3] = [
    ("perf.yml", "gate", "perf gate"),
    ("perf_gpu.yml", "gate", "perf gpu gate"),
    ("perf_trend_weekly.yml", "verdict", "weekly verdict"),
];

fn final_jobs(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, key, name) in FINAL {
        let job = workflows.job(file, key);
        let others: BTreeSet<&str> =
            jobs_of(file, workflows.workflow(file)).iter().map(|job| job.key).filter(|other| *other != key).collect();
        if job.condition() != "always()" || job.needs().into_iter().collect::<BTreeSet<_>>() != others {
            wrong.push(format!("{file}: the final job does not wait for all others, always"));
        }
        if job.yaml["name"].as_str() != Some(name) {
            wrong.push(format!("{file}: the check to require is not called `{name}`"));
        }
        for need in &others {
            let asked = format!("${{{{ needs.{need}.result }}}}");
            if !job
                .steps()
                .iter()
                .any(|step| pairs(&step["env"]).iter().any(|(_, value)| value.as_str() == Some(&asked)))
            {
                wrong.push(format!("{file}: the final job does not look at `{need}`"));
            }
        }
    }
    let verdict = workflows.job("perf_trend_weekly.yml", "verdict");
    if verdict.steps().last().map(condition).as_deref() != Some("always()") {
        wrong.push("perf_trend_weekly.yml: without verdicts to get, nobody says what failed".to_owned());
    }
    for job in workflows.jobs() {
        let looks_away = |yaml: &Yaml| !yaml["continue-on-error"].is_badvalue();
        if looks_away(job.yaml) || job.steps().iter().any(looks_away) {
            wrong.push(format!("{}: {}: goes on where something failed", job.file, job.key));
        }
    }
    wrong
}
