#!/usr/bin/env python3
"""Times the detection of changes in generated series by Sprag, Otava and asv, on the same values in one run.

    PYTHON scripts/detect-peers.py BINARY [SERIESxPOINTS...] [--limit SECONDS]

Series have noise of 1 to 5 % and up to three steps of 5 to 30 %. Sprag reads a CSV table, start and reading counted; Otava and
asv are called on lists in memory with their default settings, on one processor. Needs a Python with the packages apache-otava
and asv; one that is missing is skipped. A peer that took longer than the limit at one size is left out at larger ones.
"""

import argparse
import importlib
import json
import random
import resource
import subprocess
import tempfile
import time


def generated(series, points):
    draw = random.Random(f"{series} {points}")
    for _ in range(series):
        level, noise = 10 ** draw.uniform(-3, 3), draw.uniform(0.01, 0.05)
        steps = {draw.randrange(points): 1 + draw.choice([-1, 1]) * draw.uniform(0.05, 0.3) for _ in range(draw.randrange(4))}
        values = []
        for place in range(points):
            level *= steps.get(place, 1)
            values.append(level * draw.gauss(1, noise))
        yield values


def sprag(binary, data):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("series,index,value\n")
        table.writelines(f"s{name},{place},{value!r}\n" for name, values in enumerate(data) for place, value in enumerate(values))
        table.flush()
        report = json.loads(subprocess.run([binary, "detect", table.name], check=True, capture_output=True).stdout)
    return sum(len(one["changes"]) for one in report.values())


def otava(analysis, data):
    return sum(len(analysis.compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)[0]) for values in data)


def asv(step_detect, data):
    return sum(len(step_detect.detect_steps(values)) - 1 for values in data)


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("binary")
    options.add_argument("sizes", nargs="*", default=["100x1000", "1000x1000"])
    options.add_argument("--limit", type=float, default=120)
    options = options.parse_args()
    peers = {"sprag": lambda data: sprag(options.binary, data)}
    for name, module, call in [("otava", "otava.analysis", otava), ("asv", "asv.step_detect", asv)]:
        try:
            peers[name] = lambda data, call=call, module=importlib.import_module(module): call(module, data)
        except ImportError:
            print(f"skipped: {name} is not installed")
    for size in options.sizes:
        series, points = map(int, size.split("x"))
        data = list(generated(series, points))
        for name in list(peers):
            wall, used = time.monotonic(), processor_seconds()
            changes = peers[name](data)
            wall, used = time.monotonic() - wall, processor_seconds() - used
            print(f"{size}: {name} {used:.2f} s of CPU ({wall:.2f} s), {changes} changes", flush=True)
            if wall > options.limit:
                del peers[name]


main()
