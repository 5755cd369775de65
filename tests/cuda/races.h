// Finds conflicting accesses that nothing orders, reads of shared memory that nothing wrote, and what depends on the order in
// which stores become visible. With SPRAG_EMULATOR_SANITIZE=races the compiler calls the functions at the end before each
// access (-fsanitize=thread); they take the place of its own runtime.
//
// Two accesses are ordered if one thread makes both, if a barrier of the block or a `__syncwarp` of both lanes lies between,
// or if the first thread, after a fence, wrote a word by a volatile store or an atomic function, and a thread of the other
// block read that word in such a way. Two volatile or atomic accesses never conflict. Shuffles and votes order nothing, as on
// a device. Where blocks are interleaved, volatile stores become visible late and out of order until a fence or a barrier.
//
// Not found: a missing fence after such a word is read; conflicts with more than the last two readers.
#pragma once

namespace sprag {
extern "C" {
struct Place {
    const char* file;
    void* base;
    const char* symbol;
    void* address;
};
int dladdr(const void*, Place*);
int snprintf(char*, bytes_t, const char*, ...);
int system(const char*);
void* realloc(void*, bytes_t);
void* calloc(bytes_t, bytes_t);
}

// The bytes of a cell: those of the narrowest element of the source.
#if !defined(ELEMENT) || ELEMENT == 3
constexpr bytes_t granule = 1;
#elif ELEMENT == 0
constexpr bytes_t granule = 4;
#else
constexpr bytes_t granule = 2;
#endif

// `time` counts synchronisations, `thread` the threads of the launch from 1 on; 0 where there was no access. `place` is that of
// the code in its object.
struct Access {
    unsigned long long time;
    unsigned thread;
    unsigned place : 31, strong : 1;
};

// The last write, and the last reads of two threads, the later one first.
struct Cell {
    Access write, reads[2];
};

// What a thread passes on by a word written after a fence: its accesses up to `time`, those of its block up to `barrier`, and
// the releases that its block knew. A fence for the block alone is not `wide`.
struct Release {
    const volatile void* word;
    unsigned long long time, barrier;
    unsigned thread, n_known;
    unsigned* known;
    bool wide;
};

// A store that others do not see yet.
struct Held {
    unsigned char* at;
    bytes_t bytes;
    unsigned char value[16];

