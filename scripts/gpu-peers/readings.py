"""Reads what the steps of a check have written: the record of a run, parity, and the peers. Plain Python, no torch.

A number that is not there is None; nothing here fails on a document that lacks something.
"""

import json
from pathlib import Path

from shapes import ALIASES, bytes_of, profile_of, shape_of

# Parameters that say how an operation is done, with what the peers do too.
USUAL = {"overlap": "override", "way": "forward", "initial": "zero"}
# Parameters that tell no shape.
ABOUT_TIMING = ("dtype", "track")
# Benchmarks that launch a kernel which does nothing, and those that copy.
FLOORS = ("calibration_device_launch",)
COPIES = ("calibration_device_copy",)
TUNED = "cuda"


def read(folder, name):
    """A document of the folder, and why there is none."""
    path = Path(folder) / name
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return None, f"there is no {name}"
    except (OSError, ValueError) as error:
        return None, f"{name} cannot be read: {error}"
    if not isinstance(document, dict):
        return None, f"{name} holds no object"
    return document, None


def listed(document, name):
    """The objects of a list of a document; none where there is no such list."""
    values = (document or {}).get(name)
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def operation_of(word):
    return ALIASES.get(word, word)


def metric(benchmark, name):
    """The value of a metric of a benchmark."""
    for one in listed(benchmark, "metrics"):
        if one.get("name") == name and isinstance(one.get("value"), (int, float)):
            return one["value"]
    return None


def is_hot(parameters):
    return parameters.get("track", "hot") == "hot"


class Record:
    """The record of a run of the GPU suite."""

    def __init__(self, document):
        self.benchmarks = [one for one in listed(document, "benchmarks") if isinstance(one.get("params"), dict)]

    def floor(self):
        """What a launch alone takes."""
        times = [metric(one, "time") for one in self.benchmarks if one.get("name") in FLOORS and is_hot(one["params"])]
        return min((time for time in times if time), default=None)

    def copy_bandwidth(self, moved):
        """Bytes a second of the copy that is nearest in size; a copy of n bytes moves two times n."""
        found = []
        for one in self.benchmarks:
            size, time = one["params"].get("bytes"), metric(one, "time")
            if one.get("name") in COPIES and is_hot(one["params"]) and time and str(size).isdigit() and int(size) > 0:
                found.append((abs(2 * int(size) - moved), 2 * int(size) / time))
        return min(found)[1] if found else None

    def timed(self):
        """Every tuned kernel on the hot track: a row of what the record tells."""
        for one in self.benchmarks:
            parameters = {name: str(value) for name, value in one["params"].items()}
            if one.get("variant") != TUNED or not is_hot(parameters) or one.get("name") in FLOORS + COPIES:
                continue
            operation = operation_of(one.get("name"))
            rest = {name: value for name, value in parameters.items() if name not in ABOUT_TIMING}
            profile = profile_of(operation, rest)
            parity = one.get("parity") or {}
            yield {
                "operation": operation,
                "parameters": rest,
                "dtype": parameters.get("dtype"),
                "profile": profile,
                "hot_s": metric(one, "time"),
                "floor_s": self.floor(),
                "share_of_copy": self.share(one, operation, profile, parameters.get("dtype")),
                "configuration": (one.get("attributes") or {}).get("configuration"),
                "parity": {
                    "status": parity.get("status"),
                    "max_abs_error": parity.get("max_abs_error"),
                    "tolerance": parity.get("tolerance"),
                },
                "failure": one.get("failure"),
            }

    def share(self, benchmark, operation, profile, dtype):
        """The bandwidth that is reached over that of a copy; the record tells it, or the copies of the record do."""
        told, time = metric(benchmark, "limit_share"), metric(benchmark, "time")
        if told is not None or not time or profile is None or dtype not in ("f16", "bf16", "f32"):
            return told
        moved = bytes_of(operation, shape_of(operation, profile), dtype)
        bandwidth = self.copy_bandwidth(moved)
        return moved / time / bandwidth if bandwidth else None


def is_as_peers_do(parameters, operation, profile):
    """Whether a benchmark does what the peers do: their shape, and the usual way in all else."""
    if profile is None:
        return False
    known = shape_of(operation, profile).parameters()
    return all(known.get(name, USUAL.get(name)) == value for name, value in parameters.items())


class Peers:
    """The document of `peers.py`."""

    def __init__(self, document):
        self.groups = {
            (one.get("operation"), one.get("profile"), one.get("dtype")): one for one in listed(document, "groups")
        }

    def best(self, key, peers):
        """The quickest form of some peers at an operation, profile and element type: name and seconds."""
        found = []
        for form in listed(self.groups.get(key), "forms"):
            seconds = (form.get("time") or {}).get("median_s")
            if form.get("peer") in peers and form.get("status") == "ok" and seconds:
                found.append((seconds, f"{form['peer']}: {form.get('form')}"))
        return min(found, default=(None, None))

    def copy(self, key):
        """Bytes a second of the copy beside them."""
        return ((self.groups.get(key) or {}).get("copy") or {}).get("bytes_per_s")

    def is_throttled(self, key):
        return bool(((self.groups.get(key) or {}).get("device") or {}).get("throttled"))

    def wrong(self):
        """Why forms are wrong or failed, each reason once, with how many and the first."""
        found = {}
        for (operation, profile, dtype), group in self.groups.items():
            where = f"{operation} {profile} {dtype}"
            if group.get("reason"):
                found.setdefault(group["reason"], []).append(where)
            for form in listed(group, "forms"):
                if form.get("status") in ("mismatch", "failed"):
                    words = (where, form.get("peer"), form.get("form"), form.get("configuration"))
                    name = " ".join(word for word in words if word)
                    found.setdefault(f"{form['status']}: {form.get('reason')}", []).append(name)
        for reason, names in found.items():
            yield names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") + f": {reason}"


class Parity:
    """The document of `sprag kernels check --json`."""

    GOOD = ("exact", "within")

    def __init__(self, document):
        self.checks = listed(document, "checks")
        self.told = (document or {}).get("status")
        self.reason = (document or {}).get("reason")

    def faults(self):
        """What is wrong or could not be checked, as text."""
        for check in self.checks:
            if check.get("status") not in self.GOOD:
                words = (check.get(name) for name in ("operation", "shape", "dtype", "form", "configuration"))
                name = " ".join(str(word) for word in words if word)
                yield f"{name}: {check.get('status')}, {check.get('reason') or 'no reason told'}"

    def of(self, operation, dtype):
        """Over all shapes and configurations of a tuned kernel: how many, the worst status, the largest error."""
        checks = [
            check
            for check in self.checks
            if operation_of(check.get("operation")) == operation
            and check.get("dtype") == dtype
            and check.get("form") != "reference"
        ]
        if not checks:
            return None
        errors = [check["max_abs_error"] for check in checks if isinstance(check.get("max_abs_error"), (int, float))]
        tolerances = [check["tolerance"] for check in checks if isinstance(check.get("tolerance"), (int, float))]
        states = [check.get("status") for check in checks]
        bad = [state for state in states if state not in self.GOOD]
        status = bad[0] if bad else "within" if "within" in states else "exact"
        return {
            "checks": len(checks),
            "status": status,
            "max_abs_error": max(errors, default=None),
            "tolerance": max(tolerances, default=None),
        }
