// A fake NVRTC: compiles for the CPU with g++. What it calls PTX is three lines, a head with its version, the path of a
// shared object, which the fake driver loads, and the macros that it was compiled with. Objects are kept in the folder SPRAG_EMULATOR_CACHE under a digest of all
// that made them, so processes share them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "fault.h"

#define PUBLIC extern "C" __attribute__((visibility("default")))

extern char** environ;

enum Result { SUCCESS = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6, INTERNAL = 11 };

struct Program {
    std::string source, log, image, name;
    bool machine_code = false;
};

// The folder of this file, given when it is built.
static const std::string SOURCES = SPRAG_EMULATOR_SOURCES;
static const int ARCHITECTURES[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
static const char* const KNOWN_OPTIONS[] = {
    "--fmad=", "-fmad=", "--use_fast_math", "-use_fast_math", "-lineinfo", "--generate-line-info", "--std=", "-std=",
    "--device-as-default-execution-space", "-default-device", "--extra-device-vectorization", "-extra-device-vectorization",
    "--restrict", "--maxrregcount=", "--ftz=", "--prec-div=", "--prec-sqrt=", "--ptxas-options=", "-w",
};

static int version() { return int(setting("SPRAG_EMULATOR_NVRTC", 13000)); }

static int planted(const char* function) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> guard(mutex);
    return planted_fault(function);
}

#define ENTER \
    if (const int code = planted(__func__)) return code

static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

static std::string digest(const std::string& text) {
    unsigned long long first = 0xcbf29ce484222325, second = 0x9e3779b97f4a7c15;
    for (const unsigned char byte : text) {
        first = (first ^ byte) * 0x100000001b3;
        second = (second + byte) * 0xd6e8feb86659fd93;
        second ^= second >> 29;
    }
    char name[40];
    std::snprintf(name, sizeof name, "%016llx%016llx", first, second);
    return name;
}

static std::string cache_folder() {
    static const std::string folder = [] {
        if (const char* given = std::getenv("SPRAG_EMULATOR_CACHE")) {
            mkdir(given, 0755);
            return std::string(given);
        }
        char name[] = "/tmp/sprag-emulator-XXXXXX";
        return std::string(mkdtemp(name) ? name : "/tmp");
    }();
    return folder;
}

// Runs the script, with its words in a file. What is loaded into this process is not for the compiler.
static bool run(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> arguments, variables;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    for (char** variable = environ; *variable; ++variable) {
        if (std::strncmp(*variable, "LD_", 3)) variables.push_back(*variable);
    }
    variables.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    const int failed = posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    int status = 1;
    return !failed && waitpid(child, &status, 0) == child && status == 0;
}

// Reads an option of the compiler; false where the real one knows no such option.
static bool take(const std::string& option, std::vector<std::string>& defines, bool& machine_code) {
    const auto begins = [&](const char* head) { return option.compare(0, std::strlen(head), head) == 0; };
    for (const char* head : {"--define-macro=", "-D"}) {
        if (!begins(head)) continue;
        defines.push_back("-D" + option.substr(std::strlen(head)));
        return defines.back().size() > 2;
    }
    for (const char* head : {"--include-path=", "-I"}) {
        if (!begins(head)) continue;
        defines.push_back("-I" + option.substr(std::strlen(head)));
        return defines.back().size() > 2;
    }
    for (const char* head : {"--gpu-architecture=", "-arch=", "--gpu-architecture ", "-arch "}) {
        if (!begins(head)) continue;
        const std::string wanted = option.substr(std::strlen(head));
        machine_code = wanted.compare(0, 3, "sm_") == 0;
        if (!machine_code && wanted.compare(0, 8, "compute_")) return false;
        const int number = std::atoi(wanted.c_str() + wanted.find('_') + 1);
        for (const int architecture : ARCHITECTURES) {
            if (architecture == number) return true;
        }
        return false;
    }
    for (const char* head : KNOWN_OPTIONS) {
        if (begins(head)) return true;
    }
    return false;
}

PUBLIC int nvrtcVersion(int* major, int* minor) {
    ENTER;
    if (!major || !minor) return INVALID_INPUT;
    *major = version() / 1000;
    *minor = version() % 1000 / 10;
    return SUCCESS;
}

PUBLIC int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const*,
                              const char* const*) {
    ENTER;
    if (!program || !source || headers) return INVALID_INPUT;
    *program = new Program{source, "", "", name ? name : "default_program"};
    return SUCCESS;
}

PUBLIC int nvrtcDestroyProgram(Program** program) {
    if (!program || !*program) return INVALID_PROGRAM;
    delete *program;
    *program = nullptr;
    return SUCCESS;
}

