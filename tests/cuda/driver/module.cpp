// Modules, functions and launches. A module's image is what the fake NVRTC gives: a line that names a shared object, and
// one with its macros.
#include <dlfcn.h>

#include <cstdio>

#include "state.h"

static const char HEAD[] = "// sprag emulator, version ";

Module::~Module() { dlclose(library); }

static int load(void** handle, const void* image) {
    if (!handle || !image) return INVALID_VALUE;
    const char* text = static_cast<const char*>(image);
    if (std::strncmp(text, HEAD, sizeof HEAD - 1)) return INVALID_IMAGE;
    const long version = std::strtol(text + sizeof HEAD - 1, nullptr, 10);
    // A driver refuses what a newer compiler made.
    if (version > long(setting("SPRAG_EMULATOR_DRIVER", 13000))) return UNSUPPORTED_PTX_VERSION;
    const char* path = std::strchr(text, '\n');
    if (!path) return INVALID_IMAGE;
    const std::string file(path + 1, std::strcspn(path + 1, "\n"));
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        std::fprintf(stderr, "sprag emulator: %s\n", dlerror());
        return INVALID_IMAGE;
    }
    const auto module = std::make_shared<Module>();
    module->library = library;
    const char* macros = path + 1 + file.size();
    if (*macros == '\n') module->macros.assign(macros + 1, std::strcspn(macros + 1, "\n"));
    *handle = module.get();
    state().modules[*handle] = module;
    return SUCCESS;
}

PUBLIC int cuModuleLoadDataEx(void** handle, const void* image, unsigned count, int* options, void** values) {
    ENTER;
    const int code = load(handle, image);
    constexpr int ERROR_LOG = 5, ERROR_LOG_BYTES = 6;
    char* log = nullptr;
    size_t bytes = 0;
    for (unsigned k = 0; k < count; k++) {
        if (options[k] == ERROR_LOG) log = static_cast<char*>(values[k]);
        if (options[k] == ERROR_LOG_BYTES) bytes = reinterpret_cast<size_t>(values[k]);
    }
    if ((code == INVALID_IMAGE || code == UNSUPPORTED_PTX_VERSION) && log) std::snprintf(log, bytes, "the image has no first line;\n  nothing else\n");
    return code;
}

PUBLIC int cuModuleLoadData(void** handle, const void* image) {
    ENTER;
    return load(handle, image);
}

PUBLIC int cuModuleUnload(void* handle) {
    ENTER;
    if (!state().modules.erase(handle)) return INVALID_HANDLE;
    drain_all();
    auto& functions = state().functions;
    for (auto next = functions.begin(); next != functions.end();) {
        next = next->second->module.get() == handle ? functions.erase(next) : std::next(next);
    }
    return SUCCESS;
}

PUBLIC int cuModuleGetFunction(void** handle, void* module_handle, const char* name) {
    ENTER;
    const auto module = state().modules.find(module_handle);
    if (module == state().modules.end()) return INVALID_HANDLE;
    if (!handle || !name) return INVALID_VALUE;
    const std::string plain = name;
    const auto symbol = [&](const char* end) { return dlsym(module->second->library, (plain + end).c_str()); };
    auto function = std::make_unique<Function>();
    function->module = module->second;
    function->name = plain;
    function->launch = reinterpret_cast<decltype(function->launch)>(symbol("__launch"));
    const auto parameters = reinterpret_cast<int (*)(unsigned*)>(symbol("__parameters"));
    const auto static_shared = reinterpret_cast<size_t (*)()>(symbol("__static_shared"));
    if (!function->launch || !parameters || !static_shared) return NOT_FOUND;
    unsigned sizes[64];
    function->parameters.assign(sizes, sizes + parameters(sizes));
    function->static_shared = static_shared();
    *handle = function.get();
    state().functions[*handle] = std::move(function);
    return SUCCESS;
}

static Function* find_function(void* handle) {
    const auto found = state().functions.find(handle);
    return found == state().functions.end() ? nullptr : found->second.get();
}

enum FunctionAttribute { THREADS = 0, STATIC_SHARED = 1, REGISTERS = 4, PTX = 5, BINARY = 6, DYNAMIC_SHARED = 8 };

