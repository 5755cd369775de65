//! Rules that our workflows and those of `sprag init` keep, besides what `scripts/lint-workflows.sh` finds: triggers, rights,
//! pinned actions, kept tokens and injection.

use std::collections::{BTreeMap, BTreeSet};

use yaml_rust2::Yaml;

use crate::workflow_files::{Workflows, condition, jobs_of, keys, pairs, words};

/// What is wrong with workflows.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    fn require(&mut self, is_right: bool, complaint: impl Into<String>) {
        if !is_right {
            self.0.push(complaint.into());
        }
    }
}

type Rule = fn(&Workflows, &mut Complaints);

const RULES: [Rule; 10] =
    [triggers, permissions, actions, limits, values, final_jobs, own_runners, bases, silence, writers];

pub(crate) fn complaints(workflows: &Workflows) -> Vec<String> {
    let mut wrong = Complaints::default();
    RULES.iter().for_each(|rule| rule(workflows, &mut wrong));
    wrong.0
}

/// The workflow that this project alone has.
pub(crate) const NIGHTLY: &str = "nightly.yml";

const WEEKLY: &str = "perf_trend_weekly.yml";

/// Runs after the gate of a fork, with rights.
const COMMENT: &str = "perf_comment.yml";

const BISECT: &str = "perf_bisect.yml";

/// The job that measures and may write, since several share a bisection by the history. Only people start it.
const SHARE: &str = "share";

/// The events that start each workflow.
const TRIGGERS: [(&str, &[&str]); 8] = [
    ("ci.yml", &["push", "pull_request", "merge_group"]),
    (NIGHTLY, &["schedule", "workflow_dispatch"]),
    ("perf.yml", &["pull_request", "merge_group"]),
    (COMMENT, &["workflow_run"]),
    (BISECT, &["schedule", "workflow_dispatch"]),
    ("perf_gpu.yml", &["pull_request", "merge_group", "schedule", "workflow_dispatch"]),
    (WEEKLY, &["schedule", "workflow_dispatch"]),
    ("release.yml", &["push"]),
];

fn triggers(workflows: &Workflows, wrong: &mut Complaints) {
    let files: BTreeSet<&str> = workflows.workflows().map(|(file, _)| file).chain([NIGHTLY]).collect();
    wrong.require(files == TRIGGERS.map(|(file, _)| file).into(), format!("the workflows are {files:?}"));
    for (file, yaml) in workflows.workflows() {
        let on = keys(&yaml["on"]);
        let wanted = TRIGGERS.iter().find(|(name, _)| *name == file).map_or(&[][..], |(_, wanted)| wanted);
        // Ours can be called, too.
        let on =
            on.into_iter().filter(|event| (file, *event) != ("perf.yml", "workflow_call")).collect::<BTreeSet<_>>();
        wrong.require(on == wanted.iter().copied().collect(), format!("{file}: triggers are {on:?}"));
        // A required check never ends if its workflow is left out by its paths.
        let is_filtered = !yaml["on"]["pull_request"].is_null() && on.contains("pull_request");
        wrong.require(!is_filtered, format!("{file}: pull requests are filtered by the trigger"));
        for time in yaml["on"]["schedule"].as_vec().into_iter().flatten() {
            let is_odd = time["cron"].as_str().is_some_and(|time| !time.starts_with("0 "));
            wrong.require(is_odd, format!("{file}: the schedule is at a full hour"));
        }
    }
}

type Rights = &'static [(&'static str, &'static str)];

/// The jobs that may do more than read the repository.
const WRITERS: [(&str, &str, Rights); 6] = [
    (BISECT, "record", &[("contents", "write")]),
    (COMMENT, "comment", &[("actions", "read"), ("pull-requests", "write")]),
    (BISECT, SHARE, &[("contents", "write")]),
    (WEEKLY, "record", &[("contents", "write"), ("id-token", "write"), ("attestations", "write")]),
    (WEEKLY, "deploy", &[("pages", "write"), ("id-token", "write")]),
    ("release.yml", "publish", &[("contents", "write"), ("id-token", "write"), ("attestations", "write")]),
];

