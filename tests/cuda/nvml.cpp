// A fake NVML: one device whose facts agree with the fake driver's. SPRAG_EMULATOR_THROTTLE=<bits> sets the reasons why its
// clocks are held down; `<bits>@<file>` does so only while the number in the file, counted down at each question, is not
// zero, over all processes together. SPRAG_EMULATOR_NVML=<function>,... makes functions answer that they are not supported.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "fault.h"

#define PUBLIC extern "C" __attribute__((visibility("default")))

enum Result { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static int uses;
static int the_device;

static int enter(const char* function) {
    if (uses == 0) return UNINITIALIZED;
    if (const int code = planted_fault(function)) return code;
    const char* refused = std::getenv("SPRAG_EMULATOR_NVML");
    const std::string all = std::string(",") + (refused ? refused : "") + ",";
    return all.find("," + std::string(function) + ",") == std::string::npos ? SUCCESS : NOT_SUPPORTED;
}

static int write_text(char* to, unsigned length, const char* text) {
    if (!to) return INVALID_ARGUMENT;
    if (std::strlen(text) >= length) return INSUFFICIENT_SIZE;
    std::strcpy(to, text);
    return SUCCESS;
}

template <class Number>
static int write_number(Number* to, Number number) {
    if (!to) return INVALID_ARGUMENT;
    *to = number;
    return SUCCESS;
}

#define ENTER \
    if (const int code = enter(__func__)) return code
#define ENTER_DEVICE \
    ENTER;           \
    if (device != &the_device) return INVALID_ARGUMENT

static const char UUID[] = "GPU-53707261-6720-656d-756c-61746f720000";

static int init() {
    if (const int code = planted_fault("nvmlInit")) return code;
    ++uses;
    return SUCCESS;
}
PUBLIC int nvmlInit_v2() { return init(); }
PUBLIC int nvmlInitWithFlags(unsigned) { return init(); }
PUBLIC int nvmlShutdown() {
    if (uses == 0) return UNINITIALIZED;
    --uses;
    return SUCCESS;
}

PUBLIC const char* nvmlErrorString(int code) {
    switch (code) {
        case SUCCESS: return "Success";
        case UNINITIALIZED: return "Uninitialized";
        case INVALID_ARGUMENT: return "Invalid Argument";
        case NOT_SUPPORTED: return "Not Supported";
        case NOT_FOUND: return "Not Found";
        default: return "Unknown Error";
    }
}

// --- The system. ---

PUBLIC int nvmlSystemGetDriverVersion(char* to, unsigned length) {
    ENTER;
    return write_text(to, length, "580.65.06");
}
PUBLIC int nvmlSystemGetNVMLVersion(char* to, unsigned length) {
    ENTER;
    return write_text(to, length, "13.580.65.06");
}
PUBLIC int nvmlSystemGetCudaDriverVersion(int* to) {
    ENTER;
    return write_number(to, int(setting("SPRAG_EMULATOR_DRIVER", 13000)));
}
PUBLIC int nvmlSystemGetCudaDriverVersion_v2(int* to) {
    ENTER;
    return write_number(to, int(setting("SPRAG_EMULATOR_DRIVER", 13000)));
}
PUBLIC int nvmlDeviceGetCount_v2(unsigned* to) {
    ENTER;
    return write_number(to, unsigned(setting("SPRAG_EMULATOR_DEVICES", 1)));
}
PUBLIC int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    ENTER;
    if (index) return INVALID_ARGUMENT;
    return write_number(device, static_cast<void*>(&the_device));
}
PUBLIC int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    ENTER;
    if (!uuid || std::strcmp(uuid, UUID)) return NOT_FOUND;
    return write_number(device, static_cast<void*>(&the_device));
}

// --- What stays. ---

PUBLIC int nvmlDeviceGetIndex(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 0u);
}
PUBLIC int nvmlDeviceGetMinorNumber(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 0u);
}
PUBLIC int nvmlDeviceGetName(void* device, char* to, unsigned length) {
    ENTER_DEVICE;
    return write_text(to, length, "Sprag host emulator");
}
PUBLIC int nvmlDeviceGetUUID(void* device, char* to, unsigned length) {
    ENTER_DEVICE;
    return write_text(to, length, UUID);
}
PUBLIC int nvmlDeviceGetVbiosVersion(void* device, char* to, unsigned length) {
    ENTER_DEVICE;
    return write_text(to, length, "96.00.00.00.01");
}
PUBLIC int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    ENTER_DEVICE;
    const int capability = int(setting("SPRAG_EMULATOR_CAPABILITY", 90));
    if (!minor) return INVALID_ARGUMENT;
    *minor = capability % 10;
    return write_number(major, capability / 10);
}
PUBLIC int nvmlDeviceGetEccMode(void* device, int* current, int* pending) {
    ENTER_DEVICE;
    if (!pending) return INVALID_ARGUMENT;
    *pending = 1;
    return write_number(current, 1);
}
PUBLIC int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
    ENTER_DEVICE;
    if (!pending) return INVALID_ARGUMENT;
    *pending = 0;
    return write_number(current, unsigned(setting("SPRAG_EMULATOR_MIG", 0)));
}
PUBLIC int nvmlDeviceGetPersistenceMode(void* device, int* to) {
    ENTER_DEVICE;
    return write_number(to, 1);
}
PUBLIC int nvmlDeviceGetComputeMode(void* device, int* to) {
    ENTER_DEVICE;
    return write_number(to, 0);
}
PUBLIC int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 700'000u);
}
PUBLIC int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 700'000u);
}
PUBLIC int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 700'000u);
}
PUBLIC int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 5u);
}
PUBLIC int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 16u);
}
PUBLIC int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 5u);
}
PUBLIC int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 16u);
}

