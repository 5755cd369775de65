"""Reads what `sprag export` wrote with other people's tools and holds it against the JSON Lines.

Usage: export-check.py FOLDER, where FOLDER holds parquet/, flat.csv, long.csv, values.jsonl and metrics.txt of one
history. Wants the packages duckdb, polars and prometheus-client. Ends with 1 at the first difference.
"""

import json
import math
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

import duckdb
import polars
from prometheus_client.openmetrics.parser import text_string_to_metric_families

CHECKED = []


def same(what, left, right):
    """Both must be equal; a float to the last bit."""
    if left != right:
        sys.exit(f"{what}: {left!r} is not {right!r}")
    CHECKED.append(what)


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


folder = Path(sys.argv[1])
rows = [json.loads(line) for line in (folder / "values.jsonl").read_text().splitlines()]
values = [row for row in rows if row["metric"] is not None]
same("versions of the lines", {row["schema_version"] for row in rows}, {1})

# What both tables must hold, by the JSON Lines.
benchmarks = {(row["run_id"], row["series"]): row for row in rows}
times = {key: None for key in benchmarks}
times.update({(row["run_id"], row["series"]): row["value"] for row in values if row["metric"] == "time"})
samples = {(row["run_id"], row["series"], row["metric"]): row for row in values}

# DuckDB, with the types of the folders declared.
base = duckdb.connect()
base.execute("SET TimeZone = 'UTC'")
for table in ("benchmarks", "samples"):
    base.execute(
        f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/parquet/{table}/*/*/*/*.parquet', "
        "hive_partitioning = true, hive_types = {'suite': VARCHAR, 'year': INTEGER, 'month': INTEGER})"
    )


def ask(query):
    return base.execute(query).fetchall()


same("duckdb: rows of benchmarks", ask("SELECT count(*) FROM benchmarks"), [(len(benchmarks),)])
same("duckdb: rows of samples", ask("SELECT count(*) FROM samples"), [(len(samples),)])
types = dict(ask("SELECT column_name, column_type FROM (DESCRIBE benchmarks)"))
expected = {
    "run_id": "VARCHAR", "series": "VARCHAR", "c": "INTEGER", "commit_time": "TIMESTAMP WITH TIME ZONE",
    "run_time": "TIMESTAMP WITH TIME ZONE", "time_s": "DOUBLE", "peak_bytes": "BIGINT", "n": "BIGINT",
    "workers": "INTEGER", "dirty": "BOOLEAN", "suite": "VARCHAR", "year": "INTEGER", "month": "INTEGER",
}
same("duckdb: types", {name: types.get(name) for name in expected}, expected)
same("duckdb: the type of a list", dict(ask("SELECT column_name, column_type FROM (DESCRIBE samples)"))["samples"], "DOUBLE[]")
found = {(run, series): time for run, series, time in ask("SELECT run_id, series, time_s FROM benchmarks")}
same("duckdb: times to the last bit", found, times)
found = {
    (run, series, metric): (value, lists, suite, year, month)
    for run, series, metric, value, lists, suite, year, month in ask(
        "SELECT run_id, series, metric, value, samples, suite, year, month FROM samples"
    )
}
wanted = {}
for key, row in samples.items():
    time = moment(row["run_time"])
    wanted[key] = (row["value"], row["samples"], row["suite"], time.year, time.month)
same("duckdb: values and lists to the last bit", found, wanted)
sums = ask("SELECT metric, sum(value) FROM samples GROUP BY metric ORDER BY metric")
for metric, total in sums:
    other = math.fsum(row["value"] for row in values if row["metric"] == metric)
    same(f"duckdb: sum of {metric}", math.isclose(total, other, rel_tol=1e-12), True)
found = ask("SELECT DISTINCT run_id, commit_time, run_time FROM benchmarks")
wanted = {(row["run_id"], row["commit_time"] and moment(row["commit_time"]), moment(row["run_time"])) for row in rows}
same("duckdb: moments", set(found), wanted)
for file in sorted((folder / "parquet").glob("*/*/*/*/*.parquet")):
    chunks = ask(
        "SELECT DISTINCT path_in_schema, type, compression, encodings FROM "
        f"parquet_metadata('{file}') WHERE num_values > 0"
    )
    same(f"compression of {file.name}", {chunk[2] for chunk in chunks}, {"ZSTD"})
    text = [chunk for chunk in chunks if chunk[0] in ("run_id", "series", "machine_id")]
    same("text is encoded by a dictionary", all("DICTIONARY" in chunk[3] for chunk in text), True)

# Polars, without a word on types: numbers in folder names are numbers.
frame = polars.scan_parquet(folder / "parquet/benchmarks/**/*.parquet", hive_partitioning=True)
schema = frame.collect_schema()
same("polars: the type of moments", schema["commit_time"], polars.Datetime("us", "UTC"))
same("polars: whole numbers are signed", (schema["peak_bytes"], schema["c"]), (polars.Int64, polars.Int32))
same("polars: folders", (schema["suite"], schema["month"]), (polars.String, polars.Int64))
frame = frame.collect()
same("polars: rows", frame.height, len(benchmarks))
found = dict(zip(zip(frame["run_id"], frame["series"]), frame["time_s"]))
same("polars: times to the last bit", found, times)
lists = polars.scan_parquet(folder / "parquet/samples/**/*.parquet", hive_partitioning=True).collect()
found = dict(zip(zip(lists["run_id"], lists["series"], lists["metric"]), lists["samples"].to_list()))
same("polars: lists to the last bit", found, {key: row["samples"] for key, row in samples.items()})

# CSV, by both; a guard never touches a number.
flat = polars.read_csv(folder / "flat.csv", infer_schema_length=None, schema_overrides={"run_id": polars.String})
same("csv: rows", flat.height, len(benchmarks))
same("csv: columns are those of Parquet", set(flat.columns) | {"year", "month"}, set(schema.names()))
same("csv: times to the last bit", dict(zip(zip(flat["run_id"], flat["series"]), flat["time_s"])), times)
counted = ask(f"SELECT count(*), count(time_s) FROM read_csv('{folder}/flat.csv', header = true, all_varchar = true)")
same("csv: duckdb counts", counted, [(len(times), sum(time is not None for time in times.values()))])
long = polars.read_csv(folder / "long.csv", infer_schema_length=None)
newest = {}
for row in values:
    if row["commit"]:
        newest[row["suite"], row["series"], row["version"], row["metric"], row["commit"], row["machine_id"]] = row
written = Counter(zip(long["suite"], long["metric"], long["commit"], long["machine"], long["value"].cast(polars.Float64)))
same(
    "long csv: the newest value of each commit",
    written,
    Counter((r["suite"], r["metric"], r["commit"], r["machine_name"], r["value"]) for r in newest.values()),
)

# OpenMetrics, by the parser of its reference client.
families = list(text_string_to_metric_families((folder / "metrics.txt").read_text()))
same("openmetrics: all are gauges", {family.type for family in families}, {"gauge"})
latest = {}
for row in values:
    latest[row["suite"], row["series"], row["version"], row["metric"], row["machine_id"]] = row
found = Counter(sample.value for family in families for sample in family.samples if "variant" in sample.labels)
same("openmetrics: the newest value of each series", found, Counter(row["value"] for row in latest.values()))
seconds = [family for family in families if family.name == "sprag_time_seconds"]
same("openmetrics: the unit of time", [family.unit for family in seconds], ["seconds"])

print(f"{len(CHECKED)} checks passed: {len(benchmarks)} benchmarks of runs, {len(samples)} values, {len(families)} families")
