"""The torch side of the comparison with peers: a worker that times one round of all cases for each line it reads.

A case is a kernel beside the copy or triad of the same class, both timed here: blocks of short samples, alternating,
medians of blocks. For each line on standard input it prints `case<TAB>ratio` lines and then `end`.
"""

import ctypes
import mmap
import statistics
import sys
import time
import warnings

import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.manual_seed(int(sys.argv[1]))

CHANNELS, SIDE, TILE, TILES = 128, 128, 8, 32
GRID = SIDE // TILE
STEPS = 256
SAMPLES, SAMPLE_SECONDS, SETTLING_SECONDS = 12, 30e-6, 3e-3
HUGE_PAGE = 1 << 21


def placed(values):
    """A copy of the values in memory as our worker's: from a multiple of 2 MiB on, in huge pages where the system has them.

    Where a map lies in huge pages, rows of one tile share few sets of a cache, whoever gathers them.
    """
    size = -(-values.numel() * values.element_size() // HUGE_PAGE) * HUGE_PAGE
    memory = mmap.mmap(-1, size + HUGE_PAGE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    offset = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE_PAGE
    copy = torch.frombuffer(memory, dtype=values.dtype, count=values.numel(), offset=offset).view(values.shape)
    return copy.copy_(values)


base = placed(torch.rand(CHANNELS, SIDE, SIDE) * 2 - 1)
detail = placed(torch.rand(CHANNELS, SIDE, SIDE) * 2 - 1)
merged, fused = placed(base), placed(base)
boundary, uncertainty = placed(torch.rand(SIDE, SIDE)), placed(torch.rand(SIDE, SIDE))
ids = torch.randperm(GRID * GRID)[:TILES].sort().values
rows, columns = ids // GRID, ids % GRID
source = placed(torch.rand(TILES, CHANNELS, TILE, TILE))
packed = placed(source)
pixels = torch.arange(CHANNELS * SIDE * SIDE).view(CHANNELS, GRID, TILE, GRID, TILE)
places = pixels[:, rows, :, columns, :].contiguous()
places_of_rows = places[..., 0].flatten() // TILE
tiles = lambda values: values.view(CHANNELS, GRID, TILE, GRID, TILE)

tokens = placed(torch.randn(STEPS, CHANNELS))
decay, gain, output = torch.rand(CHANNELS) * 0.8 + 0.1, torch.rand(CHANNELS) + 0.05, torch.rand(CHANNELS) + 0.05
bias = torch.randn(CHANNELS) * 0.1
renewal = 1 - decay
y, state, u = placed(tokens), torch.zeros(CHANNELS), torch.empty(CHANNELS)


def copier(count):
    a, b = placed(torch.rand(count)), placed(torch.rand(count))
    to, of, length = ctypes.c_void_p(b.data_ptr()), ctypes.c_void_p(a.data_ptr()), count * 4
    keep = (a, b)
    return lambda: (ctypes.memmove(to, of, length), keep)


def pack_index():
    return tiles(base)[:, rows, :, columns, :]


def pack_take():
    return torch.take(base, places, out=packed)


def pack_select():
    return torch.index_select(base.view(-1, TILE), 0, places_of_rows, out=packed.view(-1, TILE))


def unpack_index():
    tiles(merged)[:, rows, :, columns, :] = source


def unpack_put():
    merged.put_(places, source)


def unpack_select():
    merged.view(-1, TILE).index_copy_(0, places_of_rows, source.view(-1, TILE))


def unpack_clone():
    result = base.clone()
    tiles(result)[:, rows, :, columns, :] = source
    return result


def unpack_copy():
    merged.copy_(base)
    tiles(merged)[:, rows, :, columns, :] = source


def alpha():
    return torch.sigmoid(1.3132617 * boundary + 1.3132617 * uncertainty)


def fusion_eager():
    gate = alpha()
    return base + gate * (detail - base)


def fusion_lerp():
    return torch.lerp(base, detail, alpha().expand_as(base))


def fusion_lerp_out():
    return torch.lerp(base, detail, alpha().expand_as(base), out=fused)


def scan_loop():
    now, rows = torch.zeros(CHANNELS), []
    clean = torch.nan_to_num(tokens, nan=0.0).clamp(-1e4, 1e4)
    for token in clean:
        now = decay * now + renewal * (gain * token + bias)
        rows.append(output * now)
    return torch.stack(rows)


def scan_loop_out():
    state.zero_()
    clean = torch.nan_to_num(tokens, nan=0.0).clamp_(-1e4, 1e4)
    for step in range(STEPS):
        torch.addcmul(bias, gain, clean[step], out=u)
        u.mul_(renewal)
        torch.addcmul(u, decay, state, out=state)
        torch.mul(output, state, out=y[step])
    return y


copy_packed, copy_map, copy_tokens = copier(TILES * CHANNELS * TILE * TILE), copier(base.numel()), copier(STEPS * CHANNELS)
third = placed(base)
triad = lambda: torch.add(base, detail, alpha=0.5, out=third)

CASES = [
    ("pack/index", pack_index, copy_packed),
    ("pack/take out", pack_take, copy_packed),
    ("pack/index_select out", pack_select, copy_packed),
    ("unpack in place/index", unpack_index, copy_packed),
    ("unpack in place/put", unpack_put, copy_packed),
    ("unpack in place/index_copy", unpack_select, copy_packed),
    ("unpack with copy/clone", unpack_clone, copy_map),
    ("unpack with copy/copy", unpack_copy, copy_map),
    ("fusion/eager", fusion_eager, triad),
    ("fusion/lerp", fusion_lerp, triad),
    ("fusion/lerp out", fusion_lerp_out, triad),
    ("scan/loop", scan_loop, copy_tokens),
    ("scan/loop out", scan_loop_out, copy_tokens),
]


def check():
    """The forms of one kernel agree before any is timed."""
    wanted = torch.stack([base[:, r * TILE : (r + 1) * TILE, c * TILE : (c + 1) * TILE] for r, c in zip(rows, columns)])
    index = pack_index()
    # Indices that stand apart come first: [K,C,t,t], as we pack.
    assert torch.equal(index, wanted), "pack by index"
    assert torch.equal(pack_take(), wanted), "pack by take"
    packed.zero_()
    pack_select()
    assert torch.equal(packed, wanted), "pack by rows"
    copied = unpack_clone()
    merged.copy_(base)
    unpack_put()
    assert torch.equal(copied, merged), "unpack"
    merged.copy_(base)
    unpack_select()
    assert torch.equal(copied, merged), "unpack by rows"
    for row, column, tile in zip(rows, columns, source):
        window = merged[:, row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
        assert torch.equal(window, tile), "unpack places"
    assert torch.allclose(fusion_eager(), fusion_lerp_out(), atol=2e-6), "fusion"
    assert torch.allclose(scan_loop(), scan_loop_out(), atol=1e-5), "scan"


def calibrate(call):
    """How many calls fill a sample."""
    for _ in range(3):
        call()
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        if time.perf_counter() - start > SAMPLE_SECONDS or calls >= 1 << 16:
            return calls
        calls *= 2


def block(call, calls):
    """The median time of a call in a block of samples, after the cache has settled."""
    times = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < SETTLING_SECONDS:
        call()
    for _ in range(SAMPLES):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


check()
plans = [(name, call, calibrate(call), reference, calibrate(reference)) for name, call, reference in CASES]
for number, _ in enumerate(sys.stdin):
    for name, call, calls, reference, reference_calls in plans:
        if number % 2 == 0:
            ours, other = block(call, calls), block(reference, reference_calls)
        else:
            other, ours = block(reference, reference_calls), block(call, calls)
        print(f"{name}\t{ours / other}")
    print("end", flush=True)