fn permissions(workflows: &Workflows, wrong: &mut Complaints) {
    for job in workflows.jobs() {
        let granted = pairs(&job.yaml["permissions"]).into_iter();
        let granted: BTreeMap<&str, &str> = granted.map(|(key, value)| (key, value.as_str().unwrap_or(""))).collect();
        let wanted: BTreeMap<&str, &str> =
            match WRITERS.iter().find(|(file, key, _)| (*file, *key) == (job.file, job.key)) {
                Some((_, _, wanted)) => wanted.iter().copied().collect(),
                // The rules of an environment.
                None if (job.file, job.key) == ("perf_gpu.yml", "scope") => {
                    [("contents", "read"), ("actions", "read")].into()
                }
                None if (job.file, job.key) == (WEEKLY, "environment") => [("actions", "read")].into(),
                None if job.steps().iter().any(|step| calls(step, "checkout")) => [("contents", "read")].into(),
                None => BTreeMap::new(),
            };
        wrong.require(granted == wanted, format!("{job}: permissions are {granted:?}, wanted are {wanted:?}"));
    }
}

fn uses(step: &Yaml) -> &str {
    step["uses"].as_str().unwrap_or_default()
}

fn calls(step: &Yaml, action: &str) -> bool {
    uses(step).strip_prefix("actions/").and_then(|uses| uses.split_once('@')).is_some_and(|(name, _)| name == action)
}

/// Only actions of GitHub and ours, each with one commit and its version in a comment.
fn actions(workflows: &Workflows, wrong: &mut Complaints) {
    let mut commits: BTreeMap<&str, &str> = BTreeMap::new();
    for (place, step) in workflows.steps() {
        let Some((action, commit)) = uses(step).split_once('@') else { continue };
        wrong.require(action.starts_with("actions/"), format!("{place}: `{action}` is not an action of GitHub"));
        let is_only = *commits.entry(action).or_insert(commit) == commit;
        wrong.require(is_only, format!("{place}: `{action}` has two commits"));
    }
    for (path, text, _) in workflows.all() {
        for line in text.lines().filter(|line| line.contains("uses: actions/")) {
            let has_version = line.split_once(" # v").is_some_and(|(_, version)| version.split('.').count() == 3);
            wrong.require(has_version, format!("{path}: no version beside `{}`", line.trim()));
        }
    }
}

/// Every job has a time limit, and hosted runners have a version.
fn limits(workflows: &Workflows, wrong: &mut Complaints) {
    for job in workflows.jobs() {
        let has_limit = job.yaml["timeout-minutes"].as_i64().is_some_and(|minutes| (1..=120).contains(&minutes));
        wrong.require(has_limit, format!("{job}: no timeout"));
        let is_latest = words(&job.yaml["runs-on"]).iter().any(|label| label.ends_with("-latest"));
        wrong.require(!is_latest, format!("{job}: the runner has no version"));
    }
}

/// Rows of a file, a path in it, the value there, and the complaint about any other.
fn values(workflows: &Workflows, wrong: &mut Complaints) {
    for row in include_str!("workflow_values.txt").lines() {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [file, path, wanted, complaint] = cells[..] else { panic!("`{row}` has {} cells", cells.len()) };
        let value = match path.split('.').fold(workflows.workflow(file), |yaml, key| &yaml[key]) {
            Yaml::Boolean(flag) => flag.to_string(),
            other => words(other).iter().flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" "),
        };
        wrong.require(value == wanted, format!("{file}: {path}: {complaint}: `{value}`"));
    }
}

