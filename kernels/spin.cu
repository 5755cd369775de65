// Holds the stream until the host sets a flag in memory that both see, or until so many nanoseconds have passed, so
// that a host which ends meanwhile leaves no device behind that waits. Computes nothing; no reference checks it.

#ifdef SPRAG_HOST
// Where a launch runs at once, nobody sets the flag meanwhile: so many looks are enough.
constexpr int LOOKS = 1000;
#else
__device__ __forceinline__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
#endif

extern "C" __global__ void spin(volatile unsigned* flag, unsigned long long longest_nanoseconds) {
#ifdef SPRAG_HOST
    for (int look = 0; look < LOOKS && *flag == 0; ++look) {}
#else
    unsigned long long start = now();
    while (*flag == 0 && now() - start < longest_nanoseconds) {}
#endif
}
