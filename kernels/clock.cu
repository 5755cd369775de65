// Reads how fast the multiprocessor runs: spins for at least 50 microseconds of the device's timer and writes the cycles
// and the nanoseconds that passed. Computes nothing; no reference checks it.

#ifndef SPRAG_HOST
__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
#else
__device__ __forceinline__ unsigned long long nanoseconds() { return clock64(); }
#endif

extern "C" __global__ void clock_reading(unsigned long long* cycles_and_nanoseconds) {
    // The timer ticks as rarely as once a microsecond on some devices, so both ends are taken at a tick.
    unsigned long long last = nanoseconds(), start = last;
    while (start == last) start = nanoseconds();
    unsigned long long first_cycle = clock64(), end = start;
    while (end - start < 50000) end = nanoseconds();
    cycles_and_nanoseconds[0] = clock64() - first_cycle;
    cycles_and_nanoseconds[1] = end - start;
}
