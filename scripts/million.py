#!/usr/bin/env python3
"""Figures of a history of a million runs: how long an append, a site and an archive take, and what clones weigh.

    scripts/million.py target/release/sprag [--runs 1000000] [--folder F] [--only PART,...] [--before YYYY-MM]

Generates a repository by `git fast-import`: ten years of five suites on four machines, twenty runs a commit, with packs and a
commit graph. Needs Python 3 and git, and 3 GB in the folder, which is removed unless it was named.
"""

import argparse
import datetime
import hashlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES, MACHINES, BENCHMARKS = 5, 4, 2
START = datetime.datetime(2016, 1, 1, tzinfo=datetime.timezone.utc)
YEARS = 10
CONFIGURATION = "[user]\nname = Figures\nemail = figures@example.org\n[init]\ndefaultBranch = main\n"
BRANCH = "sprag-history"


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def template():
    known = sorted((ROOT / "history/v1/cpu").glob("*/*/*.json"))
    if not known:
        sys.exit("the project's own history has no record to begin with")
    run = json.loads(known[0].read_text())
    one = next(benchmark for benchmark in run["benchmarks"] if benchmark["failure"] is None)
    one = dict(one, attributes={}, metrics=[one["metrics"][0]], params={}, variant="fast",
               parity={"status": "unchecked", "max_abs_error": None, "tolerance": None})
    run["commit"]["parents"] = []
    return run, one


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def generate(folder, runs):
    """Writes the commits of code, then those of records, each to a branch of its own."""
    run, one = template()
    chance = random.Random(1)
    per_commit = SUITES * MACHINES
    commits = runs // per_commit
    span = datetime.timedelta(days=365.25 * YEARS) / commits
    git = ["git", "-C", str(folder), "fast-import", "--quiet", "--force"]
    marks = folder / "marks"
    who = "committer Figures <figures@example.org>"
    with subprocess.Popen([*git, f"--export-marks={marks}"], stdin=subprocess.PIPE, text=True) as importer:
        out = importer.stdin
        settings = f'[project]\nname = "million"\n\n[history]\nref = "{BRANCH}"\n'
        for number in range(commits):
            when = int((START + span * number).timestamp())
            out.write(f"commit refs/heads/main\nmark :{number + 1}\n{who} {when} +0000\ndata <<E\nChange {number}\nE\n\n")
            out.write(f"M 100644 inline code.rs\ndata <<E\n// {number}\nE\n\n")
            if number == 0:
                out.write(f"M 100644 inline sprag.toml\ndata {len(settings)}\n{settings}\n")
    shas = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    machines = [(f"{hashlib.sha256(str(m).encode()).hexdigest()[:16]}", f"bench-{m}") for m in range(MACHINES)]
    with subprocess.Popen(git, stdin=subprocess.PIPE) as importer:
        write = importer.stdin.write
        for number in range(commits):
            sha, made = shas[f":{number + 1}"], START + span * number
            measured = made + datetime.timedelta(minutes=30)
            write(f"commit refs/heads/{BRANCH}\n{who} {int(measured.timestamp())} +0000\ndata <<E\nsprag: 20 records\nE\n\n".encode())
            run["commit"].update(sha=sha, author_time=stamp(made), commit_time=stamp(made), subject=f"Change {number}")
            for suite in range(SUITES):
                run["suite"] = f"suite{suite}"
                for place, (machine, name) in enumerate(machines):
                    run["machine"] = dict(run["machine"], id=machine, name=name)
                    begun = measured + datetime.timedelta(seconds=60 * suite + place)
                    run["timestamp_utc"] = stamp(begun)
                    run["benchmarks"] = []
                    for benchmark in range(BENCHMARKS):
                        level = 1e-4 * (1 + benchmark) * (1.1 if number > commits * 0.7 and suite == 0 else 1.0)
                        workers = [float(f"{level * (1 + chance.gauss(0, 0.005)):.7g}") for _ in range(5)]
                        middle = sorted(workers)[2]
                        metric = dict(one["metrics"][0], workers=workers, value=middle, p50=middle, p95=max(workers),
                                      interval=[min(workers), max(workers)])
                        title = f"kernel{benchmark}"
                        run["benchmarks"].append(dict(one, name=title, id=f"{run['suite']}/{title} @fast", metrics=[metric]))
                    text = canonical(run)
                    digits = hashlib.sha256(text.encode()).hexdigest()[:16]
                    path = f"history/v1/{run['suite']}/{begun:%Y/%m}/{sha[:12]}-{machine[:8]}-{digits}.json"
                    text += "\n"
                    write(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n".encode())
    return run, commits


class Place:
    def __init__(self, folder, binary):
        self.folder, self.binary, self.root = folder, binary, folder / "project"
        (folder / ".gitconfig").write_text(CONFIGURATION)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.variables = kept | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(self, command, root=None, least=0):
        begun = time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=root or self.root, env=self.variables, capture_output=True, text=True)
        taken = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode > least:
            sys.exit(f"{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return taken, cpu, done

    def git(self, *arguments, root=None):
        return self.run(["git", *arguments], root)

    def sprag(self, *arguments, root=None, timed=True):
        """Runs it under GNU time where there is one, for its most memory."""
        own = ["/usr/bin/time", "-f", "%M KiB"] if timed and os.path.exists("/usr/bin/time") else []
        taken, cpu, done = self.run([*own, self.binary, *arguments], root)
        memory = done.stderr.strip().splitlines()[-1] if own else ""
        return taken, cpu, memory, done

    def size(self, path):
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


def say(what, figure):
    print(f"{what}: {figure}", flush=True)


def one_more(place, run, number, root=None):
    """A commit of code with a run of it; gives the file of the run."""
    root = root or place.root
    (root / "code.rs").write_text(f"// more {number}\n")
    place.git("commit", "-q", "-a", "-m", f"More {number}", root=root)
    sha = place.git("rev-parse", "HEAD", root=root)[2].stdout.strip()
    now = datetime.datetime.now(datetime.timezone.utc)
    run["commit"].update(sha=sha, author_time=stamp(now), commit_time=stamp(now), subject=f"More {number}")
    run["timestamp_utc"] = stamp(now + datetime.timedelta(seconds=number % 3600))
    path = place.folder / f"run{number}.json"
    path.write_text(json.dumps(run))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", default="append,clones,cache,site,archive")
    parser.add_argument("--before", default=f"{START.year + YEARS - 1}-01", help="of the archive")
    options = parser.parse_args()
    parts = options.only.split(",")
    binary = str(Path(options.binary).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        place = Place(folder, binary)
        kept = folder / "run.json"
        if not kept.exists():
            place.run(["git", "init", "-q", str(place.root)], folder)
            begun = time.monotonic()
            run, commits = generate(place.root, options.runs)
            place.git("checkout", "-q", "-f", "main")
            say("generated", f"{options.runs} runs in {commits} commits, {time.monotonic() - begun:.0f} s, "
                f"{place.size(place.root / '.git'):.0f} MB")
            taken, _, _ = place.git("-c", "pack.threads=2", "gc", "--quiet", "--prune=now")
            place.git("commit-graph", "write", "--reachable")
            say("git gc", f"{taken:.0f} s, then {place.size(place.root / '.git'):.0f} MB")
            kept.write_text(json.dumps(run))
        run = json.loads(kept.read_text())
        number = int(time.time()) % 1_000_000
        if "append" in parts:
            times = []
            for more in range(15):
                file = one_more(place, run, number + more)
                times.append(place.sprag("history", "add", str(file), timed=False)[0])
            idle = statistics.median(place.sprag("--version", timed=False)[0] for _ in range(15))
            say("append", f"median {statistics.median(times) * 1e3:.0f} ms of 15; an empty command {idle * 1e3:.0f} ms")
        if "clones" in parts:
            place.git("config", "uploadpack.allowFilter", "true")
            for name, how in [("blobless", ["--filter=blob:none"]), ("shallow", ["--depth", "1", "--no-single-branch"])]:
                url = f"file://{place.root}"
                taken, _, _ = place.git("clone", "-q", "--bare", *how, url, str(folder / name), root=folder)
                say(f"clone {' '.join(how)}", f"{taken:.0f} s, {place.size(folder / name):.0f} MB")
        if "cache" in parts:
            for what in ["first", "from the cache"]:
                taken, cpu, memory, _ = place.sprag("history", "cache")
                say(f"load, {what}", f"{taken:.1f} s, {cpu:.1f} s of CPU, {memory}")
            taken, cpu, memory, _ = place.sprag("history", "log", "--limit", "5")
            say("history log", f"{taken:.1f} s, {memory}")
        def sites(number):
            for what in ["first", "again", "one more commit"]:
                if what == "one more commit":
                    place.sprag("history", "add", str(one_more(place, run, number)), timed=False)
                taken, cpu, memory, _ = place.sprag("site")
                say(f"site, {what}", f"{taken:.1f} s, {cpu:.1f} s of CPU, {memory}")
            say("site", f"{place.size(place.root / '_site'):.0f} MB")

        if "site" in parts:
            sites(number + 100)
        if "archive" in parts:
            taken, cpu, memory, done = place.sprag("history", "archive", "--before", options.before, "--out", "../snapshots")
            say(f"archive before {options.before}", f"{taken:.0f} s, {cpu:.0f} s of CPU, {memory}, {place.size(folder / 'snapshots'):.0f} MB")
            print(done.stdout, flush=True)
            say("load without the snapshots", "{:.1f} s, {:.1f} s of CPU, {}".format(*place.sprag("history", "cache")[:3]))
            sites(number + 150)
            taken, _, _ = place.git("clone", "-q", "--bare", "--depth", "1", "--no-single-branch", f"file://{place.root}",
                                    str(folder / "shallow-archived"), root=folder)
            say("clone --depth 1", f"{taken:.0f} s, {place.size(folder / 'shallow-archived'):.0f} MB")
            times = []
            for more in range(15):
                file = one_more(place, run, number + 200 + more)
                times.append(place.sprag("history", "add", str(file), timed=False)[0])
            say("append", f"median {statistics.median(times) * 1e3:.0f} ms of 15")
            settings = place.root / "sprag.toml"
            settings.write_text(settings.read_text() + 'archive = "../snapshots"\n')
            for what in ["first", "from the cache"]:
                taken, cpu, memory, _ = place.sprag("history", "cache")
                say(f"load with the snapshots, {what}", f"{taken:.1f} s, {cpu:.1f} s of CPU, {memory}")
            taken, cpu, memory, done = place.sprag("history", "fsck")
            say("fsck with the snapshots", f"{taken:.0f} s, {cpu:.0f} s of CPU, {memory}: {done.stdout.strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()
