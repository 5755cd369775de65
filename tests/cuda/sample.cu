// Kernels that try the emulator itself: what it must run, and what it must not let pass.

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
