#!/usr/bin/env python3
"""Runs the workflows that `sprag init` writes, which are ours, in a project with a bare remote, and ends with a site.

Usage: scripts/workflows-local.py PROGRAM [SITE]

Every script of a step runs as it stands; `workflow_runner/` plays the runner. Weekly twice, with somebody else's code and
record pushed in between; the gate on changes that are harmless, slower, broken or out of scope; a bisection; the GPU workflow by hand,
at night, of a fork and of a branch. The site goes to the folder SITE. Needs what scripts/workflow-tools.sh installs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from workflow_runner.runner import World, git, run

BENCH = '''import json, os, random, sys
speed = float(open("src/speed").read())
print("::error title=theirs::gone\\\\n::add-mask::x", file=sys.stderr)
draw = random.Random(os.getpid())
samples = [speed * draw.uniform(0.999, 1.001) for _ in range(9)]
time = {"name": "time", "unit": "s", "better": "lower", "samples": samples}
print(json.dumps({"schema_version": 1, "benchmarks": [{"name": "::error::<b>%0A|", "metrics": [time]}]}))
'''

CONFIGURATION = """[project]
name = "local"
[suites.own]
kind = "command"
command = ["python3", "bench.py"]
[suites.device]
kind = "command"
command = ["python3", "bench.py"]
"""

# What may stand in an expression, with what it is where the event does not have it. All else is an error.
NAMES = {
    "github.repository": "us/kernels",
    "github.run_attempt": "1",
    "github.token": "token",
    "github.ref": "refs/heads/main",
    "github.sha": None,
    "github.event_name": None,
    "github.event.pull_request.number": None,
    "github.event.pull_request.base.sha": None,
    "github.event.pull_request.head.sha": None,
    "github.event.pull_request.head.repo.full_name": None,
    "github.event.merge_group.base_sha": None,
    # Not every event that a schedule starts has it.
    "github.event.repository.default_branch": None,
    "vars.SPRAG_ATTEST": None,
    "vars.SPRAG_BISECT_WEEKLY": None,
    "vars.SPRAG_ENABLE_GPU": None,
    "vars.SPRAG_ENABLE_GPU_NIGHTLY": None,
    "vars.SPRAG_ENABLE_GPU_WEEKLY": None,
    "vars.SPRAG_TRT_ENGINE_PATH": None,
    "vars.SPRAG_TRT_PLUGIN_LIB": None,
    "inputs.run_mode": None,
    "inputs.event": None,
    "inputs.good": None,
    "inputs.bad": "HEAD",
    "inputs.jobs": "1",
    "inputs.suite": None,
    "inputs.run_gpu": None,
    "inputs.baseline_path": None,
    "inputs.trt_engine_path": None,
    "inputs.trt_plugin_lib": None,
}


class Project:
    """A project with a remote, and somebody who works in a clone of it."""

    def __init__(self, folder, program):
        self.program, self.clone, self.remote = program, folder / "clone", folder / "remote.git"
        self.world = World(folder, self.remote, program, folder / "pages")
        for place, how in ((self.remote, ["--bare"]), (self.clone, [])):
            place.mkdir()
            git(place, "init", "--quiet", "--initial-branch=main", *how)
        git(self.clone, "remote", "add", "origin", str(self.remote))
        self.write({"bench.py": BENCH, "sprag.toml": CONFIGURATION, "src/speed": "0.001\n"})
        self.sprag("init", "--ci", "github-full")
        self.edit("perf.yml", 'PERF_SUITES: "device own"', "PERF_SUITES: own")
        self.edit("perf.yml", 'PERF_EFFORT: ""', "PERF_EFFORT: --quick")
        self.edit("perf_gpu.yml", 'GPU_SUITES: ""', "GPU_SUITES: device")
        self.edit("perf_trend_weekly.yml", 'CPU_SUITES: "device own"', "CPU_SUITES: own")
        self.edit("perf_trend_weekly.yml", 'GPU_SUITES: ""', "GPU_SUITES: device")
        self.first = self.commit("Begin")
        self.push("main")

    def sprag(self, *arguments):
        subprocess.run([self.program, "-C", self.clone, *arguments], check=True, stdout=subprocess.DEVNULL)

    def write(self, files):
        for name, text in files.items():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / name).write_text(text)

    def edit(self, workflow, old, new):
        path = self.clone / ".github/workflows" / workflow
        text = path.read_text()
        assert old in text, f"{workflow} has no `{old}`"
        path.write_text(text.replace(old, new))

    def commit(self, subject):
        git(self.clone, "add", "--all")
        git(self.clone, "commit", "--quiet", "-m", subject)
        return git(self.clone, "rev-parse", "HEAD")

    def push(self, branch):
        git(self.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")

    def follow(self):
        """Brings the clone to where the remote is."""
        git(self.clone, "fetch", "--quiet", "origin", "main")
        git(self.clone, "checkout", "--quiet", "-B", "main", "FETCH_HEAD")

    def run(self, workflow, **event):
        table = NAMES | {"github.sha": git(self.remote, "rev-parse", "main")}
        for name, text in event.items():
            known = name.replace("__", ".")
            assert known in NAMES, known
            table[known] = text
        return run(self.world, self.clone / ".github/workflows" / workflow, table)

    def pull_request(self, workflow, files, repository="us/kernels", edits=(), **variables):
        """A branch from the first commit with these files changed, and these words of the workflow, judged."""
        git(self.clone, "checkout", "--quiet", "-B", "topic", self.first)
        self.write(files)
        for old, new in edits:
            self.edit(workflow, old, new)
        head = self.commit("::set-output name=a::b <script> %0A::error::gone")
        git(self.clone, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/topic")
        event = {
            "github__event_name": "pull_request",
            "github__event__pull_request__number": 1,
            "github__event__pull_request__base__sha": git(self.remote, "rev-parse", "main"),
            "github__event__pull_request__head__sha": head,
            "github__event__pull_request__head__repo__full_name": repository,
        }
        ended = self.run(workflow, **event, **variables)
        git(self.clone, "checkout", "--quiet", "main")
        return ended

    def records(self):
        """The paths of all records on the branch of records of the remote."""
        if not git(self.remote, "branch", "--list", "sprag-history"):
            return []
        return git(self.remote, "ls-tree", "-r", "--name-only", "sprag-history", "--", "history/v1").split()


CHECKLIST = """schema_version = 1
[[item]]
id = "changelog"
title = "Users can read what changed"
rule = "file"
artifacts = [{ key = "changelog", path = "CHANGELOG.md" }]
producer = "an editor"
[rollback]
triggers = ["it does not start"]
steps = ["take it away"]
[[sign_off]]
role = "Release owner"
"""


class Checks:
    """What was looked at, and what was not as it should be."""

    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, what, is_so, ended=None):
        self.passed, self.failed = self.passed + bool(is_so), self.failed + (not is_so)
        print(f"{'ok' if is_so else 'FAILED':<7} {what}", flush=True)
        if not is_so and ended:
            print(ended.log, ended.results, ended.heard, sep="\n")

    def results(self, what, ended, **wanted):
        found = {key.replace("-", "_"): result for key, result in ended.results.items()}
        self.expect(f"{what}: {found}", found == wanted, ended)
        # Whatever names and programs say, the runner hears Sprag alone.
        ways = ("::error title=sprag", "::warning title=sprag", "::notice title=sprag", "::add-mask::")
        ours = [line for line in ended.heard if line.startswith(ways)]
        self.expect(f"{what}: the runner hears {len(ours)} commands, all of them ours", ours == ended.heard, ended)


def gate(project, checks):
    ended = project.pull_request("perf.yml", {"src/other": "changed\n"})
    checks.results("a harmless change", ended, scope="success", measure="success", gate="success")
    checks.expect("a harmless change: the summary has a table", "| " in ended.summary, ended)
    ended = project.pull_request("perf.yml", {"src/speed": "0.002\n"})
    checks.results("a slower change", ended, scope="success", measure="failure", gate="failure")
    told = any("regressed" in line for line in ended.heard)
    is_shown = "egressed" in ended.summary and "<b>" not in ended.summary
    checks.expect("a slower change: annotated and in the summary", told and is_shown, ended)
    kept = {path.name for path in (ended.artifacts / "perf-gate").iterdir()}
    wanted = {"own.json", "own.md", "own.xml", "own.sarif", "own.annotations", "own.txt"}
    checks.expect(f"a slower change: all reports are kept: {sorted(kept)}", kept == wanted, ended)
    ended = project.pull_request("perf.yml", {"bench.py": "raise SystemExit(3)\n"})
    checks.results("a broken change", ended, scope="success", measure="failure", gate="failure")
    more = CONFIGURATION + '[suites.later]\nkind = "command"\ncommand = ["python3", "later.py"]\n'
    new = {"sprag.toml": more, "later.py": BENCH, "perf/later.annotations": "::error title=sprag::stale\n"}
    ended = project.pull_request("perf.yml", new, edits=[("PERF_SUITES: own", "PERF_SUITES: own later")])
    checks.results("a change that adds a suite", ended, scope="success", measure="success", gate="success")
    checks.expect("a change that adds a suite: that it has no baseline is told", "the suite `later` is new" in ended.log, ended)
    checks.expect("a change that adds a suite: nothing stale is told", not any("stale" in line for line in ended.heard), ended)
    ended = project.pull_request("perf.yml", new | {"later.py": "raise SystemExit(3)\n"}, edits=[("PERF_SUITES: own", "PERF_SUITES: own later")])
    checks.results("a change that adds a broken suite", ended, scope="success", measure="failure", gate="failure")
    loose = CONFIGURATION + "[rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = 9.0\n"
    ended = project.pull_request("perf.yml", {"src/speed": "0.002\n", "sprag.toml": loose})
    checks.results("a slower change with looser rules", ended, scope="success", measure="failure", gate="failure")
    checks.expect("a slower change with looser rules: it is said", any("edits what the gate" in line for line in ended.heard), ended)
    ended = project.pull_request("perf.yml", {"src/speed": "0.002\n"}, edits=[("PERF_SUITES: own", 'PERF_SUITES: ""')])
    checks.results("a slower change that gates nothing", ended, scope="success", measure="failure", gate="failure")
    ended = project.pull_request("perf.yml", {"README.md": "changed\n", "docs/x": "changed\n"})
    checks.results("a change of words", ended, scope="success", measure="skipped", gate="success")


def gpu(project, checks):
    def expect(what, ended, scope, blocked, measured, final):
        wanted = {"scope": scope, "blocked_untrusted_pr": blocked, "gpu_perf_regression": measured, "gate": final}
        checks.results(what, ended, **wanted)

    kernel, enabled = {"kernels/x.cu": "changed\n"}, {"vars__SPRAG_ENABLE_GPU": "true"}
    stand_in(project, "exit 1")
    expect("GPU, without an environment", project.pull_request("perf_gpu.yml", kernel, **enabled), "failure", "skipped", "skipped", "failure")
    stand_in(project, "echo required_reviewers; echo branch_policy")
    none = project.pull_request("perf_gpu.yml", kernel)
    expect("GPU, a branch where there is none", none, "success", "skipped", "skipped", "success")
    checks.expect("GPU, a branch where there is none: it is said", "SPRAG_ENABLE_GPU" in none.summary, none)
    expect("GPU, by hand", project.run("perf_gpu.yml", github__event_name="workflow_dispatch", inputs__run_mode="skip"),
           "success", "skipped", "skipped", "success")
    expect("GPU, at night", project.run("perf_gpu.yml", github__event_name="schedule"), "success", "skipped", "skipped", "success")
    expect("GPU, a fork", project.pull_request("perf_gpu.yml", kernel, "them/kernels", **enabled), "success", "failure", "skipped", "failure")
    expect("GPU, a branch", project.pull_request("perf_gpu.yml", kernel, **enabled), "success", "skipped", "success", "success")
    broken = kernel | {"bench.py": "raise SystemExit(3)\n"}
    expect("GPU, a broken branch", project.pull_request("perf_gpu.yml", broken, **enabled), "success", "skipped", "failure", "failure")
    judged_by_the_base(project, checks, expect, enabled)


def judged_by_the_base(project, checks, expect, enabled):
    """Rules, suites, scope, baselines and ledger of a branch on a GPU are those of the base."""
    project.follow()
    project.sprag("run", "--suite", "device", "--output-run", "run.json")
    project.sprag("baseline", "emit", "--run", "run.json")
    (project.clone / "run.json").unlink()
    project.first = project.commit("Take a baseline")
    project.push("main")
    [baseline] = (project.clone / "baselines").glob("device.*.json")
    place, held = f"baselines/{baseline.name}", baseline.read_text()
    failed, said = ("success", "skipped", "failure", "failure"), "this change edits what the gate judges by: "
    slower, kernel = {"src/speed": "0.002\n", "kernels/x.cu": "changed\n"}, {"kernels/x.cu": "changed\n"}

    def judged(what, files, edited, wanted=failed, edits=()):
        ended = project.pull_request("perf_gpu.yml", files, edits=edits, **enabled)
        expect(f"GPU, {what}", ended, *wanted)
        warned = [line.split(said)[1] for line in ended.heard if said in line]
        checks.expect(f"GPU, {what}: as edited are shown {warned}", warned == edited, ended)
        return ended

    judged("as fast as the baseline", kernel, [], ("success", "skipped", "success", "success"))
    judged("slower", slower, [])
    loose = CONFIGURATION + "[rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = 9.0\n"
    judged("slower, with looser rules", slower | {"sprag.toml": loose, place: held.replace("0.00", "0.01")}, ["sprag.toml baselines"])
    empty = CONFIGURATION.split("[suites.own]")[0]
    judged("slower, without rules, suites and baseline", slower | {"sprag.toml": empty, place: "{}"}, ["sprag.toml baselines"])
    constant = CONFIGURATION.replace("bench.py", "constant.py")
    unmeasured = {"sprag.toml": constant, "constant.py": BENCH.replace('open("src/speed").read()', "0.001")}
    judged("slower, with a suite that measures nothing", slower | unmeasured, ["sprag.toml"])
    workflow = [".github/workflows/perf_gpu.yml"]
    judged("slower, which gates nothing", slower, workflow, edits=[("GPU_SUITES: device", 'GPU_SUITES: ""')])
    scope = [(":(glob)**/*.cu\n", ":(glob)**/*.none\n"), ("    kernels\n", "")]
    judged("slower, out of its own scope", slower, workflow, edits=scope)
    more = CONFIGURATION + '[suites.later]\nkind = "command"\ncommand = ["python3", "later.py"]\n'
    edits = [("GPU_SUITES: device", "GPU_SUITES: device later")]
    ended = judged("a suite more", {"sprag.toml": more, "later.py": BENCH}, [f"sprag.toml {workflow[0]}"],
                   ("success", "skipped", "success", "success"), edits)
    kept = {path.name for path in (ended.artifacts / "perf-gpu-regression-artifacts").glob("later.*")}
    checks.expect(f"GPU, a suite more: it is judged, too: {sorted(kept)}", {"later.json", "later.check.json"} <= kept, ended)


def bisect(project, checks):
    """Between two commits of a branch, of which the second of three changes is slower."""
    git(project.clone, "checkout", "--quiet", "-B", "slow", project.first)
    commits = []
    for speed, other in (("0.001", "1"), ("0.002", "1"), ("0.002", "2")):
        project.write({"src/speed": f"{speed}\n", "src/other": other})
        commits.append(project.commit(f"::error::{speed} {other}"))
    project.push("slow")
    git(project.clone, "checkout", "--quiet", "main")
    before = project.records()
    ends = {"inputs__good": project.first, "inputs__bad": commits[-1], "inputs__suite": "own"}
    # First, since its jobs would take the answers of another one.
    ended = project.run("perf_bisect.yml", github__event_name="workflow_dispatch", inputs__jobs="2", **ends)
    checks.results("a shared bisection", ended, bisect="skipped", record="skipped", share="success")
    checks.expect("a shared bisection: both reports have the culprit", ended.summary.count(commits[1][:12]) > 1, ended)
    checks.expect("a shared bisection: it is recorded", len(project.records()) > len(before), ended)
    before = project.records()
    ended = project.run("perf_bisect.yml", github__event_name="workflow_dispatch", **ends)
    checks.results("a bisection", ended, bisect="success", record="success", share="skipped")
    checks.expect("a bisection: the summary has the culprit", commits[1][:12] in ended.summary, ended)
    reports = [ended.artifacts / "perf-bisect" / name for name in ("bisect.md", "bisect.json")]
    checks.expect("a bisection: the report is kept", all(report.is_file() for report in reports), ended)
    is_printed = "The text for an issue:" in ended.log
    checks.expect("a bisection: the text for an issue is printed", is_printed, ended)
    checks.expect("a bisection: the answers of the shared one suffice", len(project.records()) == len(before), ended)
    ended = project.run("perf_bisect.yml", github__event_name="workflow_dispatch")
    checks.results("a bisection of nothing", ended, bisect="failure", record="success", share="skipped")
    weekly = {"github__event_name": "schedule", "inputs__jobs": None}
    none = {"bisect": "skipped", "record": "skipped", "share": "skipped"}
    checks.results("no bisection by itself", project.run("perf_bisect.yml", **weekly), **none)
    weekly["vars__SPRAG_BISECT_WEEKLY"] = "true"
    ended = project.run("perf_bisect.yml", **weekly)
    checks.results("a bisection by itself", ended, bisect="success", record="success", share="skipped")
    checks.expect("a bisection by itself: there is no event", "no open regression" in ended.log, ended)


def weekly(project, checks):
    first = project.run("perf_trend_weekly.yml", github__event_name="schedule")
    wanted = {"cpu_trend": "success", "record": "success", "deploy": "success", "verdict": "success"}
    checks.results("the first week", first, environment="skipped", gpu_trend="skipped", **wanted)
    checks.expect("the first week: one record", len(project.records()) == 1, first)

    def rival(job):
        """Somebody pushes code, and a record, after the job has taken its clone."""
        project.follow()
        project.write({"src/rival": "code\n"})
        project.commit("Rival code")
        project.push("main")
        project.sprag("run", "--suite", "own", "--quick", "--record")
        project.sprag("history", "sync")
        rival.tip = git(project.remote, "rev-parse", "main")

    project.world.before["perf_trend_weekly.yml/record/Send"] = rival
    stand_in(project, "echo required_reviewers; echo branch_policy")
    second = project.run("perf_trend_weekly.yml", github__event_name="schedule", vars__SPRAG_ENABLE_GPU_WEEKLY="true")
    checks.results("the second week", second, environment="success", gpu_trend="success", **wanted)
    checks.expect(f"the second week: all {len(project.records())} records are there", len(project.records()) == 4, second)
    was_kept = git(project.remote, "merge-base", rival.tip, "main") == rival.tip
    checks.expect("the second week: nothing of the rival was overwritten", was_kept, second)
    digests = {path.name for path in (second.artifacts / "perf-trend-verdicts").glob("*.SHA256SUMS")}
    checks.expect("the second week: runs of CPU and GPU are attested", digests == {"cpu.SHA256SUMS", "gpu.SHA256SUMS"}, second)

    def protect(_):
        """The branch refuses what is pushed."""
        hook.write_text("#!/bin/sh\necho 'protected branch' >&2\nexit 1\n")
        hook.chmod(0o755)

    hook = Path(project.remote) / "hooks" / "pre-receive"
    project.world.before["perf_trend_weekly.yml/record/Send"] = protect
    shutil.rmtree(project.world.pages, ignore_errors=True)
    refused = project.run("perf_trend_weekly.yml", github__event_name="schedule")
    hook.unlink()
    not_sent = wanted | {"record": "failure", "verdict": "failure"}
    checks.results("a week whose records the branch refuses", refused, environment="skipped", gpu_trend="skipped", **not_sent)
    is_said = any("the records were not sent" in line for line in refused.heard)
    is_shown = (project.world.pages / "index.html").is_file()
    checks.expect("a week whose records the branch refuses: it is said, and the site is shown", is_said and is_shown, refused)
    checks.expect("a week whose records the branch refuses: nothing was sent", len(project.records()) == 4, refused)

    checks.results("a push", project.run("ci.yml", github__event_name="push"), history="success")
    checks.results("a pull request", project.pull_request("ci.yml", {"src/other": "changed\n"}), history="success")
    odd = {"history/v1/::error title=gone": "x\n", "history/v1/##[error]gone": "x\n"}
    ended = project.pull_request("ci.yml", odd)
    checks.results("a pull request with names that are commands", ended, history="failure")
    checks.expect("a pull request with names that are commands: they were looked at", "##[error]gone" in ended.log, ended)
    project.world.before.clear()
    by_hand = {"github__event_name": "workflow_dispatch", "github__event__repository__default_branch": "main"}
    project.world.lost = {"gpu-trend"}
    lost = project.run("perf_trend_weekly.yml", inputs__run_gpu=True, **by_hand)
    checks.results("a week whose GPU runner is lost", lost, environment="success", gpu_trend="failure", **wanted | {"verdict": "failure"})
    checks.expect("a week whose GPU runner is lost: the CPU is recorded", len(project.records()) == 5, lost)
    checks.expect("a week whose GPU runner is lost: it is said", any("gpu failure" in line for line in lost.heard), lost)
    project.world.lost = {"cpu-trend", "gpu-trend"}
    lost = project.run("perf_trend_weekly.yml", inputs__run_gpu=True, **by_hand)
    none = {"cpu_trend": "failure", "environment": "success", "gpu_trend": "failure", "record": "failure", "deploy": "skipped", "verdict": "failure"}
    checks.results("a week whose runners are lost", lost, **none)
    told = [line for line in lost.heard if "no run was handed on" in line or "cpu failure" in line or "nothing was judged" in line]
    checks.expect("a week whose runners are lost: it is said", len(told) == 3, lost)
    project.world.lost = set()
    project.follow()
    project.edit("perf_trend_weekly.yml", "CPU_SUITES: own", 'CPU_SUITES: ""')
    project.commit("Measure on the GPU alone")
    project.push("main")
    alone = project.run("perf_trend_weekly.yml", inputs__run_gpu=True, **by_hand)
    checks.results("a week of the GPU alone", alone, environment="success", gpu_trend="success", **wanted)
    checks.expect("a week of the GPU alone: its record is there", len(project.records()) == 6, alone)
    project.follow()
    project.edit("perf_trend_weekly.yml", 'CPU_SUITES: ""', "CPU_SUITES: own")
    project.write({"bench.py": "raise SystemExit(3)\n"})
    project.commit("Break the benchmark")
    project.push("main")
    third = project.run("perf_trend_weekly.yml", inputs__run_gpu=False, github__ref="refs/heads/topic", **by_hand)
    broken = wanted | {"cpu_trend": "failure", "verdict": "failure"}
    checks.results("a week that breaks is recorded and shown, and fails", third, environment="skipped", gpu_trend="skipped", **broken)
    checks.expect("a week that breaks: its record is there", len(project.records()) == 7, third)
    pages = sorted(path.relative_to(project.world.pages) for path in project.world.pages.rglob("*.html"))
    is_whole = {Path("index.html"), Path("404.html")} <= set(pages)
    checks.expect(f"a site of {len(pages)} pages, index.html and 404.html among them", is_whole, third)


def stand_in(project, script):
    """Makes a shell script act as GitHub's own program."""
    tools = project.world.folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "gh").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "gh").chmod(0o755)
    if str(tools) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"


