// The heavy path of feature fusion in four launches, straight from the map and back; the same as ff.cu, step by step, and
// checked against src/kernels/ff. Every sum is taken in a fixed order, so that a result has the same bits in every run.
//
//   ff_means       the mean of each plane of each chosen tile: tokens [N,C]
//   ff_modulation  the scan of the tokens in both directions, and FiLM: factors and summands [N,2C]
//   ff_convolve    modulation, depthwise and pointwise convolution, and what group normalisation needs of each part
//   ff_finish      normalisation, gate and residual of the chosen tiles, and the fusion gate of the whole map
//
// N = B * K tiles, `tiles` = K a sample, named by `indices` [B,K], each at most once a sample. What lies between the
// launches is f32. VECTOR bytes divide a row of a tile, so of the map.

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
// Channels of a block of ff_finish.
#ifndef UNROLL
#define UNROLL 8
#endif
// Pixels of a block of ff_convolve: a power of two from 4 up to 8 times BLOCK.
#ifndef CHUNK
#define CHUNK 32
#endif
// Whether the channels are a multiple of four, so that rows of weights are.
#ifndef QUADS
#define QUADS 0
#endif

// The elements of an access.
constexpr int COUNT = VECTOR / sizeof(element);
// Threads of a block of ff_modulation. There is a block a tile, so each is as wide as its layers can use.
constexpr int FILM = 512;
// Blocks that a multiprocessor must have room for. Left to itself the compiler aims at more and runs out of registers.
constexpr int RESIDENT = 512 / BLOCK;
constexpr unsigned ALL = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL, value, distance);
    return value;
}

// The sum over all threads of a block, in all of them; `room` holds a value a warp.
template <int THREADS> __device__ __forceinline__ float block_sum(float value, float* room) {
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < THREADS / 32; warp++) sum += room[warp];
    return sum;
}

// The upper left pixel of a tile.
__device__ __forceinline__ long long corner(int index, int width, int side) {
    int columns = width / side;
    return (long long)(index / columns * side) * width + index % columns * side;
}

// A warp a plane.
extern "C" __global__ void __launch_bounds__(BLOCK) ff_means(
    const element* __restrict__ map, const int* __restrict__ indices, float* __restrict__ tokens, int tiles,
    int channels, int height, int width, int side, long long planes) {
    long long plane = (long long)blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    if (plane >= planes) return;
    long long tile = plane / channels, channel = plane % channels, sample = tile / tiles;
    const element* from = map + (sample * channels + channel) * height * width + corner(indices[tile], width, side);
    int across = side / COUNT;
    float sum = 0.0f;
#pragma unroll 4
    for (int at = threadIdx.x % 32; at < side * across; at += 32) {
        Vector<COUNT> values = load_constant<COUNT>(from + (long long)(at / across) * width + at % across * COUNT);
#pragma unroll
        for (int v = 0; v < COUNT; v++) sum += to_float(values.at[v]);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) tokens[plane] = sum / (float)(side * side);
}

// The output of a scan of one channel at the last of `count` tokens, `pitch` apart.
__device__ __forceinline__ float scanned(
    const float* tokens, int count, int pitch, float decay, float input_gain, float output_gain, float state_bias) {
    constexpr int GROUP = 16;
    decay = fminf(fmaxf(decay, 1e-6f), (float)(1.0 - 1e-6));
    float state = 0.0f;
    for (int first = 0; first < count; first += GROUP) {
        float taken[GROUP];
#pragma unroll
        for (int u = 0; u < GROUP; u++) {
            if (first + u < count) taken[u] = __ldg(tokens + (long long)(first + u) * pitch);
        }
#pragma unroll
        for (int u = 0; u < GROUP; u++) {
            float x = is_nan(taken[u]) ? 0.0f : fminf(fmaxf(taken[u], -1e4f), 1e4f);
            float next = decay * state + (1.0f - decay) * (input_gain * x + state_bias);
            state = first + u < count ? next : state;
        }
    }
    return output_gain * state;
}

