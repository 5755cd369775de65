#!/usr/bin/env python3
"""Figures of the gate: how long `sprag check` takes, file against file, from start to exit.

    scripts/gate-figures.py BINARY [--metrics 1000] [--times 20] [--runs 0] [--folder FOLDER]

Makes a record of so many benchmarks and a baseline of it, then checks the record, and two that are slower throughout,
against that baseline, so many times each. With `--runs` also how long `sprag check --calibrate` takes on a history of so
many runs of 50 benchmarks. Prints medians and the slowest. Needs Python 3.9, git, and nothing else.
"""

import argparse
import importlib.util
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

spec = importlib.util.spec_from_file_location("load_figures", pathlib.Path(__file__).with_name("load-figures.py"))
load_figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(load_figures)


def record(metrics, factor):
    """The text of a run of so many benchmarks, each that much slower."""
    load_figures.BENCHMARKS = metrics
    commit = {
        "author_time": "2023-01-02T00:00:00Z",
        "branch": "main",
        "commit_time": "2023-01-02T00:00:00Z",
        "dirty": False,
        "parents": [],
        "sha": "0123456789abcdef0123456789abcdef01234567",
        "subject": "Change",
    }
    run = json.loads(load_figures.record(0, commit, random.Random(1))[1])
    for benchmark in run["benchmarks"]:
        for metric in benchmark["metrics"]:
            for field in ("value", "p50", "p95", "min"):
                metric[field] = load_figures.rounded(metric[field] * factor)
            for field in ("workers", "interval"):
                metric[field] = [load_figures.rounded(value * factor) for value in metric[field]]
    return load_figures.canonical(run) + "\n"


def timed(command, folder, times, codes):
    """The milliseconds that a command takes, with an exit code that is expected."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        taken.append((time.perf_counter() - begin) * 1e3)
        if ended.returncode not in codes:
            raise SystemExit(f"{command} gave {ended.returncode}: {ended.stderr.decode()}")
    return taken, ended.stdout.decode().splitlines()[-1]


def figure(what, taken, said):
    print(f"| {what} | {statistics.median(taken):.1f} ms | {max(taken):.1f} ms | {said} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--metrics", type=int, default=1000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    binary = str(arguments.binary.resolve())
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
        for file, factor in (("run.json", 1.0), ("slower.json", 1.02), ("much-slower.json", 3.0)):
            (folder / file).write_text(record(arguments.metrics, factor))
        subprocess.run([binary, "baseline", "emit", "--run", "run.json"], cwd=folder, check=True, stdout=subprocess.PIPE)
        (baseline,) = (folder / "baselines").glob("*.json")
        print("| what | median | slowest | it says |\n|---|---|---|---|")
        for what, file in (("the same", "run.json"), ("2 % slower", "slower.json"), ("thrice as slow", "much-slower.json")):
            command = [binary, "check", "--run", file, "--baseline", str(baseline)]
            taken, said = timed(command, folder, arguments.times, (0, 1))
            figure(f"`check`, {arguments.metrics} metrics, {what}", taken, said)
        # So little is tolerated that each of them is in doubt, and says what would decide it.
        (folder / "strict.toml").write_text("[rules.interval]\ntolerance = 0.02\n")
        command = [binary, "check", "--run", "slower.json", "--baseline", str(baseline), "--policy", "strict.toml"]
        taken, said = timed(command, folder, arguments.times, (3,))
        figure(f"`check`, {arguments.metrics} metrics, all in doubt", taken, said)
        if arguments.runs:
            load_figures.BENCHMARKS = 50
            history = folder / "history-of-runs"
            load_figures.make_history(history, arguments.runs, False)
            subprocess.run([binary, "history", "cache"], cwd=history, check=True, stdout=subprocess.PIPE)
            taken, said = timed([binary, "check", "--calibrate"], history, 3, (0,))
            figure(f"`check --calibrate`, {arguments.runs} runs of 50 series", taken, said or "tables")


if __name__ == "__main__":
    main()
