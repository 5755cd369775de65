"""Puts the documents of a check together: `summary.json`, `summary.md`, and the table on standard output.

    summary.py FOLDER

The folder may lack any of its documents. Exit code 0 where every step that could run did and parity held, 1 where
parity did not or a step broke, 5 where there was no GPU.
"""

import json
import sys
from pathlib import Path

from readings import Parity, Peers, Record, is_as_peers_do, read

# On the large profile: the share of the bandwidth of a device copy, and how many times the speed of the best peer.
SHARE_TARGET = {
    "tile_pack": 0.9,
    "tile_unpack": 0.9,
    "fusion_gate": 0.9,
    "fused_pack_op_unpack": 0.9,
    "tile_ssm_scan": 0.8,
}
PEER_TARGET = 1.0
# Peers run in processes of their own, some minutes apart. Where the copies of both differ by more, so did the device.
COPY_DRIFT = 0.05
NONE = "-"


def steps(folder):
    """What was run: name, status, exit code, seconds, reason. The script writes one line a step."""
    try:
        text = (Path(folder) / "logs/steps.tsv").read_text(errors="replace")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        name, status, code, seconds, reason = (line.split("\t") + [""] * 5)[:5]
        found.append(
            {
                "name": name,
                "status": status,
                "exit_code": whole(code),
                "seconds": whole(seconds),
                "reason": reason or None,
            }
        )
    return found


def whole(text):
    return int(text) if text.isdigit() else None


def targets(row):
    """What a row is held to, and whether it gets there; None where it was not measured."""
    if row["profile"] != "large" or row["operation"] not in SHARE_TARGET:
        return []
    held = [("of device copy", row["share_of_copy"], SHARE_TARGET[row["operation"]], float.__ge__)]
    if row["has_peers"]:
        held.append(("over torch", row["over_torch"], PEER_TARGET, float.__gt__))
        held.append(("over Triton", row["over_triton"], PEER_TARGET, float.__gt__))
    return [
        {
            "of": name,
            "reached": reached,
            "target": target,
            "met": None if reached is None else compare(float(reached), target),
        }
        for name, reached, target, compare in held
    ]


def rows(record, peers, parity):
    """A row a kernel, element type and shape."""
    found = []
    for row in record.timed():
        operation, dtype, profile = row["operation"], row["dtype"], row["profile"]
        key = (operation, profile, dtype)
        row["has_peers"] = is_as_peers_do(row["parameters"], operation, profile)
        hot, floor = row["hot_s"], row["floor_s"]
        row["over_floor"] = hot / floor if hot and floor else None
        for name, words in (("torch", ("torch", "torch.compile")), ("triton", ("triton",))):
            seconds, form = peers.best(key, words) if row["has_peers"] else (None, None)
            row[f"{name}_s"], row[f"{name}_form"] = seconds, form
            row[f"over_{name}"] = seconds / hot if seconds and hot else None
        checks = parity.of(operation, dtype)
        if checks is not None:
            errors = [one["max_abs_error"] for one in (checks, row["parity"]) if one["max_abs_error"] is not None]
            row["parity"]["max_abs_error"] = max(errors, default=None)
            row["parity"]["tolerance"] = row["parity"]["tolerance"] or checks["tolerance"]
            row["parity"]["checks"] = checks["checks"]
            if checks["status"] not in Parity.GOOD:
                row["parity"]["status"] = checks["status"]
        row["targets"] = targets(row)
        met = [target["met"] for target in row["targets"]]
        row["met"] = None if not met or (None in met and False not in met) else all(met)
        found.append(row)
    order = {"large": 0, "fixed": 1}
    return sorted(
        found,
        key=lambda row: (
            order.get(row["profile"], 2),
            row["operation"],
            str(row["dtype"]),
            sorted(row["parameters"].items()),
        ),
    )


def notes(rows, record, peers):
    """What a reader must know beside the figures."""
    found = []
    for row in rows:
        key = (row["operation"], row["profile"], row["dtype"])
        if row["failure"]:
            found.append(f"{named(row)}: {row['failure']}")
        if row["has_peers"] and peers.is_throttled(key):
            found.append(f"{named(row)}: the device was slowed down while the peers ran")
        theirs = peers.copy(key) if row["has_peers"] else None
        ours = record.copy_bandwidth(peers.groups[key].get("bytes") or 0) if theirs else None
        if row["profile"] == "large" and ours and abs(ours / theirs - 1) > COPY_DRIFT:
            found.append(
                f"{named(row)}: our copy reached {ours / 1e12:.2f} TB/s and that of the peers "
                f"{theirs / 1e12:.2f} TB/s, so ratios to peers are that uncertain"
            )
    return found + [f"peer: {fault}" for fault in peers.wrong()]


def named(row):
    return f"{row['operation']} {row['dtype']} {row['profile'] or shape_text(row)}"


def shape_text(row):
    return ",".join(f"{name}={value}" for name, value in sorted(row["parameters"].items()))


def seconds_text(value):
    if value is None:
        return NONE
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 1 or unit == "us":
            return f"{value * factor:.3g} {unit}"
    return NONE


def times_text(value):
    return NONE if value is None else f"{value:.2f}x"


def parity_text(parity):
    if parity["status"] not in Parity.GOOD:
        return parity["status"] or "not checked"
    return "exact" if parity["max_abs_error"] == 0 else f"{parity['max_abs_error'] or 0:.1e}"


