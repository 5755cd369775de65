// Faults that a test plants: `SPRAG_EMULATOR_FAULT="cuMemAllocAsync=2@5,nvrtcCompileProgram=6"` makes the first function
// fail with code 2 from its sixth call on, the second with code 6 at every call.
#pragma once
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

inline int planted_fault(const char* function) {
    static std::map<std::string, long> calls;
    const char* text = std::getenv("SPRAG_EMULATOR_FAULT");
    if (!text) return 0;
    const long before = calls[function]++;
    const std::string all = std::string(",") + text, wanted = std::string(",") + function + "=";
    const size_t at = all.find(wanted);
    if (at == std::string::npos) return 0;
    char* rest = nullptr;
    const long code = std::strtol(all.c_str() + at + wanted.size(), &rest, 10);
    const long passed = *rest == '@' ? std::strtol(rest + 1, nullptr, 10) : 0;
    return before >= passed ? int(code) : 0;
}

// What a test makes of a kernel: `SPRAG_EMULATOR_PLANT="short tile_pack BLOCK=512; 719@60 copy; refuse empty"` has launches
// of `tile_pack` that were compiled with this macro leave out the last quarter of their blocks, those of `copy` break the
// device with code 719 from the 61st on, and the compiler refuse `empty`. Gives the first word for a kernel that fits;
// `macros` is what it was compiled with, as " BLOCK=512 VECTOR=16 ".
template <class IsMeant>
std::string planted_flaw(IsMeant is_meant, const std::string& macros) {
    const char* text = std::getenv("SPRAG_EMULATOR_PLANT");
    std::stringstream all(text ? text : "");
    for (std::string one; std::getline(all, one, ';');) {
        std::stringstream words(one);
        std::string flaw, kernel, macro;
        words >> flaw >> kernel;
        bool fits = is_meant(kernel);
        while (words >> macro) fits = fits && macros.find(" " + macro + " ") != std::string::npos;
        if (fits) return flaw;
    }
    return "";
}

inline unsigned long long setting(const char* name, unsigned long long otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}