/// The jobs to require: they always run, wait for all others and fail when one of them did.
pub(crate) const FINAL: [(&str, &str, &str); 3] = [
    ("perf.yml", "gate", "perf gate"),
    ("perf_gpu.yml", "gate", "perf gpu gate"),
    (WEEKLY, "verdict", "weekly verdict"),
];

fn final_jobs(workflows: &Workflows, wrong: &mut Complaints) {
    for (file, key, name) in FINAL {
        let job = workflows.job(file, key);
        let all = jobs_of(file, workflows.workflow(file));
        let others: BTreeSet<&str> = all.iter().map(|job| job.key).filter(|other| *other != key).collect();
        let waits = job.condition() == "always()" && job.needs().into_iter().collect::<BTreeSet<_>>() == others;
        wrong.require(waits, format!("{file}: the final job does not wait for all others, always"));
        let is_named = job.yaml["name"].as_str() == Some(name);
        wrong.require(is_named, format!("{file}: the check to require is not called `{name}`"));
        let variables: Vec<&Yaml> =
            job.steps().iter().flat_map(|step| pairs(&step["env"])).map(|(_, value)| value).collect();
        for need in others {
            let result = format!("${{{{ needs.{need}.result }}}}");
            let reads = variables.iter().any(|value| value.as_str() == Some(&result));
            wrong.require(reads, format!("{file}: the final job does not look at `{need}`"));
        }
    }
    let last = workflows.job(WEEKLY, "verdict").steps().last().map(condition);
    wrong.require(last.as_deref() == Some("always()"), format!("{WEEKLY}: without verdicts, nobody says what failed"));
    for job in workflows.jobs() {
        let goes_on = |yaml: &Yaml| !yaml["continue-on-error"].is_badvalue();
        let stops = !goes_on(job.yaml) && !job.steps().iter().any(goes_on);
        wrong.require(stops, format!("{job}: goes on where something failed"));
    }
}

/// The jobs that may run on a self-hosted runner.
const OWN_RUNNERS: [(&str, &str); 2] = [("perf_gpu.yml", "gpu-perf-regression"), (WEEKLY, "gpu-trend")];

fn own_runners(workflows: &Workflows, wrong: &mut Complaints) {
    for job in workflows.jobs().iter().filter(|job| !OWN_RUNNERS.contains(&(job.file, job.key))) {
        let is_hosted = !words(&job.yaml["runs-on"]).contains(&"self-hosted");
        wrong.require(is_hosted, format!("{job}: may not have a self-hosted runner"));
    }
    let refuses = workflows.job("perf_gpu.yml", "blocked-untrusted-pr").scripts().ends_with("exit 1\n");
    wrong.require(refuses, "perf_gpu.yml: nothing says that code of a fork was refused");
}

/// A change is judged by suites, rules and baselines of its base.
fn bases(workflows: &Workflows, wrong: &mut Complaints) {
    for (file, key, command) in [
        ("perf.yml", "measure", "sprag compare \"$BASE\" HEAD --measure --config-from \"$BASE\" "),
        ("perf_gpu.yml", "gpu-perf-regression", "\"${options[@]}\" --config-from \"$BASE\" "),
        ("perf_gpu.yml", "gpu-perf-regression", "sprag check -C \"$RUNNER_TEMP/base\" "),
    ] {
        let is_so = workflows.job(file, key).scripts().contains(command);
        wrong.require(is_so, format!("{file}: {key}: a change is judged by what it brings itself"));
    }
}

/// The runner takes no commands from output that others can write.
fn silence(workflows: &Workflows, wrong: &mut Complaints) {
    for (place, step) in workflows.steps() {
        let mut is_off = false;
        for line in step["run"].as_str().unwrap_or_default().lines().map(str::trim) {
            is_off =
                (is_off || line == "echo \"::stop-commands::$pause\"") && !line.starts_with("printf '\\n::%s::\\n");
            wrong.require(is_off || !runs_sprag(line), format!("{place}: the runner listens to `{line}`"));
            let annotates = line.starts_with("cat ") && line.ends_with(".annotations\"");
            wrong.require(!(annotates && is_off), format!("{place}: nobody listens to annotations"));
        }
    }
}