// --- What moves. ---

// By kind: graphics, multiprocessors, memory, video; MHz.
static int clock_of(unsigned kind, unsigned* to) {
    static const unsigned clocks[] = {1980, 1980, 3201, 1545};
    return kind < 4 ? write_number(to, clocks[kind]) : int(INVALID_ARGUMENT);
}
PUBLIC int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* to) {
    ENTER_DEVICE;
    return clock_of(kind, to);
}
PUBLIC int nvmlDeviceGetClock(void* device, unsigned kind, unsigned, unsigned* to) {
    ENTER_DEVICE;
    return clock_of(kind, to);
}
PUBLIC int nvmlDeviceGetMaxClockInfo(void* device, unsigned kind, unsigned* to) {
    ENTER_DEVICE;
    return clock_of(kind, to);
}
PUBLIC int nvmlDeviceGetApplicationsClock(void* device, unsigned kind, unsigned* to) {
    ENTER_DEVICE;
    return clock_of(kind, to);
}
PUBLIC int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 41u);
}
PUBLIC int nvmlDeviceGetPowerUsage(void* device, unsigned* to) {
    ENTER_DEVICE;
    return write_number(to, 120'000u);
}
PUBLIC int nvmlDeviceGetPerformanceState(void* device, int* to) {
    ENTER_DEVICE;
    return write_number(to, 0);
}

static unsigned long long milliseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1'000'000;
}

// 120 W all the time, in mJ.
PUBLIC int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* to) {
    ENTER_DEVICE;
    return write_number(to, milliseconds() * 120);
}

struct Utilization {
    unsigned gpu, memory;
};
PUBLIC int nvmlDeviceGetUtilizationRates(void* device, Utilization* to) {
    ENTER_DEVICE;
    return write_number(to, Utilization{97, 40});
}

struct Memory {
    unsigned long long total, free, used;
};
struct Memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
PUBLIC int nvmlDeviceGetMemoryInfo(void* device, Memory* to) {
    ENTER_DEVICE;
    const unsigned long long total = setting("SPRAG_EMULATOR_MEMORY", 8ull << 30);
    return write_number(to, Memory{total, total, 0});
}
PUBLIC int nvmlDeviceGetMemoryInfo_v2(void* device, Memory2* to) {
    ENTER_DEVICE;
    const unsigned long long total = setting("SPRAG_EMULATOR_MEMORY", 8ull << 30);
    return write_number(to, Memory2{to ? to->version : 0, total, 0, total, 0});
}

struct Violation {
    unsigned long long reference_time, violation_time;
};
PUBLIC int nvmlDeviceGetViolationStatus(void* device, unsigned, Violation* to) {
    ENTER_DEVICE;
    return write_number(to, Violation{milliseconds() * 1000, 0});
}

PUBLIC int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
    ENTER_DEVICE;
    return write_number(count, 0u);
}

// --- Throttling. ---

// Whether the number in a file is not zero yet; counts it down.
static bool counts_down(const char* path) {
    const int file = open(path, O_RDWR);
    if (file < 0) return false;
    flock(file, LOCK_EX);
    char text[32] = {};
    const ssize_t read_bytes = read(file, text, sizeof text - 1);
    const long left = read_bytes > 0 ? std::strtol(text, nullptr, 10) : 0;
    if (left > 0) {
        const int length = std::snprintf(text, sizeof text, "%ld\n", left - 1);
        if (ftruncate(file, 0) || pwrite(file, text, size_t(length), 0) != length) std::perror("sprag emulator");
    }
    close(file);
    return left > 0;
}

static unsigned long long throttle_reasons() {
    const char* text = std::getenv("SPRAG_EMULATOR_THROTTLE");
    if (!text) return 0;
    const char* file = std::strchr(text, '@');
    return file && !counts_down(file + 1) ? 0 : std::strtoull(text, nullptr, 0);
}

PUBLIC int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* to) {
    ENTER_DEVICE;
    return write_number(to, throttle_reasons());
}
PUBLIC int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* to) {
    ENTER_DEVICE;
    return write_number(to, throttle_reasons());
}
PUBLIC int nvmlDeviceGetSupportedClocksThrottleReasons(void* device, unsigned long long* to) {
    ENTER_DEVICE;
    return write_number(to, 0x1ffull);
}
