"""The operations as users of torch write them: eager, with and without outputs allocated before, and compiled.

A form is `(peer, name, make)`; `make(inputs, outputs, shape)` does what a caller does once (places, weights) and gives
a call. A call returns its outputs by name, new or those given. Where a form has less to do than ours, its comment says
so: the peers get every advantage that their users have.
"""

import math

import torch

from formulas import AFFINE, CLAMP, DECAY_RANGE, GATE, softplus

# A loop of several launches a step stays within what a graph holds.
MOST_STEPS_OF_A_LOOP = 512
# Steps of a chunk of the scan by matrices.
CHUNK = 64


class NotHere(Exception):
    """Why a form does not suit a shape or a machine."""


def parts(values, shape):
    """A map as its tiles: [B, C, rows, t, columns, t]."""
    rows, columns = shape.grid
    return values.view(shape.batch, shape.channels, rows, shape.tile, columns, shape.tile)


def places(inputs, shape):
    """Sample, row and column of each tile, for indexing that pairs them."""
    ids, columns = inputs["ids"].long(), shape.grid[1]
    sample = torch.arange(shape.batch, device=ids.device)[:, None].expand_as(ids)
    return sample, ids // columns, ids % columns


def line_places(inputs, shape):
    """Where each line of t pixels of each tile lies in the map, counted in lines."""
    sample, row, column = (place[:, :, None, None] for place in places(inputs, shape))
    channel = torch.arange(shape.channels, device=row.device)[:, None]
    line = torch.arange(shape.tile, device=row.device)
    y = (sample * shape.channels + channel) * shape.height + row * shape.tile + line
    return (y * shape.grid[1] + column).flatten()


def copy_out(inputs, outputs, shape):
    return lambda: {"copied": outputs["copied"].copy_(inputs["base"])}


def copy_clone(inputs, outputs, shape):
    return lambda: {"copied": inputs["base"].clone()}


def pack_index(inputs, outputs, shape):
    sample, row, column = places(inputs, shape)
    return lambda: {"packed": parts(inputs["base"], shape)[sample, :, row, :, column, :]}


def pack_lines(inputs, outputs, shape):
    at = line_places(inputs, shape)

    def call():
        torch.index_select(inputs["base"].view(-1, shape.tile), 0, at, out=outputs["packed"].view(-1, shape.tile))
        return outputs

    return call


def pack_compiled(inputs, outputs, shape):
    @compiled
    def form(base, sample, row, column, packed):
        packed.copy_(parts(base, shape)[sample, :, row, :, column, :])

    arguments = (inputs["base"], *places(inputs, shape), outputs["packed"])
    return lambda: (form(*arguments), outputs)[1]


# The next three take the tiles of a sample for different ones, as the profiles have them: levels then decide nothing.
def unpack_clone(inputs, outputs, shape):
    sample, row, column = places(inputs, shape)

    def call():
        merged = inputs["base"].clone()
        parts(merged, shape)[sample, :, row, :, column, :] = inputs["packed"]
        return {"merged": merged}

    return call


def unpack_copy(inputs, outputs, shape):
    sample, row, column = places(inputs, shape)

    def call():
        outputs["merged"].copy_(inputs["base"])
        parts(outputs["merged"], shape)[sample, :, row, :, column, :] = inputs["packed"]
        return outputs

    return call


def unpack_lines(inputs, outputs, shape):
    at = line_places(inputs, shape)

    def call():
        outputs["merged"].copy_(inputs["base"])
        outputs["merged"].view(-1, shape.tile).index_copy_(0, at, inputs["packed"].view(-1, shape.tile))
        return outputs

    return call


def owners(ids, levels, shape):
    """For each cell of the grid the tile that is laid there last, or -1."""
    count = ids.shape[1]
    place = torch.arange(count, device=ids.device)
    key = (levels.long() - levels.min()) * count + place
    cells = shape.grid[0] * shape.grid[1]
    last = torch.full((ids.shape[0], cells), -1, dtype=torch.int64, device=ids.device)
    last = last.scatter_reduce(1, ids.long(), key, "amax")
    return torch.where(last >= 0, last % count, last)


def unpack_by_owner(base, packed, ids, levels, merged, shape):
    (rows, columns), t = shape.grid, shape.tile
    owner = owners(ids, levels, shape)
    sample = torch.arange(shape.batch, device=ids.device)[:, None]
    tiles = packed[sample, owner.clamp(min=0)].view(shape.batch, rows, columns, shape.channels, t, t)
    tiles = tiles.permute(0, 3, 1, 4, 2, 5)
    owned = (owner >= 0).view(shape.batch, 1, rows, 1, columns, 1)
    parts(merged, shape).copy_(torch.where(owned, tiles, parts(base, shape)))


def unpack_owner(inputs, outputs, shape):
    arguments = [inputs[name] for name in ("base", "packed", "ids", "levels")] + [outputs["merged"], shape]
    return lambda: (unpack_by_owner(*arguments), outputs)[1]


