#!/bin/sh
# Builds the libraries of the emulator: build.sh FOLDER makes a folder for each, named after what it is, so that a machine
# is made of those that are on LD_LIBRARY_PATH.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
common="-O1 -Wall -Wextra -Werror -shared -fPIC"
jobs=

# build PART LIBRARY OPTIONS SOURCE...: begins to build a library into the folder of its part.
build() {
    part=$1 library=$2 options=$3
    shift 3
    mkdir -p "$out/$part"
    # shellcheck disable=SC2086 # options are words
    ${CXX:-g++} $common $options -DSPRAG_EMULATOR_SOURCES="\"$here\"" "-Wl,-soname,$library" "$@" \
        -o "$out/$part/$library" -ldl &
    jobs="$jobs $!"
}

cd "$here"
whole="-std=c++17 -fvisibility=hidden"
build Driver libcuda.so.1 "$whole" driver/device.cpp driver/memory.cpp driver/module.cpp driver/stream.cpp
build Compiler libnvrtc.so.13 "$whole" nvrtc.cpp
build Management libnvidia-ml.so.1 "$whole" nvml.cpp
build OldDriver libcuda.so.1 "-x c" stubs/old_driver.c
build NoDevice libcuda.so.1 "-x c" stubs/no_device.c
build OldCompiler libnvrtc.so.13 "-x c" stubs/old_nvrtc.c
for job in $jobs; do wait "$job"; done