PUBLIC int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
    if (!program) return INVALID_PROGRAM;
    if (const int code = planted(__func__)) {
        program->log = "planted.cu(1): error: a fault that a test planted\n";
        return code;
    }
    std::vector<std::string> defines;
    for (int i = 0; i < count; ++i) {
        if (!take(options[i], defines, program->machine_code)) {
            program->log = std::string("nvrtc: error: invalid value for ") + options[i] + "\n";
            return INVALID_OPTION;
        }
    }
    std::string macros = " ";
    bool has_headers = false;
    for (const std::string& define : defines) {
        if (define[1] == 'D') macros += define.substr(2) + " ";
        has_headers |= define[1] == 'I';
    }
    const auto is_in = [&](const std::string& kernel) { return program->source.find(kernel + "(") != std::string::npos; };
    if (planted_flaw(is_in, macros) == "refuse") {
        program->log = "planted.cu(7): error: identifier \"flaw\" is undefined\n1 error detected in the compilation.\n";
        return COMPILATION;
    }
    // A header is not there on a machine that has the driver and NVRTC alone.
    if (!has_headers && ("\n" + program->source).find("\n#include") != std::string::npos) {
        program->log = "catastrophic error: cannot open source file\n";
        return COMPILATION;
    }
    const std::string named = "#line 1 \"" + program->name + "\"\n" + program->source;
    std::string all = named + text_of(SOURCES + "/compile.sh");
    for (const char* header : {"/prelude.h", "/runner.h", "/fiber.h", "/races.h", "/builtin.h"}) all += text_of(SOURCES + header);
    for (const std::string& define : defines) all += "\n" + define;
    for (const char* name : {"SPRAG_EMULATOR_SANITIZE", "SPRAG_EMULATOR_EDIT"}) {
        if (const char* text = std::getenv(name)) all += std::string("\n") + name + text;
    }
    const std::string folder = cache_folder(), object = folder + "/" + digest(all) + ".so";

    if (access(object.c_str(), R_OK)) {
        static std::atomic<unsigned> serial;
        const std::string own = object + "." + std::to_string(getpid()) + "-" + std::to_string(serial++);
        std::ofstream(own + ".cu", std::ios::binary) << named;
        std::vector<std::string> words = {"sh", SOURCES + "/compile.sh", own + ".cu", own};
        words.insert(words.end(), defines.begin(), defines.end());
        const bool compiled = run(words, own + ".log");
        program->log = text_of(own + ".log");
        unlink((own + ".cu").c_str());
        unlink((own + ".log").c_str());
        if (!compiled) {
            unlink(own.c_str());
            return COMPILATION;
        }
        if (rename(own.c_str(), object.c_str())) return INTERNAL;
    }
    program->image = "// sprag emulator, version " + std::to_string(version()) + "\n" + object + "\n" + macros + "\n";
    return SUCCESS;
}

static int size_of(const std::string& text, size_t* size) {
    if (!size) return INVALID_INPUT;
    *size = text.size() + 1;
    return SUCCESS;
}

static int copy_of(const std::string& text, char* to) {
    if (!to) return INVALID_INPUT;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return SUCCESS;
}

PUBLIC int nvrtcGetProgramLogSize(Program* program, size_t* size) {
    return program ? size_of(program->log, size) : INVALID_PROGRAM;
}
PUBLIC int nvrtcGetProgramLog(Program* program, char* log) {
    return program ? copy_of(program->log, log) : INVALID_PROGRAM;
}
PUBLIC int nvrtcGetPTXSize(Program* program, size_t* size) {
    return program && !program->image.empty() ? size_of(program->image, size) : INVALID_PROGRAM;
}
PUBLIC int nvrtcGetPTX(Program* program, char* text) {
    return program && !program->image.empty() ? copy_of(program->image, text) : INVALID_PROGRAM;
}
// Machine code there is for a real architecture only.
PUBLIC int nvrtcGetCUBINSize(Program* program, size_t* size) {
    if (!program || program->image.empty()) return INVALID_PROGRAM;
    if (program->machine_code) return size_of(program->image, size);
    if (!size) return INVALID_INPUT;
    *size = 0;
    return SUCCESS;
}
PUBLIC int nvrtcGetCUBIN(Program* program, char* text) {
    if (!program || program->image.empty() || !program->machine_code) return INVALID_PROGRAM;
    return copy_of(program->image, text);
}

PUBLIC int nvrtcGetNumSupportedArchs(int* count) {
    if (!count) return INVALID_INPUT;
    *count = int(sizeof ARCHITECTURES / sizeof *ARCHITECTURES);
    return SUCCESS;
}
PUBLIC int nvrtcGetSupportedArchs(int* all) {
    if (!all) return INVALID_INPUT;
    std::memcpy(all, ARCHITECTURES, sizeof ARCHITECTURES);
    return SUCCESS;
}

PUBLIC const char* nvrtcGetErrorString(int code) {
    switch (code) {
        case SUCCESS: return "NVRTC_SUCCESS";
        case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
        case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
        case COMPILATION: return "NVRTC_ERROR_COMPILATION";
        default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}
