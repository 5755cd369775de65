#!/usr/bin/env python3
"""Figures of the store: many processes at once, kills, failing system calls, and the time of one append.

    scripts/history-figures.py target/release/sprag [--only processes|kills|faults|time] [--kills 1000]

Works in temporary folders, needs git and, for the faults, a C compiler; exits with 1 where anything was lost.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
IDENTITY = "[user]\nname = Tester\nemail = tester@example.org\n[init]\ndefaultBranch = main\n"
KINDS = ["EIO", "ENOSPC", "EACCES", "EINTR", "short"]


class Project:
    """A repository in a folder, with a home of its own."""

    def __init__(self, folder, binary):
        self.folder, self.binary, self.root = folder, binary, folder / "project"
        self.root.mkdir(parents=True)
        (folder / "home").mkdir()
        (folder / "home/.gitconfig").write_text(IDENTITY)
        self.git("init", "-q", "--template=")
        (self.root / ".gitignore").write_text("/in\n")
        (self.root / "in").mkdir()
        # So that records go to this branch, and the working tree follows.
        (self.root / "history").mkdir()
        (self.root / "history/.gitkeep").touch()
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        home = str(self.folder / "home")
        return kept | {"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1"} | more

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.root, env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"git {arguments}: {done.stderr}")
        return done.stdout.strip()

    def start(self, *arguments, **more):
        command = [self.binary, "history", "add", *arguments]
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def add(self, *arguments, **more):
        """Runs to the end; gives the exit code and what was said."""
        child = self.start(*arguments, **more)
        out, err = child.communicate()
        return child.returncode, out + err

    def records(self):
        listed = self.git("ls-tree", "-r", "--name-only", "HEAD", "--", "history/v1")
        return set(listed.splitlines())

    def faults(self):
        """What git has to complain of."""
        done = subprocess.run(
            ["git", "fsck", "--strict", "--no-progress", "--no-dangling"],
            cwd=self.root, env=self.environment(), capture_output=True, text=True,
        )
        return (done.stdout + done.stderr if done.returncode else "") + self.git("status", "--porcelain")


def run_files(binary, folder):
    """Gives a function that writes the run file of a number; no two runs are the same."""
    known = sorted((HERE.parent / "history/v1").glob("[!_]*/*/*/*.json"))
    if not known:
        sys.exit("the project's own history has no record to begin with")
    run = json.loads(known[0].read_text())

    def write(path, number):
        day, rest = divmod(number, 86_400)
        seconds = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        run["timestamp_utc"] = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{seconds}Z"
        path.write_text(json.dumps(run))

    return write


def processes(binary, folder, write):
    """Fifty processes record twenty runs each."""
    project = Project(folder / "processes", binary)
    n_processes, n_records = 50, 20
    for number in range(n_processes * n_records):
        write(project.root / f"in/{number}.json", number)
    begin = time.monotonic()
    loop = 'for file; do "$SPRAG" history add "$file" || exit 1; done'
    children = []
    for process in range(n_processes):
        files = [f"in/{process * n_records + number}.json" for number in range(n_records)]
        children.append(subprocess.Popen(
            ["sh", "-c", loop, "sh", *files], cwd=project.root, env=project.environment(SPRAG=binary),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ))
    said = [child.communicate()[0] for child in children]
    failed = sum(child.returncode != 0 for child in children)
    took = time.monotonic() - begin
    found = len(project.records())
    code, again = project.add("in")
    complaints = project.faults()
    print(f"processes: {n_processes} x {n_records}: {found} records in {took:.1f} s, {failed} failed; read again: {code}; git: {complaints or 'clean'}")
    for text in [text for text, child in zip(said, children) if child.returncode][:3]:
        print(text)
    return found == n_processes * n_records and failed == 0 and code == 0 and not complaints


def kills(binary, folder, write, count):
    """Kills at random moments; every so often the next command must have mended everything."""
    project = Project(folder / "kills", binary)
    write(project.root / "in/0.json", 0)
    begin = time.monotonic()
    assert project.add("in/0.json")[0] == 0
    takes = time.monotonic() - begin
    acknowledged, killed, lost, unmended = set(project.records()), 0, 0, 0
    chance = random.Random(1)
    for number in range(1, count + 1):
        name = f"in/{number}.json"
        write(project.root / name, number)
        child = project.start(name)
        time.sleep(chance.random() * takes)
        child.kill()
        out, _ = child.communicate()
        killed += child.returncode != 0
        # Whatever path it printed, it acknowledged.
        acknowledged |= set(out.split())
        if number % 10 == 0:
            code, said = project.add(name)
            complaints = project.faults()
            if code or complaints:
                unmended += 1
                print(f"kill {number}: {code} {said} {complaints}")
    lost = len(acknowledged - project.records())
    code, _ = project.add("in")
    found = len(project.records())
    print(f"kills: {count} tried, {killed} fell before the end; lost {lost}, not mended {unmended}; in the end {found} records")
    return lost == 0 and unmended == 0 and code == 0 and found == count + 1


def faults(binary, folder, write):
    """Lets every call that writes fail in turn, in every way."""
    shim, compiler = folder / "shim.so", shutil.which("cc")
    if compiler is None:
        print("faults: skipped, no C compiler")
        return True
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", shim, HERE.parent / "tests/faults/shim.c"], check=True)
    template = Project(folder / "template", binary)
    write(template.root / "in/0.json", 0)
    fine = True
    for kind in KINDS:
        number, failed, succeeded, torn = 0, 0, 0, 0
        while True:
            number += 1
            place = folder / "faulty"
            shutil.copytree(template.folder, place)
            project = Project.__new__(Project)
            project.folder, project.binary, project.root = place, binary, place / "project"
            log = folder / "log"
            log.unlink(missing_ok=True)
            code, said = project.add("in/0.json", LD_PRELOAD=str(shim), FAULT_ROOT=str(project.root),
                                     FAULT_AT=str(number), FAULT_HOW=kind, FAULT_LOG=str(log))
            fault = log.read_text().strip()
            if not fault:
                shutil.rmtree(place)
                break
            found = len(project.records())
            sound = (code == 0 and found == 1) or (code == 2 and found == 0 and "cannot " in said)
            failed, succeeded = failed + (code != 0), succeeded + (code == 0)
            after, more = project.add("in/0.json")
            complaints = project.faults()
            if not sound or after or complaints or len(project.records()) != 1:
                torn += 1
                print(f"{kind} at {fault}: {code} {said} then {after} {more} {complaints}")
            shutil.rmtree(place)
        print(f"faults: {kind}: {number - 1} calls, {failed} failed with the state before, {succeeded} succeeded, {torn} torn")
        fine = fine and torn == 0
    return fine


def one_append(binary, folder, write):
    """The time of the whole command, from a history of ten thousand runs on; the process that does nothing beside it."""
    project = Project(folder / "time", binary)
    count = 10_000
    for number in range(count):
        write(project.root / f"in/{number}.json", number)
    begin = time.monotonic()
    code, said = project.add("in")
    assert code == 0, said
    print(f"time: {count} records in one commit: {time.monotonic() - begin:.1f} s")
    shutil.rmtree(project.root / "in")
    (project.root / "in").mkdir()
    times, idle = [], []
    for number in range(count, count + 50):
        name = f"in/{number}.json"
        write(project.root / name, number)
        begin = time.monotonic()
        assert project.add(name)[0] == 0
        times.append(time.monotonic() - begin)
        begin = time.monotonic()
        subprocess.run([binary, "--version"], capture_output=True, check=True)
        idle.append(time.monotonic() - begin)
    print(f"time: one append: median {statistics.median(times) * 1e3:.1f} ms of 50, as a whole command; "
          f"of a command that does nothing {statistics.median(idle) * 1e3:.1f} ms")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--only", choices=["processes", "kills", "faults", "time"])
    parser.add_argument("--kills", type=int, default=1000)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    fine = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write = run_files(binary, folder)
        parts = {
            "processes": lambda: processes(binary, folder, write),
            "time": lambda: one_append(binary, folder, write),
            "kills": lambda: kills(binary, folder, write, options.kills),
            "faults": lambda: faults(binary, folder, write),
        }
        for part, measure in parts.items():
            if options.only in (None, part):
                fine = measure() and fine
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