    SPRAG_QUIET void apply() const {
        for (bytes_t i = 0; i < bytes; ++i) at[i] = value[i];
    }
};

struct Watched {
    // When a `__syncwarp` of both was last completed, or of a chain of lanes between them.
    unsigned long long lanes[warpSize];
    Release fence;
    Held fresh, held[4];
    unsigned n_held;
};

static unsigned long long now = 1, launch_begin;
static Release* releases;
static unsigned n_releases, release_room;

// A hash table of pages of cells, for global memory.
constexpr bytes_t page_cells = 1024, n_pages = 1 << 17;
static struct Page {
    bytes_t number;
    Cell* cells;
}* pages;

SPRAG_QUIET static Cell* global_cell(bytes_t unit) {
    if (!pages) pages = static_cast<Page*>(calloc(n_pages, sizeof(Page)));
    bytes_t number = unit / page_cells, slot = number * 0x9E3779B97F4A7C15ull >> 47;
    while (pages[slot].cells && pages[slot].number != number) slot = (slot + 1) % n_pages;
    if (!pages[slot].cells) pages[slot] = {number, static_cast<Cell*>(calloc(page_cells, sizeof(Cell)))};
    return &pages[slot].cells[unit % page_cells];
}

SPRAG_QUIET static inline Watched& watched() { return block->ledger.threads[thread_number]; }
SPRAG_QUIET static inline unsigned self() { return unsigned(block->number * n_threads + thread_number + 1); }

// The store that the thread made before it came here may be withheld.
SPRAG_QUIET static void settle() {
    Watched& own = watched();
    if (!own.fresh.at) return;
    if (own.n_held < 4 && random_below(2)) {
        Held& held = own.held[own.n_held++] = own.fresh;
        for (bytes_t i = 0; i < held.bytes; ++i) held.value[i] = held.at[i];
        own.fresh.apply();
    }
    own.fresh.at = nullptr;
}

// Makes the thread's stores visible in any order: all, after others have had turns, or perhaps one of them.
SPRAG_QUIET static void flush(bool all) {
    settle();
    Watched& own = watched();
    while (all && own.n_held > 0 && random_below(8)) wait();
    while (own.n_held > 0 && (all || random_below(4) == 0)) {
        Held& held = own.held[random_below(own.n_held)];
        held.apply();
        held = own.held[--own.n_held];
    }
}

SPRAG_QUIET static void fence(bool wide) {
    flush(true);
    watched().fence = {nullptr, now++, block->ledger.barrier, self(), block->ledger.n_known, nullptr, wide};
}

SPRAG_QUIET static void release(const volatile void* word) {
    Release next = watched().fence;
    if (!next.time) return;
    next.word = word;
    next.known = static_cast<unsigned*>(malloc((next.n_known + 1) * sizeof(unsigned)));
    for (unsigned i = 0; i < next.n_known; ++i) next.known[i] = block->ledger.known[i];
    if (n_releases == release_room) {
        release_room = 2 * release_room + 64;
        releases = static_cast<Release*>(realloc(releases, release_room * sizeof(Release)));
    }
    releases[n_releases++] = next;
}

SPRAG_QUIET static void know(unsigned number) {
    Ledger& own = block->ledger;
    for (unsigned i = 0; i < own.n_known; ++i) {
        if (own.known[i] == number) return;
    }
    if (own.n_known == own.room) {
        own.room = 2 * own.room + 16;
        own.known = static_cast<unsigned*>(realloc(own.known, own.room * sizeof(unsigned)));
    }
    own.known[own.n_known++] = number;
}

SPRAG_QUIET static void acquire(const volatile void* word) {
    for (unsigned i = 0; i < n_releases; ++i) {
        const Release& one = releases[i];
        if (one.word != word || !(one.wide || (one.thread - 1) / n_threads == block->number)) continue;
        know(i);
        for (unsigned k = 0; k < one.n_known; ++k) know(one.known[k]);
    }
}

SPRAG_QUIET static bool is_ordered(const Access& before) {
    unsigned lane = (before.thread - 1) % n_threads, from = (before.thread - 1) / n_threads;
    if (from == block->number) {
        if (before.time <= block->ledger.barrier) return true;
        bool is_near = lane / warpSize == thread_number / warpSize;
        if (is_near && before.time <= watched().lanes[lane % warpSize]) return true;
    }
    for (unsigned i = 0; i < block->ledger.n_known; ++i) {
        const Release& one = releases[block->ledger.known[i]];
        if ((one.thread - 1) / n_threads != from) continue;
        if (before.time <= one.barrier || (one.thread == before.thread && before.time <= one.time)) return true;
    }
    return false;
}

// Ends the program with the lines of two accesses.
[[noreturn]] SPRAG_QUIET static void report(const char* fault, const char* object, const Access& own, const Access& other) {
    char command[4096], second[16] = "";
    if (other.thread) snprintf(second, sizeof second, "0x%x", other.place - 1);
    snprintf(command, sizeof command, "addr2line -e '%s' 0x%x %s | sed 's|^.*/|sprag emulator: an access at |' >&2", object,
             own.place - 1, second);
    if (system(command)) dprintf(2, "sprag emulator: addr2line does not run\n");
    unsigned number = other.thread - 1;
    fail(fault, int(number % n_threads), int(number / n_threads));
}

SPRAG_QUIET static void touch(const volatile void* address, bytes_t bytes, bool writes, bool strong, const void* code) {
    if (!thread || !thread->fiber) return;
    unsigned char* at = static_cast<unsigned char*>(const_cast<void*>(address));
    const unsigned char *stack = thread->fiber->stack, *frame = static_cast<unsigned char*>(__builtin_frame_address(0));
    // What the runner does on the stack of its caller, and what lies on that of a thread, is not the kernel's.
    if (bytes_t(frame - stack) >= stack_bytes || bytes_t(at - stack) < stack_bytes) return;
    flush(false);
    for (unsigned i = 0; i < watched().n_held; ++i) {
        const Held& held = watched().held[i];
        if (held.at < at + bytes && at < held.at + held.bytes) flush(true);
    }
    static Place object;
    if (!object.base) dladdr(code, &object);
    Access own = {now, self(), unsigned(bytes_t(code) - bytes_t(object.base)), strong};
    bool is_static = bytes_t(at - __start_sprag_shared) < static_bytes();
    bool is_shared = is_static || bytes_t(at - block->dynamic) < dynamic_bytes;
    bytes_t from = bytes_t(at);
    // The rows of a warp's cells are whole, so that static and dynamic memory have none in common.
    if (is_shared) from = is_static ? at - __start_sprag_shared : (static_bytes() + 15) / 16 * 16 + (at - block->dynamic);
    for (bytes_t unit = from / granule; unit <= (from + bytes - 1) / granule; ++unit) {
        Cell* cell = is_shared ? &block->ledger.shared[unit] : global_cell(unit);
        if (is_shared && !writes && !cell->write.thread) {
            report("reads shared memory that no thread of its block wrote", object.file, own, cell->write);
        }
        for (unsigned i = 0; i < (writes ? 3u : 1u); ++i) {
            const Access& other = i == 0 ? cell->write : cell->reads[i - 1];
            if (!other.thread || other.time < launch_begin || other.thread == own.thread) continue;
            if ((other.strong && strong) || is_ordered(other)) continue;
            report(i > 0    ? "race: writes what thread %d of block %d reads, and nothing orders them"
                   : writes ? "race: writes what thread %d of block %d writes, and nothing orders them"
                            : "race: reads what thread %d of block %d writes, and nothing orders them",
                   object.file, own, other);
        }
        if (writes) cell->write = own;
        if (!writes && cell->reads[0].thread != own.thread) cell->reads[1] = cell->reads[0];
        if (!writes) cell->reads[0] = own;
    }
}

// A volatile access: another block may come first, and a store may become visible late.
SPRAG_QUIET static void touch_volatile(void* address, bytes_t bytes, bool writes, const void* code) {
    if (!thread || !thread->fiber) return;
    point();
    touch(address, bytes, writes, true, code);
    ++now;
    if (!writes) return acquire(address);
    release(address);
    if (!interleaved) return;
    Held& fresh = watched().fresh = {static_cast<unsigned char*>(address), bytes, {}};
    for (bytes_t i = 0; i < bytes; ++i) fresh.value[i] = fresh.at[i];
}

SPRAG_QUIET static void touch_atomic(const volatile void* address, bytes_t bytes, const void* code) {
    point();
    touch(address, bytes, false, true, code);
    touch(address, bytes, true, true, code);
    ++now;
    acquire(address);
    release(address);
}

// The lanes of a mask meet: each is after what the others were after.
SPRAG_QUIET static void meet(unsigned mask, unsigned first) {
    Watched* warp = block->ledger.threads + first;
    for (int lane = 0; lane < warpSize; ++lane) {
        unsigned long long latest = 0;
        for (int i = 0; i < warpSize; ++i) {
            if (mask >> i & 1 && warp[i].lanes[lane] > latest) latest = warp[i].lanes[lane];
        }
        if (mask >> lane & 1) latest = now;
        for (int i = 0; i < warpSize; ++i) {
            if (mask >> i & 1) warp[i].lanes[lane] = latest;
        }
    }
    ++now;
}

SPRAG_QUIET static void pass_barrier() { block->ledger.barrier = now++; }

static bytes_t cells() { return ((static_bytes() + 15) / 16 * 16 + dynamic_bytes) / granule + 1; }

static void begin_launch() {
    for (unsigned i = 0; i < n_releases; ++i) free(releases[i].known);
    n_releases = 0;
    launch_begin = ++now;
}

static void end_block(Block& ended) {
    free(ended.ledger.threads);
    free(ended.ledger.shared);
    free(ended.ledger.known);
    ended.ledger = {};
}

static void begin_block(Block& next) {
    end_block(next);
    next.ledger = {static_cast<Watched*>(calloc((n_threads + 31) / 32 * 32, sizeof(Watched))),
           static_cast<Cell*>(calloc(cells(), sizeof(Cell))), nullptr, 0, 0, 0};
}
}  // namespace sprag

