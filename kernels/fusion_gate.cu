// FusionGate: mixes detail into base by a gate computed from two proxies a pixel. With boundary p and uncertainty q,
// where NaN and -Inf become 0 and +Inf becomes 1: z = wb p + wu q + bias, alpha = 1 / (1 + e^-z), fused = base + alpha
// (detail - base). Alpha is rounded to the element type, fused is computed from that and rounded once. Base, detail
// and fused [B,C,H,W], proxies and alpha [B,1,H,W]; wb and wu are given after softplus. Checked against `reference` of
// src/kernels/fusion.rs.

__device__ __forceinline__ float sanitised(float proxy) {
    if (is_finite(proxy)) return proxy;
    return proxy > 0.0f ? 1.0f : 0.0f;
}

__device__ __forceinline__ element gate(element boundary, element uncertainty, float boundary_weight,
                                        float uncertainty_weight, float bias) {
    float first = rounded_product(boundary_weight, sanitised(to_float(boundary)));
    float second = rounded_product(uncertainty_weight, sanitised(to_float(uncertainty)));
    float z = rounded_sum(rounded_sum(first, second), bias);
    // The divisor is at least 1, so the quick division is off by two units in the last place at most, and needs no branch.
    return from_float(__fdividef(1.0f, 1.0f + expf(-z)));
}

__device__ __forceinline__ element fuse(element base, element detail, float alpha) {
    float wide = to_float(base);
    return from_float(rounded_sum(wide, rounded_product(alpha, to_float(detail) - wide)));
}

extern "C" __global__ void fusion_gate_reference(const element* base, const element* detail, const element* boundary,
                                                 const element* uncertainty, element* fused, element* alpha,
                                                 float boundary_weight, float uncertainty_weight, float bias,
                                                 int channels, long long plane, long long elements) {
    long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= elements) return;
    long long pixel = position / plane / channels * plane + position % plane;
    element open = gate(boundary[pixel], uncertainty[pixel], boundary_weight, uncertainty_weight, bias);
    if (position / plane % channels == 0) alpha[pixel] = open;
    fused[position] = fuse(base[position], detail[position], to_float(open));
}

#ifdef CHUNK
// BLOCK threads; VECTOR, the bytes of an access, divides the bytes of a plane. A thread computes the gate of one
// vector of pixels, keeps it in registers and goes through CHUNK channels, UNROLL at a time, all loads of which are
// under way together; those of the first channels are before the gate is computed.
//
// Grid: vectors of a plane, groups of channels, samples.
extern "C" __global__ void __launch_bounds__(BLOCK)
    fusion_gate(const element* __restrict__ base, const element* __restrict__ detail,
                const element* __restrict__ boundary, const element* __restrict__ uncertainty,
                element* __restrict__ fused, element* __restrict__ alpha, float boundary_weight,
                float uncertainty_weight, float bias, int channels, long long plane) {
    constexpr int COUNT = VECTOR / sizeof(element);
    long long pixel = ((long long)blockIdx.x * BLOCK + threadIdx.x) * COUNT;
    if (pixel >= plane) return;
    long long sample = blockIdx.z;
    int first_channel = blockIdx.y * CHUNK;
    int n_channels = min(CHUNK, channels - first_channel);
    long long start = (sample * channels + first_channel) * plane + pixel;
    base += start;
    detail += start;
    fused += start;

    Vector<COUNT> bases[UNROLL], details[UNROLL];
    auto fetch = [&](int channel) {
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            if (channel + j < n_channels) {
                bases[j] = load_constant<COUNT>(base + (channel + j) * plane);
                details[j] = load_constant<COUNT>(detail + (channel + j) * plane);
            }
        }
    };
    long long proxy = sample * plane + pixel;
    Vector<COUNT> edges = load_constant<COUNT>(boundary + proxy);
    Vector<COUNT> doubts = load_constant<COUNT>(uncertainty + proxy);
    fetch(0);

    Vector<COUNT> gates;
    float open[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        gates.at[i] = gate(edges.at[i], doubts.at[i], boundary_weight, uncertainty_weight, bias);
        open[i] = to_float(gates.at[i]);
    }
    if (first_channel == 0) store<COUNT>(alpha + proxy, gates);

    for (int channel = 0; channel < n_channels; channel += UNROLL) {
        if (channel > 0) fetch(channel);
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            if (channel + j >= n_channels) continue;
            Vector<COUNT> mixed;
#pragma unroll
            for (int i = 0; i < COUNT; ++i) mixed.at[i] = fuse(bases[j].at[i], details[j].at[i], open[i]);
            store<COUNT>(fused + (channel + j) * plane, mixed);
        }
    }
}
#endif
