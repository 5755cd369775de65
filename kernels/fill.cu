// Random inputs, drawn where they are used: value i of a buffer follows from the seed and i alone, whatever the grid.
// No reference checks them; the inputs of a check are read back from the device.

// The i-th number of SplitMix64 (Steele, Lea and Flood, 2014) begun at `seed`; its state is a counter.
__device__ __forceinline__ unsigned long long drawn(unsigned long long seed, long long i) {
    unsigned long long z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// Uniform from `low` up to `high`, with 24 bits.
extern "C" __global__ void fill_uniform(element* out, long long count, unsigned long long seed, float low, float high) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = from_float(low + (high - low) * ((float)(drawn(seed, i) >> 40) * 5.9604645e-8f));
}

// About normal around zero: the sum of four uniform numbers of 16 bits, which has the variance 1/3 and ends at 3.46
// deviations.
extern "C" __global__ void fill_normal(element* out, long long count, unsigned long long seed, float deviation) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long bits = drawn(seed, i);
    float sum = 0.0f;
    for (int part = 0; part < 4; ++part) sum += (float)(bits >> 16 * part & 0xffffu) * 1.5258789e-5f;
    // The mean of such a number is half of 1 - 2^-16.
    out[i] = from_float((sum - 1.9999695f) * 1.7320508f * deviation);
}
