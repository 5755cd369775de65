// Streams, events, and graphs of captured work.
#include <ctime>

#include "state.h"

static void* const LEGACY = reinterpret_cast<void*>(1);
enum CaptureMode { GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };

std::shared_ptr<Stream> find_stream(void* handle) {
    if (!handle || handle == LEGACY) return state().legacy;
    const auto found = state().streams.find(handle);
    return found == state().streams.end() ? nullptr : found->second;
}

void drain(Stream& stream, size_t most) {
    for (; most && !stream.queue.empty() && !state().broken; --most) {
        const Work work = std::move(stream.queue.front());
        stream.queue.pop_front();
        work();
    }
}

void drain_legacy() {
    for (auto& [_, stream] : state().streams) {
        if (stream->blocking) drain(*stream);
    }
    drain(*state().legacy);
}

void drain_all() {
    for (auto& [_, stream] : state().streams) drain(*stream);
    drain(*state().legacy);
}

bool unsafe_while_capturing() {
    bool capturing = false;
    for (auto& [_, stream] : state().streams) {
        if (stream->capturing && stream->capture_mode != RELAXED) capturing = stream->invalidated = true;
    }
    return capturing;
}

int submit(const std::shared_ptr<Stream>& stream, Work work) {
    if (stream->capturing) {
        if (stream->invalidated) return CAPTURE_INVALIDATED;
        stream->captured.push_back(std::move(work));
        return SUCCESS;
    }
    // The legacy stream and the blocking ones wait for each other.
    if (stream == state().legacy) {
        for (auto& [_, other] : state().streams) {
            if (!other->blocking) continue;
            if (other->capturing) {
                other->invalidated = true;
                return CAPTURE_IMPLICIT;
            }
            drain(*other);
        }
    } else if (stream->blocking) {
        drain(*state().legacy);
    }
    stream->queue.push_back(std::move(work));
    return SUCCESS;
}

template <class Thing>
static void* handle_of(const std::shared_ptr<Thing>& thing) {
    return thing.get();
}

PUBLIC int cuStreamCreate(void** handle, unsigned flags) {
    ENTER;
    if (!handle || flags > 1) return INVALID_VALUE;
    const auto stream = std::make_shared<Stream>();
    stream->blocking = flags == 0;
    *handle = handle_of(stream);
    state().streams[*handle] = stream;
    return SUCCESS;
}

PUBLIC int cuStreamCreateWithPriority(void** handle, unsigned flags, int) { return cuStreamCreate(handle, flags); }

PUBLIC int cuStreamDestroy_v2(void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream || stream == state().legacy) return INVALID_HANDLE;
    drain(*stream);
    state().streams.erase(handle);
    return SUCCESS;
}

PUBLIC int cuStreamSynchronize(void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (stream->capturing) {
        stream->invalidated = true;
        return CAPTURE_UNSUPPORTED;
    }
    if (stream == state().legacy) {
        drain_legacy();
    } else {
        drain(*stream);
    }
    return state().broken;
}

PUBLIC int cuStreamQuery(void* handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (stream->capturing) {
        stream->invalidated = true;
        return CAPTURE_UNSUPPORTED;
    }
    if (stream->queue.empty()) return SUCCESS;
    drain(*stream, 1);
    return state().broken ? state().broken : NOT_READY;
}

// --- Events. ---

static double now_milliseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

static std::shared_ptr<Event> find_event(void* handle) {
    const auto found = state().events.find(handle);
    return found == state().events.end() ? nullptr : found->second;
}

PUBLIC int cuEventCreate(void** handle, unsigned flags) {
    ENTER;
    constexpr unsigned disable_timing = 2;
    if (!handle || flags > 7) return INVALID_VALUE;
    const auto event = std::make_shared<Event>();
    event->timed = !(flags & disable_timing);
    *handle = handle_of(event);
    state().events[*handle] = event;
    return SUCCESS;
}

PUBLIC int cuEventDestroy_v2(void* handle) {
    ENTER;
    return state().events.erase(handle) ? SUCCESS : INVALID_HANDLE;
}

PUBLIC int cuEventRecord(void* handle, void* stream_handle) {
    ENTER;
    const auto event = find_event(handle);
    const auto stream = find_stream(stream_handle);
    if (!event || !stream) return INVALID_HANDLE;
    event->captured = stream->capturing;
    // In a graph it only orders work; its replays record nothing.
    if (stream->capturing) return stream->invalidated ? CAPTURE_INVALIDATED : SUCCESS;
    event->recorded = true;
    event->stream = stream;
    const unsigned long long record = ++event->records;
    return submit(stream, [event, record] {
        event->reached = record;
        event->milliseconds = now_milliseconds();
    });
}

static int state_of(const Event& event) {
    if (event.captured) return CAPTURED_EVENT;
    return event.reached == event.records ? SUCCESS : NOT_READY;
}

