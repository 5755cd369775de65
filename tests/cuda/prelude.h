// What a CUDA source is compiled with to run on a CPU: the words of the language here, its functions in builtin.h, and in
// runner.h what executes the blocks. README.md says how it is used.
//
// It includes no header, so that a source sees the names that NVRTC gives it and few others, and compiles fast.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// All static shared memory of a source lies in one section, so that the runner can poison it before each block.
#define __shared__ static __attribute__((section("sprag_shared")))

// What the runner does is no access of a kernel.
#define SPRAG_QUIET __attribute__((no_sanitize("thread")))

namespace sprag {
using bytes_t = decltype(sizeof 0);
extern "C" {
int dprintf(int, const char*, ...);
[[noreturn]] void abort();
char* getenv(const char*);
unsigned long long strtoull(const char*, char**, int);
int strncmp(const char*, const char*, bytes_t);
void* malloc(bytes_t);
void free(void*);
int posix_memalign(void**, bytes_t, bytes_t);
void* mmap(void*, bytes_t, int, int, int, long);
int clock_gettime(int, void*);
}
}  // namespace sprag

// --- Vectors, with the alignment that a device demands. ---

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};

#define SPRAG_VECTORS(word, type, align2, align4)                                                           \
    struct __align__(align2) word##2 { type x, y; };                                                        \
    struct __align__(align4) word##4 { type x, y, z, w; };                                                  \
    static inline word##2 make_##word##2(type x, type y) { return {x, y}; }                                 \
    static inline word##4 make_##word##4(type x, type y, type z, type w) { return {x, y, z, w}; }
SPRAG_VECTORS(char, signed char, 2, 4)
SPRAG_VECTORS(uchar, unsigned char, 2, 4)
SPRAG_VECTORS(short, short, 4, 8)
SPRAG_VECTORS(ushort, unsigned short, 4, 8)
SPRAG_VECTORS(int, int, 8, 16)
SPRAG_VECTORS(uint, unsigned, 8, 16)
SPRAG_VECTORS(float, float, 8, 16)
SPRAG_VECTORS(longlong, long long, 16, 16)
SPRAG_VECTORS(ulonglong, unsigned long long, 16, 16)
SPRAG_VECTORS(double, double, 16, 16)
#undef SPRAG_VECTORS

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static constexpr int warpSize = 32;

#include "builtin.h"
