// Device memory: allocations of the exact size, filled with 0xCD so that what is read before it was written shows.
#include "state.h"

constexpr int UNINITIALISED = 0xCD;
constexpr size_t ALIGNMENT = 256;

static size_t total() { return setting("SPRAG_EMULATOR_MEMORY", 8ull << 30); }

bool in_host_memory(const void* address, size_t bytes) {
    const Address at = Address(address);
    auto next = state().host_memory.upper_bound(at);
    if (next == state().host_memory.begin()) return false;
    --next;
    return at - next->first <= next->second && bytes <= next->second - (at - next->first);
}

bool in_memory(Address at, size_t bytes) {
    auto next = state().memory.upper_bound(at);
    if (next != state().memory.begin()) {
        --next;
        const size_t offset = at - next->first;
        if (!next->second.freeing && offset <= next->second.bytes && bytes <= next->second.bytes - offset) return true;
    }
    return in_host_memory(reinterpret_cast<const void*>(at), bytes);
}

static int allocate(Address* address, size_t bytes, bool from_pool) {
    if (!address || bytes == 0) return INVALID_VALUE;
    State& all = state();
    if (bytes > total() || all.used > total() - bytes) return OUT_OF_MEMORY;
    void* memory = nullptr;
    if (posix_memalign(&memory, ALIGNMENT, bytes)) return OUT_OF_MEMORY;
    std::memset(memory, UNINITIALISED, bytes);
    *address = Address(memory);
    all.memory[*address] = {bytes, from_pool, false};
    all.used += bytes;
    if (from_pool) {
        all.pool_used += bytes;
        if (all.pool_used > all.pool_most) all.pool_most = all.pool_used;
    }
    return SUCCESS;
}

static void release(Address address) {
    State& all = state();
    const auto found = all.memory.find(address);
    all.used -= found->second.bytes;
    if (found->second.from_pool) all.pool_used -= found->second.bytes;
    all.memory.erase(found);
    std::free(reinterpret_cast<void*>(address));
}

PUBLIC int cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    ENTER;
    if (!free_bytes || !total_bytes) return INVALID_VALUE;
    *total_bytes = total();
    *free_bytes = total() - state().used;
    return SUCCESS;
}

PUBLIC int cuMemAlloc_v2(Address* address, size_t bytes) {
    ENTER;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    return allocate(address, bytes, false);
}

PUBLIC int cuMemFree_v2(Address address) {
    ENTER;
    if (!address) return SUCCESS;
    const auto found = state().memory.find(address);
    if (found == state().memory.end() || found->second.freeing) return INVALID_VALUE;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    drain_all();
    release(address);
    return SUCCESS;
}

PUBLIC int cuMemAllocAsync(Address* address, size_t bytes, void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    // A device would put a node of memory into the graph, whose address is valid in the graph only.
    if (stream->capturing) return NOT_SUPPORTED;
    // What was freed on the stream before serves again.
    drain(*stream);
    return allocate(address, bytes, true);
}

PUBLIC int cuMemFreeAsync(Address address, void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (stream->capturing) return NOT_SUPPORTED;
    const auto found = state().memory.find(address);
    if (found == state().memory.end() || found->second.freeing) return INVALID_VALUE;
    found->second.freeing = true;
    return submit(stream, [address] { release(address); });
}

// --- Memory of the host that the device sees. ---

PUBLIC int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
    ENTER;
    if (!address || bytes == 0) return INVALID_VALUE;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    if (posix_memalign(address, 4096, bytes)) return OUT_OF_MEMORY;
    std::memset(*address, UNINITIALISED, bytes);
    state().host_memory[Address(*address)] = bytes;
    return SUCCESS;
}

PUBLIC int cuMemFreeHost(void* address) {
    ENTER;
    const auto found = state().host_memory.find(Address(address));
    if (found == state().host_memory.end()) return INVALID_VALUE;
    drain_all();
    state().host_memory.erase(found);
    std::free(address);
    return SUCCESS;
}

PUBLIC int cuMemHostGetDevicePointer_v2(Address* device, void* host, unsigned flags) {
    ENTER;
    if (!device || flags || !in_host_memory(host, 1)) return INVALID_VALUE;
    *device = Address(host);
    return SUCCESS;
}

// --- Copies and fills. ---

static void* pointer(Address address) { return reinterpret_cast<void*>(address); }

// The plain forms go by the legacy stream and are done when they return.
static int plain_copy(void* to, const void* from, size_t bytes) {
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    drain_legacy();
    std::memcpy(to, from, bytes);
    return state().broken;
}