PUBLIC int cuEventQuery(void* handle) {
    ENTER;
    const auto event = find_event(handle);
    if (!event) return INVALID_HANDLE;
    const int code = state_of(*event);
    const auto stream = event->stream.lock();
    // Who asks again and again gets there.
    if (code == NOT_READY && stream) drain(*stream, 1);
    return state().broken ? state().broken : code;
}

static int reach(Event& event) {
    const auto stream = event.stream.lock();
    while (state_of(event) == NOT_READY && stream && !stream->queue.empty() && !state().broken) drain(*stream, 1);
    return state().broken ? state().broken : state_of(event);
}

PUBLIC int cuEventSynchronize(void* handle) {
    ENTER;
    const auto event = find_event(handle);
    return event ? reach(*event) : INVALID_HANDLE;
}

PUBLIC int cuStreamWaitEvent(void* stream_handle, void* handle, unsigned) {
    ENTER;
    const auto event = find_event(handle);
    const auto stream = find_stream(stream_handle);
    if (!event || !stream) return INVALID_HANDLE;
    // An event from outside orders nothing in a graph, and one from inside is in order already: one stream is captured.
    if (stream->capturing) return event->captured ? SUCCESS : 905;
    return submit(stream, [event] { reach(*event); });
}

PUBLIC int cuEventElapsedTime_v2(float* milliseconds, void* start_handle, void* end_handle) {
    ENTER;
    const auto start = find_event(start_handle), end = find_event(end_handle);
    if (!milliseconds) return INVALID_VALUE;
    if (!start || !end || !start->timed || !end->timed || !start->recorded || !end->recorded) return INVALID_HANDLE;
    for (const auto& event : {start, end}) {
        if (const int code = state_of(*event)) return code;
    }
    *milliseconds = float(end->milliseconds - start->milliseconds);
    return SUCCESS;
}

PUBLIC int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

// --- Graphs. ---

PUBLIC int cuStreamBeginCapture_v2(void* handle, int mode) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (mode < GLOBAL || mode > RELAXED) return INVALID_VALUE;
    if (stream == state().legacy) return CAPTURE_UNSUPPORTED;
    if (stream->capturing) return 401;
    stream->capturing = true;
    stream->invalidated = false;
    stream->capture_mode = mode;
    stream->captured.clear();
    return SUCCESS;
}

PUBLIC int cuStreamEndCapture(void* handle, void** graph_handle) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (!graph_handle) return INVALID_VALUE;
    if (!stream->capturing) return 401;
    stream->capturing = false;
    *graph_handle = nullptr;
    if (stream->invalidated) return CAPTURE_INVALIDATED;
    const auto graph = std::make_shared<Graph>();
    graph->work = std::move(stream->captured);
    *graph_handle = handle_of(graph);
    state().graphs[*graph_handle] = graph;
    return SUCCESS;
}

PUBLIC int cuStreamIsCapturing(void* handle, int* status) {
    ENTER;
    const auto stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    if (!status) return INVALID_VALUE;
    *status = !stream->capturing ? 0 : stream->invalidated ? 2 : 1;
    return SUCCESS;
}

PUBLIC int cuGraphInstantiateWithFlags(void** handle, void* graph_handle, unsigned long long flags) {
    ENTER;
    const auto found = state().graphs.find(graph_handle);
    if (!handle || flags > 15 || found == state().graphs.end()) return INVALID_VALUE;
    const auto executable = std::make_shared<Graph>(*found->second);
    *handle = handle_of(executable);
    state().executables[*handle] = executable;
    return SUCCESS;
}

static int with_executable(void* handle, void* stream_handle, bool launch) {
    const auto found = state().executables.find(handle);
    const auto stream = find_stream(stream_handle);
    if (found == state().executables.end() || !stream) return INVALID_HANDLE;
    if (!launch) return SUCCESS;
    const auto executable = found->second;
    return submit(stream, [executable] {
        for (const Work& work : executable->work) work();
    });
}

PUBLIC int cuGraphUpload(void* handle, void* stream) {
    ENTER;
    return with_executable(handle, stream, false);
}

PUBLIC int cuGraphLaunch(void* handle, void* stream) {
    ENTER;
    return with_executable(handle, stream, true);
}

PUBLIC int cuGraphExecDestroy(void* handle) {
    ENTER;
    return state().executables.erase(handle) ? SUCCESS : INVALID_VALUE;
}

PUBLIC int cuGraphDestroy(void* handle) {
    ENTER;
    return state().graphs.erase(handle) ? SUCCESS : INVALID_VALUE;
}

PUBLIC int cuGraphGetNodes(void* handle, void** nodes, size_t* count) {
    ENTER;
    const auto found = state().graphs.find(handle);
    if (found == state().graphs.end() || !count || nodes) return INVALID_VALUE;
    *count = found->second->work.size();
    return SUCCESS;
}
