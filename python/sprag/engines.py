"""Detects changes in the points that `sprag export series` wrote: in Spark, Dask or Ray, or in any engine that hands on batches
of Arrow (`points.mapInArrow(detector("data"), SCHEMA)`, with all rows of a bucket in one partition, needs pyarrow).
`sprag trend --from FOUND --dataset DATASET` joins the partial results.

    sprag.spark(session, "data", "found")
    sprag.dask(client, "data", "found")
    sprag.ray("data", "found")

The folders must be the same on all workers, each of which needs this package.
"""

import io
import json
import os
import pathlib
import subprocess

from sprag.detection import program as own

SCHEMA = "series string, dataset string, sprag string, points long, changes long, drifts long, found binary"


def spark(session, dataset, found, program=None):
    """Detects by the workers of Spark, a task a bucket. Writes the partial results to the folder `found`."""
    names, dataset, found = prepared(dataset, found)
    tasks = session.sparkContext.parallelize(names, max(1, len(names)))
    tasks.foreach(lambda name: detect_bucket(dataset, name, found, program))


def dask(client, dataset, found, program=None):
    """Detects by the workers of a client of `dask.distributed`, a task a bucket. Writes to the folder `found`."""
    names, dataset, found = prepared(dataset, found)
    client.gather([client.submit(detect_bucket, dataset, name, found, program, pure=False) for name in names])


def ray(dataset, found, program=None):
    """Detects by the workers of Ray, a task a bucket. Writes the partial results to the folder `found`."""
    import ray as engine

    names, dataset, found = prepared(dataset, found)
    task = engine.remote(detect_bucket)
    engine.get([task.remote(dataset, name, found, program) for name in names])


def prepared(dataset, found):
    """The buckets, and both folders as all workers name them. Results of earlier calls are removed."""
    names, found = buckets(dataset), os.path.abspath(found)
    for file in pathlib.Path(found).glob("bucket=*.parquet"):
        file.unlink()
    return names, os.path.abspath(dataset), found


def buckets(dataset):
    """The names of the folders of a dataset, each of which holds all points of its series."""
    manifest = pathlib.Path(dataset, "manifest.json")
    if not manifest.is_file():
        raise FileNotFoundError(f"there is no dataset at {dataset}; `sprag export series --out {dataset}` makes one")
    return [f"bucket={number}" for number in sorted({part["bucket"] for part in json.loads(manifest.read_text())["parts"]})]


def detect_bucket(dataset, name, found, program=None):
    """Detects in the folder of that name. Writes the partial result to a file of that name in the folder `found`."""
    pathlib.Path(found).mkdir(parents=True, exist_ok=True)
    part, output = pathlib.Path(dataset, "points", name), pathlib.Path(found, f"{name}.parquet")
    command = [program or own(), "detect", "--parquet", str(part), "--output", str(output)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip()}")


def detector(dataset, program=None):
    """A function from record batches of points to those of results. All rows of a bucket must be in one call."""
    dataset = os.path.abspath(dataset)

    def detect(batches):
        import pyarrow

        stream, writer = io.BytesIO(), None
        for batch in batches:
            writer = writer or pyarrow.ipc.new_stream(stream, batch.schema)
            writer.write_batch(batch)
        if writer is None:
            return
        writer.close()
        command = [program or own(), "detect", "--arrow", "--dataset", dataset]
        done = subprocess.run(command, input=stream.getbuffer(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace").strip())
        yield from pyarrow.ipc.open_stream(done.stdout)

    return detect
