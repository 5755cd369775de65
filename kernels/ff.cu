// The heavy path of feature fusion, a kernel a step; reference of ff_fused.cu, checked against src/kernels/ff.
//
// Tiles lie packed, N of them, [N,C,t,t]: as elements where tile_pack.cu writes and tile_unpack.cu reads them, else as
// f32. Between the kernels of this file stand those of other files: tiles are packed by tile_pack.cu, their means
// scanned by scan.cu in both directions, refined tiles unpacked by tile_unpack.cu, and the map fused by fusion_gate.cu.
// Parameters are f32, weights [out,in] but those of the pointwise convolution, [C,2C], the input first.

// A position of the grid, one a value.
__device__ __forceinline__ long long place() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

// The mean of each plane of packed tiles, the token of a tile and channel: planes = N * C.
extern "C" __global__ void ff_tokens(const element* packed, float* tokens, long long planes, int pixels) {
    long long plane = place();
    if (plane >= planes) return;
    float sum = 0.0f;
    for (int pixel = 0; pixel < pixels; pixel++) sum += to_float(packed[plane * pixels + pixel]);
    tokens[plane] = sum / (float)pixels;
}

// FiLM, a block a token [C]: freed of NaN, clamped to +-1e4, layer-normalised, through a linear layer, SiLU and a second
// linear layer to `modulation` [N,2C]: the factors 1 + tanh of the first half, then the summands.
extern "C" __global__ void ff_film(
    const float* tokens, const float* norm_weight, const float* norm_bias, const float* hidden_weight,
    const float* hidden_bias, const float* output_weight, const float* output_bias, float* modulation, int channels) {
    extern __shared__ unsigned char shared[];
    float* normal = (float*)shared;
    // Four at a time are read, of which the last ones may lie behind `normal`: there nobody writes meanwhile.
    float* hidden = normal + (channels + 3) / 4 * 4;
    const float* token = tokens + (long long)blockIdx.x * channels;
    auto clean = [&](int channel) { return is_nan(token[channel]) ? 0.0f : fminf(fmaxf(token[channel], -1e4f), 1e4f); };
    // Every thread sums for itself.
    float mean = 0.0f, variance = 0.0f;
    for (int channel = 0; channel < channels; channel++) mean += clean(channel);
    mean /= (float)channels;
    for (int channel = 0; channel < channels; channel++) {
        variance += (clean(channel) - mean) * (clean(channel) - mean);
    }
    variance /= (float)channels;
    for (int channel = threadIdx.x; channel < channels; channel += blockDim.x) {
        float value = (clean(channel) - mean) / sqrtf(variance + 1e-5f);
        normal[channel] = value * norm_weight[channel] + norm_bias[channel];
    }
    __syncthreads();
    for (int row = threadIdx.x; row < channels; row += blockDim.x) {
        float sum = 0.0f;
        for (int channel = 0; channel < channels; channel++) {
            sum += hidden_weight[(long long)row * channels + channel] * normal[channel];
        }
        sum += hidden_bias[row];
        hidden[row] = sum / (1.0f + expf(-sum));
    }
    __syncthreads();
    for (int row = threadIdx.x; row < 2 * channels; row += blockDim.x) {
        float sum = 0.0f;
        for (int channel = 0; channel < channels; channel++) {
            sum += output_weight[(long long)row * channels + channel] * hidden[channel];
        }
        sum += output_bias[row];
        modulation[(long long)blockIdx.x * 2 * channels + row] = row < channels ? 1.0f + tanhf(sum) : sum;
    }
}

// tiles = packed * factor + summand.
extern "C" __global__ void ff_modulate(
    const element* packed, const float* modulation, float* tiles, int channels, int pixels, long long count) {
    long long at = place();
    if (at >= count) return;
    long long plane = at / pixels, tile = plane / channels, channel = plane % channels;
    const float* row = modulation + tile * 2 * channels;
    tiles[at] = to_float(packed[at]) * row[channel] + row[channels + channel];
}

// A 3 by 3 convolution of each channel, zero beyond the border of the tile.
extern "C" __global__ void ff_depthwise(
    const float* tiles, const float* weight, const float* bias, float* convolved, int channels, int side,
    long long count) {
    long long at = place();
    if (at >= count) return;
    int x = at % side, y = at / side % side;
    long long plane = at / side / side;
    int channel = plane % channels;
    float sum = bias[channel];
    for (int tap = 0; tap < 9; tap++) {
        int row = y + tap / 3 - 1, column = x + tap % 3 - 1;
        if (row >= 0 && row < side && column >= 0 && column < side) {
            sum += weight[channel * 9 + tap] * tiles[(plane * side + row) * side + column];
        }
    }
    convolved[at] = sum;
}

// A convolution of single pixels, from C channels to 2C: count = N * 2C * pixels.
extern "C" __global__ void ff_pointwise(
    const float* convolved, const float* weight, const float* bias, float* mixed, int channels, int pixels,
    long long count) {
    long long at = place();
    if (at >= count) return;
    int pixel = at % pixels, row = at / pixels % (2 * channels);
    const float* tile = convolved + at / pixels / (2 * channels) * channels * pixels;
    float sum = 0.0f;
    for (int channel = 0; channel < channels; channel++) {
        sum += weight[(long long)channel * 2 * channels + row] * tile[(long long)channel * pixels + pixel];
    }
    mixed[at] = sum + bias[row];
}

// Mean and 1 / sqrt(variance + 1e-5) of the `size` values of each tile, a block of at most 1024 threads a tile.
extern "C" __global__ void ff_statistics(const float* mixed, float* statistics, int size) {
    __shared__ float sums[1024];
    const float* tile = mixed + (long long)blockIdx.x * size;
    float mean = 0.0f, variance = 0.0f;
    for (int pass = 0; pass < 2; pass++) {
        float sum = 0.0f;
        for (int at = threadIdx.x; at < size; at += blockDim.x) {
            sum += pass == 0 ? tile[at] : (tile[at] - mean) * (tile[at] - mean);
        }
        sums[threadIdx.x] = sum;
        __syncthreads();
        float total = 0.0f;
        for (int thread = 0; thread < blockDim.x; thread++) total += sums[thread];
        (pass == 0 ? mean : variance) = total / (float)size;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        statistics[2 * blockIdx.x] = mean;
        statistics[2 * blockIdx.x + 1] = 1.0f / sqrtf(variance + 1e-5f);
    }
}

// refined = tiles + a * max(b, 0) of the two normalised halves.
extern "C" __global__ void ff_refine(
    const float* tiles, const float* mixed, const float* statistics, const float* norm_weight, const float* norm_bias,
    element* refined, int channels, int pixels, long long count) {
    long long at = place();
    if (at >= count) return;
    long long plane = at / pixels, tile = plane / channels;
    int channel = plane % channels, pixel = at % pixels;
    auto normal = [&](int row) {
        float value = mixed[(tile * 2 * channels + row) * pixels + pixel];
        return (value - statistics[2 * tile]) * statistics[2 * tile + 1] * norm_weight[row] + norm_bias[row];
    };
    refined[at] = from_float(tiles[at] + normal(channel) * fmaxf(normal(channels + channel), 0.0f));
}

// detail = fused - input.
extern "C" __global__ void ff_detail(const element* fused, const element* input, element* detail, long long count) {
    long long at = place();
    if (at < count) detail[at] = from_float(to_float(fused[at]) - to_float(input[at]));
}
