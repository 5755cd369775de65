"""Detects changes in the points that `sprag export series` wrote, in engines that hand on batches of Arrow: Spark, Ray or Dask.

    buckets = spark.range(16, numPartitions=16).withColumnRenamed("id", "bucket")
    buckets.mapInArrow(sprag.engines.bucket_detector("data"), sprag.engines.SCHEMA).write.parquet("found")

Needs pyarrow, and the folder of the dataset on each worker.
"""

import io
import pathlib
import subprocess

SCHEMA = "series string, dataset string, sprag string, points long, changes long, drifts long, found binary"


def detector(dataset, program="sprag"):
    """A function from record batches of points to those of results. All rows of a bucket must be in one call."""

    def detect(batches):
        import pyarrow

        stream, writer = io.BytesIO(), None
        for batch in batches:
            writer = writer or pyarrow.ipc.new_stream(stream, batch.schema)
            writer.write_batch(batch)
        if writer is None:
            return
        writer.close()
        command = [program, "detect", "--arrow", "--dataset", str(dataset)]
        done = subprocess.run(command, input=stream.getbuffer(), stdout=subprocess.PIPE, check=True)
        yield from pyarrow.ipc.open_stream(done.stdout)

    return detect


def bucket_detector(dataset, program="sprag"):
    """A function from record batches of numbers of buckets to those of results. It moves no rows, as it reads the parts."""

    def detect(batches):
        import pyarrow

        for bucket in (bucket for batch in batches for bucket in batch.column("bucket").to_pylist()):
            folder = pathlib.Path(dataset, "points", f"bucket={bucket}")
            if folder.is_dir():
                command = [program, "detect", "--parquet", str(folder)]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                yield from pyarrow.ipc.open_stream(done.stdout)

    return detect