/// Whether a line of a script runs Sprag, whose output may hold text of the repository.
fn runs_sprag(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_argument = |word: &str| word.starts_with(|first: char| first.is_ascii_lowercase() || "\"$-".contains(first));
    !line.starts_with('#') && words.windows(2).any(|pair| pair[0] == "sprag" && is_argument(pair[1]))
}

/// Code under test never runs where something can be written, and only steps that need the token have it.
fn writers(workflows: &Workflows, wrong: &mut Complaints) {
    for (file, key, _) in WRITERS {
        let scripts = workflows.job(file, key).scripts();
        let runs = ["sprag run", "sprag bisect", "sprag compare", "sprag weekly", "cargo bench"]
            .iter()
            .any(|part| scripts.contains(part));
        wrong.require(
            !runs || (file, key) == (BISECT, SHARE),
            format!("{file}: {key}: what is tested runs where something can be written"),
        );
    }
    let is_inert = workflows.job(COMMENT, "comment").steps().iter().all(|step| uses(step).is_empty());
    wrong.require(is_inert, format!("{COMMENT}: does more than run its script"));
    let record = workflows.job(WEEKLY, "record");
    let scripts = record.scripts();
    let order = [
        "sprag history add \"$place\" \"${expected[@]}\"",
        "sprag trend --record",
        "sprag history sync",
        "sprag history fsck",
        "sprag site --out _site",
    ]
    .map(|part| scripts.find(part).unwrap_or(usize::MAX));
    let is_order = order.is_sorted() && order.iter().all(|place| *place != usize::MAX);
    wrong.require(is_order, format!("{WEEKLY}: records are not added, sent, checked and shown in that order"));
    for (place, step) in workflows.steps() {
        let has_token = pairs(&step["env"]).iter().any(|(_, value)| value.as_str() == Some("${{ github.token }}"));
        let may_have = ["Send", "Share", "Publish", "Comment", "Check that the environment protects the runner"]
            .contains(&step["name"].as_str().unwrap_or_default());
        wrong.require(!has_token || may_have, format!("{place}: a step has the token that does not need it"));
        let is_optional = condition(step).ends_with("vars.SPRAG_ATTEST != 'false'");
        wrong.require(!calls(step, "attest") || is_optional, format!("{place}: attestations cannot be turned off"));
    }
    let attested = record.steps().iter().filter(|step| calls(step, "attest")).count();
    wrong.require(attested == 2, format!("{WEEKLY}: runs of CPU and GPU are not both attested"));
    // Results are kept also where a repository may not attest.
    let last_upload = record.steps().iter().rposition(|step| uses(step).starts_with("actions/upload-"));
    let first_attest = record.steps().iter().position(|step| calls(step, "attest"));
    wrong.require(first_attest > last_upload, format!("{WEEKLY}: something is kept only where it could be attested"));
    let evidence = workflows.job("release.yml", "evidence").scripts();
    let is_made =
        ["checklist", "attest", "verify"].iter().all(|part| evidence.contains(&format!("sprag release {part} ")));
    wrong.require(is_made, "release.yml: the evidence is not gathered, attested and verified");
    for (file, key) in [(WEEKLY, "record"), ("release.yml", "evidence")] {
        let wanted = Some("${{ github.event.repository.default_branch }}");
        let mut checkouts = workflows.job(file, key).steps().iter().filter(|step| calls(step, "checkout"));
        let is_default = checkouts.all(|step| step["with"]["ref"].as_str() == wanted);
        wrong.require(is_default, format!("{file}: {key}: works on another branch than the default one"));
    }
    let waits = workflows.job("release.yml", "publish").needs().contains(&"evidence");
    wrong.require(waits, "release.yml: something is published without evidence");
}
