"""Tests of the package `sprag`, with the program `sprag` of the path: python3 -m unittest discover -s python/tests."""

import os
import pathlib
import random
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import sprag

# A step of a fifth after twenty points, with some noise.
STEP = [1 + 0.01 * (place * 7 % 5) for place in range(20)] + [1.2 + 0.01 * (place * 3 % 5) for place in range(20)]


class Detect(unittest.TestCase):
    def test_a_step_is_found_with_its_levels_time_and_label(self):
        times, labels = list(range(100, 140)), [f"commit {place}" for place in range(40)]
        [found] = sprag.detect(STEP, times, labels)
        self.assertEqual((found["kind"], found["time"], found["label"]), ("change", 120, "commit 20"))
        self.assertEqual((found["first"], found["index"], found["last"]), (20, 20, 20))
        self.assertAlmostEqual(found["before"], 1.02, delta=0.01)
        self.assertAlmostEqual(found["after"], 1.22, delta=0.01)

    def test_drifts_and_modes_are_findings_too(self):
        draw = random.Random(1)
        [ramp] = sprag.detect([1 + 0.01 * max(0, min(place - 30, 40)) + 0.01 * draw.gauss(0, 1) for place in range(100)])
        self.assertEqual(ramp["kind"], "drift")
        self.assertTrue(20 < ramp["index"] < 40 < 60 < ramp["end"] < 80, ramp)
        modes = [1.0 + 0.3 * (place // 7 % 2) + 0.002 * (place * 7 % 5) for place in range(140)]
        self.assertIn("modes", [one["kind"] for one in sprag.detect(modes)])

    def test_nothing_is_found_in_nothing_and_what_is_not_finite_is_left_out(self):
        self.assertEqual(sprag.detect([]), [])
        with mock.patch("sys.stderr") as messages:
            self.assertEqual([one["index"] for one in sprag.detect([None, float("inf")] + STEP)], [22])
        self.assertIn("2 rows without a finite value", str(messages.mock_calls))

    def test_options_are_those_of_the_program(self):
        self.assertEqual(sprag.detect(STEP, least=0.5), [])
        for options in ({"sensitivity": "loose"}, {"more_is_better": True}):
            self.assertEqual(len(sprag.detect(STEP, **options)), 1)
        with self.assertRaisesRegex(ValueError, "invalid value 'very'"):
            sprag.detect(STEP, sensitivity="very")
        with self.assertRaisesRegex(ValueError, "'-1'"):
            sprag.detect(STEP, least=-1)
        with self.assertRaisesRegex(ValueError, "40 numbers and 2 labels"):
            sprag.detect(STEP, labels=["a", "b"])


class Engines(unittest.TestCase):
    """By stand-ins of the engines that are called as these are; scripts/engines.sh runs the real ones."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data, self.found = pathlib.Path(folder.name, "data"), pathlib.Path(folder.name, "found")
        self.data.mkdir()
        (self.data / "manifest.json").write_text('{"parts": [{"bucket": 3}, {"bucket": 0}, {"bucket": 3}]}')
        self.found.mkdir()
        (self.found / "bucket=9.parquet").write_text("of an export with more buckets")
        self.program = pathlib.Path(folder.name, "program")
        self.program.write_text('#!/bin/sh\necho "$1 $2 ${3#$(dirname "$0")/}" > "$5"\n')
        self.program.chmod(0o755)

    def check(self):
        texts = {file.name: file.read_text().split() for file in self.found.iterdir()}
        words = ["detect", "--parquet"]
        expected = {f"bucket={bucket}.parquet": [*words, f"data/points/bucket={bucket}"] for bucket in (0, 3)}
        self.assertEqual(texts, expected)

    def test_ray_has_a_task_a_bucket(self):
        tasks = []

        def remote(function):
            def submit(*arguments):
                tasks.append((function, arguments))
                return len(tasks) - 1
            return types.SimpleNamespace(remote=submit)

        def get(numbers):
            return [tasks[number][0](*tasks[number][1]) for number in numbers]

        with mock.patch.dict(sys.modules, ray=types.SimpleNamespace(remote=remote, get=get)):
            sprag.ray(self.data, self.found, os.fspath(self.program))
        self.assertEqual(len(tasks), 2)
        self.check()

    def test_spark_has_a_task_a_bucket(self):
        def parallelize(names, tasks):
            self.assertEqual((len(names), tasks), (2, 2))
            return types.SimpleNamespace(foreach=lambda function: [function(name) for name in names])

        session = types.SimpleNamespace(sparkContext=types.SimpleNamespace(parallelize=parallelize))
        sprag.spark(session, self.data, self.found, os.fspath(self.program))
        self.check()

    def test_dask_has_a_task_a_bucket(self):
        def submit(function, *arguments, pure):
            self.assertFalse(pure)
            return function(*arguments)

        client = types.SimpleNamespace(submit=submit, gather=list)
        sprag.dask(client, self.data, self.found, os.fspath(self.program))
        self.check()
        with self.assertRaisesRegex(FileNotFoundError, "no dataset at"):
            sprag.dask(client, self.found, self.found)
        self.program.write_text("#!/bin/sh\necho 'error: torn' >&2\nexit 4\n")
        with self.assertRaisesRegex(RuntimeError, "bucket=0: error: torn"):
            sprag.dask(client, self.data, self.found, os.fspath(self.program))


if __name__ == "__main__":
    unittest.main()
