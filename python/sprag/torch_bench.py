"""Times PyTorch and Triton kernels by CUDA events, and prints the report that a command suite of Sprag reads.

    import torch
    from sprag.torch_bench import Report

    x = torch.randn(4096, 4096, device="cuda")
    report = Report()
    report.time("softmax", lambda: torch.softmax(x, 1), expected=lambda: torch.softmax(x.double(), 1), bytes=2 * x.nbytes)
    report.print()

`sprag init` writes the suite of a script that imports this module.
"""

import contextlib
import json
import statistics
import sys
import time as clocks

try:
    import torch
except ImportError:
    sys.exit(f"error: PyTorch is not installed for {sys.executable}; install it there, or name another Python in `command`")

SAMPLES = 31
"""Timed blocks of a benchmark."""

BLOCK_SECONDS = 0.001
"""Least time of a block. Events resolve half a microsecond."""

WARM_UP_SECONDS = 0.05


class Report:
    """The benchmarks of one process. `device` is `cuda`, or `cpu` to time on the host by its clock."""

    def __init__(self, device="cuda"):
        if device not in ("cuda", "cpu"):
            sys.exit(f"error: `device` is {device!r}; use 'cuda' or 'cpu', and CUDA_VISIBLE_DEVICES for another device")
        if device == "cuda" and not torch.cuda.is_available():
            sys.exit("error: PyTorch finds no CUDA device; `Report(device=\"cpu\")` times on the host")
        self.device = device
        # Times of two devices are never compared: the name is part of each benchmark.
        self.params = {"device": torch.cuda.get_device_name()} if device == "cuda" else {}
        self.benchmarks = []

    def time(self, name, call, *, expected=None, params=None, variant="default", version=1, bytes=None, graph=False,
             rtol=None, atol=None):
        """Checks and times `call()`, and adds the benchmark to the report.

        expected: the right result, or a function without arguments that returns it; of floating-point numbers also in
            another precision. It is compared with `torch.testing.assert_close`, before timing; a wrong result is
            reported as a failure, without a time. `rtol` and `atol` are its tolerances.
        bytes: what one call must read and write at least. A copy of as many bytes is then timed in turns with the call:
            `ratio` is the time of the call over that of the copy, `limit_share` its inverse.
        graph: replay a CUDA graph of the calls, so that launches from Python are not part of the time.

        The parameters of the benchmark are `params` and the name of the device. Its metrics are `time` (seconds a call,
        one sample a block of calls), `peak_memory` (bytes that a call allocates) and, with `bytes`, `ratio` and
        `limit_share`.
        """
        entry = {"name": str(name), "variant": str(variant), "version": version}
        try:
            entry["params"] = {**self.params, **{key: _plain(value) for key, value in (params or {}).items()}}
            # Only the report belongs on standard output.
            with contextlib.redirect_stdout(sys.stderr):
                entry["metrics"] = self._metrics(call, expected, bytes, graph, rtol, atol)
        except (Exception, SystemExit) as error:  # One benchmark that fails must not cost the others.
            reason = " ".join(str(error).split())[:200]
            entry["failure"] = f"{type(error).__name__}: {reason}"
            print(f"{name}: {entry['failure']}", file=sys.stderr)
        self.benchmarks.append(entry)

    def print(self, file=None):
        """Prints the report as JSON, to standard output unless `file` is given. A process prints one report, at its end."""
        if not self.benchmarks:
            sys.exit("error: the report has no benchmark; call `Report.time` before `Report.print`")
        json.dump({"schema_version": 1, "benchmarks": self.benchmarks}, file or sys.stdout, allow_nan=False)
        print(file=file or sys.stdout)

    def _metrics(self, call, expected, bytes, graph, rtol, atol):
        if bytes is not None and (not isinstance(bytes, int) or bytes <= 0):
            raise ValueError(f"`bytes` is {bytes!r}; it must be a positive integer")
        if graph and self.device != "cuda":
            raise ValueError("`graph` needs the device 'cuda'")
        peak = self._check(call, expected, rtol, atol)
        block = self._block(call, graph)
        copy = self._block(self._copy(bytes), graph) if bytes else None
        times, ratios = [], []
        for number in range(SAMPLES):
            # The call and the copy take turns at being first.
            first = copy() if copy and number % 2 else None
            times.append(block())
            if copy:
                ratios.append(times[-1] / (first or copy()))
        metrics = [{"name": "time", "unit": "s", "better": "lower", "samples": times}]
        if peak:
            metrics.append({"name": "peak_memory", "unit": "B", "better": "lower", "value": peak})
        if copy:
            share = 1 / statistics.median(ratios)
            metrics.append({"name": "ratio", "unit": "1", "better": "lower", "samples": ratios})
            metrics.append({"name": "limit_share", "unit": "1", "better": "higher", "value": share})
        return metrics

    def _check(self, call, expected, rtol, atol):
        """Calls once, compares the result, and returns the bytes that the call allocated at most."""
        before = 0
        if self.device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        got = call()
        peak = 0
        if self.device == "cuda":
            torch.cuda.synchronize()
            peak = torch.cuda.max_memory_allocated() - before
        if expected is not None:
            if got is None:
                raise ValueError("the call returns nothing to compare with `expected`")
            want = _like(expected() if callable(expected) else expected, got)
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol)
        return peak

    def _copy(self, bytes):
        """A copy that reads and writes `bytes` in all."""
        source = torch.zeros(max(1, bytes // 2), dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    def _block(self, call, graph):
        """Warms `call` up and returns a function that times a block of calls, in seconds a call."""
        calls, seconds = 1, self._seconds(call, 1)
        warm = seconds
        while warm < WARM_UP_SECONDS or calls * seconds < BLOCK_SECONDS:
            if calls * seconds < BLOCK_SECONDS:
                calls *= 2
            seconds = self._seconds(call, calls)
            warm += calls * seconds
        if not graph:
            return lambda: self._seconds(call, calls)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            for _ in range(calls):
                call()
        # Without the launches the calls are faster, so a block may need several replays.
        replays = max(1, round(BLOCK_SECONDS / max(1e-9, self._seconds(captured.replay, 2))))
        return lambda: self._seconds(captured.replay, replays) / calls

    def _seconds(self, call, calls):
        if self.device == "cpu":
            begin = clocks.perf_counter()
            for _ in range(calls):
                call()
            return (clocks.perf_counter() - begin) / calls
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / calls


def _plain(value):
    """A parameter as the report takes it: text, a finite number or a boolean."""
    return value if isinstance(value, (bool, int, str)) or isinstance(value, float) and abs(value) < float("inf") else str(value)


def _like(want, got):
    """Floating-point results in the precision and on the device of what they are compared with; all else as it is."""
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor):
        both = want.is_floating_point() and got.is_floating_point()
        return want.to(device=got.device, dtype=got.dtype if both else want.dtype)
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)) and len(want) == len(got):
        return type(got)(map(_like, want, got)) if type(got) in (list, tuple) else tuple(map(_like, want, got))
    return want
