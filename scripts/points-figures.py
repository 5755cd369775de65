#!/usr/bin/env python3
"""Detects and joins datasets of many points, and prints what that takes by size, with the slope.

    target/engines-venv/bin/python scripts/points-figures.py BINARY [SERIES...] [--folder FOLDER]

Exports a generated history of 100 series over 1,000 commits with `sprag export series`, and makes datasets of more series (1,000,
10,000 and 100,000) in its layout, without a history: a hundred million points as records in git would take a hundred times as
much room. Each bucket is then detected by a process of its own (`sprag detect --parquet`), and all are joined (`sprag trend --from`).
Of 100 series 20 have steps, 5 drift, 12 have two modes, 12 outliers. 100,000 series take 5 GB in FOLDER. Needs what
scripts/engines.sh installs.
"""

import argparse
import copy
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BASE, COMMITS, BUCKETS, PROCESSES = 100, 1000, 16, 5


def generator():
    spec = importlib.util.spec_from_file_location("site_figures", pathlib.Path(__file__).with_name("site-figures.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mixed(bits):
    """As in src/analysis/trend/dataset.rs."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def number_of(run):
    number = np.zeros(1, np.uint64)
    for byte in run.encode():
        number = mixed(number ^ np.uint64(byte))
    return number[0]


def values_of(number, seed):
    """The medians of the processes of a series, a row a commit."""
    draw = np.random.default_rng([seed, number])
    kind = ["steps"] * 20 + ["drift"] * 5 + ["modes"] * 12 + ["outliers"] * 12 + ["flat"] * 51
    kind, base, noise = kind[number * 37 % 100], 10 ** draw.uniform(-3, 0), 10 ** draw.uniform(-2.5, -1.1)
    level = np.full(COMMITS, base)
    if kind == "steps":
        for _ in range(draw.integers(1, 4)):
            level[draw.integers(COMMITS // 10, COMMITS - COMMITS // 20):] *= 1 + draw.choice([1, 1, -0.6]) * draw.uniform(0.04, 0.5)
    if kind == "drift":
        level *= 1 + draw.uniform(0.05, 0.3) * np.arange(COMMITS) / COMMITS
    if kind == "modes":
        level *= np.where(draw.random(COMMITS) < 0.3, 1.08, 1)
    if kind == "outliers":
        level *= np.where(draw.random(COMMITS) < 0.02, 1.5 + draw.random(COMMITS), 1)
    middle = level * (1 + 0.7 * noise * draw.standard_normal(COMMITS))
    workers = middle[:, None] * (1 + 0.7 * noise * draw.standard_normal((COMMITS, PROCESSES)))
    return np.float32(np.maximum(workers, 0.2 * base)).astype(np.float64)


def series_of(listed, number):
    """A series like another one, under a name of its own."""
    listed = copy.deepcopy(listed)
    series, name = listed["series"], f"kernel_{number}"
    series.update(benchmark=series["benchmark"].replace(series["name"], name), name=name)
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    series["id"] = f"{series['suite']}-kernel-{number}-fast-time-{digest}"
    return listed


class Made:
    """The dataset of so many series in a folder."""

    def __init__(self, base, folder, count):
        self.folder, self.count = folder, count
        manifest = json.loads((base / "manifest.json").read_text())
        dataset = msgpack.unpackb((base / manifest["outline"]["path"]).read_bytes(), strict_map_key=False)
        points = pq.read_table(base / "points", columns=["run", "commit", "environment_key", "run_time"]).to_pylist()
        of_run = {point["run"]: point for point in points}
        runs = [of_run[run["id"]] for run in dataset["runs"]]
        numbers = np.array([number_of(run["run"]) for run in runs])
        months = [f"{run['run_time']:%Y-%m}" for run in runs]
        like = next(one for one in dataset["outline"]["series"] if one["judged"])
        listed = sorted((series_of(like, number) for number in range(count)), key=lambda one: one["series"]["id"])
        of_bucket = {}
        for place, one in enumerate(listed):
            identity = one["series"]["id"]
            bucket = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16) % BUCKETS
            of_bucket.setdefault(bucket, []).append((place, identity))
        dataset["outline"].update(series=listed, orders=1)
        dataset["sums"], parts = [None] * count, []
        for bucket, series in sorted(of_bucket.items()):
            workers = np.stack([values_of(place, 1) for place, _ in series])
            values = np.median(workers, axis=2)
            bits = values.view(np.uint64)
            digests = mixed(numbers ^ ((bits << np.uint64(32)) | (bits >> np.uint64(32))))
            for process in np.moveaxis(workers.view(np.uint64), 2, 0):
                digests = mixed(digests ^ process)
            digests = digests.sum(axis=1, dtype=np.uint64)
            for (place, _), digest in zip(series, digests):
                dataset["sums"][place] = {"points": COMMITS, "digests": int(digest)}
            parts += [self.part(bucket, month, series, runs, months, values, workers) for month in sorted(set(months))]
        outline = self.write("outline", "msgpack", msgpack.packb(dataset))
        manifest.update(buckets=BUCKETS, series=count, points=count * COMMITS, outline=outline, parts=parts)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    def part(self, bucket, month, series, runs, months, values, workers):
        own = [place for place, one in enumerate(months) if one == month]
        words = lambda keys, texts: pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), texts)
        of_series, of_runs = np.repeat(np.arange(len(series)), len(own)), np.tile(np.arange(len(own)), len(series))
        named = lambda name: words(of_runs, [runs[place][name] for place in own])
        some = np.ascontiguousarray(workers[:, own, :]).reshape(-1)
        table = pa.table({
            "series": words(of_series, [identity for _, identity in series]),
            "run": named("run"), "commit": named("commit"), "environment_key": named("environment_key"),
            "run_time": pa.array([runs[place]["run_time"] for place in own], pa.timestamp("us", "UTC")).take(pa.array(of_runs)),
            "value": values[:, own].reshape(-1),
            "workers": pa.ListArray.from_arrays(np.arange(0, len(some) + 1, PROCESSES, np.int32), some),
        })
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", use_dictionary=["series", "run", "commit", "environment_key"], store_schema=False)
        file = self.write(f"points/bucket={bucket}/month={month}/part", "parquet", sink.getvalue().to_pybytes())
        return {"bucket": bucket, "month": month, "points": len(of_runs), "file": file}

    def write(self, path, kind, content):
        digest = hashlib.sha256(content).hexdigest()
        path = f"{path}-{digest[:12]}.{kind}"
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)
        return {"path": path, "bytes": len(content), "sha256": digest}


def slope(sizes, figures):
    """Of the logarithm of figures over that of the sizes."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("series", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=pathlib.Path, help="make them here; each is removed after its turn")
    options = parser.parse_args()
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    binary, rows = os.path.abspath(options.binary), []
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = pathlib.Path(temporary)
        history = argparse.Namespace(commits=COMMITS, series=BASE, suites=1, seed=1, asv=None)
        figures = generator()
        repo, taken = figures.History(folder, history).root, figures.taken
        subprocess.run([binary, "export", "series", "--out", folder / "base"], cwd=repo, check=True, stdout=subprocess.DEVNULL)
        for count in options.series:
            data, found = folder / "data", folder / "found"
            begin = time.monotonic()
            Made(folder / "base", data, count)
            size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
            print(f"{count} series: made {size / 1e9:.2f} GB in {time.monotonic() - begin:.0f} s", flush=True)
            found.mkdir()
            of_buckets = [taken([binary, "detect", "--parquet", data / f"points/bucket={bucket}", "--output", found / f"{bucket}.parquet"], repo)
                          for bucket in range(BUCKETS)]
            walls, cpus, most = zip(*of_buckets)
            joined = taken([binary, "trend", "--from", found, "--dataset", data, "--format", "json"], repo)
            rows.append((count, (sum(walls), sum(cpus), max(most)), joined))
            shown = [f"{wall:8.1f} s wall {cpu:8.1f} s CPU {memory:6.0f} MiB" for wall, cpu, memory in rows[-1][1:]]
            print(f"  detect {shown[0]}\n  join   {shown[1]}", flush=True)
            shutil.rmtree(data)
            shutil.rmtree(found)
    if len(rows) > 1:
        sizes = [count for count, *_ in rows]
        for what, place in [("detect", 1), ("join", 2)]:
            slopes = [slope(sizes, [row[place][kind] for row in rows]) for kind in range(3)]
            print("slope of {}: {:.2f} wall, {:.2f} CPU, {:.2f} memory".format(what, *slopes))


if __name__ == "__main__":
    main()
