"""What each operation computes, as plain formulas over torch tensors, and the inputs that it computes from.

They are written from the definitions, one sample at a time and in 64 bit, and serve as the truth that every other form
is held against, on any device. `golden.py` holds them against the golden cases of this project.
"""

import torch

from shapes import shape_of

TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
# |got - expected| <= tolerance * (1 + |expected|). Packing and overriding only move values.
TOLERANCE = {
    "copy": {"f16": 0.0, "bf16": 0.0, "f32": 0.0},
    "tile_pack": {"f16": 0.0, "bf16": 0.0, "f32": 0.0},
    "tile_unpack": {"f16": 0.0, "bf16": 0.0, "f32": 0.0},
    "fusion_gate": {"f16": 4e-3, "bf16": 2e-2, "f32": 2e-6},
    "fused_pack_op_unpack": {"f16": 4e-3, "bf16": 2e-2, "f32": 1e-6},
    "tile_ssm_scan": {"f16": 4e-3, "bf16": 2e-2, "f32": 1e-5},
}
GATE = {"boundary_log_weight": 1.0, "uncertainty_log_weight": 1.0, "bias": 0.0}
AFFINE = {"value_scale": 1.0, "value_bias": 0.0, "gate_scale": 1.0, "gate_bias": 0.0}
CLAMP = 1e4
DECAY_RANGE = (1e-6, 1 - 1e-6)


def make_inputs(operation, profile, dtype, device, seed):
    """Random inputs: never zeros, which draw less power and so let the clocks go higher."""
    shape = shape_of(operation, profile)
    generator = torch.Generator(device=device).manual_seed(seed)

    def uniform(size, low, high, kind=TORCH[dtype]):
        return torch.empty(size, dtype=kind, device=device).uniform_(low, high, generator=generator)

    if operation == "tile_ssm_scan":
        b, k, c = shape.batch, shape.steps, shape.channels
        normal = lambda size, scale, kind: torch.empty(size, dtype=kind, device=device).normal_(
            0, scale, generator=generator
        )
        return {
            "tokens": normal((b, k, c), 1.0, TORCH[dtype]),
            "decay": uniform((c,), 0.1, 0.9, torch.float32),
            "input_gain": uniform((c,), 0.05, 1.55, torch.float32),
            "output_gain": uniform((c,), 0.05, 1.55, torch.float32),
            "state_bias": normal((c,), 0.1, torch.float32),
        }
    b, c, h, w, t, k = shape.batch, shape.channels, shape.height, shape.width, shape.tile, shape.tiles
    inputs = {"base": uniform((b, c, h, w), -1, 1)}
    if operation == "fusion_gate":
        inputs["detail"] = uniform((b, c, h, w), -1, 1)
        inputs["boundary"] = uniform((b, 1, h, w), 0, 1)
        inputs["uncertainty"] = uniform((b, 1, h, w), 0, 1)
    elif operation != "copy":
        rows, columns = shape.grid
        # Sorted, none twice, as the profile has it. Drawn on the host: a permutation has no use for a device.
        host = torch.Generator().manual_seed(seed + 1)
        ids = [torch.randperm(rows * columns, generator=host)[:k].sort().values for _ in range(b)]
        inputs["ids"] = torch.stack(ids).to(device=device, dtype=torch.int32)
        inputs["tile"] = t
    if operation == "tile_unpack":
        inputs["packed"] = uniform((b, k, c, t, t), -1, 1)
        levels = torch.randint(0, 3, (b, k), generator=torch.Generator().manual_seed(seed + 2), dtype=torch.int32)
        inputs["levels"] = levels.to(device)
    return inputs


def outputs_of(operation, inputs):
    """The outputs of a call, poisoned: what is not written cannot pass."""
    first = inputs["tokens"] if operation == "tile_ssm_scan" else inputs["base"]
    poisoned = lambda size: torch.full(size, float("nan"), dtype=first.dtype, device=first.device)
    if operation == "tile_pack":
        (b, k), c, t = inputs["ids"].shape, first.shape[1], inputs["tile"]
        return {"packed": poisoned((b, k, c, t, t))}
    if operation == "fusion_gate":
        return {"fused": poisoned(first.shape), "alpha": poisoned(inputs["boundary"].shape)}
    if operation == "tile_ssm_scan":
        return {"y": poisoned(first.shape), "final_state": poisoned((first.shape[0], first.shape[2]))}
    return {"copied" if operation == "copy" else "merged": poisoned(first.shape)}


def poison(outputs):
    for tensor in outputs.values():
        tensor.fill_(float("nan"))


# What one sample of the outputs must be: in 64 bit, or in the element type where values are only moved.


def copy(inputs, sample):
    return {"copied": inputs["base"][sample]}


