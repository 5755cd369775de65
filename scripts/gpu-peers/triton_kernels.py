"""The operations in Triton, written for this comparison: as good as we can make them with what Triton offers.

Sizes are compile-time constants, so that the compiler knows what is aligned and takes 16 bytes at a time. Blocks of a
map have three axes [rows, tiles of a row, pixels of a tile's row]: whether a tile is owned is then one question for a
whole vector of pixels.
"""

import triton
import triton.language as tl

NOBODY = tl.constexpr(-2147483648)


@triton.jit
def empty(unused):
    """Its time is that of a launch."""


@triton.jit
def copy(source, target, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + places, tl.load(source + places, places < COUNT), places < COUNT)


@triton.jit
def tile_places(
    tile,
    id,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Where a block of a tile's lines lies in the map and among the tiles, and what of it exists."""
    columns: tl.constexpr = W // T
    lines = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    pixels = tl.arange(0, TP)
    row = (tile // K).to(tl.int64) * C * H + (lines // T) * H + id // columns * T + lines % T
    exists = (lines < C * T)[:, None] & (pixels < T)[None, :]
    in_map = row[:, None] * W + (id % columns * T + pixels)[None, :]
    in_tiles = tile.to(tl.int64) * (C * T * T) + (lines[:, None] * T + pixels[None, :])
    return in_map, in_tiles, exists


@triton.jit
def pack(
    base,
    ids,
    packed,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program takes some lines of one tile."""
    tile = tl.program_id(0)
    in_map, in_tiles, exists = tile_places(tile, tl.load(ids + tile), C, H, W, T, TP, K, ROWS)
    tl.store(packed + in_tiles, tl.load(base + in_map, exists), exists)


@triton.jit
def scatter(
    packed,
    ids,
    merged,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The way back, for tiles that are all different."""
    tile = tl.program_id(0)
    in_map, in_tiles, exists = tile_places(tile, tl.load(ids + tile), C, H, W, T, TP, K, ROWS)
    tl.store(merged + in_map, tl.load(packed + in_tiles, exists), exists)


@triton.jit
def gate_tiles(
    base,
    ids,
    merged,
    value_scale,
    value_bias,
    gate_scale,
    gate_bias,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The gated tiles into a copy of the map."""
    tile = tl.program_id(0)
    in_map, _, exists = tile_places(tile, tl.load(ids + tile), C, H, W, T, TP, K, ROWS)
    values = tl.load(base + in_map, exists).to(tl.float32)
    tl.store(merged + in_map, gated(values, value_scale, value_bias, gate_scale, gate_bias), exists)


@triton.jit
def gated(values, value_scale, value_bias, gate_scale, gate_bias):
    gate = gate_scale * values + gate_bias
    return (value_scale * values + value_bias) * tl.where(gate < 0, 0.0, gate)


@triton.jit
def owners(ids, levels, owner, K: tl.constexpr, KP: tl.constexpr, CELLS_OF_MAP: tl.constexpr, CELLS: tl.constexpr):
    """For some cells of the grid the tile that is laid there last, by level and then by place, or -1."""
    sample = tl.program_id(0)
    cells = tl.program_id(1) * CELLS + tl.arange(0, CELLS)
    tiles = tl.arange(0, KP)
    id = tl.load(ids + sample * K + tiles, tiles < K, other=-1)
    key = tl.load(levels + sample * K + tiles, tiles < K, other=0) * KP + tiles
    last = tl.max(tl.where(id[:, None] == cells[None, :], key[:, None], NOBODY), axis=0)
    # KP is a power of two, so this is the place, whatever the sign of the level.
    last = tl.where(last == NOBODY, -1, last & (KP - 1))
    tl.store(owner + sample * CELLS_OF_MAP + cells, last, cells < CELLS_OF_MAP)


@triton.jit
def map_places(
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    GP: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A block of whole rows of a sample: channel and row of each, its cells, its pixels, where it lies, what exists."""
    columns: tl.constexpr = W // T
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cells, pixels = tl.arange(0, GP), tl.arange(0, TP)
    here = (rows < C * H)[:, None] & (cells < columns)[None, :]
    exists = here[:, :, None] & (pixels < T)[None, None, :]
    at = tl.program_id(1).to(tl.int64) * (C * H * W)
    at += rows[:, None, None] * W + (cells[:, None] * T + pixels[None, :])[None, :, :]
    return rows, cells, pixels, here, exists, at


@triton.jit
def unpack_rows(
    base,
    packed,
    owner,
    merged,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    GP: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program writes some whole rows of the map, each pixel once."""
    columns: tl.constexpr = W // T
    sample = tl.program_id(1)
    rows, cells, pixels, here, exists, at = map_places(C, H, W, T, TP, GP, ROWS)
    cell = sample * (H // T * columns) + (rows % H // T * columns)[:, None] + cells[None, :]
    tile = tl.load(owner + cell, here, other=-1)
    line = ((sample * K + tile).to(tl.int64) * C + (rows // H)[:, None]) * T + (rows % T)[:, None]
    in_tiles = line[:, :, None] * T + pixels[None, None, :]
    owned = (tile >= 0)[:, :, None]
    old = tl.load(base + at, exists & ~owned, other=0.0)
    new = tl.load(packed + in_tiles, exists & owned, other=0.0)
    tl.store(merged + at, tl.where(owned, new, old), exists)


@triton.jit
def gate_rows(
    base,
    owner,
    merged,
    value_scale,
    value_bias,
    gate_scale,
    gate_bias,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    T: tl.constexpr,
    TP: tl.constexpr,
    GP: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program writes some whole rows of the map: gated where a tile is chosen, copied elsewhere."""
    columns: tl.constexpr = W // T
    sample = tl.program_id(1)
    rows, cells, _, here, exists, at = map_places(C, H, W, T, TP, GP, ROWS)
    cell = sample * (H // T * columns) + (rows % H // T * columns)[:, None] + cells[None, :]
    chosen = (tl.load(owner + cell, here, other=-1) >= 0)[:, :, None]
    old = tl.load(base + at, exists, other=0.0)
    new = gated(old.to(tl.float32), value_scale, value_bias, gate_scale, gate_bias)
    tl.store(merged + at, tl.where(chosen, new.to(old.dtype), old), exists)


@triton.jit
def fusion(
    base,
    detail,
    boundary,
    uncertainty,
    alpha,
    fused,
    boundary_weight,
    uncertainty_weight,
    bias,
    C: tl.constexpr,
    PLANE: tl.constexpr,
    PIXELS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """A program mixes a block of pixels in some channels; those of the first channels write alpha."""
    pixels = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)
    channels = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    sample = tl.program_id(2).to(tl.int64)
    p = clean(tl.load(boundary + sample * PLANE + pixels, pixels < PLANE, other=0.0).to(tl.float32))
    q = clean(tl.load(uncertainty + sample * PLANE + pixels, pixels < PLANE, other=0.0).to(tl.float32))
    gate = 1.0 / (1.0 + tl.exp(-(boundary_weight * p + uncertainty_weight * q + bias)))
    gate = gate.to(alpha.dtype.element_ty)
    if tl.program_id(1) == 0:
        tl.store(alpha + sample * PLANE + pixels, gate, pixels < PLANE)
    at = sample * (C * PLANE) + channels[:, None] * PLANE + pixels[None, :]
    exists = (channels < C)[:, None] & (pixels < PLANE)[None, :]
    old = tl.load(base + at, exists, other=0.0).to(tl.float32)
    new = tl.load(detail + at, exists, other=0.0).to(tl.float32)
    tl.store(fused + at, old + gate.to(tl.float32)[None, :] * (new - old), exists)


@triton.jit
def clean(proxy):
    """NaN and -Inf become 0, +Inf becomes 1."""
    proxy = tl.where((proxy != proxy) | (proxy == float("-inf")), 0.0, proxy)
    return tl.where(proxy == float("inf"), 1.0, proxy)
