// The built-in functions of CUDA that kernels use. The plain ones compute what the device computes, but for roundings that
// its manual leaves open.
#pragma once

#include "runner.h"

#define __syncthreads() sprag::barrier(__LINE__)
#define __syncwarp(...) \
    ((void)sprag::exchange(sprag::Exchange::none, sprag::mask_of(__VA_ARGS__), 0, 0, __LINE__))
#define __shfl_sync(mask, value, ...) sprag::shuffle(mask, value, sprag::to_at(__VA_ARGS__), __LINE__)
#define __shfl_up_sync(mask, value, ...) sprag::shuffle(mask, value, sprag::to_up(__VA_ARGS__), __LINE__)
#define __shfl_down_sync(mask, value, ...) sprag::shuffle(mask, value, sprag::to_down(__VA_ARGS__), __LINE__)
#define __shfl_xor_sync(mask, value, ...) sprag::shuffle(mask, value, sprag::to_xor(__VA_ARGS__), __LINE__)
#define __ballot_sync(mask, vote) sprag::ballot(mask, (vote) != 0, __LINE__)
#define __any_sync(mask, vote) (sprag::ballot(mask, (vote) != 0, __LINE__) != 0)
#define __all_sync(mask, vote) (sprag::ballot(mask, !(vote), __LINE__) == 0)

namespace sprag {
static inline unsigned mask_of(unsigned mask = ~0u) { return mask; }
static inline int to_at(int source, int width = warpSize) { return lane_at(source, width); }
static inline int to_up(unsigned delta, int width = warpSize) { return lane_up(delta, width); }
static inline int to_down(unsigned delta, int width = warpSize) { return lane_down(delta, width); }
static inline int to_xor(int bits, int width = warpSize) { return lane_xor(bits, width); }
static inline unsigned ballot(unsigned mask, bool vote, int line) {
    return unsigned(exchange(Exchange::ballot, mask, vote, 0, line));
}
}  // namespace sprag

#define SPRAG_FENCE(name, is_wide)        \
    SPRAG_QUIET static inline void name() { \
        SPRAG_WATCH(fence(is_wide));      \
        sprag::point();                   \
    }
SPRAG_FENCE(__threadfence, true)
SPRAG_FENCE(__threadfence_block, false)
SPRAG_FENCE(__threadfence_system, true)
#undef SPRAG_FENCE
static inline void __nanosleep(unsigned) { sprag::sleep(); }

// One thread runs at a time, so an atomic function need only be a point where another may come first.
#ifdef SPRAG_RACES
#define SPRAG_ATOMIC_POINT(at) sprag::touch_atomic(at, sizeof *(at), __builtin_return_address(0))
#else
#define SPRAG_ATOMIC_POINT(at) sprag::point()
#endif
#define SPRAG_ATOMIC SPRAG_QUIET __attribute__((noinline)) static
#define SPRAG_ATOMICS(type)                                                                     \
    SPRAG_ATOMIC type atomicAdd(type* at, type value) {                                         \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        *at = old + value;                                                                      \
        return old;                                                                             \
    }                                                                                           \
    SPRAG_ATOMIC type atomicExch(type* at, type value) {                                        \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        *at = value;                                                                            \
        return old;                                                                             \
    }
#define SPRAG_WHOLE_ATOMICS(type)                                                               \
    SPRAG_ATOMICS(type)                                                                         \
    SPRAG_ATOMIC type atomicMax(type* at, type value) {                                         \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        if (value > old) *at = value;                                                           \
        return old;                                                                             \
    }                                                                                           \
    SPRAG_ATOMIC type atomicMin(type* at, type value) {                                         \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        if (value < old) *at = value;                                                           \
        return old;                                                                             \
    }                                                                                           \
    SPRAG_ATOMIC type atomicOr(type* at, type value) {                                          \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        *at = old | value;                                                                      \
        return old;                                                                             \
    }                                                                                           \
    SPRAG_ATOMIC type atomicAnd(type* at, type value) {                                         \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        *at = old & value;                                                                      \
        return old;                                                                             \
    }                                                                                           \
    SPRAG_ATOMIC type atomicCAS(type* at, type expected, type value) {                          \
        SPRAG_ATOMIC_POINT(at);                                                                 \
        type old = *at;                                                                         \
        if (old == expected) *at = value;                                                       \
        return old;                                                                             \
    }