def unpack_compiled(inputs, outputs, shape):
    form = compiled(lambda *arguments: unpack_by_owner(*arguments, shape))
    arguments = [inputs[name] for name in ("base", "packed", "ids", "levels")] + [outputs["merged"]]
    return lambda: (form(*arguments), outputs)[1]


def alpha_of(boundary, uncertainty):
    boundary, uncertainty = (torch.nan_to_num(one, nan=0.0, posinf=1.0, neginf=0.0) for one in (boundary, uncertainty))
    weights = softplus(GATE["boundary_log_weight"]), softplus(GATE["uncertainty_log_weight"])
    return torch.sigmoid(weights[0] * boundary + weights[1] * uncertainty + GATE["bias"])


def fusion_eager(inputs, outputs, shape):
    def call():
        alpha = alpha_of(inputs["boundary"], inputs["uncertainty"])
        return {"alpha": alpha, "fused": inputs["base"] + alpha * (inputs["detail"] - inputs["base"])}

    return call


def fusion_lerp(inputs, outputs, shape):
    def call():
        alpha = alpha_of(inputs["boundary"], inputs["uncertainty"])
        return {"alpha": alpha, "fused": torch.lerp(inputs["base"], inputs["detail"], alpha)}

    return call


def fusion_lerp_out(inputs, outputs, shape):
    def call():
        outputs["alpha"].copy_(alpha_of(inputs["boundary"], inputs["uncertainty"]))
        torch.lerp(inputs["base"], inputs["detail"], outputs["alpha"].expand_as(inputs["base"]), out=outputs["fused"])
        return outputs

    return call


def fusion_compiled(inputs, outputs, shape):
    weights = softplus(GATE["boundary_log_weight"]), softplus(GATE["uncertainty_log_weight"])

    @compiled
    def form(base, detail, boundary, uncertainty, alpha, fused):
        boundary, uncertainty = (
            torch.nan_to_num(one.float(), nan=0.0, posinf=1.0, neginf=0.0) for one in (boundary, uncertainty)
        )
        gate = torch.sigmoid(weights[0] * boundary + weights[1] * uncertainty + GATE["bias"])
        alpha.copy_(gate)
        fused.copy_(base.float() + gate.to(alpha.dtype).float() * (detail.float() - base.float()))

    arguments = [inputs[name] for name in ("base", "detail", "boundary", "uncertainty")]
    arguments += [outputs["alpha"], outputs["fused"]]
    return lambda: (form(*arguments), outputs)[1]


def gated(values):
    value = AFFINE["value_scale"] * values + AFFINE["value_bias"]
    return value * (AFFINE["gate_scale"] * values + AFFINE["gate_bias"]).clamp(min=0)


def fused_clone(inputs, outputs, shape):
    sample, row, column = places(inputs, shape)

    def call():
        merged = inputs["base"].clone()
        tiles = parts(inputs["base"], shape)[sample, :, row, :, column, :]
        parts(merged, shape)[sample, :, row, :, column, :] = gated(tiles)
        return {"merged": merged}

    return call


def fused_lines(inputs, outputs, shape):
    at = line_places(inputs, shape)

    def call():
        lines = outputs["merged"].copy_(inputs["base"]).view(-1, shape.tile)
        lines.index_copy_(0, at, gated(inputs["base"].view(-1, shape.tile).index_select(0, at)))
        return outputs

    return call


def fused_by_mask(base, ids, merged, shape):
    rows, columns = shape.grid
    chosen = torch.zeros((shape.batch, rows * columns), dtype=torch.bool, device=ids.device)
    chosen = chosen.scatter(1, ids.long(), True).view(shape.batch, 1, rows, 1, columns, 1)
    values = parts(base, shape)
    parts(merged, shape).copy_(torch.where(chosen, gated(values), values))


def fused_mask(inputs, outputs, shape):
    return lambda: (fused_by_mask(inputs["base"], inputs["ids"], outputs["merged"], shape), outputs)[1]


def fused_compiled(inputs, outputs, shape):
    form = compiled(lambda base, ids, merged: fused_by_mask(base, ids, merged, shape))
    return lambda: (form(inputs["base"], inputs["ids"], outputs["merged"]), outputs)[1]


def drive_of(tokens, inputs):
    """(1 - d) (gain x + bias), the clean tokens in 32 bit."""
    clean = torch.nan_to_num(tokens.float(), nan=0.0, posinf=CLAMP, neginf=-CLAMP).clamp(-CLAMP, CLAMP)
    return (1 - decay_of(inputs)) * torch.addcmul(inputs["state_bias"], inputs["input_gain"], clean)


def decay_of(inputs):
    return inputs["decay"].clamp(*DECAY_RANGE)


def scan_loop(inputs, outputs, shape):
    if shape.steps > MOST_STEPS_OF_A_LOOP:
        raise NotHere(f"{shape.steps} steps of three launches each do not fit a graph")
    decay, state = decay_of(inputs), torch.empty((shape.batch, shape.channels), device=inputs["tokens"].device)

    def call():
        drive = drive_of(inputs["tokens"], inputs)
        state.zero_()
        for step in range(shape.steps):
            torch.addcmul(drive[:, step], decay, state, out=state)
            torch.mul(inputs["output_gain"], state, out=outputs["y"][:, step])
        outputs["final_state"].copy_(state)
        return outputs

    return call


