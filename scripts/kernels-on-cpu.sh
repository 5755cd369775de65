#!/usr/bin/env bash
# Checks every CUDA kernel, in every variant and element type, on the CPU: compiled by g++ with the emulator of tests/cuda,
# under the address sanitizer and with a search for races, against the CPU reference.
#
#     scripts/kernels-on-cpu.sh [SPRAG] [--quick | --filter TEXT...]
#
# SPRAG is the program (default: target/debug/sprag). The filters go to `sprag kernels check`. All checks are made with
# blocks and threads in order; those of kernels that wait for one another once more, from the same objects, in a random
# order and with several blocks under way at a time. Races are searched for in f32. `--quick` leaves out the element types of
# bf16 and 8 bits, which differ from f16 in their conversions alone, and races in most configurations. Objects are kept in
# target/kernels-on-cpu/.
set -euo pipefail
cd "$(dirname "$0")/.."
sprag=target/debug/sprag
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then sprag=$1; shift; fi
out=$PWD/target/kernels-on-cpu
tests/cuda/build.sh "$out"

library=$(g++ -print-file-name=libasan.so)
run() { # run SANITIZER ORDER OPTION...
  local sanitizer=$1 order=$2 library=$library
  shift 2
  if [ "$sanitizer" = races ]; then library=; fi
  env LD_LIBRARY_PATH="$out/Driver:$out/Compiler:$out/Management" CUDA_HOME= CUDA_PATH= VIRTUAL_ENV= CONDA_PREFIX= \
    LD_PRELOAD="$library" ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 SPRAG_EMULATOR_SANITIZE="$sanitizer" \
    SPRAG_EMULATOR_CACHE="$out/kernels" ${order:+SPRAG_EMULATOR_BLOCKS="$order"} "$sprag" kernels check "$@"
}
case ${1:-} in
  "")
    run 1 ""
    run 1 random:1 --filter ff_path --filter tile_unpack
    run 1 interleave:1 --filter tile_ssm_scan
    run races "" --filter " f32 "
    for seed in 1 2 3; do run races "interleave:$seed" --filter " f32 "; done
    ;;
  --quick)
    run 1 "" --filter " f32 " --filter " f16 "
    run 1 random:1 --filter "ff_path* f32 " --filter "tile_unpack* f32 "
    run 1 interleave:1 --filter "tile_ssm_scan* f32 "
    run races interleave:1 --filter " f32 block256 vector16 unroll4" --filter "ff_path*c=33* f32 " --filter "tile_ssm_scan*c=8* f32 "
    ;;
  *) run 1 "" "$@" ;;
esac