SPRAG_WHOLE_ATOMICS(int)
SPRAG_WHOLE_ATOMICS(unsigned)
SPRAG_WHOLE_ATOMICS(unsigned long long)
SPRAG_ATOMICS(float)
SPRAG_ATOMICS(double)
#undef SPRAG_ATOMICS
#undef SPRAG_WHOLE_ATOMICS

template <class T> static inline T __ldg(const T* at) { return *at; }
template <class T> static inline T __ldca(const T* at) { return *at; }
template <class T> static inline T __ldcs(const T* at) { return *at; }
template <class T> static inline T __ldcg(const T* at) { return *at; }
template <class T> static inline T __ldcv(const T* at) { return *const_cast<const volatile T*>(at); }
template <class T> static inline T __ldlu(const T* at) { return *at; }
template <class T> static inline void __stcs(T* at, T value) { *at = value; }
template <class T> static inline void __stcg(T* at, T value) { *at = value; }
template <class T> static inline void __stwb(T* at, T value) { *at = value; }
template <class T> static inline void __stwt(T* at, T value) { *at = value; }

extern "C" {
float fmaxf(float, float) noexcept;
float fminf(float, float) noexcept;
float fabsf(float) noexcept;
float fmaf(float, float, float) noexcept;
float expf(float) noexcept;
float exp2f(float) noexcept;
float expm1f(float) noexcept;
float logf(float) noexcept;
float log2f(float) noexcept;
float log1pf(float) noexcept;
float tanhf(float) noexcept;
float sqrtf(float) noexcept;
float powf(float, float) noexcept;
float floorf(float) noexcept;
float ceilf(float) noexcept;
float rintf(float) noexcept;
float truncf(float) noexcept;
float copysignf(float, float) noexcept;
float ldexpf(float, int) noexcept;
double fmax(double, double) noexcept;
double fmin(double, double) noexcept;
double fabs(double) noexcept;
double fma(double, double, double) noexcept;
double exp(double) noexcept;
double log(double) noexcept;
double tanh(double) noexcept;
double sqrt(double) noexcept;
double pow(double, double) noexcept;
double floor(double) noexcept;
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
// The volatile keeps the compiler from joining a product and a sum, as these functions promise.
static inline float __fmul_rn(float x, float y) { volatile float z = x * y; return z; }
static inline float __fadd_rn(float x, float y) { volatile float z = x + y; return z; }
static inline float __fsub_rn(float x, float y) { volatile float z = x - y; return z; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
template <class T> static inline bool isnan(T x) { return __builtin_isnan(x); }
template <class T> static inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> static inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> static inline bool signbit(T x) { return __builtin_signbit(x); }

namespace sprag {
template <class To, class From>
static inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
}  // namespace sprag
static inline unsigned __float_as_uint(float x) { return sprag::bits<unsigned>(x); }
static inline int __float_as_int(float x) { return sprag::bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return sprag::bits<float>(x); }
static inline float __int_as_float(int x) { return sprag::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return sprag::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return sprag::bits<double>(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __int2float_rn(int x) { return float(x); }
static inline int __float2int_rn(float x) { return int(rintf(x)); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((1ull * x * y) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((((1ull * high) << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (1ull * y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= unsigned(both >> (8 * (selector >> (4 * i) & 7)) & 0xFF) << (8 * i);
    return result;
}

#define SPRAG_ORDER(type)                                                    \
    static inline type min(type a, type b) { return b < a ? b : a; }         \
    static inline type max(type a, type b) { return a < b ? b : a; }
SPRAG_ORDER(int)
SPRAG_ORDER(unsigned)
SPRAG_ORDER(long)
SPRAG_ORDER(unsigned long)
SPRAG_ORDER(long long)
SPRAG_ORDER(unsigned long long)
#undef SPRAG_ORDER
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline int abs(int a) { return a < 0 ? -a : a; }

static inline long long clock64() {
    struct { long seconds, nanoseconds; } now;
    sprag::clock_gettime(1, &now);
    return now.seconds * 1'000'000'000ll + now.nanoseconds;
}
