// TileSSM scan: tokens [B,K,C] -> outputs [B,K,C] and the final state, a first-order recurrence a channel along K.
//
// With x a token freed of NaN and clamped to +-limit: u = input_gain x + state_bias, s = decay s + (1 - decay) u,
// y = output_gain s. Arithmetic and state are f32, outputs are rounded to the element type. There is at least one step.
// The parameters are [C]; the initial state is absent, [B,C], or [B,2,C] with a row a direction, and so is the final
// state. REVERSED reads the tokens last to first. MERGE, for the second of two directions, joins its outputs to those
// that the first has left in `outputs`: 1 the sum, 2 the average, 3 gated. Checked against src/kernels/scan.
//
//   scan_reference  one thread a channel, written as the definition reads
//   scan_columns    a block takes all steps of a few channels; the next steps are loaded while these are computed
//   scan_long       CHUNK steps of a few channels a block, in one pass over memory
//
// Both tuned forms divide the steps of a block into rows of UNROLL steps, one thread for VECTOR bytes of channels of a row.

#ifndef REVERSED
#define REVERSED 0
#endif
#ifndef MERGE
#define MERGE 0
#endif
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
#ifndef CHUNK
#define CHUNK 0
#endif

// The bounds of a launch name one block a multiprocessor: left to itself the compiler aims at more, for which registers
// do not suffice.

// The channels of a thread.
constexpr int GROUP = VECTOR / sizeof(element);

__device__ __forceinline__ float rounded(float value) { return to_float(from_float(value)); }

__device__ __forceinline__ float sanitised(element token, float limit) {
    float x = to_float(token);
    return is_nan(x) ? 0.0f : fminf(fmaxf(x, -limit), limit);
}

__device__ __forceinline__ float clamped_decay(float decay) {
    return fminf(fmaxf(decay, 1e-6f), (float)(1.0 - 1e-6));
}

// The row of a state: one a sample, or one a sample and direction.
__device__ __forceinline__ long long state_at(int sample, int rows, int channels) {
    return ((long long)sample * rows + (rows == 2 ? REVERSED : 0)) * channels;
}

__device__ __forceinline__ float initial_of(const element* initial, int sample, int rows, int channels, int channel) {
    return initial ? to_float(initial[state_at(sample, rows, channels) + channel]) : 0.0f;
}

// What the forward output of a channel weighs; one gate for all samples, or one each.
__device__ __forceinline__ float gate_of(const float* gate, int sample, int rows, int channels, int channel) {
    float weight = gate ? gate[(rows == 1 ? 0 : (long long)sample * channels) + channel] : 0.5f;
    return rounded(fminf(fmaxf(weight, 0.0f), 1.0f));
}

// What is written for an output of this direction; `earlier` is that of the other. Every operation is rounded.
__device__ __forceinline__ element merged(element earlier, float output, float gate) {
#if MERGE == 0
    return from_float(output);
#elif MERGE == 1
    return from_float(to_float(earlier) + rounded(output));
#elif MERGE == 2
    return from_float(0.5f * rounded(to_float(earlier) + rounded(output)));
#else
    return from_float(rounded(gate * to_float(earlier)) + rounded(rounded(1.0f - gate) * rounded(output)));
#endif
}

extern "C" __global__ void scan_reference(
    const element* tokens, const float* decay, const float* input_gain, const float* output_gain,
    const float* state_bias, const element* initial, const float* gate, element* outputs, element* final_state,
    int batch, int steps, int channels, float limit, int initial_rows, int final_rows, int gate_rows) {
    long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= (long long)batch * channels) return;
    int sample = index / channels, channel = index % channels;
    float d = clamped_decay(decay[channel]);
    float weight = MERGE == 3 ? gate_of(gate, sample, gate_rows, channels, channel) : 0.0f;
    float state = initial_of(initial, sample, initial_rows, channels, channel);
    for (int step = 0; step < steps; step++) {
        int token = REVERSED ? steps - 1 - step : step;
        long long at = ((long long)sample * steps + token) * channels + channel;
        float u = input_gain[channel] * sanitised(tokens[at], limit) + state_bias[channel];
        state = d * state + (1.0f - d) * u;
        outputs[at] = merged(MERGE ? outputs[at] : element(), output_gain[channel] * state, weight);
    }
    final_state[state_at(sample, final_rows, channels) + channel] = from_float(state);
}

// What a token adds to the state: a factor and a summand a channel. Both hold the (1 - decay) of the definition, so that
// a step takes two operations of the state's chain less.
struct Renewal {
    float gain[GROUP], bias[GROUP];

