#!/usr/bin/env python3
"""Figures of the site: CPU, memory, files and bytes of `sprag site` on a generated history, beside `asv publish` on the same.

    scripts/site-figures.py BINARY [--commits 1000] [--series 100] [--suites 10] [--seed 1] [--asv ASV] [--folder FOLDER]

Makes a repository with git fast-import: each commit of code measured once by every suite, five worker medians a series. Of
100 series 20 have one to three steps of 4 to 50 %, 5 drift, 12 have two modes, 12 have outliers and the rest is flat, with
noise of 0.3 to 8 %; with --changing only that share has steps, and the rest is flat. Then renders it with the cache cold,
warm, after one more commit that one suite measured, and after one more that all measured; each time it counts the files that
differ. `--check` holds the last site against a clean rebuild. A hundred thousand series (4 minutes to make, 0.2 GB):
--series 100000 --suites 100 --commits 30 --changing 0.005 --cold
With `--asv` the same values are written as asv's results, and `asv publish` of that program runs on them, cold and again.
Needs Python 3.9, git, and nothing else.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

START = datetime.datetime(2023, 1, 2, tzinfo=datetime.timezone.utc)
HOURS_A_COMMIT = 6
CLASS = "Example CPU 9000"
FACTS = {"compiler": "rustc 1.95.0", "cpu_model": CLASS, "os_release": "6.1.0-31-amd64"}
SIZES = 10
MOST_PACKED = 10_000  # series, of which git finds the differences in less than minutes


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def time_text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def code_time(number):
    return START + datetime.timedelta(hours=HOURS_A_COMMIT * number)


class Series:
    """One benchmark: where it lies, and its true level at each commit."""

    def __init__(self, number, suites, series, commits, seed, changing=None):
        draw = random.Random(f"{seed} {number}")
        in_suite = number // suites
        self.suite = number % suites
        # From 1,000 series on a kernel has several sizes, as asv's benchmarks have parameters.
        self.sizes = SIZES if series >= 1000 else 1
        self.kernel, self.size = divmod(in_suite, self.sizes)
        self.base = round(10 ** draw.uniform(-3, 0), 6)
        self.noise = 10 ** draw.uniform(-2.5, -1.1)
        kinds = ["steps"] * 20 + ["drift"] * 5 + ["modes"] * 12 + ["outliers"] * 12 + ["flat"] * 51
        self.kind = kinds[(number * 37) % 100]
        if changing is not None:
            self.kind = "steps" if draw.random() < changing else "flat"
        places = sorted(draw.sample(range(commits // 10, commits - commits // 20), draw.randint(1, 3)))
        self.steps = [(place, draw.choice([1, 1, -0.6]) * draw.uniform(0.04, 0.5)) for place in places]
        self.slope = draw.uniform(0.05, 0.3) / commits

    def level(self, commit, draw):
        value = self.base
        if self.kind == "steps":
            for place, size in self.steps:
                value *= 1 + size if commit >= place else 1
        if self.kind == "drift":
            value *= 1 + self.slope * commit
        if self.kind == "modes" and draw.random() < 0.3:
            value *= 1.08
        if self.kind == "outliers" and draw.random() < 0.02:
            value *= 1.5 + draw.random()
        return value

    def workers(self, commit, seed):
        draw = random.Random(f"{seed} {self.suite} {self.kernel} {self.size} {commit}")
        middle = self.level(commit, draw) * (1 + 0.7 * self.noise * draw.gauss(0, 1))
        medians = [middle * (1 + 0.7 * self.noise * draw.gauss(0, 1)) for _ in range(5)]
        return [float(f"{max(value, 0.2 * self.base):.7g}") for value in medians]

    def params(self):
        return {"n": str(16 << self.size)} if self.sizes > 1 else {}

    def benchmark(self, workers):
        params = self.params()
        shown = "{" + ",".join(f"{key}={value}" for key, value in params.items()) + "}" if params else ""
        value = statistics.median(workers)
        metric = {
            "better": "lower", "detectable": 0.01, "interval": [min(workers), max(workers)], "min": min(workers),
            "n": 360, "name": "time", "p50": value, "p95": max(workers), "unit": "s", "value": value, "workers": workers,
        }
        return {
            "attributes": {}, "failure": None, "id": f"suite-{self.suite}/kernel_{self.kernel}{shown} @fast",
            "metrics": [metric], "name": f"kernel_{self.kernel}", "params": params,
            "parity": {"max_abs_error": 0.0, "status": "exact", "tolerance": 0.0}, "variant": "fast", "version": 1,
        }


def record(suite, number, commit, benchmarks):
    """The path and the text of a run."""
    moment = code_time(number) + datetime.timedelta(minutes=10 + suite)
    machine = hashlib.sha256(b"name:bench").hexdigest()[:16]
    run = {
        "autotune": [],
        "benchmarks": sorted(benchmarks, key=lambda one: one["id"]),
        "commit": commit,
        "config": {"workers": 5},
        "environment": {"facts": FACTS, "key": hashlib.sha256(canonical(FACTS).encode()).hexdigest()[:16]},
        "machine": {"class": CLASS, "id": machine, "name": "bench"},
        "quality": {"clean": True, "reasons": []},
        "reason": None,
        "schema_version": 2,
        "status": "ok",
        "suite": f"suite-{suite}",
        "timestamp_utc": time_text(moment),
    }
    text = canonical(run)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = f"history/v1/suite-{suite}/{moment:%Y}/{moment:%m}"
    return f"{folder}/{commit['sha'][:12]}-{machine[:8]}-{name}.json", text + "\n"


class History:
    """A repository of generated runs, and the same values as asv's results beside it."""

    def __init__(self, folder, options):
        self.root, self.asv, self.options, self.count = folder / "repo", folder / "asv", options, 0
        self.series = [
            Series(number, options.suites, options.series, options.commits, options.seed, getattr(options, "changing", None))
            for number in range(options.series)
        ]
        self.root.mkdir(parents=True)
        if getattr(options, "pages", "auto") != "auto":
            (self.root / "sprag.toml").write_text(f'[site]\npages = "{options.pages}"\n')
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "fastimport.unpackLimit", "1")
        self.add(options.commits, range(options.suites))
        if options.series <= MOST_PACKED:
            self.git("gc", "--quiet")

    def git(self, *arguments, **more):
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, stdout=subprocess.PIPE, **more)
        return done.stdout.decode().strip()

    def add(self, count, suites):
        """Commits of code, and on top of them a commit of records for each."""
        begin, end = self.count, self.count + count
        feed = []
        for number in range(begin, end):
            text = f"pub fn version() -> u32 {{ {number} }}\n"
            files = [("src/lib.rs", text)]
            feed.append(self.commit(f"Change what the kernels do, part {number}", code_time(number), files, number == begin))
            if number % 100 == 99:
                feed.append(f"reset refs/tags/v0.{number // 100}.0\nfrom refs/heads/main\n\n")
        self.git("fast-import", "--quiet", input="".join(feed).encode())
        listed = self.git("log", f"-{count}", "--reverse", "--format=%H %P", "main", "--", "src").splitlines()
        importer = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=self.root, stdin=subprocess.PIPE)
        for number, line in zip(range(begin, end), listed):
            sha, *parents = line.split()
            moment = time_text(code_time(number))
            commit = {
                "author_time": moment, "branch": "main", "commit_time": moment, "dirty": False, "parents": parents,
                "sha": sha, "subject": f"Change what the kernels do, part {number}",
            }
            measured = {one: one.workers(number, self.options.seed) for one in self.series if one.suite in suites}
            by_suite = {suite: [] for suite in suites}
            for one, workers in measured.items():
                by_suite[one.suite].append(one.benchmark(workers))
            files = [record(suite, number, commit, benchmarks) for suite, benchmarks in by_suite.items()]
            when = code_time(number) + datetime.timedelta(minutes=40)
            importer.stdin.write(self.commit(f"sprag: at {sha[:12]}", when, files, number == begin).encode())
            if self.options.asv:
                self.write_asv(number, sha, measured)
        importer.stdin.close()
        if importer.wait() != 0:
            sys.exit("git fast-import failed")
        self.count = end

    def commit(self, subject, moment, files, is_first):
        who = f"Sprag Figures <figures@example.org> {int(moment.timestamp())} +0000\n"
        known = subprocess.run(["git", "rev-parse", "-q", "--verify", "main"], cwd=self.root, stdout=subprocess.DEVNULL)
        start = "from refs/heads/main^0\n" if is_first and known.returncode == 0 else ""
        lines = "".join(f"M 100644 inline {path}\ndata {len(text)}\n{text}" for path, text in files)
        return f"commit refs/heads/main\nauthor {who}committer {who}data {len(subject)}\n{subject}\n{start}{lines}\n"

    def write_asv(self, number, sha, measured):
        folder = self.asv / "results/bench"
        folder.mkdir(parents=True, exist_ok=True)
        by_name = {}
        for one, workers in measured.items():
            by_name.setdefault(f"suite_{one.suite}.time_kernel_{one.kernel}", []).append((one.size, workers, one))
        started = int(code_time(number).timestamp() * 1000)
        columns = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
                   "stats_q_75", "stats_number", "stats_repeat"]
        results, benchmarks = {}, {"version": 2}
        for name, sized in by_name.items():
            sized.sort(key=lambda one: one[0])
            params = [[repr(one.params()["n"]) for _, _, one in sized]] if sized[0][2].sizes > 1 else []
            ordered = [sorted(workers) for _, workers, _ in sized]
            place = lambda rank: [workers[rank] for workers in ordered]
            repeat = [5] * len(ordered)
            results[name] = [place(2), params, "1", started, 1.0, place(0), place(4), place(1), place(3), repeat, repeat]
            benchmarks[name] = {
                "code": "", "name": name, "param_names": ["n"] if params else [], "params": params, "timeout": 60.0,
                "type": "time", "unit": "seconds", "version": "1", "number": 0, "repeat": 5, "min_run_count": 2,
                "rounds": 2, "sample_time": 0.01, "warmup_time": -1,
            }
        facts = {"arch": "x86_64", "cpu": CLASS, "machine": "bench", "num_cpu": "8", "os": "Linux", "ram": "1"}
        result = {
            "commit_hash": sha, "env_name": "virtualenv-py3", "date": started, "params": facts | {"python": "3"},
            "python": "3", "requirements": {}, "env_vars": {}, "result_columns": columns, "results": results,
            "durations": {}, "version": 2,
        }
        (folder / f"{sha[:8]}-virtualenv-py3.json").write_text(json.dumps(result))
        if number == 0:
            (folder / "machine.json").write_text(json.dumps(facts | {"version": 1}))
            (self.asv / "results/benchmarks.json").write_text(json.dumps(benchmarks))
            (self.asv / "asv.conf.json").write_text(json.dumps({
                "version": 1, "project": "figures", "repo": "code", "branches": ["main"], "html_dir": "html",
                "results_dir": "results", "env_dir": "env", "environment_type": "virtualenv", "show_commit_url": "#",
            }))

    def code_for_asv(self):
        """A repository of the commits of code alone, which is all that asv needs."""
        self.git("branch", "-f", "code", self.git("log", "-1", "--format=%H", "main", "--", "src"))
        self.git("clone", "--quiet", "--bare", "--branch", "code", "--single-branch", ".", str(self.asv / "code"))
        subprocess.run(["git", "branch", "-m", "code", "main"], cwd=self.asv / "code", check=True)
        self.git("branch", "-D", "code")