def target_text(row):
    if not row["targets"]:
        return NONE
    peers = ", peers > 1" if len(row["targets"]) > 1 else ""
    return f">= {row['targets'][0]['target']}{peers}"


def met_text(row):
    if not row["targets"]:
        return NONE
    missed = [target["of"] for target in row["targets"] if target["met"] is False]
    unknown = [target["of"] for target in row["targets"] if target["met"] is None]
    if missed:
        return "no: " + ", ".join(missed)
    return "yes" if not unknown else "open: no figure " + ", ".join(unknown)


HEAD = (
    "kernel",
    "dtype",
    "profile",
    "hot",
    "over launch floor",
    "of device copy",
    "over torch",
    "over Triton",
    "parity error",
    "target",
    "met",
)


def table(rows):
    lines = [HEAD, tuple("---" for _ in HEAD)]
    for row in rows:
        extra = "" if row["has_peers"] or row["profile"] is None else f" ({shape_text(row)})"
        share = NONE if row["share_of_copy"] is None else f"{row['share_of_copy']:.2f}"
        lines.append(
            (
                row["operation"] + extra,
                row["dtype"] or NONE,
                row["profile"] or shape_text(row),
                seconds_text(row["hot_s"]),
                times_text(row["over_floor"]),
                share,
                times_text(row["over_torch"]),
                times_text(row["over_triton"]),
                parity_text(row["parity"]),
                target_text(row),
                met_text(row),
            )
        )
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def judge(folder):
    """Everything that `summary.json` holds."""
    documents = {name: read(folder, f"{name}.json") for name in ("device", "run", "parity", "compile", "peers")}
    device, device_reason = documents["device"]
    record, peers = Record(documents["run"][0]), Peers(documents["peers"][0])
    parity = Parity(documents["parity"][0])
    found = {"schema_version": 1, "device": (device or {}).get("device"), "steps": steps(folder)}
    if device is not None and device.get("status") == "skipped":
        return found | {
            "status": "skipped",
            "reason": device.get("reason"),
            "parity": None,
            "rows": [],
            "notes": [],
            "targets": {"met": 0, "missed": 0, "open": 0},
        }
    table_rows = rows(record, peers, parity)
    faults = list(parity.faults())
    faults += [
        f"{named(row)}: mismatch in the run"
        for row in table_rows
        if row["parity"]["status"] == "mismatch" and not parity.of(row["operation"], row["dtype"])
    ]
    if parity.told == "failed" and not faults:
        faults.append(parity.reason or "the check failed")
    broken = [
        f"{step['name']}: {step['reason'] or step['status']}" for step in found["steps"] if step["status"] == "failed"
    ]
    if device is None:
        broken.append(device_reason)
    # A step that did not run wrote nothing; that is a step that broke, unless it says that it was skipped.
    told = {step["name"] for step in found["steps"]}
    broken += [
        reason
        for name, (document, reason) in documents.items()
        if document is None and name != "device" and name not in told
    ]
    reasons = [f"parity: {fault}" for fault in faults] + broken
    met = [row["met"] for row in table_rows if row["targets"]]
    checked = "failed" if faults else "ok" if parity.checks else "not checked"
    # A device that our program cannot use, as without a compiler for its kernels, is as good as none.
    run = documents["run"][0] or {}
    unused = run.get("status") == "skipped" and not parity.checks and not reasons
    return found | {
        "status": "skipped" if unused else "failed" if reasons else "ok",
        "reason": run.get("reason") if unused else "; ".join(reasons) or None,
        "parity": {"status": checked, "checks": len(parity.checks), "faults": faults},
        "rows": table_rows,
        "targets": {"met": met.count(True), "missed": met.count(False), "open": met.count(None)},
        "notes": notes(table_rows, record, peers),
    }


def text_of(summary):
    """The same for a reader, in Markdown."""
    if summary["parity"] is None:
        return f"skipped: {summary['reason']}\n"
    device, parity, targets = summary["device"] or {}, summary["parity"], summary["targets"]
    capability = device.get("compute_capability") or "unknown"
    lines = [
        f"# GPU check: {summary['status']}",
        "",
        f"- device: {device.get('name') or 'unknown'}, compute capability {capability}",
    ]
    if summary["reason"]:
        lines += [f"- reason: {summary['reason']}"]
    lines += [
        f"- parity: {parity['status']}, {parity['checks']} checks, {len(parity['faults'])} faults",
        f"- targets: {targets['met']} met, {targets['missed']} missed, {targets['open']} open",
        "",
    ]
    lines += [table(summary["rows"]) if summary["rows"] else "No kernel was timed.", ""]
    lines += ["Steps:", ""]
    for step in summary["steps"]:
        reason = f": {step['reason']}" if step["reason"] else ""
        lines.append(f"- {step['name']}: {step['status']} in {step['seconds']} s{reason}")
    if summary["notes"]:
        lines += ["", "Notes:", ""] + [f"- {note}" for note in summary["notes"]]
    return "\n".join(lines) + "\n"


def main():
    folder = Path(sys.argv[1])
    summary = judge(folder)
    (folder / "summary.json").write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n")
    text = text_of(summary)
    (folder / "summary.md").write_text(text)
    sys.stdout.write(text)
    return {"ok": 0, "failed": 1, "skipped": 5}[summary["status"]]


if __name__ == "__main__":
    sys.exit(main())