    __device__ __forceinline__ Renewal(
        const float* decay, const float* input_gain, const float* state_bias, int channel) {
#pragma unroll
        for (int v = 0; v < GROUP; v++) {
            float renewed = 1.0f - clamped_decay(__ldg(decay + channel + v));
            gain[v] = renewed * __ldg(input_gain + channel + v);
            bias[v] = renewed * __ldg(state_bias + channel + v);
        }
    }

    __device__ __forceinline__ float of(const Vector<GROUP>& tokens, int v, float limit) const {
        return fmaf(gain[v], sanitised(tokens.at[v], limit), bias[v]);
    }
};

// What the state loses in a step, and what becomes of it outside.
struct Channels {
    float decay[GROUP], output_gain[GROUP], gate[GROUP];

    __device__ __forceinline__ Channels(
        const float* decays, const float* output_gains, const float* gates, int gate_rows, int sample, int channels,
        int channel) {
#pragma unroll
        for (int v = 0; v < GROUP; v++) {
            decay[v] = clamped_decay(__ldg(decays + channel + v));
            output_gain[v] = __ldg(output_gains + channel + v);
            gate[v] = MERGE == 3 ? gate_of(gates, sample, gate_rows, channels, channel + v) : 0.0f;
        }
    }

    // Writes the outputs of a state; `earlier` are those of the other direction, unused where there is none.
    __device__ __forceinline__ void write(
        const float (&state)[GROUP], const Vector<GROUP>& earlier, element* outputs) const {
        Vector<GROUP> results;
#pragma unroll
        for (int v = 0; v < GROUP; v++) results.at[v] = merged(earlier.at[v], output_gain[v] * state[v], gate[v]);
        store<GROUP>(outputs, results);
    }
};

// A block is ROWS threads along the steps by LANES along the channels; each holds UNROLL steps in registers.
#if CHUNK
constexpr int ROWS = CHUNK / UNROLL;
static_assert(ROWS * UNROLL == CHUNK, "whole rows must fill a chunk");
#else
// So many that a quarter of the threads' number is the bytes of a block's channels.
constexpr int ROWS = 4 * VECTOR;
#endif
constexpr int LANES = BLOCK / ROWS;
constexpr int WIDTH = LANES * GROUP;
static_assert(LANES * ROWS == BLOCK, "rows and lanes must fill the block");

// How many outputs of the other direction are loaded at once.
constexpr int AHEAD = 4;
static_assert(UNROLL % AHEAD == 0, "whole groups of steps");

// The base to a power of two.
template <int EXPONENT> __device__ __forceinline__ float power(float base) {
    static_assert((EXPONENT & (EXPONENT - 1)) == 0, "the exponent must be a power of two");
#pragma unroll
    for (int exponent = 1; exponent < EXPONENT; exponent *= 2) base *= base;
    return base;
}

// Loads the first `count` steps of a row.
__device__ __forceinline__ void load_steps(
    Vector<GROUP> (&taken)[UNROLL], const element* from, int stride, int count) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        if (u < count) taken[u] = load_constant<GROUP>(from + u * stride);
    }
}

// What each of the `count` steps of a row adds to the state.
struct Row {
    float renewed[UNROLL][GROUP];

    // Writes to `ends` where the row ends from a state of zero.
    __device__ __forceinline__ Row(
        const Vector<GROUP> (&taken)[UNROLL], const Renewal& renewal, const float (&decay)[GROUP], float limit,
        int count, float* ends) {
#pragma unroll
        for (int v = 0; v < GROUP; v++) {
            float state = 0.0f;
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                renewed[u][v] = renewal.of(taken[u], v, limit);
                if (u < count) state = fmaf(decay[v], state, renewed[u][v]);
            }
            ends[v] = state;
        }
    }

    // Writes the outputs of the row and takes the state from its begin to its end.
    __device__ __forceinline__ void write(
        float (&state)[GROUP], const Channels& parameters, element* to, int stride, int count) const {
#pragma unroll
        for (int ahead = 0; ahead < UNROLL; ahead += AHEAD) {
            Vector<GROUP> earlier[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (MERGE && ahead + u < count) earlier[u] = load<GROUP>(to + u * stride);
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (ahead + u < count) {
#pragma unroll
                    for (int v = 0; v < GROUP; v++) {
                        state[v] = fmaf(parameters.decay[v], state[v], renewed[ahead + u][v]);
                    }
                    parameters.write(state, earlier[u], to + u * stride);
                }
            }
            to += AHEAD * stride;
        }
    }
};

