"""Jobs and steps of a workflow: scripts run as they stand, actions are played by what they do to files and git."""

import fnmatch
import json
import os
import re
import secrets
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from .expression import filled, holds, value


@dataclass
class World:
    """What runs share: the remote, the program, and what was handed over."""

    folder: Path
    remote: Path
    program: Path
    pages: Path
    # Called before the step `workflow/job/step`.
    before: dict = field(default_factory=dict)
    # Jobs whose machine is lost before their first step.
    lost: set = field(default_factory=set)


@dataclass
class Ended:
    """What a run of a workflow came to."""

    results: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    heard: list = field(default_factory=list)
    log: str = ""
    summary: str = ""
    artifacts: Path = None


class Failed(Exception):
    """A step did not succeed."""


def heard(text):
    """The commands in what a step printed that the runner acts on."""
    found, until = [], None
    for line in text.splitlines():
        line = line.lstrip()
        if until:
            until = None if line == until else until
        elif line.startswith("::stop-commands::"):
            until = f"::{line.removeprefix('::stop-commands::')}::"
        elif line.startswith("::") or "##[" in line:
            found.append(line)
    return found


def is_bill(document):
    """Whether `actions/attest` takes a document for one of CycloneDX; it takes those of SPDX, too, of which we have none."""
    return all(document.get(key) for key in ("bomFormat", "serialNumber", "specVersion"))


def git(folder, *arguments):
    """Runs git, which must succeed, and gives its trimmed output."""
    ended = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"git {arguments}: {ended.stderr}")
    return ended.stdout.strip()


def run(world, path, table):
    """Runs a workflow for an event, which the table describes: the value of every name that may stand in an expression."""
    workflow = YAML(typ="safe").load(path)
    ended = Ended(artifacts=world.folder / "artifacts" / secrets.token_hex(4))
    ended.artifacts.mkdir(parents=True)
    waiting = dict(workflow["jobs"])
    while waiting:
        ready = [key for key, job in waiting.items() if not set(needs(job)) & set(waiting)]
        for key in ready:
            job = waiting.pop(key)
            results = []
            # One after another, although the runner has them all at once.
            for cell in cells(job, table, ended):
                Job(world, ended, path.name, key, workflow, job, table | cell).run()
                results.append(ended.results[key])
            ended.results[key] = next((one for one in results if one != "success"), "success")
        if not ready:
            raise Failed(f"{path.name}: jobs wait for each other")
    return ended


def cells(job, table, ended):
    """The values of the matrix of a job, by their names in expressions; one without any where it has none or is left out."""
    matrix = job.get("strategy", {}).get("matrix", {})
    if not matrix or not holds(job.get("if"), table, status(True)):
        return [{f"matrix.{name}": None for name in matrix}]
    [(name, values)] = matrix.items()
    return [{f"matrix.{name}": one} for one in value(values, table)]


def needs(job):
    found = job.get("needs", [])
    return [found] if isinstance(found, str) else found


def status(is_well):
    return {"always": True, "cancelled": False, "success": is_well, "failure": not is_well}


