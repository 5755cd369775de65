// Runs the blocks of a launch on one thread of the CPU: what is a thread of the device is a stack here, and each runs until
// it has to wait. By default blocks and threads run in order; SPRAG_EMULATOR_BLOCKS makes the order random, or has several
// blocks under way together.
#pragma once

#include "fiber.h"

namespace sprag {

extern "C" {
extern unsigned char __start_sprag_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_sprag_shared[] __attribute__((weak, visibility("hidden")));
}

constexpr unsigned char poison = 0xCD;
// Blocks that are under way together where blocks are interleaved.
constexpr unsigned most_resident = 6;

enum class State : unsigned char { fresh, ready, at_barrier, at_warp, done };
enum class Exchange : unsigned char { none, shuffle, ballot };

struct Thread {
    Fiber* fiber;
    State state;
    Exchange exchange;
    int line, source;
    unsigned mask;
    unsigned long long given, taken;
};

#ifdef SPRAG_RACES
struct Watched;
struct Cell;
// What is known of the accesses of a block, see races.h.
struct Ledger {
    Watched* threads;
    Cell* shared;
    unsigned* known;
    unsigned n_known, room;
    unsigned long long barrier;
};
#endif

// A block that is under way. Of its threads `turn` says whose turn it is next, as a place in `order`.
struct Block {
    uint3 index;
    Thread* threads;
    unsigned* order;
    unsigned turn, n_done, n_waiting;
    unsigned char *dynamic, *saved;
    bool live;
    unsigned long long number;
#ifdef SPRAG_RACES
    Ledger ledger;
#endif
};

// The launch that is under way.
static const char* entry_name;
static void (*entry_call)(void**);
static void** entry_arguments;
static unsigned n_threads;
// The thread whose turn it is, as a place in its block.
static unsigned thread_number;
static bytes_t dynamic_bytes;
static bool shuffled, interleaved;
static unsigned long long random_state, idle_turns;

static Block* block;
static Thread* thread;
static unsigned char* dynamic_shared;

SPRAG_QUIET static inline unsigned random_below(unsigned limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return unsigned((random_state >> 11) % limit);
}

[[noreturn]] static void fail(const char* fault, int first = 0, int second = 0) {
    dprintf(2, "sprag emulator: kernel `%s`, block (%u, %u, %u), thread %u: ", entry_name, blockIdx.x, blockIdx.y,
            blockIdx.z, thread_number);
    dprintf(2, fault, first, second);
    dprintf(2, "\n");
    abort();
}

// --- Threads. ---

SPRAG_QUIET static inline void become(unsigned number) {
    thread = &block->threads[number];
    thread_number = number;
    threadIdx = {number % blockDim.x, number / blockDim.x % blockDim.y, number / blockDim.x / blockDim.y};
    blockIdx = block->index;
    dynamic_shared = block->dynamic;
}

// Gives the turn to another thread; comes back when it is this one's again.
SPRAG_QUIET static void wait() {
    Thread* self = thread;
    to_scheduler(self->fiber);
}

// What may let another block run first, where blocks are interleaved.
SPRAG_QUIET static inline void point() {
    if (interleaved) wait();
}

static inline bytes_t static_bytes() {
    return __start_sprag_shared ? bytes_t(__stop_sprag_shared - __start_sprag_shared) : 0;
}

}  // namespace sprag

#ifdef SPRAG_RACES
#include "races.h"
#define SPRAG_WATCH(call) sprag::call
#else
#define SPRAG_WATCH(call)
#endif

