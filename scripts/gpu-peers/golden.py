"""Holds the plain formulas against the golden cases of the repository: the truth of `peers.py` is checked itself.

    golden.py [FOLDER]        FOLDER: the golden cases (default: fixtures/golden/apex-x of this repository)

Needs torch; no GPU. Cases of what no peer does (blending, priority maps, two directions, rejected input) are counted as
left out.
"""

import json
import sys
from pathlib import Path

import torch

import formulas

FAMILIES = ("tile_pack", "tile_unpack", "fusion_gate", "fused_pack_op_unpack", "tile_ssm_scan")
KINDS = {"float32": torch.float32, "float16": torch.float16, "int32": torch.int32, "int64": torch.int64}
# By element type: absolute and relative.
TOLERANCES = {torch.float32: 1e-5, torch.float16: 4e-3}


def number(value):
    """JSON has no name for what is not finite; the cases write it as text."""
    return float(value) if isinstance(value, str) else value


def tensor(spec):
    """The tensor that a case describes, literally or by the formula of its README."""
    kind = KINDS[spec["dtype"]]
    if "data" in spec:
        return torch.tensor([number(value) for value in spec["data"]]).to(kind).view(spec["shape"])
    generator = spec["gen"]
    places = torch.arange(torch.Size(spec["shape"]).numel(), dtype=torch.int64) + generator["offset"]
    hashed = (places * 2654435761) & 0xFFFFFFFF
    values = (hashed.double() / 4294967296.0 - 0.5) * generator["scale"] + generator["shift"]
    values = values.float()
    for place, value in spec.get("patch", []):
        values[place] = number(value)
    return values.to(kind).view(spec["shape"])


def run(family, case):
    """The outputs of a case by our formulas, or None where they have no such form."""
    inputs = {name: tensor(spec) for name, spec in case["inputs"].items()}
    parameters = case.get("params") or {}
    if "expected_error" in case or "init_state" in inputs or parameters.get("direction", "forward") != "forward":
        return None
    if family == "tile_pack":
        # Where the case orders the tiles first, the order it ends with is part of what it expects.
        ids = tensor(case["expected"]["indices"])
        return samples(family, {"base": inputs["feature_map"], "ids": ids, "tile": parameters["tile_size"]})
    if family == "tile_unpack":
        if case.get("api") != "levels" or parameters["overlap_mode"] != "override":
            return None
        levels = inputs.get("levels", torch.zeros_like(inputs["indices"]))
        tile = inputs["packed"].shape[-1]
        return samples(
            family,
            {
                "base": inputs["base_map"],
                "packed": inputs["packed"],
                "ids": inputs["indices"],
                "levels": levels,
                "tile": tile,
            },
        )
    if family == "fusion_gate":
        for name in ("boundary", "uncertainty"):
            if inputs[name].dim() == 3:
                inputs[name] = inputs[name][:, None]
        return samples(family, inputs, gate=parameters)
    if family == "fused_pack_op_unpack":
        inputs = {"base": inputs["feature_map"], "ids": inputs["indices"], "tile": parameters["tile_size"]}
        return samples(family, inputs, affine=parameters)
    return samples(family, inputs, clamp=parameters["clamp_value"])


def samples(family, inputs, **options):
    first = inputs.get("tokens", inputs.get("base"))
    each = [formulas.EXPECTED[family](inputs, sample, **options) for sample in range(first.shape[0])]
    return {name: torch.stack([one[name] for one in each]) for name in each[0]}


def faults(outputs, expected):
    """What differs from the case."""
    found = []
    for name, got in outputs.items():
        spec = expected[name]
        kind, got = KINDS[spec["dtype"]], got.reshape(-1)
        tolerance = TOLERANCES[kind]
        if list(outputs[name].shape) != spec["shape"]:
            found.append(f"`{name}` has the shape {list(outputs[name].shape)}, not {spec['shape']}")
        elif "data" in spec:
            wanted = torch.tensor([number(value) for value in spec["data"]], dtype=torch.float64)
            if not torch.allclose(got.double(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True):
                found.append(f"`{name}` differs")
        else:
            wrong = [place for place, value in spec["samples"] if abs(float(got[place]) - value) > tolerance]
            if wrong:
                found.append(f"`{name}` differs at {wrong}")
            bound = 1e-5 * (1 + float(got.double().abs().sum()))
            if abs(float(got.double().sum()) - spec["sum_f64"]) > bound:
                found.append(f"the sum of `{name}` differs")
    return found


def main():
    root = Path(__file__).resolve().parents[2]
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "fixtures/golden/apex-x"
    passed = failed = left_out = 0
    for family in FAMILIES:
        for case in json.loads((folder / f"{family}.json").read_text())["cases"]:
            outputs = run(family, case)
            if outputs is None:
                left_out += 1
                continue
            found = faults(outputs, case["expected"])
            failed, passed = failed + bool(found), passed + (not found)
            for fault in found:
                print(f"{family}/{case['name']}: {fault}")
    print(f"{passed} passed, {failed} failed, {left_out} left out")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