class Job:
    """One job, on a fresh machine."""

    def __init__(self, world, ended, file, key, workflow, job, table):
        self.world, self.ended, self.file, self.key, self.workflow, self.job = world, ended, file, key, workflow, job
        self.table, self.steps, self.paths = dict(table), {}, []
        # What a step put out is asked for also where that step did not come to it.
        self.table |= dict.fromkeys(re.findall(r"steps\.[a-z-]+\.(?:outputs\.[a-z_-]+|outcome)", json.dumps(job)))
        for need in needs(job):
            self.table[f"needs.{need}.result"] = ended.results[need]
            for name, output in ended.outputs.get(need, {}).items():
                self.table[f"needs.{need}.outputs.{name}"] = output

    def run(self):
        is_well = all(self.ended.results[need] == "success" for need in needs(self.job))
        outputs = self.ended.outputs[self.key] = dict.fromkeys(self.job.get("outputs", {}))
        if not holds(self.job.get("if"), self.table, status(is_well)):
            self.ended.results[self.key] = "skipped"
            return
        self.home = self.world.folder / "machines" / secrets.token_hex(4)
        self.workspace = self.home / "work"
        self.workspace.mkdir(parents=True)
        (self.home / "temp").mkdir()
        if self.key in self.world.lost:
            self.ended.results[self.key] = "failure"
            return
        result = "success"
        for step in self.job["steps"]:
            name = step.get("name", step.get("uses", "?"))
            identity = step.get("id", name)
            if not holds(step.get("if"), self.table, status(result == "success")):
                self.table[f"steps.{identity}.outcome"] = "skipped"
                continue
            self.say(f"--- {self.file}/{self.key}/{name}")
            self.world.before.get(f"{self.file}/{self.key}/{name}", lambda job: None)(self)
            outcome = "success"
            try:
                self.step(identity, step)
            except Failed as failed:
                self.say(f"failed: {failed}")
                outcome = "failure"
            self.table[f"steps.{identity}.outcome"] = outcome
            if outcome == "failure":
                result = "failure"
        for name, text in self.job.get("outputs", {}).items():
            outputs[name] = filled(text, self.table)
        self.ended.results[self.key] = result

    def say(self, line):
        self.ended.log += line + "\n"

    def step(self, identity, step):
        if "run" in step:
            return self.script(identity, step)
        action = step["uses"].split("@")[0]
        given = dict(step.get("with", {}))
        given |= {key: filled(text, self.table) for key, text in given.items() if isinstance(text, str)}
        if action not in ACTIONS:
            raise RuntimeError(f"the action {action} is not known here")
        return ACTIONS[action](self, given, identity)

    def script(self, identity, step):
        folder = self.home / "step"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("output", "path", "summary", "script"):
            (folder / name).touch()
        (folder / "script").write_text(step["run"])
        environment = {
            "PATH": os.pathsep.join([*self.paths, os.environ["PATH"]]),
            "HOME": str(self.home),
            "RUNNER_TEMP": str(self.home / "temp"),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REF_NAME": self.table["github.ref"].split("/", 2)[-1],
            "GITHUB_REPOSITORY": self.table["github.repository"],
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_PATH": str(folder / "path"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "SPRAG_MACHINE": "hosted",
        }
        for given in (self.workflow, self.job, step):
            for name, text in given.get("env", {}).items():
                environment[name] = filled(str(text), self.table)
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", folder / "script"]
        ended = subprocess.run(
            shell, cwd=self.workspace, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, timeout=600, errors="replace",
        )
        self.say(ended.stdout)
        self.ended.heard += heard(ended.stdout)
        self.ended.summary += (folder / "summary").read_text()
        self.paths += (folder / "path").read_text().split()
        for line in (folder / "output").read_text().splitlines():
            name, text = re.fullmatch(r"([a-z-]+)=(.*)", line).groups()
            self.table[f"steps.{identity}.outputs.{name}"] = text
        if ended.returncode:
            raise Failed(f"exit code {ended.returncode}")

    def check_out(self, given, identity):
        if given["persist-credentials"] is not False:
            raise Failed("the checkout keeps its token")
        # Without a `ref` it is what the event is about: the branch, where there is one; of a pull request, its merge.
        is_merge = not given.get("ref") and self.table["github.event_name"] == "pull_request"
        base = "github.event.pull_request.base.sha"
        wanted = given.get("ref") or self.table[base if is_merge else "github.ref"].removeprefix("refs/heads/")
        git(self.home, "clone", "--quiet", "--no-checkout", str(self.world.remote), str(self.workspace))
        branches = git(self.workspace, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin").split()
        how = ["-B", wanted, f"origin/{wanted}"] if wanted in branches else ["--detach", wanted]
        git(self.workspace, "checkout", "--quiet", *how)
        if is_merge:
            git(self.workspace, "merge", "--quiet", "--no-ff", "-m", "Merge", self.table["github.event.pull_request.head.sha"])
        self.table[f"steps.{identity}.outputs.commit"] = git(self.workspace, "rev-parse", "HEAD")
        if self.job["permissions"].get("contents") != "write":
            git(self.workspace, "remote", "set-url", "--push", "origin", "/not/allowed")

    def get_sprag(self, given, _):
        folder = self.home / "bin"
        folder.mkdir()
        (folder / "sprag").symlink_to(self.world.program)
        self.paths.append(str(folder))

    def upload(self, given, _):
        place = self.ended.artifacts / given["name"]
        if place.exists() and not given.get("overwrite"):
            raise Failed(f"the artifact {given['name']} is there already")
        shutil.rmtree(place, ignore_errors=True)
        paths = [self.workspace / path for path in given["path"].split()]
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
        if not files and given["if-no-files-found"] == "error":
            raise Failed(f"nothing to upload as {given['name']}")
        # As GitHub does: from the folder that all of the paths have in common.
        above = paths[0] if len(paths) == 1 and paths[0].is_dir() else self.workspace
        for file in files:
            (place / file.relative_to(above)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / file.relative_to(above))

    def download(self, given, _):
        pattern = given.get("name") or given["pattern"]
        found = [place for place in self.ended.artifacts.iterdir() if fnmatch.fnmatch(place.name, pattern)]
        # One that is named must be there; what fits a pattern need not.
        if "name" in given and not found:
            raise Failed(f"there is no artifact {given}")
        if "pattern" in given and given.get("merge-multiple") is not True:
            raise Failed("artifacts by pattern would get folders of their own")
        for place in found:
            shutil.copytree(place, self.workspace / given["path"], dirs_exist_ok=True)

    def attest(self, given, _):
        for line in (self.workspace / given["subject-checksums"]).read_text().splitlines():
            if not re.fullmatch(r"[0-9a-f]{64} [ *][A-Za-z0-9._-]+", line):
                raise Failed(f"no line of digests: {line}")
        if "sbom-path" in given and not is_bill(json.loads((self.workspace / given["sbom-path"]).read_text())):
            raise Failed("this is not a bill of materials")

    def upload_pages(self, given, _):
        site = self.workspace / given["path"]
        if any(path.is_symlink() or (path.is_file() and path.stat().st_nlink > 1) for path in site.rglob("*")):
            raise Failed("Pages takes no links")
        with tarfile.open(self.ended.artifacts / f"{given['name']}.tar", "w") as archive:
            archive.add(site, arcname=".")

    def deploy_pages(self, given, identity):
        shutil.rmtree(self.world.pages, ignore_errors=True)
        with tarfile.open(self.ended.artifacts / f"{given['artifact_name']}.tar") as archive:
            # Older versions of Python have no filter; the archive is our own.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(self.world.pages)
        self.table[f"steps.{identity}.outputs.page_url"] = self.world.pages.as_uri()


ACTIONS = {
    "actions/checkout": Job.check_out,
    "$/.github/actions/sprag": Job.get_sprag,
    "actions/upload-artifact": Job.upload,
    "actions/download-artifact": Job.download,
    "actions/attest": Job.attest,
    "actions/upload-pages-artifact": Job.upload_pages,
    "actions/deploy-pages": Job.deploy_pages,
}
