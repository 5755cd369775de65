// Compares two buffers of elements on the device. Each block writes, to the places of its number, the largest |got -
// expected|, how many elements differ by more than tolerance (1 + |expected|), and how many are NaN in either
// buffer: inputs are numbers, so such a one was not written. The host adds up what the blocks wrote. It is a check
// itself; no reference checks it.
//
// 256 threads a block; any number of blocks, each of which takes every so many-th piece.

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
    compare(const element* got, const element* expected, long long count, float tolerance, float* largest, int* beyond,
            int* not_numbers) {
    __shared__ float largest_of[THREADS];
    __shared__ int beyond_of[THREADS], not_numbers_of[THREADS];
    float most = 0.0f;
    int n_beyond = 0, n_not_numbers = 0;
    long long step = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        float a = to_float(got[i]), b = to_float(expected[i]);
        if (is_nan(a) || is_nan(b)) ++n_not_numbers;
        // Equal infinities have no difference.
        if (a == b || is_nan(a) || is_nan(b)) continue;
        float error = fabsf(a - b);
        most = fmaxf(most, error);
        // Where the expected value is infinite so is what is allowed, which must not excuse another value.
        if (!is_finite(b) || !(error <= tolerance * (1.0f + fabsf(b)))) ++n_beyond;
    }
    largest_of[threadIdx.x] = most;
    beyond_of[threadIdx.x] = n_beyond;
    not_numbers_of[threadIdx.x] = n_not_numbers;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            largest_of[threadIdx.x] = fmaxf(largest_of[threadIdx.x], largest_of[threadIdx.x + half]);
            beyond_of[threadIdx.x] += beyond_of[threadIdx.x + half];
            not_numbers_of[threadIdx.x] += not_numbers_of[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        largest[blockIdx.x] = largest_of[0];
        beyond[blockIdx.x] = beyond_of[0];
        not_numbers[blockIdx.x] = not_numbers_of[0];
    }
}
