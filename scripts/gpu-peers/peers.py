"""Checks and times the operations of the GPU suite in torch and Triton, beside a copy and an empty kernel.

    peers.py --out FILE [--cpu] [--quick] [--operations A,B] [--profiles A,B] [--dtypes A,B] [--seconds N] [--seed N]

Writes one document. A peer that fails is recorded with its reason, and the others go on: each operation at each profile
has a process of its own, which is started anew without the form that took it down. `--cpu` checks the forms without a
GPU and times nothing (Triton through its interpreter, at small sizes). Exit code 0, 1 where a peer is wrong or failed
(a peer that does not suit a shape is skipped), 5 where there is nothing to run.
"""

import argparse
import json
import os
import platform
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import device
from shapes import DTYPES, OPERATIONS, PROFILES

HERE = Path(__file__).resolve().parent
# An operation at a profile, all element types: compiling takes most of it.
SECONDS = 900
# A process is started anew at most so often; then what is left of it is given up.
MOST_STARTS = 4
# What a process has to end in, once it has said its last.
LAST_SECONDS = 60


class Lines:
    """The lines of a process as they come, with a deadline."""

    def __init__(self, stream):
        self.stream, self.lines = stream, queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.stream:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def until(self, deadline):
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            if line is None:
                return
            yield line

    def close(self):
        # Whoever still holds the other end keeps the thread waiting, and a thread that reads keeps the stream.
        self.thread.join(1)
        if not self.thread.is_alive():
            self.stream.close()


def one_start(command, seconds, environment=None):
    """One life of a worker: its groups, its word on Triton, what it was at, and why it ended early (or None)."""
    groups, triton, at, reason = [], None, None, None
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    lines = Lines(process.stdout)
    try:
        for line in lines.until(time.monotonic() + seconds):
            word, _, rest = line.partition(" ")
            if word == "begin":
                at = rest
                print(f"  {rest}", file=sys.stderr)
            elif word == "group":
                groups.append(json.loads(rest))
            elif word == "triton":
                # The last word.
                triton = json.loads(rest)
                break
        code = process.wait(LAST_SECONDS)
        if code != 0:
            reason = "the device was lost" if code == 3 else f"the process ended with {code}"
    except TimeoutError:
        reason = f"took longer than {seconds} s"
    except subprocess.TimeoutExpired:
        reason = "the process did not end"
    finally:
        process.kill()
        process.wait()
        lines.close()
    return groups, triton, at, reason


def run(command, dtypes, seconds, environment=None):
    """All element types of an operation at a profile, whatever some form does to its process."""
    groups, triton, skip, reason = {}, None, {}, None
    for _ in range(MOST_STARTS):
        left = [dtype for dtype in dtypes if dtype not in groups]
        if not left:
            break
        whole = [*command, "--dtypes", ",".join(left), "--skip", json.dumps(skip)]
        done, word, at, reason = one_start(whole, seconds, environment)
        groups |= {group["dtype"]: group for group in done}
        triton = word or triton
        if reason is None:
            break
        if at is None or at in skip:
            # It is no form that is to blame.
            break
        skip[at] = reason
    return groups, triton, reason


def measure(options, dtypes, profiles, keep):
    """All groups, and why there is no Triton. `keep` is handed both whenever a process is done."""
    groups, triton = [], None
    environment = dict(os.environ)
    if options.cpu:
        environment["TRITON_INTERPRET"] = "1"
    for operation in options.operations.split(","):
        for profile in profiles:
            print(f"{operation}, {profile}", file=sys.stderr)
            command = [
                sys.executable,
                str(HERE / "worker.py"),
                "--operation",
                operation,
                "--profile",
                profile,
                "--device",
                "cpu" if options.cpu else "cuda",
                "--seed",
                str(options.seed),
            ]
            found, word, reason = run(command, dtypes, options.seconds, environment)
            triton = word or triton
            for dtype in dtypes:
                missing = {
                    "operation": operation,
                    "profile": profile,
                    "dtype": dtype,
                    "forms": [],
                    "reason": reason or "the process said nothing of it",
                }
                groups.append(found.get(dtype, missing))
            keep(groups, triton)
    return groups, triton


def torch_facts(wants_device):
    """Versions, and why torch cannot be used here (or None)."""
    code = "import json, torch; print(json.dumps([torch.__version__, torch.version.cuda, torch.cuda.is_available()]))"
    answer = device.told(sys.executable, "-W", "ignore", "-c", code)
    if answer["value"] is None:
        return {"version": None, "cuda": None, "reason": answer["reason"]}
    version, cuda, is_available = json.loads(answer["value"].splitlines()[-1])
    reason = None
    if wants_device and not is_available:
        reason = f"torch {version} is built without CUDA" if cuda is None else "torch finds no CUDA device"
    return {"version": version, "cuda": cuda, "reason": reason}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--quick", action="store_true", help="f16 alone")
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--profiles", help="default: all; with --cpu small")
    parser.add_argument("--dtypes", help="default: all; with --quick f16")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="the most for an operation at a profile")
    parser.add_argument("--seed", type=int, default=123)
    options = parser.parse_args()
    for text, known in ((options.operations, OPERATIONS), (options.profiles, PROFILES), (options.dtypes, DTYPES)):
        for word in text.split(",") if text else ():
            if word not in known:
                parser.error(f"`{word}` is none of {', '.join(known)}")
    return options


def main():
    options = arguments()
    dtypes = (options.dtypes or ("f16" if options.quick else ",".join(DTYPES))).split(",")
    profiles = (options.profiles or ("small" if options.cpu else ",".join(PROFILES))).split(",")
    facts, reason = (None, None) if options.cpu else device.find()
    torch = torch_facts(not options.cpu)
    triton = {"version": device.module(sys.executable, "triton")["value"]}
    reason = reason or torch["reason"]
    path = Path(options.out)

    def keep(groups, triton_reason, is_whole=False):
        document = {
            "schema_version": 1,
            "status": "ok" if reason is None else "skipped",
            "reason": reason,
            # What is cut short leaves what it had.
            "complete": is_whole,
            "device": facts,
            "python": platform.python_version(),
            "torch": torch,
            "triton": triton | {"reason": triton_reason},
            "timing": "none" if options.cpu else "hot graph replays, medians; see timing.py",
            "seed": options.seed,
            "groups": groups,
        }
        beside = path.with_name(path.name + ".part")
        beside.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
        beside.replace(path)

    groups, triton_reason = measure(options, dtypes, profiles, keep) if reason is None else ([], None)
    keep(groups, triton_reason, is_whole=True)
    if reason is not None:
        print(f"skipped: {reason}", file=sys.stderr)
        return 5
    bad = [
        f"{group['operation']} {group['profile']} {group['dtype']}: {group['reason']}"
        for group in groups
        if group["reason"]
    ]
    for group in groups:
        for form in group["forms"]:
            if form["status"] in ("mismatch", "failed"):
                name = " ".join(filter(None, (form["peer"], form["form"], form["configuration"])))
                bad.append(f"{group['operation']} {group['profile']} {group['dtype']}, {name}: {form['reason']}")
    for line in bad:
        print(f"failed: {line}", file=sys.stderr)
    forms = sum(len(group["forms"]) for group in groups)
    print(f"{forms} forms in {len(groups)} groups, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