def release(project, checks):
    """A tag whose evidence says go, and one whose evidence does not. What GitHub's own program is called with is written down."""
    if subprocess.run([project.world.program, "release", "--help"], capture_output=True).returncode:
        print("skipped: this build has no `sprag release`")
        return
    called = project.world.folder / "called"
    stand_in(project, f"echo \"$@\" >>'{called}'")
    releases = "schema_version = 1\n"
    project.follow()
    project.write({"release/checklist.toml": CHECKLIST, "CHANGELOG.md": "All is new.\n"})
    for tag, is_go in (("v1.0.0", True), ("v1.1.0", False)):
        if not is_go:
            (project.clone / "CHANGELOG.md").unlink()
        commit = project.commit(f"Be ready for {tag}")
        releases += f'[[release]]\nname = "{tag}"\ncommit = "{commit}"\n'
        project.write({"release/releases.toml": releases})
        project.commit(f"Name the commit of {tag}")
        project.push("main")
        git(project.clone, "push", "--quiet", "origin", f"{commit}:refs/tags/{tag}")
        event = {"github__event_name": "push", "github__event__repository__default_branch": "main"}
        ended = project.run("release.yml", github__ref=f"refs/tags/{tag}", github__sha=commit, **event)
        wanted = {"evidence": "success", "publish": "success"} if is_go else {"evidence": "failure", "publish": "skipped"}
        checks.results(f"the tag {tag}", ended, **wanted)
        checks.expect(f"the tag {tag}: the checklist is in the summary", "changelog" in ended.summary.lower(), ended)
        calls = called.read_text() if called.exists() else ""
        is_published = f"release create {tag} --verify-tag" in calls and "dist/SHA256SUMS dist/evidence.tar.gz" in calls
        checks.expect(f"the tag {tag}: published is {is_go}", is_published == is_go, ended)
        called.unlink(missing_ok=True)


def main():
    os.environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "SPRAG_MACHINE": "somebody"}
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_NAME": "Tester", f"GIT_{role}_EMAIL": "tester@example.org"}
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), Path(sys.argv[1]).resolve())
        gate(project, checks)
        gpu(project, checks)
        weekly(project, checks)
        release(project, checks)
        bisect(project, checks)
        if len(sys.argv) > 2:
            shutil.copytree(project.world.pages, sys.argv[2])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
