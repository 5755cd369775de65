// Copy: what moving bytes through the device's memory takes, which other kernels are measured against. The result is
// the input, bit for bit.

extern "C" __global__ void copy_reference(const element* from, element* to, long long count) {
    long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (position < count) to[position] = from[position];
}

#ifdef VECTOR
// BLOCK threads, each with UNROLL accesses of VECTOR bytes under way, CHUNK times; the elements after the last whole
// vector are copied one by one. Neighbouring threads take neighbouring vectors, a block one piece of memory.
extern "C" __global__ void __launch_bounds__(BLOCK)
    copy(const element* __restrict__ from, element* __restrict__ to, long long count) {
    constexpr int COUNT = VECTOR / sizeof(element);
    long long vectors = count / COUNT;
    long long start = (long long)blockIdx.x * (BLOCK * UNROLL * CHUNK) + threadIdx.x;
    for (int round = 0; round < CHUNK; ++round, start += BLOCK * UNROLL) {
        Vector<COUNT> moved[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            long long place = start + j * BLOCK;
            if (place < vectors) moved[j] = load_constant<COUNT>(from + place * COUNT);
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            long long place = start + j * BLOCK;
            if (place < vectors) store<COUNT>(to + place * COUNT, moved[j]);
        }
    }
    long long rest = vectors * COUNT + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) to[rest] = from[rest];
}
#endif
