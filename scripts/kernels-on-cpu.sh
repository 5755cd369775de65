#!/usr/bin/env bash
# Checks every CUDA kernel, in every variant and element type, on the CPU: compiled by g++ with the emulator of tests/cuda,
# under the address sanitizer, against the CPU reference.
#
#     scripts/kernels-on-cpu.sh [SPRAG] [--quick | --filter TEXT...]
#
# SPRAG is the program (default: target/debug/sprag). The filters go to `sprag kernels check`. All checks are made with
# blocks and threads in order; those of kernels that wait for one another once more, from the same objects, in a random
# order and with several blocks under way at a time. `--quick` leaves out the element types of bf16 and 8 bits, which
# differ from f16 in their conversions alone. Objects are kept in target/kernels-on-cpu/.
set -euo pipefail
cd "$(dirname "$0")/.."
sprag=target/debug/sprag
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then sprag=$1; shift; fi
out=$PWD/target/kernels-on-cpu
tests/cuda/build.sh "$out"

library=$(g++ -print-file-name=libasan.so)
run() { # run ORDER OPTION...
  local order=$1
  shift
  env LD_LIBRARY_PATH="$out/Driver:$out/Compiler:$out/Management" CUDA_HOME= CUDA_PATH= VIRTUAL_ENV= CONDA_PREFIX= \
    LD_PRELOAD="$library" ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 SPRAG_EMULATOR_SANITIZE=1 \
    SPRAG_EMULATOR_CACHE="$out/kernels" ${order:+SPRAG_EMULATOR_BLOCKS="$order"} "$sprag" kernels check "$@"
}
case ${1:-} in
  "")
    run ""
    run random:1 --filter ff_path --filter tile_unpack
    run interleave:1 --filter tile_ssm_scan
    ;;
  --quick)
    run "" --filter " f32 " --filter " f16 "
    run random:1 --filter "ff_path* f32 " --filter "tile_unpack* f32 "
    run interleave:1 --filter "tile_ssm_scan* f32 "
    ;;
  *) run "" "$@" ;;
esac
