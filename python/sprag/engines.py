"""Detects changes in the rows of `sprag export series`, in engines that hand on batches of Arrow: Spark, Ray or Dask.

    points = spark.read.parquet("data/points").repartition("bucket")
    points.mapInArrow(sprag.engines.detector("data"), sprag.engines.SCHEMA).write.parquet("found")

All rows of a bucket must be in one call. Needs pyarrow, and the folder of the dataset on each worker.
"""

import io
import subprocess

SCHEMA = "series string, dataset string, sprag string, points long, changes long, drifts long, found binary"


def detector(dataset, program="sprag"):
    """A function from record batches of points to record batches of results."""

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