def windows(inputs, sample):
    """Upper left pixel of each tile, in the order given."""
    t = inputs["tile"]
    columns = inputs["base"].shape[3] // t
    return [(tile // columns * t, tile % columns * t) for tile in inputs["ids"][sample].tolist()]


def tile_pack(inputs, sample):
    t, base = inputs["tile"], inputs["base"][sample]
    tiles = [base[:, y : y + t, x : x + t] for y, x in windows(inputs, sample)]
    return {"packed": torch.stack(tiles)}


def tile_unpack(inputs, sample):
    """Tiles are laid down in ascending order of level, then place; what is laid last stays."""
    t, merged = inputs["tile"], inputs["base"][sample].clone()
    places = windows(inputs, sample)
    levels = inputs["levels"][sample].tolist()
    for k in sorted(range(len(places)), key=lambda k: (levels[k], k)):
        y, x = places[k]
        merged[:, y : y + t, x : x + t] = inputs["packed"][sample, k]
    return {"merged": merged}


def softplus(value):
    """ln(1 + e^x), and x itself above 20."""
    value = torch.tensor(float(value), dtype=torch.float64)
    return float(value if value > 20 else torch.log1p(torch.exp(value)))


def sanitise(proxy):
    return torch.nan_to_num(proxy.double(), nan=0.0, posinf=1.0, neginf=0.0)


def fusion_gate(inputs, sample, gate=None):
    """Alpha is rounded to the element type, and the maps are mixed by what it was rounded to."""
    gate = gate or GATE
    boundary, uncertainty = (sanitise(inputs[name][sample]) for name in ("boundary", "uncertainty"))
    z = softplus(gate["boundary_log_weight"]) * boundary + softplus(gate["uncertainty_log_weight"]) * uncertainty
    alpha = (1 / (1 + torch.exp(-(z + gate["bias"])))).to(inputs["base"].dtype).double()
    base, detail = inputs["base"][sample].double(), inputs["detail"][sample].double()
    return {"alpha": alpha, "fused": base + alpha * (detail - base)}


def fused_pack_op_unpack(inputs, sample, affine=None):
    affine = affine or AFFINE
    t, base = inputs["tile"], inputs["base"][sample]
    merged = base.double()
    for y, x in windows(inputs, sample):
        tile = base[:, y : y + t, x : x + t].double()
        value = affine["value_scale"] * tile + affine["value_bias"]
        gate = affine["gate_scale"] * tile + affine["gate_bias"]
        merged[:, y : y + t, x : x + t] = value * gate.clamp(min=0)
    return {"merged": merged}


def tile_ssm_scan(inputs, sample, clamp=CLAMP):
    """s = d s + (1 - d) (gain x + bias), y = output gain s, step after step from a state of zero."""
    tokens = inputs["tokens"][sample].double()
    tokens = torch.nan_to_num(tokens, nan=0.0, posinf=clamp, neginf=-clamp).clamp(-clamp, clamp)
    low, high = (float(torch.tensor(bound, dtype=torch.float32)) for bound in DECAY_RANGE)
    decay = inputs["decay"].double().clamp(low, high)
    drive = (1 - decay) * (inputs["input_gain"].double() * tokens + inputs["state_bias"].double())
    state, states = torch.zeros_like(decay), torch.empty_like(drive)
    for step in range(len(drive)):
        state = decay * state + drive[step]
        states[step] = state
    return {"y": inputs["output_gain"].double() * states, "final_state": state}


EXPECTED = {
    "copy": copy,
    "tile_pack": tile_pack,
    "tile_unpack": tile_unpack,
    "fusion_gate": fusion_gate,
    "fused_pack_op_unpack": fused_pack_op_unpack,
    "tile_ssm_scan": tile_ssm_scan,
}


def parity(operation, dtype, inputs, outputs, known):
    """Holds outputs against the formula: status, the largest difference, and the tolerance.

    `known` keeps what the scan comes to, whose formula takes a launch a step; the others are quick to compute anew.
    """
    tolerance, largest, beyond = TOLERANCE[operation][dtype], 0.0, 0
    first = inputs["tokens"] if operation == "tile_ssm_scan" else inputs["base"]
    for sample in range(first.shape[0]):
        expected = known.get(sample) or EXPECTED[operation](inputs, sample)
        if operation == "tile_ssm_scan":
            known[sample] = expected
        for name, wanted in expected.items():
            got, wanted = outputs[name][sample].double(), wanted.double()
            if got.shape != wanted.shape:
                return fault(tolerance, f"`{name}` has the shape {tuple(got.shape)}, not {tuple(wanted.shape)}")
            difference = (got - wanted).abs()
            # A NaN is beyond every tolerance, which the comparison this way round says.
            beyond += int((~(difference <= tolerance * (1 + wanted.abs()))).sum())
            largest = max(largest, float(torch.nan_to_num(difference, nan=float("inf")).max()))
    if beyond:
        return fault(tolerance, f"{beyond} elements differ by more than the tolerance", largest)
    return {"status": "exact" if largest == 0 else "within", "max_abs_error": largest, "tolerance": tolerance}


def fault(tolerance, reason, largest=None):
    # Infinity has no place in JSON.
    largest = largest if largest is not None and largest != float("inf") else None
    return {"status": "mismatch", "max_abs_error": largest, "tolerance": tolerance, "reason": reason}
