"""The scan in Triton: step after step, and in chunks.

    s = d s + (1 - d) (gain x + bias),  y = output gain s

A chunk of steps is scanned by `tl.associative_scan` over pairs (factor, state). Steps past the end have the factor 1
and add nothing, so the last row of the last chunk is the final state.
"""

import triton
import triton.language as tl


@triton.jit
def join(left_factor, left_state, right_factor, right_state):
    return left_factor * right_factor, left_state * right_factor + right_state


@triton.jit
def decay_of(decay, channels, exist, LOW: tl.constexpr, HIGH: tl.constexpr):
    return tl.minimum(tl.maximum(tl.load(decay + channels, exist, other=0.5), LOW), HIGH)


@triton.jit
def clean(tokens, CLAMP: tl.constexpr):
    tokens = tl.where(tokens != tokens, 0.0, tokens)
    return tl.minimum(tl.maximum(tokens, -CLAMP), CLAMP)


@triton.jit
def sequential(
    tokens,
    decay,
    input_gain,
    output_gain,
    state_bias,
    y,
    final_state,
    K: tl.constexpr,
    C: tl.constexpr,
    CLAMP: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """A program takes a block of channels of one sample through all steps."""
    channels = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    sample = tl.program_id(1).to(tl.int64)
    exist = channels < C
    d = decay_of(decay, channels, exist, LOW, HIGH)
    gain = (1.0 - d) * tl.load(input_gain + channels, exist, other=0.0)
    bias = (1.0 - d) * tl.load(state_bias + channels, exist, other=0.0)
    out = tl.load(output_gain + channels, exist, other=0.0)
    at = sample * K * C + channels
    state = tl.zeros([CHANNELS], tl.float32)
    for step in tl.range(0, K, num_stages=STAGES):
        x = clean(tl.load(tokens + at + step * C, exist, other=0.0).to(tl.float32), CLAMP)
        state = d * state + (gain * x + bias)
        tl.store(y + at + step * C, out * state, exist)
    tl.store(final_state + sample * C + channels, state, exist)


@triton.jit
def load_chunk(
    tokens,
    decay,
    input_gain,
    state_bias,
    chunk,
    K: tl.constexpr,
    C: tl.constexpr,
    CLAMP: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """The pairs of a chunk before it is scanned, its place, and what of it exists."""
    channels = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    steps = chunk * STEPS + tl.arange(0, STEPS)
    exist = (steps < K)[:, None] & (channels < C)[None, :]
    d = decay_of(decay, channels, channels < C, LOW, HIGH)
    gain = (1.0 - d) * tl.load(input_gain + channels, channels < C, other=0.0)
    bias = (1.0 - d) * tl.load(state_bias + channels, channels < C, other=0.0)
    at = steps.to(tl.int64)[:, None] * C + channels[None, :]
    x = clean(tl.load(tokens + at, exist, other=0.0).to(tl.float32), CLAMP)
    factor = tl.where(exist, d[None, :], 1.0)
    state = tl.where(exist, gain[None, :] * x + bias[None, :], 0.0)
    return factor, state, at, exist, channels


@triton.jit
def last_row(values, STEPS: tl.constexpr):
    is_last = tl.arange(0, STEPS) == STEPS - 1
    return tl.sum(tl.where(is_last[:, None], values, 0.0), axis=0)


@triton.jit
def chunks_in_turn(
    tokens,
    decay,
    input_gain,
    output_gain,
    state_bias,
    y,
    final_state,
    K: tl.constexpr,
    C: tl.constexpr,
    CLAMP: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """A program takes a block of channels of one sample through all chunks; one pass over memory."""
    sample = tl.program_id(1).to(tl.int64)
    tokens += sample * K * C
    y += sample * K * C
    carry = tl.zeros([CHANNELS], tl.float32)
    for chunk in range(0, tl.cdiv(K, STEPS)):
        factor, state, at, exist, channels = load_chunk(
            tokens, decay, input_gain, state_bias, chunk, K, C, CLAMP, LOW, HIGH, CHANNELS, STEPS
        )
        factor, state = tl.associative_scan((factor, state), 0, join)
        state += factor * carry[None, :]
        out = tl.load(output_gain + channels, channels < C, other=0.0)
        tl.store(y + at, out[None, :] * state, exist)
        carry = last_row(state, STEPS)
    channels = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    tl.store(final_state + sample * C + channels, carry, channels < C)


@triton.jit
def chunk_ends(
    tokens,
    decay,
    input_gain,
    state_bias,
    ends,
    K: tl.constexpr,
    C: tl.constexpr,
    CLAMP: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Of three launches the first: where each chunk would end from a state of zero."""
    chunk, sample = tl.program_id(1), tl.program_id(2).to(tl.int64)
    factor, state, _, _, channels = load_chunk(
        tokens + sample * K * C, decay, input_gain, state_bias, chunk, K, C, CLAMP, LOW, HIGH, CHANNELS, STEPS
    )
    _, state = tl.associative_scan((factor, state), 0, join)
    at = (sample * tl.num_programs(1) + chunk) * C + channels
    tl.store(ends + at, last_row(state, STEPS), channels < C)


@triton.jit
def carry_over(
    decay,
    ends,
    starts,
    CHUNKS: tl.constexpr,
    C: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """The second: the state that each chunk starts from."""
    channels = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    exist = channels < C
    d = decay_of(decay, channels, exist, LOW, HIGH)
    across = tl.exp2(STEPS * tl.log2(d))
    at = tl.program_id(1).to(tl.int64) * CHUNKS * C + channels
    state = tl.zeros([CHANNELS], tl.float32)
    for chunk in tl.range(0, CHUNKS, num_stages=4):
        tl.store(starts + at + chunk * C, state, exist)
        state = across * state + tl.load(ends + at + chunk * C, exist, other=0.0)


@triton.jit
def chunks_at_once(
    tokens,
    decay,
    input_gain,
    output_gain,
    state_bias,
    starts,
    y,
    final_state,
    K: tl.constexpr,
    C: tl.constexpr,
    CLAMP: tl.constexpr,
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
    CHANNELS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """The third: each chunk anew, from its start."""
    chunk, sample = tl.program_id(1), tl.program_id(2).to(tl.int64)
    factor, state, at, exist, channels = load_chunk(
        tokens + sample * K * C, decay, input_gain, state_bias, chunk, K, C, CLAMP, LOW, HIGH, CHANNELS, STEPS
    )
    factor, state = tl.associative_scan((factor, state), 0, join)
    start = tl.load(starts + (sample * tl.num_programs(1) + chunk) * C + channels, channels < C, other=0.0)
    state += factor * start[None, :]
    out = tl.load(output_gain + channels, channels < C, other=0.0)
    tl.store(y + sample * K * C + at, out[None, :] * state, exist)
    if chunk == tl.num_programs(1) - 1:
        tl.store(final_state + sample * C + channels, last_row(state, STEPS), channels < C)
