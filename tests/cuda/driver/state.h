// What the parts of the fake driver share: result codes, handles, and the work that waits on streams.
//
// Work on a stream is put in its queue and done when something waits for it: a synchronisation, a copy to the host, an
// event that is asked for. So what reads too early, frees too early or forgets to wait goes wrong here as it may on a device.
#pragma once
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../fault.h"

#define PUBLIC extern "C" __attribute__((visibility("default")))

using Address = unsigned long long;

enum Result : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    UNSUPPORTED_PTX_VERSION = 222,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_OUT_OF_RESOURCES = 701,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
};

using Work = std::function<void()>;

struct Event {
    bool timed = true;
    bool recorded = false, captured = false;
    // How often it was recorded, and up to which of these the work before it is done.
    unsigned long long records = 0, reached = 0;
    double milliseconds = 0;
    std::weak_ptr<struct Stream> stream;
};

struct Stream {
    bool blocking = true;
    bool capturing = false, invalidated = false;
    int capture_mode = 0;
    std::deque<Work> queue;
    std::vector<Work> captured;
};

struct Graph {
    std::vector<Work> work;
};

struct Allocation {
    size_t bytes;
    bool from_pool;
    bool freeing;
};

struct Module {
    void* library;
    // The macros that it was compiled with, as " BLOCK=256 VECTOR=16 ".
    std::string macros;
    ~Module();
};

struct Function {
    std::shared_ptr<Module> module;
    std::string name;
    void (*launch)(void**, const unsigned*, const unsigned*, size_t);
    std::vector<unsigned> parameters;
    size_t static_shared;
    size_t most_dynamic_shared = 48 << 10;
    long launches = 0;
};

// Everything that was handed out, by its handle: what is not here is not valid.
struct State {
    std::recursive_mutex mutex;
    bool initialised = false;
    int context_uses = 0;
    // An error of a kernel: every later call gives it.
    int broken = 0;
    std::map<Address, Allocation> memory;
    std::map<Address, size_t> host_memory;
    size_t used = 0, pool_used = 0, pool_most = 0;
    std::shared_ptr<Stream> legacy = std::make_shared<Stream>();
    std::map<void*, std::shared_ptr<Stream>> streams;
    std::map<void*, std::shared_ptr<Event>> events;
    std::map<void*, std::shared_ptr<Graph>> graphs, executables;
    std::map<void*, std::shared_ptr<Module>> modules;
    std::map<void*, std::unique_ptr<Function>> functions;
};

State& state();
void*& current_context();
void* the_context();

// The stream of a handle, with the legacy one for null; null where there is no such stream.
std::shared_ptr<Stream> find_stream(void* handle);
// Puts work on a stream or, where it is being captured, into the graph.
int submit(const std::shared_ptr<Stream>& stream, Work work);
// Does what waits on a stream, all of it or at most so many pieces.
void drain(Stream& stream, size_t most = SIZE_MAX);
// Does what waits on the legacy stream and on those that it waits for; what waits on every stream.
void drain_legacy();
void drain_all();
// Whether a stream is being captured so that calls which may synchronise are not allowed; they spoil the capture.
bool unsafe_while_capturing();

// Whether so many bytes at the address lie in one allocation of device memory or in mapped host memory.
bool in_memory(Address address, size_t bytes);
bool in_host_memory(const void* address, size_t bytes);

int enter(const char* function, bool needs_context);

// What every function begins with: one at a time, no planted fault, a driver that is initialised, a context.
#define ENTER_WITH(needs_context)                                                       \
    std::lock_guard<std::recursive_mutex> guard(state().mutex);                         \
    if (const int code = enter(__func__, needs_context)) return code
#define ENTER ENTER_WITH(true)