def doubled(tokens, inputs, y, final_state):
    """Each state takes in what lies 1, 2, 4, ... steps before it."""
    states, decay = drive_of(tokens, inputs), decay_of(inputs)
    distance = 1
    while distance < tokens.shape[1]:
        later = torch.addcmul(states[:, distance:], decay, states[:, :-distance])
        states = torch.cat((states[:, :distance], later), dim=1)
        decay, distance = decay * decay, 2 * distance
    y.copy_(inputs["output_gain"] * states)
    final_state.copy_(states[:, -1])


def scan_doubled(inputs, outputs, shape):
    return lambda: (doubled(inputs["tokens"], inputs, outputs["y"], outputs["final_state"]), outputs)[1]


def scan_doubled_compiled(inputs, outputs, shape):
    form = compiled(doubled)
    return lambda: (form(inputs["tokens"], inputs, outputs["y"], outputs["final_state"]), outputs)[1]


def scan_matrices(inputs, outputs, shape):
    """Chunks by a triangular matrix of powers a channel, then the states between chunks by another."""
    batch, channels, steps = shape.batch, shape.channels, shape.steps
    chunks = math.ceil(steps / CHUNK)
    decay = decay_of(inputs).double()
    step = torch.arange(CHUNK, device=decay.device)
    chunk = torch.arange(chunks, device=decay.device)

    def triangle(distance, base):
        powers = base[:, None, None] ** distance.clamp(min=0)
        return torch.where(distance >= 0, powers, torch.zeros_like(powers)).float()

    within = triangle(step[:, None] - step[None, :], decay)
    between = triangle(chunk[:, None] - chunk[None, :] - 1, decay**CHUNK)
    reach = (decay ** (step[:, None] + 1)).float()
    whole = chunks * CHUNK

    def call():
        drive = drive_of(inputs["tokens"], inputs)
        drive = torch.nn.functional.pad(drive, (0, 0, 0, whole - steps)).view(batch, chunks, CHUNK, channels)
        local = torch.bmm(within, drive.permute(3, 2, 0, 1).reshape(channels, CHUNK, batch * chunks))
        ends = local[:, -1].view(channels, batch, chunks)
        carries = torch.bmm(between, ends.transpose(1, 2))
        local = local.view(channels, CHUNK, batch, chunks).permute(2, 3, 1, 0)
        states = torch.addcmul(local, reach, carries.permute(2, 1, 0)[:, :, None])
        states = states.reshape(batch, whole, channels)[:, :steps]
        torch.mul(states, inputs["output_gain"], out=outputs["y"])
        outputs["final_state"].copy_(states[:, -1])
        return outputs

    return call


def scan_associative(inputs, outputs, shape):
    """The scan that torch itself has, compiled. It is no public interface yet."""
    from torch._higher_order_ops.associative_scan import associative_scan

    mode = "pointwise" if inputs["tokens"].is_cuda else "generic"

    def join(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    @compiled
    def form(tokens, y, final_state):
        drive = drive_of(tokens, inputs)
        # A copy: the compiled scan takes no view with strides of zero.
        decay = decay_of(inputs).expand_as(drive).contiguous()
        _, states = associative_scan(join, (decay, drive), dim=1, combine_mode=mode)
        y.copy_(inputs["output_gain"] * states)
        final_state.copy_(states[:, -1])

    return lambda: (form(inputs["tokens"], outputs["y"], outputs["final_state"]), outputs)[1]


def compiled(function):
    """Compiled for exactly these shapes. Its own graphs are left off: it is timed in ours, as all others are."""
    return torch.compile(function, fullgraph=True, dynamic=False)


FORMS = {
    "copy": [("torch", "copy_", copy_out), ("torch", "clone", copy_clone)],
    "tile_pack": [
        ("torch", "index", pack_index),
        ("torch", "index_select out", pack_lines),
        ("torch.compile", "index", pack_compiled),
    ],
    "tile_unpack": [
        ("torch", "clone, index", unpack_clone),
        ("torch", "copy_, index", unpack_copy),
        ("torch", "copy_, index_copy_", unpack_lines),
        ("torch", "owner, where", unpack_owner),
        ("torch.compile", "owner, where", unpack_compiled),
    ],
    "fusion_gate": [
        ("torch", "eager", fusion_eager),
        ("torch", "lerp", fusion_lerp),
        ("torch", "lerp out", fusion_lerp_out),
        ("torch.compile", "one expression", fusion_compiled),
    ],
    "fused_pack_op_unpack": [
        ("torch", "clone, index", fused_clone),
        ("torch", "copy_, index_copy_", fused_lines),
        ("torch", "mask, where", fused_mask),
        ("torch.compile", "mask, where", fused_compiled),
    ],
    "tile_ssm_scan": [
        ("torch", "loop out", scan_loop),
        ("torch", "doubling", scan_doubled),
        ("torch", "chunks by matrices", scan_matrices),
        ("torch.compile", "doubling", scan_doubled_compiled),
        ("torch.compile", "associative_scan", scan_associative),
    ],
}