PUBLIC int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
    ENTER;
    if (!from || !in_memory(to, bytes)) return INVALID_VALUE;
    return plain_copy(pointer(to), from, bytes);
}

PUBLIC int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
    ENTER;
    if (!to || !in_memory(from, bytes)) return INVALID_VALUE;
    return plain_copy(to, pointer(from), bytes);
}

PUBLIC int cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) {
    ENTER;
    if (!in_memory(to, bytes) || !in_memory(from, bytes)) return INVALID_VALUE;
    return plain_copy(pointer(to), pointer(from), bytes);
}

PUBLIC int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (!from || !in_memory(to, bytes)) return INVALID_VALUE;
    if (in_host_memory(from, bytes) || stream->capturing) {
        return submit(stream, [=] { std::memcpy(pointer(to), from, bytes); });
    }
    // Ordinary memory of the host is taken before the call returns.
    const auto taken = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
    return submit(stream, [=] { std::memcpy(pointer(to), taken->data(), bytes); });
}

PUBLIC int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (!to || !in_memory(from, bytes)) return INVALID_VALUE;
    const int code = submit(stream, [=] { std::memcpy(to, pointer(from), bytes); });
    // Into ordinary memory of the host the call returns when the copy is done.
    if (!code && !stream->capturing && !in_host_memory(to, bytes)) drain(*stream);
    return code ? code : state().broken;
}

PUBLIC int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (!in_memory(to, bytes) || !in_memory(from, bytes)) return INVALID_VALUE;
    return submit(stream, [=] { std::memcpy(pointer(to), pointer(from), bytes); });
}

template <class Value>
static int fill(Address to, Value value, size_t count, void* handle) {
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (to % sizeof(Value) || !in_memory(to, count * sizeof(Value))) return INVALID_VALUE;
    return submit(stream, [=] {
        Value* values = static_cast<Value*>(pointer(to));
        for (size_t i = 0; i < count; ++i) values[i] = value;
    });
}

PUBLIC int cuMemsetD8Async(Address to, unsigned char value, size_t count, void* handle) {
    ENTER;
    return fill(to, value, count, handle);
}
PUBLIC int cuMemsetD16Async(Address to, unsigned short value, size_t count, void* handle) {
    ENTER;
    return fill(to, value, count, handle);
}
PUBLIC int cuMemsetD32Async(Address to, unsigned value, size_t count, void* handle) {
    ENTER;
    return fill(to, value, count, handle);
}
PUBLIC int cuMemsetD8_v2(Address to, unsigned char value, size_t count) {
    ENTER;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    return fill(to, value, count, nullptr);
}
PUBLIC int cuMemsetD32_v2(Address to, unsigned value, size_t count) {
    ENTER;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    return fill(to, value, count, nullptr);
}

// --- The pool. ---

PUBLIC int cuDeviceGetDefaultMemPool(void** pool, int device) {
    ENTER_WITH(false);
    static int the_pool;
    if (!pool) return INVALID_VALUE;
    if (device) return INVALID_DEVICE;
    *pool = &the_pool;
    return SUCCESS;
}

PUBLIC int cuDeviceGetMemPool(void** pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }

enum PoolAttribute { RELEASE_THRESHOLD = 4, RESERVED = 5, RESERVED_MOST = 6, USED = 7, USED_MOST = 8 };
static unsigned long long release_threshold;

PUBLIC int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
    ENTER_WITH(false);
    if (!pool || !value) return INVALID_VALUE;
    unsigned long long* number = static_cast<unsigned long long*>(value);
    switch (attribute) {
        case 1: case 2: case 3: *static_cast<int*>(value) = 1; return SUCCESS;
        case RELEASE_THRESHOLD: *number = release_threshold; return SUCCESS;
        case RESERVED: case USED: *number = state().pool_used; return SUCCESS;
        case RESERVED_MOST: case USED_MOST: *number = state().pool_most; return SUCCESS;
        default: return INVALID_VALUE;
    }
}

PUBLIC int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
    ENTER_WITH(false);
    if (!pool || !value) return INVALID_VALUE;
    const unsigned long long number = attribute > 3 ? *static_cast<unsigned long long*>(value) : 0;
    switch (attribute) {
        case 1: case 2: case 3: return SUCCESS;
        case RELEASE_THRESHOLD: release_threshold = number; return SUCCESS;
        // The high-water marks can be set to zero only, which sets them to what is used now.
        case RESERVED_MOST: case USED_MOST:
            if (number) return INVALID_VALUE;
            state().pool_most = state().pool_used;
            return SUCCESS;
        default: return INVALID_VALUE;
    }
}
