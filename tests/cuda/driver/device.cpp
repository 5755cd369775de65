// The device, its facts, its one context, and the names of errors.
#include <cstdio>

#include "state.h"

State& state() {
    // Never destroyed: threads of the program may end after the library.
    static State* all = new State;
    return *all;
}

void*& current_context() {
    static thread_local void* context = nullptr;
    return context;
}

void* the_context() {
    static int context;
    return &context;
}

int enter(const char* function, bool needs_context) {
    if (state().broken) return state().broken;
    if (const int code = planted_fault(function)) {
        if (code >= 700 && code < 720) state().broken = code;
        return code;
    }
    if (needs_context && !state().initialised) return NOT_INITIALIZED;
    if (needs_context && current_context() != the_context()) return INVALID_CONTEXT;
    return SUCCESS;
}

static bool is_device(int device) { return device >= 0 && device < int(setting("SPRAG_EMULATOR_DEVICES", 1)); }

#define ENTER_DEVICE(device)                            \
    ENTER_WITH(false);                                  \
    if (!state().initialised) return NOT_INITIALIZED;   \
    if (!is_device(device)) return INVALID_DEVICE

PUBLIC int cuInit(unsigned flags) {
    ENTER_WITH(false);
    if (flags) return INVALID_VALUE;
    if (setting("SPRAG_EMULATOR_DEVICES", 1) == 0) return NO_DEVICE;
    state().initialised = true;
    return SUCCESS;
}

PUBLIC int cuDriverGetVersion(int* version) {
    ENTER_WITH(false);
    if (!version) return INVALID_VALUE;
    *version = int(setting("SPRAG_EMULATOR_DRIVER", 13000));
    return SUCCESS;
}

PUBLIC int cuDeviceGetCount(int* count) {
    ENTER_WITH(false);
    if (!state().initialised) return NOT_INITIALIZED;
    if (!count) return INVALID_VALUE;
    *count = int(setting("SPRAG_EMULATOR_DEVICES", 1));
    return SUCCESS;
}

PUBLIC int cuDeviceGet(int* device, int ordinal) {
    ENTER_DEVICE(ordinal);
    if (!device) return INVALID_VALUE;
    *device = ordinal;
    return SUCCESS;
}

PUBLIC int cuDeviceGetName(char* name, int length, int device) {
    ENTER_DEVICE(device);
    if (!name || length < 1) return INVALID_VALUE;
    std::snprintf(name, size_t(length), "Sprag host emulator");
    return SUCCESS;
}

static int write_uuid(void* uuid, int device) {
    ENTER_DEVICE(device);
    if (!uuid) return INVALID_VALUE;
    // 53707261-6720-656d-756c-61746f7200xx, as the fake NVML has it.
    std::memcpy(uuid, "Sprag emulator\0", 15);
    static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(device);
    return SUCCESS;
}

PUBLIC int cuDeviceGetUuid(void* uuid, int device) { return write_uuid(uuid, device); }
PUBLIC int cuDeviceGetUuid_v2(void* uuid, int device) { return write_uuid(uuid, device); }

PUBLIC int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    ENTER_DEVICE(device);
    if (!bytes) return INVALID_VALUE;
    *bytes = setting("SPRAG_EMULATOR_MEMORY", 8ull << 30);
    return SUCCESS;
}

// Facts of the device, by the number that the driver gives them. What is not here is zero.
static int attribute(int number) {
    const int capability = int(setting("SPRAG_EMULATOR_CAPABILITY", 90));
    switch (number) {
        case 1: return 1024;            // threads of a block
        case 2: case 3: return 1024;    // of these along x and y
        case 4: return 64;              // along z
        case 5: return 0x7fffffff;      // blocks along x
        case 6: case 7: return 65535;   // along y and z
        case 8: return 48 << 10;        // shared memory of a block
        case 9: return 64 << 10;        // constant memory
        case 10: return 32;             // lanes of a warp
        case 12: return 65536;          // registers of a block
        case 13: return 1'000'000;      // clock, kHz
        case 16: return int(setting("SPRAG_EMULATOR_MULTIPROCESSORS", 4));
        case 19: return 1;              // maps host memory
        case 31: return 1;              // concurrent kernels
        case 32: return 1;              // error correction
        case 33: return 1;              // PCI bus
        case 36: return 2'000'000;      // clock of the memory, kHz
        case 37: return 5120;           // width of its bus, bit
        case 38: return int(setting("SPRAG_EMULATOR_L2", 1 << 20));
        case 39: return 2048;           // threads of a multiprocessor
        case 40: return 1;              // copy engines
        case 41: return 1;              // one address space
        case 75: return capability / 10;
        case 76: return capability % 10;
        case 81: return 228 << 10;      // shared memory of a multiprocessor
        case 82: return 65536;          // registers of a multiprocessor
        case 97: return 227 << 10;      // shared memory of a block that asks for it
        case 106: return 32;            // blocks of a multiprocessor
        case 111: return 1 << 10;       // shared memory that the system takes
        case 115: return 1;             // memory pools
        default: return 0;
    }
}