#define SPRAG_HOOK(kind, bytes)                                                                              \
    extern "C" SPRAG_QUIET void __tsan_##kind##read##bytes(void* at) { SPRAG_TOUCH(at, bytes, false); }      \
    extern "C" SPRAG_QUIET void __tsan_##kind##write##bytes(void* at) { SPRAG_TOUCH(at, bytes, true); }
#define SPRAG_HOOKS(bytes)      \
    SPRAG_HOOK(, bytes)         \
    SPRAG_HOOK(unaligned_, bytes)
#define SPRAG_TOUCH(at, bytes, writes) sprag::touch(at, bytes, writes, false, __builtin_return_address(0))
SPRAG_HOOKS(1)
SPRAG_HOOKS(2)
SPRAG_HOOKS(4)
SPRAG_HOOKS(8)
SPRAG_HOOKS(16)
extern "C" SPRAG_QUIET void __tsan_read_range(void* at, sprag::bytes_t bytes) { SPRAG_TOUCH(at, bytes, false); }
extern "C" SPRAG_QUIET void __tsan_write_range(void* at, sprag::bytes_t bytes) { SPRAG_TOUCH(at, bytes, true); }
#undef SPRAG_TOUCH
#define SPRAG_TOUCH(at, bytes, writes) sprag::touch_volatile(at, bytes, writes, __builtin_return_address(0))
SPRAG_HOOK(volatile_, 1)
SPRAG_HOOK(volatile_, 2)
SPRAG_HOOK(volatile_, 4)
SPRAG_HOOK(volatile_, 8)
extern "C" void __tsan_init() {}
