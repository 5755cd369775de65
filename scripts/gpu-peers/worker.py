"""Checks and times the peers of one operation at one profile, in a process of its own: a kernel can take that down.

`peers.py` starts it. Standard output has a line `begin NAME` before each step that may do so, a line `group JSON` for
each element type that is done, and at last `triton JSON`: why there is no Triton, or null.
"""

import argparse
import gc
import json
import sys
import traceback
import warnings

import torch

import device
import formulas
from shapes import bytes_of, shape_of
from torch_forms import FORMS as TORCH_FORMS
from torch_forms import NotHere

warnings.filterwarnings("ignore")


def triton_forms():
    """The Triton forms, the empty kernel, and why there are none."""
    try:
        import triton_forms as forms
        import triton_kernels

        return forms.FORMS, triton_kernels.empty, None
    except Exception as error:
        return {}, None, said(error)


def said(error):
    """An error in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def is_lost(device):
    """Whether the device takes nothing more from this process, as after an access out of bounds."""
    if device != "cuda":
        return False
    try:
        torch.cuda.synchronize()
        return int(torch.ones(1, device="cuda").sum()) != 1
    except Exception:
        return True


def candidates(operation, forms):
    """All forms as `(peer, name, configuration or None, make)`."""
    for peer, name, make in TORCH_FORMS[operation]:
        yield peer, name, None, make
    for peer, name, configurations, make in forms.get(operation, []):
        for configuration in configurations:
            yield peer, name, configuration, make


class Group:
    """One operation, profile and element type."""

    def __init__(self, options, dtype, forms, empty, monitor):
        self.options, self.dtype, self.forms, self.empty, self.monitor = options, dtype, forms, empty, monitor
        self.operation, self.shape = options.operation, shape_of(options.operation, options.profile)
        self.inputs = formulas.make_inputs(self.operation, options.profile, dtype, options.device, options.seed)
        self.outputs = formulas.outputs_of(self.operation, self.inputs)
        self.is_timed = options.device == "cuda" and options.profile != "small"
        self.found, self.graphs, self.known = {}, {}, {}

    def attempt(self, peer, name, configuration, make):
        """Checks one candidate and makes its graph."""
        words = "" if configuration is None else " ".join(f"{key}={value}" for key, value in configuration.items())
        label = f"{self.dtype} {peer} {name} {words}".strip()
        found = {
            "peer": peer,
            "form": name,
            "configuration": words or None,
            "status": "ok",
            "reason": None,
            "parity": None,
        }
        self.found[label] = found
        if label in self.options.skip:
            found.update(status="failed", reason=self.options.skip[label])
            return
        print(f"begin {label}", flush=True)
        try:
            if peer == "torch.compile":
                torch._dynamo.reset()
            arguments = (self.inputs, self.outputs, self.shape)
            call = make(*arguments) if configuration is None else make(*arguments, configuration)
            found["parity"] = self.check(call)
            if found["parity"]["status"] == "mismatch":
                found.update(status="mismatch", reason=found["parity"].pop("reason"))
            elif self.is_timed:
                import timing

                self.graphs[label] = timing.Graph(call)
        except NotHere as reason:
            found.update(status="skipped", reason=str(reason))
        except Exception as error:
            if is_lost(self.options.device):
                raise
            if self.options.verbose:
                traceback.print_exc()
            found.update(status="failed", reason=said(error))
            self.release()

    def check(self, call):
        """Holds a call against the formula; what it does not write is poison, also in memory that it allocates."""
        formulas.poison(self.outputs)
        poison = [torch.full_like(output, float("nan")) for output in self.outputs.values()]
        del poison
        outputs = call()
        if not isinstance(outputs, dict):
            # A launch of Triton may return its compiled kernel.
            outputs = self.outputs
        return formulas.parity(self.operation, self.dtype, self.inputs, outputs, self.known)

    def release(self):
        gc.collect()
        if self.options.device == "cuda":
            torch.cuda.empty_cache()

    def measure(self):
        for candidate in candidates(self.operation, self.forms):
            self.attempt(*candidate)
        self.choose()
        group = {
            "operation": self.operation,
            "profile": self.options.profile,
            "dtype": self.dtype,
            "shape": self.shape.parameters(),
            "bytes": bytes_of(self.operation, self.shape, self.dtype),
            "copy": None,
            "floor": None,
            "device": None,
            "reason": None,
        }
        if self.is_timed:
            self.time(group)
        group["forms"] = list(self.found.values())
        return group

    def choose(self):
        """Of each form with several configurations the quickest stays; the others keep their time as a candidate's."""
        import statistics

        by_form = {}
        for label, graph in self.graphs.items():
            found = self.found[label]
            if found["configuration"] is not None:
                by_form.setdefault((found["peer"], found["form"]), []).append(
                    (statistics.median(graph.block(12)), label)
                )
        losers = set()
        for times in by_form.values():
            for seconds, label in times:
                self.found[label]["tried_s"] = seconds
            losers |= {label for _, label in sorted(times)[1:]}
        for label in losers:
            del self.graphs[label]
            self.found[label]["status"] = "not chosen"
        self.release()

    def calibration(self):
        """Copies of the bytes that the operation moves, and what a launch alone takes."""
        import timing

        half = bytes_of(self.operation, self.shape, self.dtype) // 2
        source = torch.randint(0, 256, (half,), dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        calls = {"copy torch": lambda: target.copy_(source), "floor torch": lambda: torch.cuda._sleep(0)}
        if self.empty is not None:
            from triton_kernels import copy

            grid = (-(-half // 16384),)
            calls["copy triton"] = lambda: copy[grid](source, target, half, BLOCK=16384, num_warps=4)
            calls["floor triton"] = lambda: self.empty[(1,)](target)
        graphs = {}
        for name, call in calls.items():
            print(f"begin {self.dtype} {name}", flush=True)
            if f"{self.dtype} {name}" in self.options.skip:
                continue
            try:
                graphs[name] = timing.Graph(call)
            except Exception:
                if is_lost(self.options.device):
                    raise
        return graphs

    def time(self, group):
        import timing

        beside = self.calibration()
        graphs = self.graphs | beside
        if not graphs:
            return
        timing.warm_up(next(iter(graphs.values())))
        print(f"begin {self.dtype} rounds", flush=True)
        blocks, group["device"] = timing.rounds(graphs, self.monitor, self.options.seed)
        of_copy = None
        for kind in ("copy", "floor"):
            named = [name for name in beside if name.startswith(kind)]
            if not named:
                continue
            # The quicker of two is the nearer to the limit.
            best = min(named, key=lambda name: timing.summary(blocks[name])["median_s"])
            group[kind] = timing.summary(blocks[best]) | {"form": best}
            if kind == "copy":
                of_copy = blocks[best]
                group[kind]["bytes_per_s"] = group["bytes"] / group[kind]["median_s"]
        for label in self.graphs:
            self.found[label]["time"] = timing.summary(blocks[label]) | {"calls_of_a_replay": graphs[label].calls}
            if of_copy is not None:
                # Its share of the bandwidth of the copy is one over this.
                self.found[label]["ratio_to_copy"] = timing.ratio(blocks[label], of_copy)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operation", required=True)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--dtypes", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=123)
    parser.add_argument("--skip", type=json.loads, default={}, help="JSON: candidate and why it is left out")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_grad_enabled(False)
    forms, empty, reason = triton_forms()
    monitor = device.Monitor((device.find()[0] or {}).get("pci_bus_id"))
    for dtype in options.dtypes.split(","):
        try:
            group = Group(options, dtype, forms, empty, monitor).measure()
        except Exception as error:
            traceback.print_exc()
            if is_lost(options.device):
                return 3
            # Too little memory for the inputs, say.
            group = {
                "operation": options.operation,
                "profile": options.profile,
                "dtype": dtype,
                "forms": [],
                "reason": said(error),
            }
        print("group " + json.dumps(group), flush=True)
        gc.collect()
        if options.device == "cuda":
            torch.cuda.empty_cache()
    print("triton " + json.dumps(reason), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
