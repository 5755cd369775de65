// Element types of maps, tiles and tokens, and vectors of them. Stands before every kernel source; needs no header.
//
// ELEMENT chooses the type: 0 f32, 1 f16 (IEEE 754 binary16), 2 bf16, 3 e4m3 (OFP8). Arithmetic is done in f32;
// to_float is exact and from_float rounds to nearest even, as the trait `Element` in src/kernels/element.rs does: f16
// and bf16 overflow to infinity, e4m3, which has none, to its largest number, 448. The plain forms stand for the
// hardware's instructions on a host (SPRAG_HOST) and, for e4m3, on devices before compute capability 8.9.

#ifndef ELEMENT
#define ELEMENT 0
#endif

#if ELEMENT == 0
typedef float element;
#elif ELEMENT == 3
struct element { unsigned char bits; };
#else
struct element { unsigned short bits; };
#endif

// Products and sums that the compiler must not join into one fused operation, where the reference rounds each.
#ifdef SPRAG_HOST
__device__ __forceinline__ float rounded_product(float a, float b) { volatile float product = a * b; return product; }
__device__ __forceinline__ float rounded_sum(float a, float b) { return a + b; }
#else
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float rounded_sum(float a, float b) { return __fadd_rn(a, b); }
#endif

// What is not a number differs from itself.
__device__ __forceinline__ bool is_nan(float value) { return value != value; }

__device__ __forceinline__ bool is_finite(float value) {
    return (__float_as_uint(value) & 0x7f800000u) != 0x7f800000u;
}

#if ELEMENT == 0

__device__ __forceinline__ float to_float(element value) { return value; }
__device__ __forceinline__ element from_float(float value) { return value; }

#elif ELEMENT == 1 && defined(SPRAG_HOST)

__device__ __forceinline__ float to_float(element value) {
    unsigned sign = (value.bits & 0x8000u) << 16, magnitude = value.bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    // The factor 2^112 moves the exponent from the bias of f32 to that of f16; it is exact for subnormal numbers too.
    return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude << 13) * 5.192296858534828e33f));
}

__device__ __forceinline__ element from_float(float value) {
    unsigned bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return element{(unsigned short)(sign | 0x7e00u)};
    // From 65520 on the nearest number would be 65536.
    if (magnitude >= 0x477ff000u) return element{(unsigned short)(sign | 0x7c00u)};
    if (magnitude < 0x38800000u) {
        // The last digit of 0.5 weighs as much as that of a subnormal f16, so the sum is rounded where it should be.
        unsigned rounded = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u;
        return element{(unsigned short)(sign | rounded)};
    }
    unsigned rounded = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    return element{(unsigned short)(sign | rounded)};
}

#elif ELEMENT == 1

__device__ __forceinline__ float to_float(element value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

__device__ __forceinline__ element from_float(float value) {
    element narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
    return narrow;
}

#elif ELEMENT == 2

__device__ __forceinline__ float to_float(element value) { return __uint_as_float((unsigned)value.bits << 16); }

__device__ __forceinline__ element from_float(float value) {
    element narrow;
#ifdef SPRAG_HOST
    unsigned bits = __float_as_uint(value);
    bool number = (bits & 0x7fffffffu) <= 0x7f800000u;
    narrow.bits = (unsigned short)(number ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : bits >> 16 | 0x40u);
#else
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
#endif
    return narrow;
}

#elif defined(SPRAG_HOST) || __CUDA_ARCH__ < 890

__device__ __forceinline__ float to_float(element value) {
    unsigned sign = (value.bits & 0x80u) << 24, magnitude = value.bits & 0x7fu;
    if (magnitude == 0x7fu) return __uint_as_float(sign | 0x7fc00000u);
    // The factor 2^120 moves the exponent from the bias of f32 to that of e4m3.
    return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude << 20) * 1.329227995784916e36f));
}

__device__ __forceinline__ element from_float(float value) {
    unsigned bits = __float_as_uint(value), sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return element{(unsigned char)(sign | 0x7fu)};
    if (magnitude >= 0x43e00000u) return element{(unsigned char)(sign | 0x7eu)};
    if (magnitude < 0x3c800000u) {
        // The last digit of 16384 weighs as much as that of a subnormal e4m3.
        unsigned rounded = __float_as_uint(__uint_as_float(magnitude) + 16384.0f) - 0x46800000u;
        return element{(unsigned char)(sign | rounded)};
    }
    unsigned rounded = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) - 0x3c000000u) >> 20;
    return element{(unsigned char)(sign | rounded)};
}

#else

__device__ __forceinline__ float to_float(element value) {
    float wide;
    asm("{ .reg .b16 low, high; .reg .b32 both; cvt.rn.f16x2.e4m3x2 both, %1; mov.b32 {low, high}, both; "
        "cvt.f32.f16 %0, low; }" : "=f"(wide) : "h"((unsigned short)value.bits));
    return wide;
}

__device__ __forceinline__ element from_float(float value) {
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(value));
    return element{(unsigned char)both};
}

#endif

// The unsigned numbers of a size, in which a vector of that size travels.
template <int BYTES> struct Raw;
template <> struct Raw<16> { typedef uint4 Type; };
template <> struct Raw<8> { typedef unsigned long long Type; };
template <> struct Raw<4> { typedef unsigned Type; };
template <> struct Raw<2> { typedef unsigned short Type; };
template <> struct Raw<1> { typedef unsigned char Type; };

// COUNT neighbouring elements that are read and written at once, 16 bytes at most.
template <int COUNT> struct Vector {
    union {
        element at[COUNT];
        typename Raw<COUNT * sizeof(element)>::Type raw;
    };

    __device__ __forceinline__ Vector() {}
};

// Ends the program where an address is not a multiple of the size of what is accessed, as a device would.
template <int COUNT> __device__ __forceinline__ void check_alignment(const element* address) {
#ifdef SPRAG_HOST
    if ((unsigned long long)address % (COUNT * sizeof(element)) != 0) __builtin_trap();
#endif
}

// Reads what this launch, or one before it, may have written.
template <int COUNT> __device__ __forceinline__ Vector<COUNT> load(const element* from) {
    typedef typename Raw<COUNT * sizeof(element)>::Type Type;
    check_alignment<COUNT>(from);
    Vector<COUNT> vector;
    vector.raw = *(const Type*)from;
    return vector;
}

// Reads what no thread of this launch writes.
template <int COUNT> __device__ __forceinline__ Vector<COUNT> load_constant(const element* from) {
    typedef typename Raw<COUNT * sizeof(element)>::Type Type;
    check_alignment<COUNT>(from);
    Vector<COUNT> vector;
    vector.raw = __ldg((const Type*)from);
    return vector;
}

template <int COUNT> __device__ __forceinline__ void store(element* to, Vector<COUNT> vector) {
    typedef typename Raw<COUNT * sizeof(element)>::Type Type;
    check_alignment<COUNT>(to);
    *(Type*)to = vector.raw;
}