namespace sprag {

// The life of a stack: the thread whose turn it is, then every fresh one after it, until one of them has to wait.
SPRAG_QUIET static void live() {
    Fiber* fiber = thread->fiber;
    for (;;) {
        entry_call(entry_arguments);
        SPRAG_WATCH(flush(true));
        thread->state = State::done;
        thread->fiber = nullptr;
        ++block->n_done;
        idle_turns = 0;
        bool stay = block->turn < n_threads && !(interleaved && random_below(8) == 0);
        if (stay) stay = block->threads[block->order[block->turn]].state == State::fresh;
        if (!stay) break;
        become(block->order[block->turn++]);
        thread->state = State::ready;
        thread->fiber = fiber;
    }
    fiber->next_free = free_fibers;
    free_fibers = fiber;
    to_scheduler(fiber);
    abort();
}

SPRAG_QUIET __attribute__((noinline)) static void barrier(int line) {
    SPRAG_WATCH(flush(true));
    idle_turns = 0;
    thread->state = State::at_barrier;
    thread->line = line;
    if (++block->n_waiting < n_threads) return wait();
    for (unsigned i = 0; i < n_threads; ++i) {
        Thread& other = block->threads[i];
        if (other.line != line) {
            fail("`__syncthreads` in line %d, where another thread of the block is at the one in line %d", line,
                 other.line);
        }
        other.state = State::ready;
    }
    block->n_waiting = 0;
    SPRAG_WATCH(pass_barrier());
    point();
}

// Waits for the lanes of the mask, hands each its share and lets them go on. Lanes beyond the block do not count.
SPRAG_QUIET __attribute__((noinline)) static unsigned long long exchange(Exchange kind, unsigned mask,
                                                                         unsigned long long given, int source, int line) {
    SPRAG_WATCH(flush(true));
    unsigned lane = thread_number % warpSize, first = thread_number - lane;
    if (!(mask >> lane & 1)) fail("the warp function in line %d has a mask without its own lane %d", line, int(lane));
    unsigned present = n_threads - first < warpSize ? (1u << (n_threads - first)) - 1 : ~0u;
    Thread* lanes = block->threads + first;
    *thread = {thread->fiber, State::at_warp, kind, line, source, mask, given, 0};
    bool all = true;
    for (unsigned i = 0; i < warpSize && all; ++i) {
        if (mask & present & 1u << i) all = lanes[i].state == State::at_warp;
    }
    if (!all) {
        wait();
        return thread->taken;
    }
    if (kind == Exchange::none) SPRAG_WATCH(meet(mask & present, first));
    unsigned long long votes = 0;
    for (unsigned i = 0; i < warpSize; ++i) {
        if (!(mask & present & 1u << i)) continue;
        if (lanes[i].line != line || lanes[i].mask != mask || lanes[i].exchange != kind) {
            fail("lanes of a warp meet in line %d and in line %d", line, lanes[i].line);
        }
        if (lanes[i].given) votes |= 1ull << i;
    }
    for (unsigned i = 0; i < warpSize; ++i) {
        if (!(mask & present & 1u << i)) continue;
        unsigned from = unsigned(lanes[i].source);
        if (kind == Exchange::shuffle && !(mask & present & 1u << from)) {
            fail("the shuffle in line %d reads lane %d, which takes no part", line, int(from));
        }
        lanes[i].taken = kind == Exchange::ballot ? votes : lanes[kind == Exchange::shuffle ? from : i].given;
        lanes[i].state = State::ready;
    }
    return thread->taken;
}

template <class T>
static inline T shuffle(unsigned mask, T value, int source, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    unsigned long long given = 0;
    __builtin_memcpy(&given, &value, sizeof value);
    unsigned long long taken = exchange(Exchange::shuffle, mask, given, source, line);
    __builtin_memcpy(&value, &taken, sizeof value);
    return value;
}

// The lane that a shuffle reads: within a part of the warp of that width, its own where the part ends.
static inline int lane_up(unsigned delta, int width) {
    int lane = int(thread_number % warpSize), start = lane & ~(width - 1);
    return lane - int(delta) < start ? lane : lane - int(delta);
}
static inline int lane_down(unsigned delta, int width) {
    int lane = int(thread_number % warpSize), start = lane & ~(width - 1);
    return lane + int(delta) >= start + width ? lane : lane + int(delta);
}
static inline int lane_xor(int bits, int width) {
    int lane = int(thread_number % warpSize), start = lane & ~(width - 1), other = lane ^ bits;
    return other >= start + width ? lane : other;
}
static inline int lane_at(int source, int width) {
    int lane = int(thread_number % warpSize), start = lane & ~(width - 1);
    return start + (source & (width - 1));
}

SPRAG_QUIET static void sleep() {
    // Nothing but sleeping for so long: what is waited for does not come.
    if (++idle_turns > 20'000'000) fail("sleeps without end: does it wait for a block that has not begun?");
    wait();
}

// --- Blocks. ---

// Written out, for a library function would stumble over the red zones that the sanitizer puts between variables.
__attribute__((no_sanitize("address", "undefined", "thread"), noinline)) static void copy(
    volatile unsigned char* to, const volatile unsigned char* from, bytes_t count) {
    for (bytes_t i = 0; i < count; ++i) to[i] = from ? from[i] : poison;
}

static void start(Block& next, unsigned long long number) {
    next.index = {unsigned(number % gridDim.x), unsigned(number / gridDim.x % gridDim.y),
                  unsigned(number / gridDim.x / gridDim.y)};
    next.turn = next.n_done = next.n_waiting = 0;
    next.number = number;
    SPRAG_WATCH(begin_block(next));
    next.live = true;
    for (unsigned i = 0; i < n_threads; ++i) {
        next.threads[i] = {nullptr, State::fresh, Exchange::none, 0, 0, 0, 0, 0};
        next.order[i] = i;
    }
    for (unsigned i = n_threads; shuffled && i > 1; --i) {
        unsigned other = random_below(i), last = next.order[i - 1];
        next.order[i - 1] = next.order[other];
        next.order[other] = last;
    }
    copy(next.dynamic, nullptr, dynamic_bytes);
    if (next.saved) copy(next.saved, nullptr, static_bytes());
}

[[noreturn]] static void stuck() {
    unsigned barriers = 0;
    for (unsigned i = 0; i < n_threads; ++i) {
        if (block->threads[i].state == State::at_barrier) ++barriers;
    }
    for (unsigned i = 0; i < n_threads; ++i) {
        if (block->threads[i].state == State::done) continue;
        become(i);
        if (thread->state == State::at_warp) {
            fail("waits in line %d for lanes that do not come; mask %08x", thread->line, int(thread->mask));
        }
        fail("waits at `__syncthreads` in line %d, which only %d threads of its block reach", thread->line,
             int(barriers));
    }
    abort();
}

// Lets one thread of the block run until it waits or is done; says whether the block is done.
static bool step() {
    for (unsigned tried = 0; tried <= n_threads; ++tried) {
        if (block->n_done == n_threads) return true;
        if (block->turn >= n_threads) block->turn = 0;
        unsigned number = block->order[block->turn++];
        State state = block->threads[number].state;
        if (state != State::fresh && state != State::ready) continue;
        become(number);
        if (state == State::fresh) {
            thread->state = State::ready;
            thread->fiber = take_fiber();
        }
        to_fiber(thread->fiber);
        return block->n_done == n_threads;
    }
    stuck();
}

static void run(const char* name, void (*call)(void**), void** arguments, const unsigned* grid, const unsigned* size,
                bytes_t shared) {
    entry_name = name;
    entry_call = call;
    entry_arguments = arguments;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {size[0], size[1], size[2]};
    n_threads = size[0] * size[1] * size[2];
    dynamic_bytes = shared;
    idle_turns = 0;

    const char* mode = getenv("SPRAG_EMULATOR_BLOCKS");
    shuffled = interleaved = false;
    if (mode && (!strncmp(mode, "random:", 7) || !strncmp(mode, "interleave:", 11))) {
        shuffled = true;
        interleaved = mode[0] == 'i';
        random_state = strtoull(mode + (interleaved ? 11 : 7), nullptr, 10) * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull;
    } else if (mode && *mode) {
        fail("SPRAG_EMULATOR_BLOCKS is neither `random:<seed>` nor `interleave:<seed>`");
    }
    unsigned long long total = 1ull * grid[0] * grid[1] * grid[2], begun = 0, ended = 0;
    unsigned* sequence = nullptr;
    if (shuffled) {
        sequence = static_cast<unsigned*>(malloc(total * sizeof(unsigned)));
        for (unsigned i = 0; i < total; ++i) sequence[i] = i;
        for (unsigned i = unsigned(total); i > 1; --i) {
            unsigned other = random_below(i), last = sequence[i - 1];
            sequence[i - 1] = sequence[other];
            sequence[other] = last;
        }
    }

    Block resident[most_resident] = {};
    unsigned places = interleaved ? most_resident : 1;
    for (unsigned i = 0; i < places; ++i) {
        resident[i].threads = static_cast<Thread*>(malloc(n_threads * sizeof(Thread)));
        resident[i].order = static_cast<unsigned*>(malloc(n_threads * sizeof(unsigned)));
        void* memory = nullptr;
        // The exact size, so that the sanitizer sees what lies beyond.
        if (posix_memalign(&memory, 128, shared)) fail("no memory for shared memory");
        resident[i].dynamic = static_cast<unsigned char*>(memory);
        if (interleaved) resident[i].saved = static_cast<unsigned char*>(malloc(static_bytes()));
    }
    block = nullptr;
    thread = nullptr;
    SPRAG_WATCH(begin_launch());
    while (ended < total) {
        Block* next = &resident[places > 1 ? random_below(places) : 0];
        if (!next->live) {
            if (begun == total) continue;
            start(*next, sequence ? sequence[begun] : begun);
            ++begun;
            if (!interleaved) copy(__start_sprag_shared, nullptr, static_bytes());
        }
        if (interleaved && next != block) {
            if (block) copy(block->saved, __start_sprag_shared, static_bytes());
            copy(__start_sprag_shared, next->saved, static_bytes());
        }
        block = next;
        while (!step()) {
            if (interleaved) break;
        }
        if (block->n_done == n_threads) {
            block->live = false;
            ++ended;
            // Its place in the section may be taken by a block that begins afresh.
            if (interleaved) block = nullptr;
        }
    }
    // Nothing below is an access of the kernel, and the thread is freed.
    thread = nullptr;
    for (unsigned i = 0; i < places; ++i) {
        SPRAG_WATCH(end_block(resident[i]));
        free(resident[i].threads);
        free(resident[i].order);
        free(resident[i].dynamic);
        free(resident[i].saved);
    }
    free(sequence);
}

// --- From the addresses of arguments to a call of the kernel. ---

template <int... places>
struct Places {};
template <int count, int... places>
struct Count : Count<count - 1, count - 1, places...> {};
template <int... places>
struct Count<0, places...> {
    using type = Places<places...>;
};

template <class... Parameters, int... places>
static inline void call_with(void (*kernel)(Parameters...), void** arguments, Places<places...>) {
    kernel(*static_cast<Parameters*>(arguments[places])...);
}
template <class... Parameters>
static inline void call(void (*kernel)(Parameters...), void** arguments) {
    call_with(kernel, arguments, typename Count<sizeof...(Parameters)>::type{});
}
template <class... Parameters>
static inline int parameters(void (*)(Parameters...), unsigned* sizes) {
    unsigned all[] = {unsigned(sizeof(Parameters))..., 0};
    for (unsigned i = 0; i < sizeof...(Parameters); ++i) sizes[i] = all[i];
    return int(sizeof...(Parameters));
}

}  // namespace sprag

// What the build puts after a source for each of its kernels: `<kernel>__launch` runs it, `<kernel>__parameters` writes
// the sizes of its parameters and gives their number, `<kernel>__static_shared` the bytes of static shared memory.
#define SPRAG_EXPORT(kernel)                                                                                    \
    extern "C" __attribute__((visibility("default"))) void kernel##__launch(                                    \
        void** arguments, const unsigned* grid, const unsigned* block, sprag::bytes_t shared) {                 \
        sprag::run(#kernel, [](void** values) { sprag::call(&kernel, values); }, arguments, grid, block, shared); \
    }                                                                                                           \
    extern "C" __attribute__((visibility("default"))) int kernel##__parameters(unsigned* sizes) {               \
        return sprag::parameters(&kernel, sizes);                                                               \
    }                                                                                                           \
    extern "C" __attribute__((visibility("default"))) sprag::bytes_t kernel##__static_shared() {                \
        return sprag::static_bytes();                                                                           \
    }
