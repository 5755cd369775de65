#!/usr/bin/env python3
"""The figures of `sprag history sync`: each subcommand prints what it found, and fails where a record is missing.

    scripts/sync-figures.py clones [BINARY] [N]   N clones (50) push to one bare remote at the same time
    scripts/sync-figures.py kills [BINARY] [N]    a sync is killed N times (1,000) at any moment of it

Needs Python 3 alone, git, and a build (default: target/release/sprag). Nothing is read from or written to the
configuration of the user, and everything lies in a temporary folder.
"""

import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = "[user]\nname = Figures\nemail = figures@example.org\n[init]\ndefaultBranch = main\n"
# Where a killed sync may leave a lock that is in git's way.
LOCKS = ("index.lock", "refs/heads/main.lock")


class Place:
    """A folder with a bare remote and clones of it."""

    def __init__(self, folder, binary):
        self.folder, self.binary = Path(folder), binary
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.variables = kept | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        (self.folder / ".gitconfig").write_text(CONFIGURATION)
        self.git(".", "init", "-q", "--bare", "remote.git")
        self.git("remote.git", "config", "receive.denyNonFastForwards", "true")
        self.clone("first")
        (self.folder / "first/README").write_text("figures\n")
        self.git("first", "add", "README")
        self.git("first", "commit", "-q", "-m", "Begin")
        self.git("first", "push", "-q", "-u", "origin", "main")

    def git(self, clone, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.folder / clone, env=self.variables, text=True,
                              capture_output=True)
        if done.returncode != 0:
            sys.exit(f"git {' '.join(arguments)} in {clone}: {done.stderr}")
        return done.stdout

    def clone(self, name):
        self.git(".", "clone", "-q", "remote.git", name)

    def record(self, clone, name):
        """A file that the history takes as it is; beside the runs, so that it need not be one."""
        path = f"history/v1/_figures/{name[:2]}/{name}.json"
        file = self.folder / clone / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{{"name":"{name}","text":"{random.getrandbits(4000):x}"}}\n')
        self.git(clone, "add", path)
        self.git(clone, "commit", "-q", "-m", f"sprag: {name}")
        return path

    def sync(self, clone):
        command = [self.binary, "-C", str(self.folder / clone), "history", "sync"]
        return subprocess.Popen(command, env=self.variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def records(self, where):
        return set(self.git(where, "ls-tree", "-r", "--name-only", "main", "--", "history/v1").split())


def processor_time():
    """Seconds of processor time of all that has been waited for, git included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def clones(binary, number):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, binary)
        names = [f"clone{index:03}" for index in range(number)]
        expected = set()
        for name in names:
            place.clone(name)
            expected.add(place.record(name, f"{name[-2:]}-{name}"))
        begun, used = time.monotonic(), processor_time()
        processes = [place.sync(name) for name in names]
        said = [process.communicate() for process in processes]
        seconds, used = time.monotonic() - begun, processor_time() - used
        failed = [error for process, (_, error) in zip(processes, said) if process.returncode != 0]
        attempts = [int(re.search(r"\((\d+) attempt", out).group(1)) for out, _ in said if out]
        there = place.records("remote.git")
        commits = place.git("remote.git", "rev-list", "--merges", "main").split()
        print(f"{number} clones at once: {len(there & expected)} of {number} records there in {seconds:.1f} s "
              f"({used:.1f} s of CPU on {os.cpu_count()} processors); "
              f"attempts: median {statistics.median(attempts or [0]):.0f}, most {max(attempts or [0])}; "
              f"{len(failed)} gave up, {len(commits)} merges, no force (the remote denies it)")
        if failed or there != expected:
            sys.exit("\n".join(failed) or "records are missing")


def kills(binary, number):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, binary)
        place.clone("other")
        expected = {place.record("first", "aa-begin")}
        begun = time.monotonic()
        process = place.sync("first")
        process.communicate()
        span = time.monotonic() - begun
        killed = locked = 0
        for kill in range(number):
            # A lock that the dead one left stops git, but not the next sync, which clears it away.
            if any((place.folder / "first/.git" / lock).exists() for lock in LOCKS):
                locked += 1
                process = place.sync("first")
                if process.wait() != 0:
                    sys.exit(f"after kill {kill - 1}: {process.stderr.read()}")
            expected.add(place.record("first", f"{kill % 100:02}-first-{kill}"))
            if kill % 5 == 0:
                expected.add(place.record("other", f"{kill % 100:02}-other-{kill}"))
                rival = place.sync("other")
                if rival.wait() != 0:
                    sys.exit(rival.stderr.read())
            process = place.sync("first")
            time.sleep(random.uniform(0, span * 1.2))
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
            # The next one needs no repair: not of the branch, not of the index, not of a lock.
            if kill % 20 == 19:
                process = place.sync("first")
                begun = time.monotonic()
                out, error = process.communicate()
                # What a whole one takes changes with what else the machine does.
                span = time.monotonic() - begun
                if process.returncode != 0:
                    sys.exit(f"after kill {kill}: {out}{error}")
                status = place.git("first", "status", "--porcelain")
                if status:
                    sys.exit(f"after kill {kill}: the working tree is not clean:\n{status}")
        for name in ("first", "other", "first"):
            process = place.sync(name)
            if process.wait() != 0:
                sys.exit(process.stderr.read())
        lost = expected - place.records("first") | expected - place.records("remote.git")
        for name in ("first", "remote.git"):
            place.git(name, "fsck", "--no-progress", "--no-dangling")
        print(f"{killed} of {number} syncs killed before they ended: {len(lost)} of {len(expected)} records lost, "
              f"no repair by hand; {locked} left a lock that the next sync cleared away")
        if lost:
            sys.exit("\n".join(sorted(lost)))


def main():
    figures = {"clones": (clones, 50), "kills": (kills, 1000)}
    if len(sys.argv) < 2 or sys.argv[1] not in figures:
        sys.exit(__doc__)
    figure, number = figures[sys.argv[1]]
    binary = sys.argv[2] if len(sys.argv) > 2 else str(ROOT / "target/release/sprag")
    figure(str(Path(binary).resolve()), int(sys.argv[3]) if len(sys.argv) > 3 else number)


if __name__ == "__main__":
    main()
