#!/usr/bin/env python3
"""The figures of docs/FIGURES.md that are about measuring: each subcommand prints one Markdown table.

    scripts/figures.py aa [RUNS]         one build against itself, interleaved: how often is a change seen?
    scripts/figures.py planted [RUNS]    one tile more in 32: how often is that seen?
    scripts/figures.py budgets [TIME..]  the smallest change that a comparison and a run of that length could show
    scripts/figures.py spread [SESSIONS] how far a mean, a median and the tracked ratio move from session to session

Needs Python 3 alone and a release build (`cargo build --release`); SPRAG names another program. `planted` builds a
second program from the sources of HEAD. Run it on a machine that does nothing else.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPRAG = os.environ.get("SPRAG", str(ROOT / "target/release/sprag"))
# A series counts as changed in an A/A run when its interval lies beyond one by more than this.
SLACK = 0.01
WORKERS_OF_A_SESSION = 5
# One series of each kernel, most of them of the classes that the A/A figure is about.
AA_SERIES = [
    "order=hilbert,t=16,w=128} @fast", "order=given,t=8,w=128} @fast", "in_place{b=1,by=levels,c=128,h=128,k=32,t=8,w",
    "steps=256} @fast", "infer", "fusion_gate{b=1,c=64,h=128,w=128} @fast", "by=priority,c=64,h=128,k=10,t=16,w=128} @fast",
]


def output(*arguments, expect=(0, 1, 3), **options):
    """Standard output of the program; any other exit code than expected ends everything."""
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, **options)
    if done.returncode not in expect:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def compare_report(base, other, *options):
    return json.loads(output(SPRAG, "compare", base, other, "--measure", "--json", *options))


def compare(base, other, *options):
    return compare_report(base, other, *options)["benchmarks"]


def run_record(*options):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "run.json")
        output(SPRAG, "run", "--suite", "cpu", "--output-run", path, *options)
        return json.loads(Path(path).read_text())


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def percent(value, digits=1):
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def aa(runs=30):
    """Every run compares this build with itself; a series is counted when its interval excludes one by SLACK."""
    seen, total, worst = {}, {}, {}
    for number in range(int(runs)):
        for one in compare("HEAD", "HEAD", *[option for text in AA_SERIES for option in ("--filter", text)]):
            group = one["measured"]["class"]
            if one["interval"] is None:
                print(f"run {number + 1}: {one['measured']['benchmark']} failed", file=sys.stderr)
                continue
            low, high = one["interval"]
            total[group] = total.get(group, 0) + 1
            off = low > 1 + SLACK or high < 1 - SLACK
            seen[group] = seen.get(group, 0) + off
            if off:
                print(f"run {number + 1}: {one['measured']['benchmark']} {low:.4f} to {high:.4f}", file=sys.stderr)
            worst.setdefault(group, []).append(abs(one["ratio"] - 1))
    rows = [
        (group, total[group], seen[group], percent(seen[group] / total[group]),
         percent(statistics.median(worst[group]), 2), percent(max(worst[group]), 2))
        for group in sorted(total)
    ]
    table(["class", "series seen", "exclude 1 by > 1 %", "share", "median distance from 1", "largest"], rows)


def planted(runs=10):
    """A copy of the sources packs 33 tiles where it says 32."""
    with tempfile.TemporaryDirectory() as folder:
        base, other = Path(folder) / "base", Path(folder) / "other"
        shutil.copy2(SPRAG, base)
        tree = Path(folder) / "tree"
        tree.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=tree, input=archive, check=True)
        path = tree / "src/measure/cpu/kernels.rs"
        text = path.read_text()
        function = re.search(r"\nfn pack_wide\(.*?\n}\n", text, re.S)
        changed = function.group(0).replace("WIDE_TILES", "WIDE_TILES + 1")
        if changed.count("WIDE_TILES + 1") != 2:
            sys.exit("`pack_wide` is not what this script expects")
        path.write_text(text.replace(function.group(0), changed))
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
        build = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", target]
        try:
            subprocess.run(build, cwd=tree, check=True)
            shutil.copy2(Path(target) / "release/sprag", other)
        finally:
            shutil.copy2(base, Path(target) / "release/sprag")
        rows = []
        for number in range(int(runs)):
            found = compare(str(base), str(other), "--rigorous", "--filter", "tile_pack{b=1,c=128,h=128,k=32,order=given,t=8,w=128} @fast")
            (one,) = found
            if one["interval"] is None:
                rows.append((number + 1, "–", "–", "no", one["verdict"]))
                continue
            low, high = one["interval"]
            rows.append((number + 1, percent(one["ratio"] - 1, 2), f"{percent(low - 1, 2)} to {percent(high - 1, 2)}",
                         "yes" if low > 1 else "no", one["verdict"]))
        table(["run", "change", "95 % interval", "seen (interval above 0)", "verdict"], rows)


def budgets(*times):
    """For all fast kernels together, and for one kernel of each class alone."""
    for filters in (["@fast"], ["steps=256} @fast"], ["order=given,t=8,w=128} @fast"], ["fusion_gate{b=1,c=64,h=128,w=128} @fast"]):
        print(f"`--filter '{filters[0]}'`\n")
        budget_table(times or ("10s", "30s", "60s"), filters)
        print()


def budget_table(times, filters):
    options = [option for text in filters for option in ("--filter", text)]
    rows = []
    for time in times:
        pairs, runs = {}, {}
        report = compare_report("HEAD", "HEAD", "--budget", time, *options)
        for one in report["benchmarks"]:
            found = pairs.setdefault(one["measured"]["class"], [])
            if one["detectable"] is not None:
                # What the comparison calls a regression lies above the tolerance; this is what it could tell from none.
                found.append(one["detectable"] - report["tolerance"])
        count = max(len(one["measured"]["pairs"]) for one in report["benchmarks"])
        record = run_record("--budget", time, *options)
        for one in record["benchmarks"]:
            ratio = next((metric for metric in one["metrics"] if metric["name"] == "ratio"), {})
            if ratio.get("detectable") is not None and "class" in one["attributes"] and one.get("role") is None:
                runs.setdefault(one["attributes"]["class"], []).append(ratio["detectable"])
        middle = lambda found: percent(statistics.median(found), 2) if found else "–"
        workers = f"{record['config']['workers']} ({record['config']['stop_reason']})"
        for group in (group for group in ("compute", "cache", "dram") if group in pairs):
            rows.append((time, group, count, middle(pairs[group]), workers, middle(runs.get(group))))
    table(["budget", "class", "pairs", "`compare --measure`", "workers", "`run`, ratio"], rows)


def session(ids, protocol):
    """One session: by benchmark, the mean and median of all its samples and the tracked ratio, a list a worker."""
    found = {}
    for worker in range(WORKERS_OF_A_SESSION):
        benchmarks = [{"id": one, "configuration": None} for one in ids]
        plan = {"version": 3, "suite": "cpu", "benchmarks": benchmarks, "protocol": protocol, "worker": worker}
        lines = output(SPRAG, "worker", input=json.dumps(plan)).splitlines()
        for series in json.loads(lines[-1])["report"]["series"]:
            walls, ratios = [], []
            for turn in series["turns"]:
                walls += [sample["wall"] for sample in turn["own"]["samples"]]
                ratios.append(median_of(turn["own"]) / median_of(turn["calibrations"][0][1]))
            entry = found.setdefault(series["id"], {"mean": [], "median": [], "ratio": []})
            entry["mean"].append(statistics.fmean(walls))
            entry["median"].append(statistics.median(walls))
            entry["ratio"].append(statistics.median(ratios))
    return found


def median_of(block):
    kept = block["samples"][block["unsettled"]:]
    clean = [sample["wall"] for sample in kept if not sample["preempted"]]
    return statistics.median(clean or [sample["wall"] for sample in kept])


def spread(sessions=12):
    record = run_record("--quick", "--filter", "@fast")
    classes = {one["id"]: one["attributes"]["class"] for one in record["benchmarks"]
               if one.get("role") is None and "class" in one["attributes"]}
    protocol = {"processes": 1, "rounds": 12, "block_samples": 14, "sample_seconds": 1e-4, "series_seconds": 0.4,
                "seed": 123, "budget_seconds": None, "precision": None, "patience_seconds": 120.0, "pin": None}
    all_sessions = [session(list(classes), protocol) for _ in range(int(sessions))]
    rows, apart, pairs = [], {}, {}
    for one, group in sorted(classes.items(), key=lambda item: item[1]):
        def variation(kind):
            values = [statistics.median(found[one][kind]) for found in all_sessions]
            return statistics.stdev(values) / statistics.fmean(values)
        rows.append((f"`{one}`", group, percent(variation("mean")), percent(variation("median")), percent(variation("ratio"))))
        for before, after in zip(all_sessions, all_sessions[1:]):
            was, now = before[one]["ratio"], after[one]["ratio"]
            pairs[group] = pairs.get(group, 0) + 1
            apart[group] = apart.get(group, 0) + (min(now) > max(was) * (1 + SLACK) or max(now) < min(was) * (1 - SLACK))
    table(["benchmark", "class", "mean", "median", "tracked ratio"], rows)
    print()
    rows = [(group, pairs[group], apart[group], percent(apart[group] / pairs[group])) for group in sorted(pairs)]
    table(["class", "pairs of successive sessions", "ratios apart by > 1 %", "share"], rows)


COMMANDS = {"aa": aa, "planted": planted, "budgets": budgets, "spread": spread}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