PUBLIC int cuDeviceGetAttribute(int* value, int number, int device) {
    ENTER_DEVICE(device);
    if (!value || number < 1 || number > 200) return INVALID_VALUE;
    *value = attribute(number);
    return SUCCESS;
}

PUBLIC int cuDevicePrimaryCtxRetain(void** context, int device) {
    ENTER_DEVICE(device);
    if (!context) return INVALID_VALUE;
    ++state().context_uses;
    *context = the_context();
    return SUCCESS;
}

PUBLIC int cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER_DEVICE(device);
    if (state().context_uses == 0) return INVALID_CONTEXT;
    if (--state().context_uses == 0) drain_all();
    return SUCCESS;
}

PUBLIC int cuCtxSetCurrent(void* context) {
    ENTER_WITH(false);
    if (!state().initialised) return NOT_INITIALIZED;
    if (context && (context != the_context() || state().context_uses == 0)) return INVALID_CONTEXT;
    current_context() = context;
    return SUCCESS;
}

PUBLIC int cuCtxGetCurrent(void** context) {
    ENTER_WITH(false);
    if (!state().initialised) return NOT_INITIALIZED;
    if (!context) return INVALID_VALUE;
    *context = current_context();
    return SUCCESS;
}

PUBLIC int cuCtxGetDevice(int* device) {
    ENTER;
    if (!device) return INVALID_VALUE;
    *device = 0;
    return SUCCESS;
}

PUBLIC int cuCtxSetFlags(unsigned) {
    ENTER;
    return SUCCESS;
}

PUBLIC int cuCtxSynchronize() {
    ENTER;
    if (unsafe_while_capturing()) return CAPTURE_UNSUPPORTED;
    drain_all();
    return state().broken;
}

// --- Errors. ---

static const char* name_of(int code) {
    switch (code) {
        case SUCCESS: return "CUDA_SUCCESS";
        case INVALID_VALUE: return "CUDA_ERROR_INVALID_VALUE";
        case OUT_OF_MEMORY: return "CUDA_ERROR_OUT_OF_MEMORY";
        case NOT_INITIALIZED: return "CUDA_ERROR_NOT_INITIALIZED";
        case NO_DEVICE: return "CUDA_ERROR_NO_DEVICE";
        case INVALID_DEVICE: return "CUDA_ERROR_INVALID_DEVICE";
        case INVALID_IMAGE: return "CUDA_ERROR_INVALID_IMAGE";
        case INVALID_CONTEXT: return "CUDA_ERROR_INVALID_CONTEXT";
        case UNSUPPORTED_PTX_VERSION: return "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
        case INVALID_HANDLE: return "CUDA_ERROR_INVALID_HANDLE";
        case NOT_FOUND: return "CUDA_ERROR_NOT_FOUND";
        case NOT_READY: return "CUDA_ERROR_NOT_READY";
        case LAUNCH_OUT_OF_RESOURCES: return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
        case 719: return "CUDA_ERROR_LAUNCH_FAILED";
        case NOT_SUPPORTED: return "CUDA_ERROR_NOT_SUPPORTED";
        case CAPTURE_UNSUPPORTED: return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
        case CAPTURE_INVALIDATED: return "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
        case CAPTURE_IMPLICIT: return "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT";
        case CAPTURED_EVENT: return "CUDA_ERROR_CAPTURED_EVENT";
        case 999: return "CUDA_ERROR_UNKNOWN";
        default: return nullptr;
    }
}

PUBLIC int cuGetErrorName(int code, const char** name) {
    if (!name) return INVALID_VALUE;
    *name = name_of(code);
    return *name ? SUCCESS : INVALID_VALUE;
}

PUBLIC int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }
