//! Whose code workflows run, where, and what it may do there: rules as those of `workflow_rules`.

use yaml_rust2::Yaml;

use crate::workflow_files::{Workflows, condition, pairs, words};
use crate::workflow_rules::{WRITERS, uses};

/// When a runner of one's own may be chosen; a job without such a condition never.
const OWN_RUNNERS: [(&str, &str, &str); 2] = [
    (
        "perf_gpu.yml",
        "gpu-perf-regression",
        "needs.scope.outputs.wanted == 'true' && (github.event_name != 'pull_request' || \
         github.event.pull_request.head.repo.full_name == github.repository)",
    ),
    (
        "perf_trend_weekly.yml",
        "gpu-trend",
        "github.event_name == 'schedule' && vars.SPRAG_ENABLE_GPU_WEEKLY == 'true' || \
         github.event_name == 'workflow_dispatch' && inputs.run_gpu",
    ),
];

/// Who lets code onto such a runner: reviewers, but at night, when it is that of the default branch.
const ENVIRONMENT: &str = "${{ github.event_name == 'schedule' && 'perf-gpu-scheduled' || 'perf-gpu' }}";

pub(crate) fn own_runners(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for job in workflows.jobs() {
        let place = format!("{}: {}", job.file, job.key);
        let labels = words(&job.yaml["runs-on"]);
        let rule = OWN_RUNNERS.iter().find(|(file, key, _)| (*file, *key) == (job.file, job.key));
        match rule {
            None if labels.contains(&"self-hosted") => {
                wrong.push(format!("{place}: may not have a runner of one's own"))
            }
            None => {}
            Some((_, _, wanted)) => {
                if job.condition() != *wanted {
                    wrong.push(format!("{place}: the guard is `{}`", job.condition()));
                }
                if labels != ["self-hosted", "linux", "x64", "gpu"]
                    || job.yaml["environment"].as_str() != Some(ENVIRONMENT)
                {
                    wrong.push(format!("{place}: other labels or environment"));
                }
                for (name, input) in [("TRT_ENGINE_PATH", "trt_engine_path"), ("TRT_PLUGIN_LIB", "trt_plugin_lib")] {
                    let wanted = format!("${{{{ inputs.{input} || vars.SPRAG_{name} }}}}");
                    if job.yaml["env"][name].as_str() != Some(&wanted) {
                        wrong.push(format!("{place}: `{name}` does not come by the environment"));
                    }
                }
            }
        }
    }
    let blocked = workflows.job("perf_gpu.yml", "blocked-untrusted-pr");
    let wanted = "needs.scope.outputs.wanted == 'true' && github.event_name == 'pull_request' && \
                  github.event.pull_request.head.repo.full_name != github.repository";
    if blocked.condition() != wanted || !blocked.scripts().ends_with("exit 1\n") {
        wrong.push("perf_gpu.yml: nothing says that code of a fork was refused".to_owned());
    }
    wrong
}

/// No expression stands in a script: what it gives would be run.
pub(crate) fn shell_text(workflows: &Workflows) -> Vec<String> {
    let has_expression = |step: &Yaml| step["run"].as_str().is_some_and(|script| script.contains("${{"));
    let steps = workflows.steps().into_iter().filter(|(_, step)| has_expression(step));
    steps.map(|(place, _)| format!("{place}: an expression stands in a script")).collect()
}

/// Where names and output of others are printed, the runner does not listen.
pub(crate) fn silence(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, step) in workflows.steps() {
        let mut is_off = false;
        for line in step["run"].as_str().unwrap_or_default().lines().map(str::trim) {
            is_off =
                (is_off || line == "echo \"::stop-commands::$pause\"") && !line.starts_with("printf '\\n::%s::\\n");
            if runs_sprag(line) && !is_off {
                wrong.push(format!("{place}: the runner listens to `{line}`"));
            }
            if line.starts_with("cat ") && line.ends_with(".annotations\"") && is_off {
                wrong.push(format!("{place}: nobody listens to annotations"));
            }
        }
    }
    wrong
}

/// Whether a line of a script runs Sprag, which reads what lies in the repository whatever it is asked for.
fn runs_sprag(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_argument = |word: &str| word.starts_with(|first: char| first.is_ascii_lowercase() || "\"$-".contains(first));
    !line.starts_with('#') && words.windows(2).any(|pair| pair[0] == "sprag" && is_argument(pair[1]))
}

/// Code under test never runs where something can be written, and the token goes to one step.
pub(crate) fn writers(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Vec::new();
    let record = workflows.job("perf_trend_weekly.yml", "record");
    for (file, key, _) in WRITERS {
        let scripts = workflows.job(file, key).scripts();
        if ["sprag run", "sprag compare", "sprag weekly", "cargo bench"].iter().any(|part| scripts.contains(part)) {
            wrong.push(format!("{file}: {key}: what is tested runs where something can be written"));
        }
    }
    let scripts = record.scripts();
    let place = |part: &str| scripts.find(part).unwrap_or(usize::MAX);
    let order =
        ["sprag history add incoming", "sprag history sync", "sprag history fsck", "sprag site --out _site"].map(place);
    if !order.is_sorted() || order[3] == usize::MAX {
        wrong.push("perf_trend_weekly.yml: records are not added, sent, checked and shown in that order".to_owned());
    }
    for (place, step) in workflows.steps() {
        let has_token = pairs(&step["env"]).iter().any(|(_, value)| value.as_str() == Some("${{ github.token }}"));
        if has_token && !["Send", "Publish"].contains(&step["name"].as_str().unwrap_or_default()) {
            wrong.push(format!("{place}: a step has the token that does not need it"));
        }
    }
    let attested = record.steps().iter().filter(|step| uses(step).starts_with("actions/attest@")).count();
    if attested != 2 {
        wrong.push("perf_trend_weekly.yml: runs of CPU and GPU are not both attested".to_owned());
    }
    // Where a repository may not attest, what was found is kept all the same.
    let last_kept = record.steps().iter().rposition(|step| uses(step).starts_with("actions/upload-"));
    if record.steps().iter().position(|step| uses(step).starts_with("actions/attest@")) < last_kept {
        wrong.push("perf_trend_weekly.yml: something is kept only where it could be attested".to_owned());
    }
    for (place, step) in workflows.steps().into_iter().filter(|(_, step)| uses(step).starts_with("actions/attest@")) {
        if !condition(step).ends_with("vars.SPRAG_ATTEST != 'false'") {
            wrong.push(format!("{place}: nobody can do without attestations"));
        }
    }
    if workflows.job("perf_trend_weekly.yml", "deploy").needs() != ["record"] {
        wrong.push("perf_trend_weekly.yml: what was not recorded is deployed".to_owned());
    }
    let evidence = workflows.job("release.yml", "evidence").scripts();
    if !["checklist", "attest", "verify"].iter().all(|part| evidence.contains(&format!("sprag release {part} "))) {
        wrong.push("release.yml: the evidence is not gathered, attested and verified".to_owned());
    }
    for (file, key) in [("perf_trend_weekly.yml", "record"), ("release.yml", "evidence")] {
        let of = |step: &&Yaml| uses(step).starts_with("actions/checkout@");
        let wanted = Some("${{ github.event.repository.default_branch }}");
        if !workflows.job(file, key).steps().iter().filter(of).all(|step| step["with"]["ref"].as_str() == wanted) {
            wrong.push(format!("{file}: {key}: works on another branch than the default one"));
        }
    }
    if !workflows.job("release.yml", "publish").needs().contains(&"evidence") {
        wrong.push("release.yml: something is published without evidence".to_owned());
    }
    wrong
}
