// Kernels that try the emulator itself: what it must run, and what it must not let pass.

// Sums a row of a block by shared memory of both kinds, barriers and shuffles; checked by a sum in order.
extern "C" __global__ void __launch_bounds__(BLOCK) row_sums(const float* __restrict__ values, float* __restrict__ sums,
                                                             int* __restrict__ blocks, int count) {
    extern __shared__ unsigned char shared[];
    float* row = reinterpret_cast<float*>(shared);
    __shared__ float warps[BLOCK / 32];
    int thread = threadIdx.x, place = blockIdx.x * BLOCK + thread;
    row[thread] = place < count ? values[place] : 0.0f;
    __syncthreads();
    float sum = row[BLOCK - 1 - thread];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (thread % 32 == 0) warps[thread / 32] = sum;
    __syncthreads();
    if (thread == 0) {
        float all = 0.0f;
        for (int warp = 0; warp < BLOCK / 32; ++warp) all += warps[warp];
        sums[blockIdx.x] = all;
        atomicAdd(blocks, 1);
    }
}

// Adds up the numbers of all blocks before, handed on from block to block in the order in which they come to run.
extern "C" __global__ void chain(unsigned* ticket, volatile unsigned* ready, volatile unsigned* before) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(ticket, 1u);
        unsigned sum = 0;
        if (mine > 0) {
            while (ready[mine - 1] == 0) __nanosleep(20);
            sum = before[mine - 1] + mine;
        }
        before[mine] = sum;
        __threadfence();
        ready[mine] = 1;
    }
    __syncthreads();
}

// The last block adds up what all wrote, each from a neighbouring lane.
extern "C" __global__ void last_block(unsigned* written, unsigned* ended, unsigned* total) {
    __shared__ unsigned row[BLOCK];
    row[threadIdx.x] = threadIdx.x;
    __syncwarp();
    unsigned value = row[threadIdx.x ^ 1];
    if (threadIdx.x > 0) return;
    written[blockIdx.x] = value;
    __threadfence();
    if (atomicAdd(ended, 1u) != gridDim.x - 1) return;
    unsigned sum = 0;
    for (int block = 0; block < gridDim.x; ++block) sum += written[block];
    *total = sum;
}

// Waits for the host.
extern "C" __global__ void await_flag(volatile unsigned* flag, unsigned* seen) {
    while (*flag == 0) __nanosleep(100);
    *seen = *flag;
}

// Some threads of a block miss the barrier.
extern "C" __global__ void torn_barrier(int* values) {
    if (threadIdx.x < 5) __syncthreads();
    values[threadIdx.x] = 1;
}

// Writes one value too many.
extern "C" __global__ void beyond_buffer(int* values) { values[threadIdx.x + 1] = 1; }

// Reads what lies beyond its shared memory.
extern "C" __global__ void beyond_shared(int* values) {
    __shared__ int row[BLOCK];
    row[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = row[threadIdx.x + values[0]];
}

// Reads shared memory that nobody wrote.
extern "C" __global__ void unwritten_shared(unsigned* values) {
    __shared__ unsigned row[BLOCK];
    values[threadIdx.x] = row[threadIdx.x];
}