// Turns where each row of a channel ends from a state of zero into the state before it. Returns the state after the last.
__device__ __forceinline__ float enter_rows(float (*states)[WIDTH], int channel, float row_decay, float before) {
#pragma unroll 8
    for (int r = 0; r < ROWS; r++) {
        float end = states[r][channel];
        states[r][channel] = before;
        before = fmaf(row_decay, before, end);
    }
    return before;
}

__device__ __forceinline__ void write_final(const float (&state)[GROUP], element* final_state) {
#pragma unroll
    for (int v = 0; v < GROUP; v++) final_state[v] = from_float(state[v]);
}

#if !CHUNK

extern "C" __global__ void __launch_bounds__(BLOCK, 1) scan_columns(
    const element* __restrict__ tokens, const float* __restrict__ decay, const float* __restrict__ input_gain,
    const float* __restrict__ output_gain, const float* __restrict__ state_bias, const element* __restrict__ initial,
    const float* __restrict__ gate, element* outputs, element* __restrict__ final_state, int batch, int steps,
    int channels, float limit, int initial_rows, int final_rows, int gate_rows) {
    __shared__ float states[ROWS][WIDTH];
    // The steps of a round of the block.
    constexpr int ROUND = ROWS * UNROLL;
    int columns = (channels + WIDTH - 1) / WIDTH;
    int sample = blockIdx.x / columns, start = blockIdx.x % columns * WIDTH;
    int row = threadIdx.x / LANES, lane = threadIdx.x % LANES * GROUP;
    int channel = start + lane, step = row * UNROLL;
    // Threads beyond the last channel take no steps, and the parameters of the first.
    int end = channel < channels ? steps : 0;
    int read = channel < channels ? channel : 0;
    long long first = ((long long)sample * steps + (REVERSED ? steps - 1 - step : step)) * channels + channel;
    int stride = REVERSED ? -channels : channels;
    long long advance = (long long)ROUND * stride;
    const element* from = tokens + first;
    element* to = outputs + first;

    Vector<GROUP> taken[UNROLL];
    load_steps(taken, from, stride, end - step);
    Renewal renewal(decay, input_gain, state_bias, read);
    Channels parameters(decay, output_gain, gate, gate_rows, sample, channels, read);
    // One thread a channel carries its state from round to round.
    bool carries = threadIdx.x < WIDTH && start + threadIdx.x < channels;
    float row_decay = 0.0f, before = 0.0f;
    if (carries) {
        row_decay = power<UNROLL>(clamped_decay(__ldg(decay + start + threadIdx.x)));
        before = initial_of(initial, sample, initial_rows, channels, start + threadIdx.x);
    }
    for (int base = 0; base < steps; base += ROUND, step += ROUND) {
        Vector<GROUP> taken_next[UNROLL];
        from += advance;
        load_steps(taken_next, from, stride, end - step - ROUND);
        int count = min(max(end - step, 0), UNROLL);
        Row steps_of_row(taken, renewal, parameters.decay, limit, count, &states[row][lane]);
        __syncthreads();
        // Rows of the last round may lack steps, but nothing is read after the first that does.
        if (carries) before = enter_rows(states, threadIdx.x, row_decay, before);
        __syncthreads();
        float state[GROUP];
#pragma unroll
        for (int v = 0; v < GROUP; v++) state[v] = states[row][lane + v];
        steps_of_row.write(state, parameters, to, stride, count);
        // The thread with the last step has the final state.
        if (count > 0 && step + count == steps) {
            write_final(state, final_state + state_at(sample, final_rows, channels) + channel);
        }
        to += advance;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) taken[u] = taken_next[u];
    }
}

#else

// How many chunks a block looks back over at once.
constexpr int WINDOW = 8;

// What a block has published about one channel of its chunk, in the upper half of a word: the value in the lower half
// is where the chunk ends from a state of zero, or where it ends.
constexpr unsigned long long LOCAL = 1ull << 32, ENDED = 2ull << 32;

__device__ __forceinline__ unsigned long long word(unsigned long long kind, float value) {
    return kind | __float_as_uint(value);
}

