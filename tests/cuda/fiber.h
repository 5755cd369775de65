// Stacks for the threads of a block, and switching between them: one pool for all sources of a process.
#pragma once

namespace sprag {

extern "C" {
#ifdef __SANITIZE_ADDRESS__
void __sanitizer_start_switch_fiber(void**, const void*, bytes_t);
void __sanitizer_finish_switch_fiber(void*, const void**, bytes_t*);
#endif
}

#ifdef __SANITIZE_ADDRESS__
constexpr bytes_t stack_bytes = 256 << 10;
#else
constexpr bytes_t stack_bytes = 64 << 10;
#endif

// Switches stacks: saves what a call must keep, leaves the old stack pointer at the first address, takes up the second.
extern "C" __attribute__((visibility("hidden"))) void sprag_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
    .text
    .hidden sprag_switch
    .globl sprag_switch
    .type sprag_switch, @function
sprag_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size sprag_switch, .-sprag_switch
)");
// What is popped at the first switch to a stack: six registers, the address to begin at, and a word that aligns.
constexpr int first_words = 8, first_entry = 6;
#elif defined(__aarch64__)
asm(R"(
    .text
    .hidden sprag_switch
    .globl sprag_switch
    .type sprag_switch, %function
sprag_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size sprag_switch, .-sprag_switch
)");
constexpr int first_words = 20, first_entry = 11;
#else
#error "the host runner knows x86-64 and aarch64"
#endif

// A stack that threads run on, one after another.
struct Fiber {
    void* stack_pointer;
    unsigned char* stack;
    Fiber* next_free;
    void* fake_stack;
};

// An inline variable is the same in all sources that are loaded into a process.
inline Fiber* free_fibers = nullptr;

// What hands out the turns runs on the stack of the caller.
static Fiber scheduler;
static const void* scheduler_stack;
static bytes_t scheduler_stack_bytes;

static inline void to_fiber(Fiber* fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&scheduler.fake_stack, fiber->stack, stack_bytes);
    sprag_switch(&scheduler.stack_pointer, fiber->stack_pointer);
    __sanitizer_finish_switch_fiber(scheduler.fake_stack, nullptr, nullptr);
#else
    sprag_switch(&scheduler.stack_pointer, fiber->stack_pointer);
#endif
}

static inline void to_scheduler(Fiber* fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&fiber->fake_stack, scheduler_stack, scheduler_stack_bytes);
    sprag_switch(&fiber->stack_pointer, scheduler.stack_pointer);
    __sanitizer_finish_switch_fiber(fiber->fake_stack, nullptr, nullptr);
#else
    sprag_switch(&fiber->stack_pointer, scheduler.stack_pointer);
#endif
}

static void live();

// What a fresh stack begins with.
__attribute__((no_sanitize("address", "undefined"), noinline)) static void begin() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
    live();
}

static Fiber* take_fiber() {
    if (!free_fibers) {
        // Many at once: their pages are touched only where they are used.
        constexpr unsigned count = 128;
        constexpr int read_write = 3, private_anonymous_unreserved = 0x4022;
        void* stacks = mmap(nullptr, count * stack_bytes, read_write, private_anonymous_unreserved, -1, 0);
        Fiber* fibers = static_cast<Fiber*>(malloc(count * sizeof(Fiber)));
        if (stacks == reinterpret_cast<void*>(-1L) || !fibers) {
            dprintf(2, "sprag emulator: no memory for stacks\n");
            abort();
        }
        for (unsigned i = 0; i < count; ++i) {
            fibers[i] = {nullptr, static_cast<unsigned char*>(stacks) + i * stack_bytes, free_fibers, nullptr};
            free_fibers = &fibers[i];
        }
    }
    Fiber* fiber = free_fibers;
    free_fibers = fiber->next_free;
    void** top = reinterpret_cast<void**>(fiber->stack + stack_bytes) - first_words;
    for (int i = 0; i < first_words; ++i) top[i] = nullptr;
    top[first_entry] = reinterpret_cast<void*>(&begin);
    fiber->stack_pointer = top;
    return fiber;
}

}  // namespace sprag
