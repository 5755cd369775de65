"""How the Triton kernels are launched, with the configurations that are tried.

A form is `(peer, name, configurations, make)`; `make(inputs, outputs, shape, configuration)` gives a call that writes
the outputs. Every configuration is checked and timed by itself, the quickest is what counts.
"""

import torch
import triton

import triton_kernels as kernels
import triton_scans as scans
from formulas import AFFINE, CLAMP, DECAY_RANGE, GATE, softplus

# Cells of the grid that a program of `owners` looks after.
CELLS = 32


def up(count):
    return triton.next_power_of_2(count)


def tried(names, *rows):
    return [dict(zip(names, row)) for row in rows]


LINES = tried(("ROWS", "num_warps"), (256, 8), (128, 4), (512, 8), (64, 2))
# Rows of a map: 128 and 256 pixels are one vector each of a warp, so few rows fill a block.
MAP_ROWS = tried(("ROWS", "num_warps"), (16, 4), (8, 4), (32, 8), (8, 2), (64, 8))
BLOCKS = tried(("BLOCK", "num_warps"), (4096, 8), (2048, 4), (8192, 8), (1024, 4))
MIXES = tried(("PIXELS", "CHANNELS", "num_warps"), (512, 8, 8), (512, 4, 4), (1024, 4, 8), (256, 16, 8), (256, 8, 4))
# Loads are under way ahead of the loop where a thread has four bytes of them: two channels of f16.
STEP_BY_STEP = tried(("CHANNELS", "STAGES", "num_warps"), (64, 8, 1), (32, 8, 1), (64, 16, 1), (128, 8, 1), (64, 1, 2))
CHUNKS = tried(("CHANNELS", "STEPS", "num_warps"), (32, 64, 4), (64, 64, 8), (16, 128, 4), (32, 128, 8), (16, 256, 8))


def copy_blocks(inputs, outputs, shape, configuration):
    base = inputs["base"]

    def call():
        grid = (triton.cdiv(base.numel(), configuration["BLOCK"]),)
        kernels.copy[grid](base, outputs["copied"], base.numel(), **configuration)

    return call


def tile_sizes(shape):
    return {
        "C": shape.channels,
        "H": shape.height,
        "W": shape.width,
        "T": shape.tile,
        "TP": up(shape.tile),
        "K": shape.tiles,
    }


def tile_grid(shape, configuration):
    return shape.batch * shape.tiles, triton.cdiv(shape.channels * shape.tile, configuration["ROWS"])


def map_sizes(shape):
    sizes = {"C": shape.channels, "H": shape.height, "W": shape.width, "T": shape.tile, "TP": up(shape.tile)}
    return sizes | {"GP": up(shape.grid[1])}


def map_grid(shape, configuration):
    return triton.cdiv(shape.channels * shape.height, configuration["ROWS"]), shape.batch


def pack(inputs, outputs, shape, configuration):
    sizes, grid = tile_sizes(shape), tile_grid(shape, configuration)
    return lambda: kernels.pack[grid](inputs["base"], inputs["ids"], outputs["packed"], **sizes, **configuration)


def copy_then(inputs, outputs, shape, last):
    """A copy of the map, then a launch for the tiles."""
    base, merged = inputs["base"], outputs["merged"]
    grid = (triton.cdiv(base.numel(), 4096),)

    def call():
        kernels.copy[grid](base, merged, base.numel(), BLOCK=4096, num_warps=8)
        last()

    return call


def unpack_scatter(inputs, outputs, shape, configuration):
    """Takes the tiles of a sample for different ones: it has less to do than ours."""
    sizes, grid = tile_sizes(shape), tile_grid(shape, configuration)
    arguments = inputs["packed"], inputs["ids"], outputs["merged"]
    return copy_then(inputs, outputs, shape, lambda: kernels.scatter[grid](*arguments, **sizes, **configuration))


def find_owners(inputs, levels, shape):
    """The owners of all cells, and the launch that finds them."""
    cells = shape.grid[0] * shape.grid[1]
    owner = torch.empty((shape.batch, cells), dtype=torch.int32, device=inputs["ids"].device)
    grid = (shape.batch, triton.cdiv(cells, CELLS))
    sizes = {"K": shape.tiles, "KP": up(shape.tiles), "CELLS_OF_MAP": cells, "CELLS": CELLS}
    return owner, lambda: kernels.owners[grid](inputs["ids"], levels, owner, **sizes)


def unpack_rows(inputs, outputs, shape, configuration):
    owner, find = find_owners(inputs, inputs["levels"], shape)
    sizes, grid = map_sizes(shape) | {"K": shape.tiles}, map_grid(shape, configuration)

    def call():
        find()
        arguments = inputs["base"], inputs["packed"], owner, outputs["merged"]
        kernels.unpack_rows[grid](*arguments, **sizes, **configuration)

    return call


