#!/usr/bin/env python3
"""Figures of loading: a history of many runs, cold and warm, loose and packed, and what it takes up in git.

    scripts/load-figures.py BINARY [--runs 10000] [--folder FOLDER] [--skip-loose]

Makes a repository with git fast-import: one code commit for five runs, 50 benchmarks of two metrics a run, five worker
medians each. Then runs `sprag history cache`, which loads all that an analysis needs, and prints CPU seconds and the
most memory of each process. At last it holds 60 runs as files of their own against one file rewritten 60 times.
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
import subprocess
import sys
import tempfile

BENCHMARKS = 50
RUNS_A_COMMIT = 5
START = datetime.datetime(2023, 1, 2, tzinfo=datetime.timezone.utc)
FACTS = {
    "compiler": "rustc 1.95.0",
    "cpu_features": "avx avx2 bmi1 bmi2 fma sse4_2",
    "cpu_model": "Example CPU 9000",
    "libc": "glibc 2.41",
    "microcode": "0xa0011d1",
    "os_release": "6.1.0-31-amd64",
}
COVERED = ["compiler", "cpu_features", "cpu_model", "libc", "microcode", "os_release"]


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def rounded(value):
    return float(f"{value:.7g}")


def metric(name, unit, typical, draw):
    middle = typical * (1 + draw.gauss(0, 0.01))
    workers = [rounded(middle * (1 + draw.gauss(0, 0.004))) for _ in range(5)]
    value = sorted(workers)[2]
    return {
        "better": "lower",
        "detectable": round(0.002 + draw.random() / 100, 4),
        "interval": [min(workers), max(workers)],
        "min": rounded(min(workers) * 0.99),
        "n": 360,
        "name": name,
        "p50": rounded(value * (1 + draw.gauss(0, 0.001))),
        "p95": rounded(value * (1.05 + draw.random() / 50)),
        "unit": unit,
        "value": value,
        "workers": workers,
    }


def benchmark(number, draw):
    params = {"b": "1", "c": "128", "h": str(16 << (number % 4)), "w": "128"}
    name = f"kernel_{number // 4}"
    text = ",".join(f"{key}={value}" for key, value in sorted(params.items()))
    return {
        "attributes": {"calls_per_sample": "2 2 2 2 2"},
        "failure": None,
        "id": f"cpu/{name}{{{text}}} @fast",
        "metrics": [
            metric("time", "s", 1e-5 * (number + 1), draw),
            metric("ratio", "1", 0.2 * (number + 1), draw),
        ],
        "name": name,
        "params": params,
        "parity": {"max_abs_error": 0.0, "status": "exact", "tolerance": 0.0},
        "variant": "fast",
        "version": 1,
    }


def time_text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def record(number, commit, draw):
    """The path and the text of a run."""
    moment = START + datetime.timedelta(hours=2 * number)
    facts = dict(FACTS, load_1m=f"{draw.random():.2f}", uptime_s=str(number * 7200))
    machine = hashlib.sha256(b"name:bench").hexdigest()[:16]
    run = {
        "autotune": [],
        "benchmarks": [benchmark(number, draw) for number in range(BENCHMARKS)],
        "commit": commit,
        "config": {"block_samples": 12, "rounds": 12, "sample_seconds": 0.001, "series_seconds": 0.4, "workers": 5},
        "environment": {
            "facts": facts,
            "key": hashlib.sha256(canonical({name: facts[name] for name in COVERED}).encode()).hexdigest()[:16],
        },
        "machine": {"class": "Example CPU 9000", "id": machine, "name": "bench"},
        "quality": {"clean": True, "reasons": []},
        "reason": None,
        "schema_version": 2,
        "status": "ok",
        "suite": "cpu",
        "timestamp_utc": time_text(moment),
    }
    text = canonical(run)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = f"history/v1/cpu/{moment:%Y}/{moment:%m}/{commit['sha'][:12]}-{machine[:8]}-{name}.json"
    return path, text + "\n", int(moment.timestamp())


def git(folder, *arguments, **options):
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, stdout=subprocess.PIPE, **options).stdout


def commit_text(tree_lines, subject, when, mark=None):
    head = f"commit refs/heads/main\n" + (f"mark :{mark}\n" if mark else "")
    who = f"Sprag Figures <figures@example.org> {when} +0000\n"
    return f"{head}author {who}committer {who}data {len(subject)}\n{subject}\n{tree_lines}\n"


def code_commits(folder, count):
    """Makes the commits of code, and gives their names and times, oldest first."""
    feed = []
    for number in range(count):
        when = int((START + datetime.timedelta(hours=2 * RUNS_A_COMMIT * number)).timestamp()) - 60
        text = f"pub fn version() -> u32 {{ {number} }}\n"
        lines = f"M 100644 inline src/lib.rs\ndata {len(text)}\n{text}"
        feed.append(commit_text(lines, f"Change {number}", when))
    git(folder, "fast-import", "--quiet", input="".join(feed).encode())
    lines = git(folder, "log", "--reverse", "--format=%H %P %ct", "main").decode().splitlines()
    return [line.split() for line in lines]


def make_history(folder, count, loose):
    """A repository with so many runs, each in a commit of its own on top of the commits of code."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "fastimport.unpackLimit", str(10**9 if loose else 1))
    # The records come on top of the code, so that what they were measured at is older than all of them.
    commits = code_commits(folder, -(-count // RUNS_A_COMMIT))
    draw = random.Random(1)
    importer = subprocess.Popen(["git", "-C", str(folder), "fast-import", "--quiet"], stdin=subprocess.PIPE)
    for number in range(count):
        sha, *parents, when = commits[number // RUNS_A_COMMIT]
        moment = time_text(datetime.datetime.fromtimestamp(int(when), datetime.timezone.utc))
        commit = {
            "author_time": moment,
            "branch": "main",
            "commit_time": moment,
            "dirty": False,
            "parents": parents,
            "sha": sha,
            "subject": f"Change {number // RUNS_A_COMMIT}",
        }
        path, text, when = record(number, commit, draw)
        start = "from refs/heads/main^0\n" if number == 0 else ""
        lines = f"{start}M 100644 inline {path}\ndata {len(text)}\n{text}"
        importer.stdin.write(commit_text(lines, f"sprag: cpu ok at {sha[:12]}", when).encode())
    importer.stdin.close()
    if importer.wait() != 0:
        sys.exit("git fast-import failed")
    git(folder, "reset", "--quiet", "--hard")


def size(folder):
    total = 0
    for place, _, files in os.walk(folder):
        # What the files take up on the disk, as loose objects are many and small.
        total += sum(os.lstat(os.path.join(place, name)).st_blocks * 512 for name in files)
    return total


def measured(binary, folder, cache, repetitions=3):
    """The least CPU seconds and the most memory of some processes that load all."""
    environment = dict(os.environ, SPRAG_CACHE=cache)
    best, most = None, 0
    for _ in range(repetitions):
        with open(os.devnull, "w") as nothing:
            process = subprocess.Popen([binary, "-C", str(folder), "history", "cache"], stdout=nothing, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{binary} ended with exit code {process.returncode}")
        cpu = usage.ru_utime + usage.ru_stime
        best = cpu if best is None else min(best, cpu)
        most = max(most, usage.ru_maxrss)
    return best, most / 1024


def show(what, figures):
    print(f"{what:<42} {figures[0]:6.2f} s CPU  {figures[1]:6.0f} MiB at most", flush=True)


def load_figures(binary, folder, words):
    shutil.rmtree(folder / ".sprag", ignore_errors=True)
    show(f"{words}, no cache", measured(binary, folder, "off"))
    show(f"{words}, cold (writes the cache)", measured(binary, folder, "on", 1))
    show(f"{words}, warm", measured(binary, folder, "on", 5))


def growth(folder):
    """60 runs, a file each or all in one file that is rewritten: bytes of the git folder before and after gc."""
    draw = random.Random(2)
    commit = {"author_time": time_text(START), "branch": "main", "commit_time": time_text(START), "dirty": False,
              "parents": [], "sha": "0" * 40, "subject": "Begin"}
    records = [record(number, commit, draw) for number in range(60)]
    for way in ("a file a run", "one file, rewritten"):
        place = folder / way.replace(" ", "-").replace(",", "")
        place.mkdir()
        git(place, "init", "--quiet", "--initial-branch=main")
        shutil.rmtree(place / ".git/hooks", ignore_errors=True)
        git(place, "config", "fastimport.unpackLimit", str(10**9))
        feed, whole = [], []
        for path, text, when in records:
            whole.append(text.rstrip())
            if way != "a file a run":
                path, text = "data.json", "[" + ",\n".join(whole) + "]\n"
            feed.append(commit_text(f"M 100644 inline {path}\ndata {len(text)}\n{text}", "sprag: cpu ok", when))
        git(place, "fast-import", "--quiet", input="".join(feed).encode())
        before = size(place / ".git")
        git(place, "gc", "--quiet")
        after = size(place / ".git")
        print(f"{way:<42} {before / 60 / 1024:6.1f} KiB a run, {after / 60 / 1024:6.1f} KiB after gc (60 runs)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--folder", type=pathlib.Path, help="keep the histories here, and use what lies here already")
    parser.add_argument("--skip-loose", action="store_true", help="only the packed history")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    # Nobody's configuration takes part.
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        for loose in (False, True):
            if loose and options.skip_loose:
                continue
            words = "loose" if loose else "packed"
            place = folder / f"{words}-{options.runs}"
            if not place.exists():
                make_history(place, options.runs, loose)
                if not loose:
                    git(place, "gc", "--quiet")
            of_git = size(place / ".git") / options.runs / 1024
            print(f"{words}: {options.runs} runs x {2 * BENCHMARKS} series, {of_git:.1f} KiB of .git a run", flush=True)
            load_figures(binary, place, words)
        growth(pathlib.Path(temporary))


if __name__ == "__main__":
    main()
