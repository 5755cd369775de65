#!/usr/bin/env python3
"""How far off Sprag and hyperfine are on this machine: scripts/hyperfine-figures.py SPRAG [--rounds N]

Two commits of a Python program that do the same work are compared N times by each tool, in turns, with ten processes a side. hyperfine
runs one side after the other; `sprag compare --measure` alternates. Prints by how much the measured ratios miss 1, and Sprag's verdicts.
hyperfine gives no verdict: its ratio and spread are for the reader to judge.
"""

import argparse
import collections
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

WORK = """import json, time
start = time.perf_counter()
total = 0
for i in range(1_000_000):
    total += i * i
took = time.perf_counter() - start
print(json.dumps({"schema_version": 1, "benchmarks": [{"name": "sum", "metrics": [{"name": "time", "unit": "s", "better": "lower", "samples": [took]}]}]}))
"""
SETTINGS = '[suites.own]\nkind = "command"\ncommand = ["python3", "work.py"]\n'


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sprag")
    arguments.add_argument("--rounds", type=int, default=20)
    options = arguments.parse_args()
    if not shutil.which("hyperfine"):
        print("skipped: hyperfine is not installed")
        return
    program = str(pathlib.Path(options.sprag).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*command, codes=(0,)):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode not in codes:
                sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
            return done.stdout

        run("git", "init", "--quiet", "--initial-branch=main")
        run("git", "config", "user.name", "figures")
        run("git", "config", "user.email", "figures@example.org")
        (folder / "sprag.toml").write_text(SETTINGS)
        for side in ("a", "b"):
            for file in ("work.py", f"{side}.py"):
                (folder / file).write_text(WORK)
            run("git", "add", "--all")
            run("git", "commit", "--quiet", "--message", side)
        errors, verdicts = collections.defaultdict(list), collections.Counter()
        for _ in range(options.rounds):
            run("hyperfine", "--runs", "10", "--warmup", "1", "--export-json", "h.json", "python3 a.py", "python3 b.py")
            first, second = json.loads((folder / "h.json").read_text())["results"]
            errors["hyperfine"].append(second["mean"] / first["mean"] - 1)
            text = run(program, "compare", "--measure", "HEAD~1", "HEAD", "--suite", "own", "--json", codes=(0, 1, 3))
            compared = json.loads(text)["benchmarks"][0]
            verdicts[compared["verdict"]] += 1
            errors["sprag"].append(compared["ratio"] - 1)
    for tool, all_errors in errors.items():
        sizes = sorted(abs(error) for error in all_errors)
        print(f"{tool}: the ratio misses 1 by {100 * statistics.median(sizes):.1f} % in the median, {100 * sizes[-1]:.1f} % at most")
    print("verdicts of sprag:", ", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