def affine():
    return [AFFINE[name] for name in ("value_scale", "value_bias", "gate_scale", "gate_bias")]


def fused_tiles(inputs, outputs, shape, configuration):
    sizes, grid = tile_sizes(shape), tile_grid(shape, configuration)
    arguments = [inputs["base"], inputs["ids"], outputs["merged"], *affine()]
    return copy_then(inputs, outputs, shape, lambda: kernels.gate_tiles[grid](*arguments, **sizes, **configuration))


def fused_rows(inputs, outputs, shape, configuration):
    # Which of two equal ids owns a cell makes no difference here, so that the ids may stand for levels.
    owner, find = find_owners(inputs, inputs["ids"], shape)
    sizes, grid = map_sizes(shape), map_grid(shape, configuration)

    def call():
        find()
        kernels.gate_rows[grid](inputs["base"], owner, outputs["merged"], *affine(), **sizes, **configuration)

    return call


def fusion(inputs, outputs, shape, configuration):
    plane = shape.height * shape.width
    weights = softplus(GATE["boundary_log_weight"]), softplus(GATE["uncertainty_log_weight"]), GATE["bias"]
    arguments = [inputs[name] for name in ("base", "detail", "boundary", "uncertainty")]
    arguments += [outputs["alpha"], outputs["fused"], *weights]
    grid = (
        triton.cdiv(plane, configuration["PIXELS"]),
        triton.cdiv(shape.channels, configuration["CHANNELS"]),
        shape.batch,
    )
    return lambda: kernels.fusion[grid](*arguments, C=shape.channels, PLANE=plane, **configuration)


def scan_sizes(shape):
    return {"K": shape.steps, "C": shape.channels, "CLAMP": CLAMP, "LOW": DECAY_RANGE[0], "HIGH": DECAY_RANGE[1]}


def scan_inputs(inputs):
    return [inputs[name] for name in ("tokens", "decay", "input_gain", "output_gain", "state_bias")]


def one_scan(kernel):
    """A scan of one launch: a program a block of channels of a sample."""

    def make(inputs, outputs, shape, configuration):
        grid = (triton.cdiv(shape.channels, configuration["CHANNELS"]), shape.batch)
        arguments = scan_inputs(inputs) + [outputs["y"], outputs["final_state"]]
        return lambda: kernel[grid](*arguments, **scan_sizes(shape), **configuration)

    return make


def scan_at_once(inputs, outputs, shape, configuration):
    tokens, decay, input_gain, output_gain, state_bias = scan_inputs(inputs)
    blocks, chunks = (
        triton.cdiv(shape.channels, configuration["CHANNELS"]),
        triton.cdiv(shape.steps, configuration["STEPS"]),
    )
    ends, starts = (torch.empty((shape.batch, chunks, shape.channels), device=tokens.device) for _ in range(2))
    sizes, every = scan_sizes(shape), (blocks, chunks, shape.batch)
    between = {name: sizes[name] for name in ("C", "LOW", "HIGH")} | {"CHUNKS": chunks}
    between |= {"STEPS": configuration["STEPS"], "CHANNELS": 32, "num_warps": 1}

    def call():
        scans.chunk_ends[every](tokens, decay, input_gain, state_bias, ends, **sizes, **configuration)
        scans.carry_over[triton.cdiv(shape.channels, 32), shape.batch](decay, ends, starts, **between)
        arguments = tokens, decay, input_gain, output_gain, state_bias, starts, outputs["y"], outputs["final_state"]
        scans.chunks_at_once[every](*arguments, **sizes, **configuration)

    return call


FORMS = {
    "copy": [("triton", "blocks", BLOCKS, copy_blocks)],
    "tile_pack": [("triton", "lines of tiles", LINES, pack)],
    "tile_unpack": [
        ("triton", "copy, scatter", LINES, unpack_scatter),
        ("triton", "owner, rows", MAP_ROWS, unpack_rows),
    ],
    "fusion_gate": [("triton", "one pass", MIXES, fusion)],
    "fused_pack_op_unpack": [
        ("triton", "copy, tiles", LINES, fused_tiles),
        ("triton", "mask, rows", MAP_ROWS, fused_rows),
    ],
    "tile_ssm_scan": [
        ("triton", "step by step", STEP_BY_STEP, one_scan(scans.sequential)),
        ("triton", "chunks in turn", CHUNKS, one_scan(scans.chunks_in_turn)),
        ("triton", "chunks at once", CHUNKS, scan_at_once),
    ],
}
