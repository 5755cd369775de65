#!/usr/bin/env python3
"""How well `sprag detect` does on histories of real projects, which nobody labelled.

  scripts/real-histories.py FOLDER [--sprag PROGRAM] [--list]
  scripts/real-histories.py FOLDER --page FILE [--kind changes|drifts|modes] [--count 60] [--seed 1]

FOLDER holds tables `series,index,value`, plain or packed by gzip. Without it the script says `skipped` and ends with 0.

An unmistakable step: the six points before it and the six from it on do not overlap, their medians differ by ten per cent or more,
and by eight median absolute deviations: the larger of that about both medians and that of the differences of neighbours of the
series. Of several places next to one another the largest step counts. A step is found where a change lies within three points.
A step within a bimodal finding is explained by it, and is counted apart. `--list` names those that are not
found. `--page` writes random findings as small pictures, to judge by eye whether they are true. Otava 0.8 is scored with its default settings where its package is installed.
"""
import argparse
import csv
import gzip
import html
import io
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SIDE = 6
LEAST = 0.10
DEVIATIONS = 8.0
WITHIN = 3

# Points on either side of a finding that its picture shows.
AROUND = 40

STYLE = """<!doctype html><meta charset="utf-8"><style>body{font:11px sans-serif;display:flex;flex-wrap:wrap;gap:6px}p{width:100%}
figure{margin:0;width:300px;border:1px solid #ccc}rect{fill:#fc0}path{stroke:#d22}figcaption{padding:0 4px}</style>"""


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
    counts = dict.fromkeys(["points", "steps", "found", "changes", "drifts", "holding", "twice", "modes", "explained"], 0)
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
            is_of_modes = any(one["begin"] - WITHIN <= step <= one["end"] for one in found[name].get("modes", []))
            is_found = any(abs(one - step) <= WITHIN for one in changes)
            counts["found"] += is_found
            counts["explained"] += is_of_modes and not is_found
            if not (is_found or is_of_modes):
                missed.append(f"{name} at index {points[step][0]}")
    return counts


def findings(series, found, kind):
    """Each finding of a kind in these series: its first point and its end."""
    for name, points in series.items():
        for one in found[name].get(kind, []):
            begin, end = {"changes": lambda: (one, one), "drifts": lambda: one, "modes": lambda: (one["begin"], one["end"])}[kind]()
            yield name, [value for _, value in points], begin, end, found[name]["changes"]


def picture(name, values, begin, end, changes):
    """The points around a finding, with the changes and a tinted band from its first point to its end."""
    first, last = max(0, begin - AROUND), min(len(values), end + AROUND)
    shown = sorted(values[first:last])
    low, high = shown[len(shown) // 100], shown[-1 - len(shown) // 100]
    high = high if high > low else low + 1
    x = lambda place: 4 + 292 * (place - first) / (last - first)
    y = lambda value: min(max(114 - 108 * (value - low) / (high - low), 2), 118)
    dots = "".join(f'<circle cx="{x(place + 0.5):.1f}" cy="{y(values[place]):.1f}" r="1.6"/>' for place in range(first, last))
    lines = "".join(f'<path d="M{x(one):.1f} 0V120"/>' for one in changes if first < one < last)
    band = f'<rect x="{x(begin) - 1:.1f}" width="{x(end) - x(begin) + 2:.1f}" height="120"/>'
    caption = html.escape(f"{name[-44:]} at {begin}, {low:.4g} to {high:.4g}")
    return f'<figure><svg width="300" height="120">{band}{lines}{dots}</svg><figcaption>{{}} {caption}</figcaption></figure>'


def page(tables, program, kind, count, seed):
    """Random findings of a kind as a page of numbered pictures."""
    found = {name: detect(program, series) for name, series in tables.items()}
    each = [one for name, series in tables.items() for one in findings(series, found[name], kind)]
    drawn = random.Random(seed).sample(each, min(count, len(each)))
    pictures = [picture(*one).format(number) for number, one in enumerate(drawn, 1)]
    return STYLE + f"<p>{len(drawn)} of {len(each)} {kind}, seed {seed}</p>" + "".join(pictures)


def line(name, counts):
    share = f"{100 * counts['found'] / counts['steps']:.1f} %" if counts["steps"] else "-"
    alerts = 1000 * (counts["changes"] + counts["drifts"] + counts["modes"]) / max(counts["points"], 1)
    cells = [name, counts["points"], f"{counts['found']} of {counts['steps']}", share, counts["changes"], counts["drifts"]]
    cells += [counts["holding"], counts["twice"], counts["modes"], counts["explained"], f"{alerts:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--sprag", default="target/release/sprag", help="the program")
    arguments.add_argument("--list", action="store_true", help="name the steps that are not found")
    arguments.add_argument("--page", type=pathlib.Path, help="write pictures of random findings to this file")
    arguments.add_argument("--kind", choices=["changes", "drifts", "modes"], default="changes")
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    paths = sorted(path for path in options.folder.glob("*.csv*") if path.is_file())
    if not paths:
        print(f"skipped: `{options.folder}` holds no histories")
        return
    tables = {path.name: read(path) for path in paths}
    if options.page:
        options.page.write_text(page(tables, options.sprag, options.kind, options.count, options.seed))
        return
    heads = ["table", "points", "steps found", "share", "changes", "drifts", "with a change", "overlapping", "bimodal", "steps in these"]
    print("| " + " | ".join(heads + ["alerts in 1,000"]) + " |\n|---" + "|--:" * len(heads) + "|")
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
