#!/bin/sh
# Compiles a CUDA source into a shared object for the CPU: compile.sh SOURCE OBJECT [OPTION...]. README.md says how
# kernels are called in it. The fake NVRTC runs this script, too.
# shellcheck disable=SC2086 # Options are several words.
set -eu
source=$1
object=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
common="-std=c++17 -x c++ -DSPRAG_HOST=1"
together=$object.cc
trap 'rm -f "$together"' EXIT

# Dynamic shared memory is a pointer here: each block that is under way has its own. A test may plant a fault.
sed -E -e "${SPRAG_EMULATOR_EDIT:-}" -e 's/extern +__shared__ +(__align__\([0-9]+\) +)?([A-Za-z_][A-Za-z_0-9 ]*[ *])([A-Za-z_0-9]+)\[\] *;/\2* const \3 = reinterpret_cast<\2*>(sprag::dynamic_shared);/' \
    "$source" >"$together"

# The kernels of this variant, as the preprocessor leaves them.
kernels=$(${CXX:-g++} $common -E -P "$@" "-D__launch_bounds__(...)=" "$together" | tr '\n' ' ' |
    grep -oE '__global__ +void +[A-Za-z_0-9]+' | sed 's/.* //' | sort -u) || kernels=
printf '\n' >>"$together"
for kernel in $kernels; do printf 'SPRAG_EXPORT(%s)\n' "$kernel" >>"$together"; done

# What is sanitized runs for its reports, so that compiling it is what takes the time.
case ${SPRAG_EMULATOR_SANITIZE:-} in
    "") kind="-O1" ;;
    # Without the libraries of the sanitizer, whose place races.h takes.
    races) kind="-O1 -DSPRAG_RACES -fsanitize=thread --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 -nodefaultlibs -lc" ;;
    *) kind="-O0 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fsanitize-sections=sprag_shared" ;;
esac
${CXX:-g++} $common $kind -g1 -shared -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-strict-aliasing \
    -ffp-contract=off -Wall -Wno-sign-compare -Wno-unused-function -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unknown-pragmas \
    -include "$here/prelude.h" "$@" "$together" -o "$object" -lm
