"""Times calls on the device as our own suite does: graph replays, events, blocks in turn, medians.

A graph holds so many calls of a form that a replay takes 0.5 to 2 ms, far more than the resolution of an event, and at
most a thousand. A block is some replays in a row, the first one untimed: it keeps the device busy while the events are
queued, so that no start of a replay waits for the host. Rounds take a block of every form, of the copy and of an empty
kernel, in an order shuffled once and reversed every other round.
"""

import random
import statistics
import time

import torch

REPLAY_SECONDS = 1e-3
LEAST_REPLAY_SECONDS = 0.5e-3
MOST_CALLS = 1000
ROUNDS = 6
REPLAYS_OF_A_BLOCK = 6
WARM_SECONDS = 0.3
MOST_RETRIES = 3
PAUSE_SECONDS = 2.0


class Graph:
    """Some calls of a form as one CUDA graph."""

    def __init__(self, call):
        # A replay reads what the call holds, such as its indices, from where they lay at the capture.
        self.call = call
        self.calls, seconds = 1, 0.0
        # A capture that fails leaves its own stream as the current one; this puts back ours.
        with torch.cuda.stream(torch.cuda.current_stream()):
            # A graph of one call mostly tells the time of starting a graph; looks at larger ones correct that.
            for _ in range(4):
                self.graph = capture(call, self.calls)
                seconds = statistics.median(self.replays(5))
                if seconds >= LEAST_REPLAY_SECONDS or self.calls == MOST_CALLS:
                    break
                self.calls = min(MOST_CALLS, max(self.calls + 1, round(self.calls * REPLAY_SECONDS / seconds)))

    def replays(self, count, meanwhile=None):
        """Seconds of each of some replays in a row; `meanwhile` is called once while the device is at it."""
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        self.graph.replay()
        for start, stop in events:
            start.record()
            self.graph.replay()
            stop.record()
        if meanwhile is not None:
            meanwhile()
        torch.cuda.synchronize()
        return [start.elapsed_time(stop) / 1e3 for start, stop in events]

    def block(self, count, meanwhile=None):
        """Seconds of a call in each of some replays."""
        return [seconds / self.calls for seconds in self.replays(count, meanwhile)]


def capture(call, calls):
    # What is compiled or allocated at the first call must be, before the capture, and on another stream than the first.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    torch.cuda.synchronize()
    return graph


def warm_up(graph):
    """Clocks rise under load alone."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_SECONDS:
        graph.block(REPLAYS_OF_A_BLOCK)


def rounds(graphs, monitor, seed):
    """Blocks of every graph, in turn: `{name: [[seconds of a call, ...] a round, ...]}`, and how the device did."""
    order = list(graphs)
    random.Random(seed).shuffle(order)
    blocks = {name: [] for name in order}
    kept, retries, throttled = [], 0, False
    while len(blocks[order[0]]) < ROUNDS:
        states = []
        look = lambda: states.append(monitor.state())
        this_round = {name: graphs[name].block(REPLAYS_OF_A_BLOCK, look) for name in order}
        is_bad = any(state["throttled"] for state in states)
        if is_bad and retries < MOST_RETRIES:
            retries += 1
            time.sleep(PAUSE_SECONDS)
            continue
        throttled, kept = throttled or is_bad, kept + states
        for name, block in this_round.items():
            blocks[name].append(block)
        order.reverse()
    return blocks, {"retried_rounds": retries, "throttled": throttled} | {
        name: spread([state[name] for state in kept]) for name in ("sm_mhz", "memory_mhz", "temperature_c", "power_w")
    }


def spread(values):
    """Least, median and largest of what was told, or None."""
    values = [value for value in values if value is not None]
    return [min(values), statistics.median(values), max(values)] if values else None


def summary(blocks):
    """Median, 5th and 95th percentile of all replays: `blocks` is the list of a form's blocks."""
    times = sorted(seconds for block in blocks for seconds in block)
    return {
        "median_s": statistics.median(times),
        "p5_s": percentile(times, 0.05),
        "p95_s": percentile(times, 0.95),
        "n": len(times),
    }


def percentile(times, share):
    """By linear interpolation between sorted values."""
    place = share * (len(times) - 1)
    low = int(place)
    high = min(low + 1, len(times) - 1)
    return times[low] + (times[high] - times[low]) * (place - low)


def ratio(blocks, others):
    """The median over rounds of the ratios of neighbouring blocks."""
    return statistics.median(statistics.median(one) / statistics.median(two) for one, two in zip(blocks, others))