def listing(folder):
    """The digest and the bytes of each file."""
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            content = (pathlib.Path(place) / name).read_bytes()
            files[os.path.relpath(os.path.join(place, name), folder)] = (hashlib.sha256(content).digest(), len(content))
    return files


# A process of its own, as the most memory of a command is at least that of the process that starts it.
LAUNCHER = """
import json, resource, subprocess, sys, time
begin = time.monotonic()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
sys.exit(code)
"""


def taken(command, folder):
    """Wall and CPU seconds, and the most memory in MiB, of a command."""
    done = subprocess.run([sys.executable, "-c", LAUNCHER, *command], cwd=folder, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{command} ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def measure(words, command, folder, site, before=None):
    """Runs a command and tells what it took and what it changed."""
    wall, cpu, memory = taken(command, folder)
    after = listing(site)
    changed = "" if before is None else f" {sum(1 for path in before.keys() | after.keys() if before.get(path) != after.get(path)):6} files changed"
    size = sum(size for _, size in after.values())
    print(f"{words:<34} {cpu:6.2f} s CPU {wall:6.2f} s wall {memory:5.0f} MiB "
          f"{len(after):6} files {size / 1e6:6.2f} MB{changed}", flush=True)
    return after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--suites", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changing", type=float, help="the share of series that change")
    parser.add_argument("--pages", choices=["auto", "all", "changed"], default="auto", help="which series have a page")
    parser.add_argument("--cold", action="store_true", help="only render with nothing there, and again")
    parser.add_argument("--asv", help="the program of asv, to run beside")
    parser.add_argument("--folder", type=pathlib.Path, help="make it here, and leave it")
    parser.add_argument("--check", action="store_true", help="hold the last site against a clean rebuild")
    options = parser.parse_args()
    # Nobody's configuration takes part.
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    os.environ.pop("SPRAG_CACHE", None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        history = History(folder, options)
        print(f"{options.commits} commits x {options.series} series in {options.suites} suites", flush=True)
        site = history.root / "_site"
        command = [os.path.abspath(options.binary), "site"]
        shutil.rmtree(history.root / ".sprag", ignore_errors=True)
        files = measure("sprag site, nothing there", command, history.root, site)
        files = measure("sprag site, warm", command, history.root, site, files)
        if options.asv:
            history.code_for_asv()
            publish = [options.asv, "publish", "--no-pull"]
            measure("asv publish", publish, history.asv, history.asv / "html")
        for words, suites in [] if options.cold else [("one suite", range(1)), ("all suites", range(options.suites))]:
            history.add(1, suites)
            files = measure(f"sprag site, one more, {words}", command, history.root, site, files)
        if options.check:
            subprocess.run([*command, "--check"], cwd=history.root, check=True)


if __name__ == "__main__":
    main()
