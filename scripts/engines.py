#!/usr/bin/env python3
"""Detects the changes of generated histories in engines, and compares the result with that of one machine, byte for byte.

    scripts/engines.py BINARY [RUNSxSERIES...] [--folder FOLDER] [--figures]

For each size (200x60 if none is given) it makes a history, exports it with `sprag export series`, and detects

  - in DuckDB and in DataFusion, from the rows of a query a bucket,
  - in Spark, `local-cluster` with two workers, by `sprag.spark`, and by `mapInArrow` from rows,
  - in Dask and in Ray, two processes each, by `sprag.dask` and `sprag.ray`.

In the last three, a worker is killed while its first task runs. `sprag trend --from` joins what each found. JSON and text must be
those of `sprag trend`. --figures kills nobody and prints the times. Needs what scripts/engines.sh installs.
"""

import argparse
import importlib.util
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = str(HERE.parent / "python")
sys.path.insert(0, PYTHON)
TRIALS = 240  # half seconds to wait for a task


def generator():
    spec = importlib.util.spec_from_file_location("site_figures", HERE / "site-figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(what, work):
    begin = time.monotonic()
    result = work()
    print(f"  {what:<44} {time.monotonic() - begin:8.2f} s", flush=True)
    return result


def holding(binary, hold):
    """A program that is the binary, but for its first calls, which wait until a worker is killed."""
    path = pathlib.Path(f"{hold}.sh")
    path.write_text(f"""#!/bin/sh
if [ -e {hold!r} ]; then
  echo $$ >>{hold + ".seen"!r}
  while [ -e {hold!r} ]; do sleep 0.05; done
fi
exec {binary!r} "$@"
""")
    path.chmod(0o755)
    return str(path)


def descendants(process):
    """The processes below one."""
    parents = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = parent_of(place.name)
        except (OSError, ValueError):
            continue
    below, news = set(), {process}
    while news:
        news = {child for child, parent in parents.items() if parent in news} - below
        below |= news
    return below


def kill_one(hold, of_worker):
    """Kills the worker of the first task that waits, and lets the others go on."""
    for _ in range(TRIALS):
        seen = pathlib.Path(f"{hold}.seen")
        tasks = seen.read_text().split() if seen.exists() else []
        if tasks:
            worker = of_worker(int(tasks[0]))
            if worker:
                os.kill(worker, signal.SIGKILL)
                print(f"  killed the worker {worker}", flush=True)
                os.rename(hold, f"{hold}.killed")
                return
        time.sleep(0.5)
    print("no worker with a task was found", file=sys.stderr)
    os.remove(hold)


def killing(hold, of_worker, work):
    if not hold:
        return work()
    pathlib.Path(hold).write_text("")
    pathlib.Path(f"{hold}.seen").unlink(missing_ok=True)
    thread = threading.Thread(target=kill_one, args=(hold, of_worker), daemon=True)
    thread.start()
    result = work()
    thread.join(timeout=TRIALS)
    if not os.path.exists(f"{hold}.killed"):
        sys.exit("the job ended before a worker was killed")
    os.remove(f"{hold}.killed")
    return result


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def executor_of(task):
    """The Java process of Spark that a task is of."""
    own = descendants(os.getpid())
    while task in own:
        if b"CoarseGrainedExecutorBackend" in pathlib.Path(f"/proc/{task}/cmdline").read_bytes():
            return task
        task = parent_of(task)
    return None


def in_spark(binary, data, found, hold):
    import pyspark
    import sprag
    from pyspark.sql import SparkSession
    from sprag import engines

    os.environ["SPARK_HOME"] = str(pathlib.Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = SparkSession.builder.master("local-cluster[2,1,2048]").appName("sprag")
    settings = {"executor.memory": "2g", "ui.enabled": "false", "ui.showConsoleProgress": "false", "sql.shuffle.partitions": "4", "driver.host": "127.0.0.1",
                "sql.adaptive.enabled": "false", "executorEnv.PYTHONPATH": PYTHON, "sql.warehouse.dir": f"{found}.warehouse",
                "sql.execution.arrow.maxRecordsPerBatch": "100000"}
    for name, value in settings.items():
        spark = spark.config(f"spark.{name}", value)
    spark = spark.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        # The workers come up with the first job.
        spark.range(8, numPartitions=4).count()

        def by_rows():
            points = spark.read.parquet(f"{data}/points").repartition(4, "bucket")
            points.mapInArrow(engines.detector(data, binary), engines.SCHEMA).write.parquet(f"{found}-rows")

        killing(hold, executor_of, lambda: timed("Spark, two workers, buckets", lambda: sprag.spark(spark, data, found, binary)))
        timed("Spark, two workers, rows", by_rows)
        return [found, f"{found}-rows"]
    finally:
        spark.stop()


def in_dask(binary, data, found, hold):
    import sprag
    from dask.distributed import Client, LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        work = lambda: timed("Dask, two processes", lambda: sprag.dask(client, data, found, binary))
        killing(hold, parent_of, work)
    return [found]


def in_ray(binary, data, found, hold):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    import sprag

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             runtime_env={"env_vars": {"PYTHONPATH": PYTHON}})
    try:
        # The workers come up with the first tasks.
        ray.get([ray.remote(lambda: os.getpid()).remote() for _ in range(4)])
        killing(hold, parent_of, lambda: timed("Ray, two processes", lambda: sprag.ray(data, found, binary)))
        return [found]
    finally:
        ray.shutdown()


def in_sql(name, query):
    """Detects a bucket at a time in the rows that a query of an engine of one process gives."""

    def detect(binary, data, found, _):
        import pyarrow.parquet
        from sprag import engines

        def each_bucket():
            for bucket in engines.buckets(data):
                batches = engines.detector(data, binary)(query(f"{data}/points/{bucket}"))
                pyarrow.parquet.write_table(pyarrow.Table.from_batches(batches), f"{found}/{bucket}.parquet")

        pathlib.Path(found).mkdir()
        timed(f"{name}, a query a bucket", each_bucket)
        return [found]

    return detect


def duckdb_rows(folder):
    import duckdb

    return duckdb.sql(f"SELECT series, run, value, workers FROM '{folder}/*.parquet'").to_arrow_reader(100_000)


def datafusion_rows(folder):
    import datafusion

    stream = datafusion.SessionContext().read_parquet(f"{folder}/").select("series", "run", "value", "workers").execute_stream()
    return (batch.to_pyarrow() for batch in stream)


ENGINES = {
    "DuckDB": ("duckdb", in_sql("DuckDB", duckdb_rows)),
    "DataFusion": ("datafusion", in_sql("DataFusion", datafusion_rows)),
    "Spark": ("pyspark", in_spark),
    "Dask": ("distributed", in_dask),
    "Ray": ("ray", in_ray),
}


def check(binary, runs, series, folder, figures):
    print(f"{runs} runs x {series} series", flush=True)
    options = argparse.Namespace(commits=runs, series=series, suites=1, seed=1, asv=None)
    if not (folder / "repo").exists():
        timed("make the history", lambda: generator().History(folder, options))
    repo, data = folder / "repo", str(folder / "data")
    at = ["--as-of", "2040-01-01T00:00:00Z"]

    def sprag(*words):
        command = [binary, "-C", str(repo), *words]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout

    shutil.rmtree(data, ignore_errors=True)
    sprag("history", "cache")
    print("  " + timed("sprag export series", lambda: sprag("export", "series", "--out", data)).decode().strip())
    forms = [["--format", "json"], ["--details", "--all"]]
    whole = [timed(f"sprag trend {' '.join(form)}", lambda: sprag("trend", *at, *form)) for form in forms]
    if figures:
        output = str(folder / "own.parquet")
        timed("sprag detect, own threads", lambda: sprag("detect", "--parquet", f"{data}/points", "--output", output))
    for name, (module, engine) in ENGINES.items():
        missing = name if not importlib.util.find_spec(module) else "Java" if name == "Spark" and not shutil.which("java") else ""
        if missing:
            print(f"  skipped: {missing} is not installed here", flush=True)
            continue
        found = str(folder / f"found-{name}")
        shutil.rmtree(found, ignore_errors=True)
        shutil.rmtree(f"{found}-rows", ignore_errors=True)
        hold = "" if figures else f"{found}.hold"
        results = engine(holding(binary, hold) if hold else binary, data, found, hold)
        for (form, expected), found in itertools.product(zip(forms, whole), results):
            joined = timed(f"sprag trend --from {' '.join(form)}",
                           lambda: sprag("trend", *at, *form, "--from", found, "--dataset", data))
            if joined != expected:
                sys.exit(f"{name}: `sprag trend {' '.join(form)}` differs from that of one machine")
        print(f"  {name}: the same {sum(map(len, whole))} bytes as on one machine", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("sizes", nargs="*", default=["200x60"])
    parser.add_argument("--folder", type=pathlib.Path, help="keep the histories here, and use those that are there")
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    with tempfile.TemporaryDirectory() as temporary:
        for size in options.sizes:
            runs, series = map(int, size.split("x"))
            folder = (options.folder or pathlib.Path(temporary)).resolve() / size
            folder.mkdir(parents=True, exist_ok=True)
            check(os.path.abspath(options.binary), runs, series, folder, options.figures)


if __name__ == "__main__":
    main()