// outputs = weight * inputs, rows by columns; `use` gets each row and its sum. A warp takes four rows at a time.
template <class Use>
__device__ __forceinline__ void linear(const float* weight, const float* inputs, int rows, int columns, Use use) {
    constexpr int TOGETHER = 4;
    for (int first = threadIdx.x / 32 * TOGETHER; first < rows; first += FILM / 32 * TOGETHER) {
        float sums[TOGETHER] = {};
#pragma unroll 4
        for (int column = threadIdx.x % 32; column < columns; column += 32) {
#pragma unroll
            for (int r = 0; r < TOGETHER; r++) {
                int row = min(first + r, rows - 1);
                sums[r] = fmaf(__ldg(weight + (long long)row * columns + column), inputs[column], sums[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < TOGETHER; r++) {
            float sum = warp_sum(sums[r]);
            if (threadIdx.x % 32 == 0 && first + r < rows) use(first + r, sum);
        }
    }
}

// A block a tile: `tiles` along x, samples along y. Each scans for itself, forward up to its tile and backward down to it.
extern "C" __global__ void __launch_bounds__(FILM) ff_modulation(
    const float* __restrict__ tokens, const float* __restrict__ forward_decay, const float* __restrict__ forward_gain,
    const float* __restrict__ forward_output, const float* __restrict__ forward_bias,
    const float* __restrict__ backward_decay, const float* __restrict__ backward_gain,
    const float* __restrict__ backward_output, const float* __restrict__ backward_bias,
    const float* __restrict__ gates, const float* __restrict__ norm_weight, const float* __restrict__ norm_bias,
    const float* __restrict__ hidden_weight, const float* __restrict__ hidden_bias,
    const float* __restrict__ output_weight, const float* __restrict__ output_bias, float* __restrict__ modulation,
    int channels) {
    extern __shared__ unsigned char shared[];
    __shared__ float room[FILM / 32];
    float* token = (float*)shared;
    float* hidden = token + channels;
    int tile = blockIdx.x, tiles = gridDim.x;
    const float* row = tokens + (long long)blockIdx.y * tiles * channels;

    float sum = 0.0f;
    for (int channel = threadIdx.x; channel < channels; channel += FILM) {
        float forward = scanned(
            row + channel, tile + 1, channels, forward_decay[channel], forward_gain[channel], forward_output[channel],
            forward_bias[channel]);
        float backward = scanned(
            row + (long long)(tiles - 1) * channels + channel, tiles - tile, -channels, backward_decay[channel],
            backward_gain[channel], backward_output[channel], backward_bias[channel]);
        float gate = fminf(fmaxf(gates[channel], 0.0f), 1.0f);
        float mixed = gate * forward + (1.0f - gate) * backward;
        token[channel] = is_nan(mixed) ? 0.0f : fminf(fmaxf(mixed, -1e4f), 1e4f);
        sum += token[channel];
    }
    float mean = block_sum<FILM>(sum, room) / (float)channels;
    sum = 0.0f;
    for (int channel = threadIdx.x; channel < channels; channel += FILM) {
        sum += (token[channel] - mean) * (token[channel] - mean);
    }
    float scale = 1.0f / sqrtf(block_sum<FILM>(sum, room) / (float)channels + 1e-5f);
    for (int channel = threadIdx.x; channel < channels; channel += FILM) {
        token[channel] = (token[channel] - mean) * scale * norm_weight[channel] + norm_bias[channel];
    }
    __syncthreads();
    linear(hidden_weight, token, channels, channels, [&](int unit, float sum) {
        sum += hidden_bias[unit];
        hidden[unit] = sum / (1.0f + expf(-sum));
    });
    __syncthreads();
    float* outputs = modulation + ((long long)blockIdx.y * tiles + tile) * 2 * channels;
    linear(output_weight, hidden, 2 * channels, channels, [&](int unit, float sum) {
        sum += output_bias[unit];
        outputs[unit] = unit < channels ? 1.0f + tanhf(sum) : sum;
    });
}

// A block of ff_convolve computes CHUNK pixels of OUTPUTS channels, a thread ACROSS pixels of DEEP channels.
constexpr int ACROSS = 4, DEEP = 8;
constexpr int OUTPUTS = BLOCK * ACROSS * DEEP / CHUNK;

// DEEP neighbouring weights of a row of `rows`, zero beyond its end.
__device__ __forceinline__ void read_weights(const float* row, int first, int rows, float (&weights)[DEEP]) {
#if QUADS
#pragma unroll
    for (int quad = 0; quad < DEEP; quad += 4) {
        float4 four = first + quad < rows ? __ldg((const float4*)(row + first + quad)) : float4{};
        weights[quad] = four.x;
        weights[quad + 1] = four.y;
        weights[quad + 2] = four.z;
        weights[quad + 3] = four.w;
    }
#else
#pragma unroll
    for (int d = 0; d < DEEP; d++) weights[d] = first + d < rows ? __ldg(row + first + d) : 0.0f;
#endif
}

// Grid: parts of the pixels of a tile, parts of the 2C channels, N tiles. `mixed` is [N,2C,pixels]; `parts` gets a count,
// a mean and a sum of squared distances from it for each block.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) ff_convolve(
    const element* __restrict__ map, const int* __restrict__ indices, const float* __restrict__ modulation,
    const float* __restrict__ depthwise_weight, const float* __restrict__ depthwise_bias,
    const float* __restrict__ pointwise_weight, const float* __restrict__ pointwise_bias, float* __restrict__ mixed,
    float* __restrict__ parts, int tiles, int channels, int height, int width, int side) {
    // The depthwise convolution of this block's pixels, [C,CHUNK].
    extern __shared__ unsigned char shared[];
    __shared__ float room[BLOCK / 32];
    float* convolved = (float*)shared;
    int tile = blockIdx.z, pixels = side * side, first_pixel = blockIdx.x * CHUNK;
    const element* from =
        map + (long long)(tile / tiles) * channels * height * width + corner(indices[tile], width, side);
    const float* factors = modulation + (long long)tile * 2 * channels;

    for (int at = threadIdx.x; at < channels * CHUNK; at += BLOCK) {
        int pixel = first_pixel + at % CHUNK, channel = at / CHUNK;
        float sum = 0.0f;
        if (pixel < pixels) {
            int x = pixel % side, y = pixel / side;
            const element* plane = from + (long long)channel * height * width;
            float factor = __ldg(factors + channel), summand = __ldg(factors + channels + channel);
            sum = __ldg(depthwise_bias + channel);
#pragma unroll
            for (int tap = 0; tap < 9; tap++) {
                int row = y + tap / 3 - 1, column = x + tap % 3 - 1;
                if (row >= 0 && row < side && column >= 0 && column < side) {
                    float value = to_float(load_constant<1>(plane + (long long)row * width + column).at[0]);
                    sum = fmaf(__ldg(depthwise_weight + channel * 9 + tap), value * factor + summand, sum);
                }
            }
        }
        convolved[at] = sum;
    }
    __syncthreads();

    int pixel = threadIdx.x % (CHUNK / ACROSS) * ACROSS;
    int output = blockIdx.y * OUTPUTS + threadIdx.x / (CHUNK / ACROSS) * DEEP, outputs = 2 * channels;
    float sums[DEEP][ACROSS] = {};
#pragma unroll 4
    for (int channel = 0; channel < channels; channel++) {
        float weights[DEEP];
        read_weights(pointwise_weight + (long long)channel * outputs, output, outputs, weights);
        float4 values = *(const float4*)(convolved + channel * CHUNK + pixel);
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            sums[d][0] = fmaf(weights[d], values.x, sums[d][0]);
            sums[d][1] = fmaf(weights[d], values.y, sums[d][1]);
            sums[d][2] = fmaf(weights[d], values.z, sums[d][2]);
            sums[d][3] = fmaf(weights[d], values.w, sums[d][3]);
        }
    }

    int valid_outputs = min(max(outputs - output, 0), DEEP);
    int valid_pixels = min(max(pixels - first_pixel - pixel, 0), ACROSS);
    float total = 0.0f;
#pragma unroll
    for (int d = 0; d < DEEP; d++) {
        float bias = d < valid_outputs ? __ldg(pointwise_bias + output + d) : 0.0f;
        float* to = mixed + ((long long)tile * outputs + output + d) * pixels + first_pixel + pixel;
#pragma unroll
        for (int a = 0; a < ACROSS; a++) {
            sums[d][a] += bias;
            if (d < valid_outputs && a < valid_pixels) {
                total += sums[d][a];
                to[a] = sums[d][a];
            }
        }
    }
    float count = (float)min(CHUNK, pixels - first_pixel) * (float)min(OUTPUTS, outputs - (int)blockIdx.y * OUTPUTS);
    float mean = block_sum<BLOCK>(total, room) / count;
    float squares = 0.0f;
#pragma unroll
    for (int d = 0; d < DEEP; d++) {
#pragma unroll
        for (int a = 0; a < ACROSS; a++) {
            if (d < valid_outputs && a < valid_pixels) squares += (sums[d][a] - mean) * (sums[d][a] - mean);
        }
    }
    squares = block_sum<BLOCK>(squares, room);
    if (threadIdx.x == 0) {
        float* part = parts + 3 * (((long long)tile * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
        part[0] = count;
        part[1] = mean;
        part[2] = squares;
    }
}

// COUNT neighbouring values.
__device__ __forceinline__ void read_floats(const float* from, float (&values)[COUNT]) {
    if (COUNT % 4 == 0) {
#pragma unroll
        for (int v = 0; v < COUNT / 4; v++) {
            float4 four = __ldg((const float4*)from + v);
            values[4 * v] = four.x;
            values[4 * v + 1] = four.y;
            values[4 * v + 2] = four.z;
            values[4 * v + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int v = 0; v < COUNT; v++) values[v] = __ldg(from + v);
    }
}

// What a proxy counts as: NaN and -Inf as zero, +Inf as one.
__device__ __forceinline__ float proxy(element value) {
    float x = to_float(value);
    return is_finite(x) ? x : x > 0.0f ? 1.0f : 0.0f;
}

// Grid: rows of tiles, groups of UNROLL channels, samples. `alpha` and `detail` are null where nobody asks for them.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) ff_finish(
    const element* __restrict__ map, const int* __restrict__ indices, const float* __restrict__ modulation,
    const float* __restrict__ mixed, const float* __restrict__ parts, const float* __restrict__ norm_weight,
    const float* __restrict__ norm_bias, const element* __restrict__ boundary, const element* __restrict__ uncertainty,
    element* __restrict__ fused, element* __restrict__ alpha, element* __restrict__ detail, int tiles, int parts_a_tile,
    int channels, int height, int width, int side, float boundary_weight, float uncertainty_weight, float bias) {
    // For each column of tiles: which tile of the list lies there, or -1; its mean and scale.
    extern __shared__ unsigned char shared[];
    int columns = width / side;
    int* owner = (int*)shared;
    float* means = (float*)(owner + columns);
    float* scales = means + columns;
    for (int column = threadIdx.x; column < columns; column += BLOCK) owner[column] = -1;
    __syncthreads();
    for (int k = threadIdx.x; k < tiles; k += BLOCK) {
        int tile = blockIdx.z * tiles + k, index = indices[tile];
        if (index / columns == blockIdx.x) {
            // The parts of a tile are joined one after another (T. Chan, G. Golub and R. LeVeque, 1979).
            float count = 0.0f, mean = 0.0f, squares = 0.0f;
            for (int p = 0; p < parts_a_tile; p++) {
                const float* part = parts + 3 * ((long long)tile * parts_a_tile + p);
                float more = __ldg(part), distance = __ldg(part + 1) - mean, whole = count + more;
                mean += distance * (more / whole);
                squares += __ldg(part + 2) + distance * distance * (count * (more / whole));
                count = whole;
            }
            owner[index % columns] = tile;
            means[index % columns] = mean;
            scales[index % columns] = 1.0f / sqrtf(squares / count + 1e-5f);
        }
    }
    __syncthreads();

    int across = width / COUNT, first_channel = blockIdx.y * UNROLL, pixels = side * side;
    long long plane = (long long)height * width, sample = blockIdx.z;
    for (int at = threadIdx.x; at < side * across; at += BLOCK) {
        int y = at / across, x = at % across * COUNT;
        long long pixel = (long long)(blockIdx.x * side + y) * width + x;
        Vector<COUNT> p = load_constant<COUNT>(boundary + sample * plane + pixel);
        Vector<COUNT> q = load_constant<COUNT>(uncertainty + sample * plane + pixel);
        Vector<COUNT> gate;
#pragma unroll
        for (int v = 0; v < COUNT; v++) {
            float z = boundary_weight * proxy(p.at[v]) + uncertainty_weight * proxy(q.at[v]) + bias;
            gate.at[v] = from_float(1.0f / (1.0f + expf(-z)));
        }
        if (alpha && first_channel == 0) store<COUNT>(alpha + sample * plane + pixel, gate);
        int column = x / side, tile = owner[column], in_tile = y * side + x % side;
        float mean = tile >= 0 ? means[column] : 0.0f, scale = tile >= 0 ? scales[column] : 0.0f;
#pragma unroll 4
        for (int u = 0; u < UNROLL; u++) {
            int channel = first_channel + u;
            if (channel >= channels) break;
            long long to = (sample * channels + channel) * plane + pixel;
            Vector<COUNT> base = load_constant<COUNT>(map + to);
            float heavy[COUNT];
#pragma unroll
            for (int v = 0; v < COUNT; v++) heavy[v] = to_float(base.at[v]);
            if (tile >= 0) {
                long long row = (long long)tile * 2 * channels + channel;
                float factor = __ldg(modulation + row), summand = __ldg(modulation + row + channels);
                float values[COUNT], gates[COUNT];
                read_floats(mixed + row * pixels + in_tile, values);
                read_floats(mixed + (row + channels) * pixels + in_tile, gates);
                float value_weight = __ldg(norm_weight + channel) * scale, value_bias = __ldg(norm_bias + channel);
                float gate_weight = __ldg(norm_weight + channels + channel) * scale;
                float gate_bias = __ldg(norm_bias + channels + channel);
#pragma unroll
                for (int v = 0; v < COUNT; v++) {
                    float value = (values[v] - mean) * value_weight + value_bias;
                    float opening = fmaxf((gates[v] - mean) * gate_weight + gate_bias, 0.0f);
                    heavy[v] = heavy[v] * factor + summand + value * opening;
                }
            }
            Vector<COUNT> result, difference;
#pragma unroll
            for (int v = 0; v < COUNT; v++) {
                float input = to_float(base.at[v]);
                result.at[v] = from_float(input + to_float(gate.at[v]) * (heavy[v] - input));
                difference.at[v] = from_float(to_float(result.at[v]) - input);
            }
            store<COUNT>(fused + to, result);
            if (detail) store<COUNT>(detail + to, difference);
        }
    }
}