// The state before a chunk, from what the chunks before it have published: `words` of the same channel, `pitch` apart.
//
// Waits until a chunk among the last WINDOW has ended and all after it have at least their local end, then goes through
// them in order. Since that is what every block does to find its own end, the bits do not depend on where it started,
// so not on timing.
__device__ __forceinline__ float look_back(
    const volatile unsigned long long* words, long long pitch, int chunk, float initial, float chunk_decay) {
    for (;;) {
        unsigned long long seen[WINDOW];
#pragma unroll
        for (int k = 0; k < WINDOW; k++) {
            seen[k] = k < chunk ? words[(chunk - 1 - k) * pitch] : word(ENDED, initial);
        }
        float state = 0.0f;
        bool complete = false;
#pragma unroll
        for (int k = WINDOW - 1; k >= 0; k--) {
            float value = __uint_as_float((unsigned)seen[k]);
            unsigned long long kind = seen[k] & ~0xffffffffull;
            complete = kind == ENDED || (complete && kind == LOCAL);
            state = kind == ENDED ? value : fmaf(chunk_decay, state, value);
        }
        if (complete) return state;
        __nanosleep(20);
    }
}

// `status` holds a ticket counter in its first 16 bytes and then a word a chunk, sample and channel; all zero before the
// launch, and not needed where a chunk holds all steps. A block takes the next ticket, so the chunks before its own
// belong to blocks that run already or have finished, and waiting for them ends whatever the order of the blocks. A word
// is written at once, flag and value together, and nothing else passes between blocks, so that no fence is needed. No number
// of blocks need run together.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) scan_long(
    const element* __restrict__ tokens, const float* __restrict__ decay, const float* __restrict__ input_gain,
    const float* __restrict__ output_gain, const float* __restrict__ state_bias, const element* __restrict__ initial,
    const float* __restrict__ gate, element* outputs, element* __restrict__ final_state, int batch, int steps,
    int channels, float limit, int initial_rows, int final_rows, int gate_rows, unsigned long long* status) {
    // Where each row ends from a state of zero; then the state before each row.
    __shared__ float states[ROWS][WIDTH];
    __shared__ int shared_ticket;
    int ticket = blockIdx.x;
    if (status) {
        if (threadIdx.x == 0) shared_ticket = (int)atomicAdd((unsigned*)status, 1u);
        __syncthreads();
        ticket = shared_ticket;
    }
    int columns = (channels + WIDTH - 1) / WIDTH;
    int chunk = ticket / (columns * batch), column = ticket % (columns * batch);
    int sample = column / columns;
    int start = column % columns * WIDTH;

    int row = threadIdx.x / LANES, lane = threadIdx.x % LANES * GROUP;
    int channel = start + lane, step = chunk * CHUNK + row * UNROLL;
    int count = channel < channels ? min(max(steps - step, 0), UNROLL) : 0;
    long long first = ((long long)sample * steps + (REVERSED ? steps - 1 - step : step)) * channels + channel;
    int stride = REVERSED ? -channels : channels;

    // The tokens are all loaded before the first is used. Threads beyond the last channel read the parameters of the first.
    Vector<GROUP> taken[UNROLL];
    load_steps(taken, tokens + first, stride, count);
    int read = channel < channels ? channel : 0;
    Renewal renewal(decay, input_gain, state_bias, read);
    Channels parameters(decay, output_gain, gate, gate_rows, sample, channels, read);
    Row steps_of_row(taken, renewal, parameters.decay, limit, count, &states[row][lane]);
    __syncthreads();

    // One thread a channel finds the state before the chunk, and from it that before each row. The rows of the last
    // chunk may be short of steps, but nothing is read after the first that is.
    for (int at = threadIdx.x; at < WIDTH && start + at < channels; at += BLOCK) {
        float row_decay = power<UNROLL>(clamped_decay(__ldg(decay + start + at)));
        float chunk_decay = power<ROWS>(row_decay);
        float before = initial_of(initial, sample, initial_rows, channels, start + at);
        if (status) {
            float local = 0.0f;
#pragma unroll 4
            for (int r = 0; r < ROWS; r++) local = fmaf(row_decay, local, states[r][at]);
            long long pitch = (long long)batch * channels;
            volatile unsigned long long* words = status + 2 + (long long)sample * channels + start + at;
            if (chunk > 0) {
                words[chunk * pitch] = word(LOCAL, local);
                before = look_back(words, pitch, chunk, before, chunk_decay);
            }
            words[chunk * pitch] = word(ENDED, fmaf(chunk_decay, before, local));
        }
        enter_rows(states, at, row_decay, before);
    }
    __syncthreads();

    float state[GROUP];
#pragma unroll
    for (int v = 0; v < GROUP; v++) state[v] = states[row][lane + v];
    steps_of_row.write(state, parameters, outputs + first, stride, count);
    // The thread with the last step has the final state.
    if (count > 0 && step + count == steps) {
        write_final(state, final_state + state_at(sample, final_rows, channels) + channel);
    }
}

#endif
