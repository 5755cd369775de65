"""Tests of how peers are run and timed, without torch or a device: made-up workers, and a device of numbers."""

import contextlib
import importlib
import io
import sys
import tempfile
import types
import unittest
import weakref
from pathlib import Path
from unittest import mock

import peers

# A worker that dies at the form that its second argument names, unless it is told to leave that out.
WORKER = """
import json, os, sys, time
told = dict(zip(sys.argv[2::2], sys.argv[3::2]))
skip = json.loads(told["--skip"])
for dtype in told["--dtypes"].split(","):
    for form in ("one", "two"):
        label = f"{dtype} {form}"
        if label not in skip:
            print("begin " + label, flush=True)
            if label == sys.argv[1]:
                os._exit(3)
            if sys.argv[1] == "hang":
                time.sleep(60)
    print("group " + json.dumps({"dtype": dtype, "forms": sorted(skip.values())}), flush=True)
print('triton "none here"', flush=True)
"""


class Processes(unittest.TestCase):
    def run_worker(self, dies_at, seconds=20):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "worker.py"
            path.write_text(WORKER)
            with contextlib.redirect_stderr(io.StringIO()):
                return peers.run([sys.executable, str(path), dies_at], ["f16", "f32"], seconds)

    def test_all_goes_well(self):
        groups, triton, reason = self.run_worker("nothing")
        self.assertEqual((sorted(groups), triton, reason), (["f16", "f32"], "none here", None))

    def test_a_form_that_takes_the_process_down_is_left_out_and_what_is_done_is_kept(self):
        groups, _, reason = self.run_worker("f32 two")
        self.assertEqual((sorted(groups), reason), (["f16", "f32"], None))
        self.assertEqual((groups["f16"]["forms"], groups["f32"]["forms"]), ([], ["the device was lost"]))

    def test_a_worker_that_hangs_is_given_up(self):
        with mock.patch.object(peers, "MOST_STARTS", 1):
            groups, _, reason = self.run_worker("hang", seconds=0.5)
        self.assertEqual((groups, reason), ({}, "took longer than 0.5 s"))


class Clock:
    """Where the time of the made-up device stands."""

    now = 0.0


def made_up_torch(seconds_of_a_call):
    """As much of torch as timing.py uses: a replay takes the time of its calls and 5 us."""

    class Event:
        def __init__(self, enable_timing=False):
            assert enable_timing

        def record(self):
            self.at = Clock.now

        def elapsed_time(self, other):
            return (other.at - self.at) * 1e3

    class Stream:
        def wait_stream(self, other):
            pass

    class Graph:
        calls = 0

        def replay(self):
            Clock.now += 5e-6 + self.calls * seconds_of_a_call

    class Within:
        graph = None

        def __init__(self, graph=None):
            self.entered = graph if isinstance(graph, Graph) else None

        def __enter__(self):
            Within.graph = self.entered

        def __exit__(self, *error):
            Within.graph = None

    cuda = types.SimpleNamespace(
        Event=Event,
        Stream=Stream,
        CUDAGraph=Graph,
        graph=Within,
        stream=Within,
        current_stream=Stream,
        synchronize=lambda: None,
    )

    def call():
        if Within.graph is not None:
            Within.graph.calls += 1

    return types.SimpleNamespace(cuda=cuda), call


class Timing(unittest.TestCase):
    def load(self, seconds):
        module, call = made_up_torch(seconds)
        # Whatever is imported meanwhile is forgotten after.
        with mock.patch.dict(sys.modules, {"torch": module}):
            sys.modules.pop("timing", None)
            return importlib.import_module("timing"), call

    def test_a_replay_takes_half_a_millisecond_to_two(self):
        for seconds, calls in ((1e-9, 1000), (1e-6, None), (2e-5, None), (3e-4, None), (7e-4, 1), (0.1, 1)):
            timing, call = self.load(seconds)
            graph = timing.Graph(call)
            if calls is not None:
                self.assertEqual(graph.calls, calls, seconds)
            else:
                self.assertTrue(0.5e-3 <= graph.replays(1)[0] <= 2e-3, (seconds, graph.calls))
            # What starting a graph takes is shared by its calls.
            self.assertAlmostEqual(graph.block(3)[0], seconds + 5e-6 / graph.calls)

    def test_what_a_call_holds_lives_as_long_as_its_graph(self):
        timing, call = self.load(1e-5)
        indices = Clock()
        graph = timing.Graph(lambda held=indices: call())
        alive = weakref.ref(indices)
        del indices
        self.assertIsNotNone(alive(), "a replay reads it")
        del graph
        self.assertIsNone(alive())

    def test_rounds_take_every_form_in_turn_and_again_where_the_device_was_slowed_down(self):
        timing, call = self.load(1e-5)
        timing.PAUSE_SECONDS = 0

        class Monitor:
            looks = 0

            def state(self):
                Monitor.looks += 1
                return {
                    "sm_mhz": 1000 + Monitor.looks,
                    "memory_mhz": None,
                    "temperature_c": 40,
                    "power_w": 300.0,
                    "throttled": Monitor.looks == 3,
                }

        graphs = {"one": timing.Graph(call), "two": timing.Graph(call)}
        blocks, device = timing.rounds(graphs, Monitor(), 1)
        self.assertEqual([len(blocks[name]) for name in ("one", "two")], [timing.ROUNDS] * 2)
        self.assertGreaterEqual(timing.summary(blocks["one"])["n"], 30)
        self.assertEqual((device["retried_rounds"], device["throttled"], device["memory_mhz"]), (1, False, None))
        # Looks 3 and 4 are of the round that was taken again.
        self.assertEqual(device["sm_mhz"][0::2], [1001, 1000 + 2 * timing.ROUNDS + 2])
        self.assertAlmostEqual(timing.ratio(blocks["one"], blocks["two"]), 1.0)

    def test_a_device_that_stays_slow_is_flagged(self):
        timing, call = self.load(1e-5)
        timing.PAUSE_SECONDS = 0
        state = {"sm_mhz": 345, "memory_mhz": 1, "temperature_c": 90, "power_w": 700.0, "throttled": True}
        monitor = types.SimpleNamespace(state=lambda: state)
        _, device = timing.rounds({"one": timing.Graph(call)}, monitor, 1)
        self.assertEqual((device["retried_rounds"], device["throttled"]), (timing.MOST_RETRIES, True))

    def test_percentiles_lie_between_sorted_values(self):
        timing, _ = self.load(1e-5)
        for share, expected in ((0.0, 1.0), (0.5, 3.0), (0.05, 1.2), (1.0, 5.0)):
            self.assertAlmostEqual(timing.percentile([1.0, 2.0, 3.0, 4.0, 5.0], share), expected)
        self.assertEqual(timing.percentile([7.0], 0.95), 7.0)


if __name__ == "__main__":
    unittest.main()
