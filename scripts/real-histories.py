#!/usr/bin/env python3
"""How well `sprag detect` does on histories of real projects, which nobody labelled.

  scripts/real-histories.py FOLDER [--sprag PROGRAM] [--list]

FOLDER holds tables `series,index,value`, plain or packed by gzip. Without it the script says `skipped` and ends with 0.

An unmistakable step: the six points before it and the six from it on do not overlap, their medians differ by ten per cent or more,
and by eight median absolute deviations: the larger of that about both medians and that of the differences of neighbours of the
series. Of several places next to one another the largest step counts. A step is found where a change lies within three points.
`--list` names those that are not found. Otava 0.8 is scored with its default settings where its package is installed.
"""
import argparse
import csv
import gzip
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SIDE = 6
LEAST = 0.10
DEVIATIONS = 8.0
WITHIN = 3


def read(path):
    """The values of each series, in the order of their indices, with these."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    series = {}
    with opened as lines:
        for row in csv.DictReader(lines):
            series.setdefault(row["series"], []).append((int(row["index"]), float(row["value"])))
    return {name: sorted(points) for name, points in series.items()}


def unmistakable(values):
    """The first points of the steps that nobody can miss."""
    moves = [abs(b - a) for a, b in zip(values, values[1:])]
    rough = statistics.median(moves) / 2**0.5 if moves else 0.0
    steps = []
    for place in range(SIDE, len(values) - SIDE + 1):
        before, after = values[place - SIDE : place], values[place : place + SIDE]
        if max(before) >= min(after) and max(after) >= min(before):
            continue
        levels = statistics.median(before), statistics.median(after)
        size = abs(levels[1] - levels[0])
        about = [abs(one - levels[0]) for one in before] + [abs(one - levels[1]) for one in after]
        if size < LEAST * abs(levels[0]) or size < DEVIATIONS * max(statistics.median(about), rough):
            continue
        if steps and place - steps[-1][0] <= WITHIN:
            steps[-1] = max(steps[-1], (place, size), key=lambda step: step[1])
        else:
            steps.append((place, size))
    return [place for place, _ in steps]


def detect(program, series):
    """What `sprag detect` finds in each series, in places of its points."""
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(["series", "index", "commit", "time", "value"])
    for name, points in series.items():
        rows.writerows([name, place, "", "", repr(value)] for place, (_, value) in enumerate(points))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "series.csv"
        path.write_text(table.getvalue())
        done = subprocess.run([program, "detect", str(path)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def otava(series):
    """What Otava finds, or nothing where it is not installed."""
    try:
        from otava.analysis import compute_change_points
    except ImportError:
        return None
    found = {}
    for name, points in series.items():
        values = [value for _, value in points]
        changes, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
        found[name] = {"changes": [change.index for change in changes], "drifts": []}
    return found


def score(series, found, missed):
    """Counts over the series of one table."""
    counts = dict.fromkeys(["points", "steps", "found", "changes", "drifts", "holding", "twice", "modes"], 0)
    for name, points in series.items():
        changes, drifts = found[name]["changes"], found[name]["drifts"]
        counts["points"] += len(points)
        counts["changes"] += len(changes)
        counts["drifts"] += len(drifts)
        counts["modes"] += len(found[name].get("modes", []))
        counts["holding"] += sum(any(begin < one < end for one in changes) for begin, end in drifts)
        counts["twice"] += sum(
            any(one[0] < drift[1] and drift[0] < one[1] for one in drifts[:place]) for place, drift in enumerate(drifts)
        )
        for step in unmistakable([value for _, value in points]):
            counts["steps"] += 1
            if any(abs(one - step) <= WITHIN for one in changes):
                counts["found"] += 1
            else:
                missed.append(f"{name} at index {points[step][0]}")
    return counts


def line(name, counts):
    share = f"{100 * counts['found'] / counts['steps']:.1f} %" if counts["steps"] else "-"
    alerts = 1000 * (counts["changes"] + counts["drifts"]) / max(counts["points"], 1)
    cells = [name, counts["points"], f"{counts['found']} of {counts['steps']}", share, counts["changes"], counts["drifts"]]
    cells += [counts["holding"], counts["twice"], counts["modes"], f"{alerts:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--sprag", default="target/release/sprag", help="the program")
    arguments.add_argument("--list", action="store_true", help="name the steps that are not found")
    options = arguments.parse_args()
    paths = sorted(path for path in options.folder.glob("*.csv*") if path.is_file())
    if not paths:
        print(f"skipped: `{options.folder}` holds no histories")
        return
    heads = ["table", "points", "steps found", "share", "changes", "drifts", "with a change", "overlapping", "two modes"]
    print("| " + " | ".join(heads + ["alerts in 1,000"]) + " |\n|---" + "|--:" * len(heads) + "|")
    tables = {path.name: read(path) for path in paths}
    programs = {"sprag": lambda series: detect(options.sprag, series), "otava": otava}
    for program, find in programs.items():
        total, missed = {}, []
        for name, series in tables.items():
            found = find(series)
            if found is None:
                print(f"{program}: skipped, it is not installed", file=sys.stderr)
                break
            counts = score(series, found, missed)
            print(line(f"{program}, {name}", counts))
            total = {key: total.get(key, 0) + count for key, count in counts.items()}
        else:
            print(line(f"{program}, all", total))
            if options.list:
                print("\n".join(f"{program} misses {one}" for one in missed))


if __name__ == "__main__":
    main()