PUBLIC int cuFuncGetAttribute(int* value, int attribute, void* handle) {
    ENTER;
    const Function* function = find_function(handle);
    if (!function) return INVALID_HANDLE;
    if (!value || attribute < 0) return INVALID_VALUE;
    switch (attribute) {
        case THREADS: *value = 1024; break;
        case STATIC_SHARED: *value = int(function->static_shared); break;
        case REGISTERS: *value = 32; break;
        case PTX: case BINARY: *value = int(setting("SPRAG_EMULATOR_CAPABILITY", 90)); break;
        case DYNAMIC_SHARED: *value = int(function->most_dynamic_shared); break;
        default: *value = 0;
    }
    return SUCCESS;
}

PUBLIC int cuFuncSetAttribute(void* handle, int attribute, int value) {
    ENTER;
    Function* function = find_function(handle);
    if (!function) return INVALID_HANDLE;
    if (attribute == DYNAMIC_SHARED) {
        if (value < 0 || size_t(value) + function->static_shared > 227 << 10) return INVALID_VALUE;
        function->most_dynamic_shared = size_t(value);
    }
    return SUCCESS;
}

PUBLIC int cuFuncGetParamInfo(void* handle, size_t place, size_t* offset, size_t* size) {
    ENTER;
    const Function* function = find_function(handle);
    if (!function) return INVALID_HANDLE;
    if (!offset || place >= function->parameters.size()) return INVALID_VALUE;
    *offset = 0;
    for (size_t i = 0; i <= place; ++i) {
        const size_t bytes = function->parameters[i], align = bytes < 8 ? bytes : 8;
        *offset = (*offset + align - 1) / align * align;
        if (i == place && size) *size = bytes;
        if (i < place) *offset += bytes;
    }
    return SUCCESS;
}

PUBLIC int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* handle, int threads, size_t shared) {
    ENTER;
    const Function* function = find_function(handle);
    if (!function) return INVALID_HANDLE;
    if (!blocks || threads < 1) return INVALID_VALUE;
    const size_t taken = function->static_shared + shared + 1024;
    const int by_shared = int((228u << 10) / taken), by_threads = threads > 1024 ? 0 : 2048 / threads;
    *blocks = by_shared < by_threads ? by_shared : by_threads;
    if (*blocks > 32) *blocks = 32;
    return SUCCESS;
}

// The code with which launches of the function break the device now, 0 where they do not.
static int planted_break(Function& function, const std::string& flaw) {
    char* rest = nullptr;
    const long code = std::strtol(flaw.c_str(), &rest, 10);
    const long passed = *rest == '@' ? std::strtol(rest + 1, nullptr, 10) : 0;
    return function.launches++ >= passed ? int(code) : 0;
}

PUBLIC int cuLaunchKernel(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream_handle, void** arguments,
                          void** extra) {
    ENTER;
    Function* function = find_function(handle);
    const auto stream = find_stream(stream_handle);
    if (!function || !stream) return INVALID_HANDLE;
    if (extra || (!arguments && !function->parameters.empty())) return INVALID_VALUE;
    for (unsigned size : {grid_x, grid_y, grid_z, block_x, block_y, block_z}) {
        if (size == 0) return INVALID_VALUE;
    }
    if (grid_x > 0x7fffffff || grid_y > 65535 || grid_z > 65535) return INVALID_VALUE;
    if (block_x > 1024 || block_y > 1024 || block_z > 64 || 1ull * block_x * block_y * block_z > 1024) {
        return INVALID_VALUE;
    }
    if (shared > function->most_dynamic_shared) return INVALID_VALUE;

    // The values are taken now, as the device does; what they point to is not.
    struct Call {
        std::shared_ptr<Module> module;
        decltype(Function::launch) launch;
        std::vector<std::vector<unsigned char>> values;
        unsigned grid[3], block[3];
        size_t shared;
    };
    const auto call = std::make_shared<Call>(Call{
        function->module, function->launch, {}, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared});
    for (size_t i = 0; i < function->parameters.size(); ++i) {
        if (!arguments[i]) return INVALID_VALUE;
        const unsigned char* value = static_cast<const unsigned char*>(arguments[i]);
        call->values.emplace_back(value, value + function->parameters[i]);
    }
    const auto is_meant = [&](const std::string& kernel) { return kernel == function->name; };
    const std::string flaw = planted_flaw(is_meant, function->module->macros);
    const int code = planted_break(*function, flaw);
    if (flaw == "short") call->grid[0] -= (grid_x + 3) / 4;
    return submit(stream, [call, code] {
        if (code) state().broken = code;
        if (code || call->grid[0] == 0) return;
        std::vector<void*> values;
        for (auto& value : call->values) values.push_back(value.data());
        call->launch(values.data(), call->grid, call->block, call->shared);
    });
}
