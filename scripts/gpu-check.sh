#!/usr/bin/env bash
# Checks and measures the GPU suite on this machine, puts it all into one folder of JSON, and prints a table.
#
#     scripts/gpu-check.sh [OUT] [--sprag BIN] [--quick] [--python FILE]
#
# OUT (default: gpu-check-<UTC time>) must not exist or be empty. It gets device.json, compile.json, parity.json,
# run.json, seed.json, seed.md, peers.json, profile/, summary.json, summary.md, and in logs/ what each step said.
#
#   --sprag BIN      measure this program; otherwise it is built where there is a cargo, or one is taken that lies in
#                    target/release/, in the folder of the repository or beside this script
#   --quick          fewer processes of our own suite, and f16 alone for the peers
#   --python FILE    the Python that has torch and Triton (default: python3); without them the peers are skipped
#
# Needs bash, coreutils and Python 3 beside sprag, and a driver; docs/GPU.md says what is measured. Sets no clock and no
# mode. A step may fail and the others go on; its reason stands in summary.json. Exit code 0 where every step that could
# run did and parity held, 1 where parity did not hold or a step broke, 2 where it was used wrongly, 5 without a GPU.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
tools=$here/gpu-peers

usage() {
  echo "error: $1" >&2
  echo "usage: scripts/gpu-check.sh [OUT] [--sprag BIN] [--quick] [--python FILE]" >&2
  exit 2
}

out="" sprag="" quick="" python=python3
while [ $# -gt 0 ]; do
  case $1 in
    --sprag) [ $# -ge 2 ] || usage "\`--sprag\` needs a file"; sprag=$2; shift 2 ;;
    --python) [ $# -ge 2 ] || usage "\`--python\` needs a file"; python=$2; shift 2 ;;
    --quick) quick=--quick; shift ;;
    -h | --help)
      while read -r line && [ "$line" != "set -uo pipefail" ]; do
        [[ $line == "#!"* ]] || { line=${line#\#}; echo "${line# }"; }
      done <"${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*) usage "unknown option \`$1\`" ;;
    *) [ -z "$out" ] || usage "two folders: \`$out\` and \`$1\`"; out=$1; shift ;;
  esac
done
command -v python3 >/dev/null || usage "there is no python3 on this machine"
command -v "$python" >/dev/null || usage "there is no Python \`$python\`"
[ -z "$sprag" ] || [ -x "$sprag" ] || usage "there is no program \`$sprag\`"
out=${out:-gpu-check-$(date -u +%Y%m%dT%H%M%SZ)}
[ -z "$(ls -A "$out" 2>/dev/null)" ] || usage "\`$out\` is not empty: results of two checks must not mix"
mkdir -p "$out/logs" || usage "\`$out\` cannot be made"
out=$(cd "$out" && pwd)
[ -z "$sprag" ] || sprag=$(realpath -- "$sprag")
# What is named by a path is meant from here, and runs from elsewhere. A link stays a link: that is how environments are made.
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
cd "$root" || exit 2
export PYTHONDONTWRITEBYTECODE=1 GPU_PYTHON=$python

# One line of logs/steps.tsv: name, status, exit code, seconds, reason.
note() {
  local reason=${5//$'\t'/ }
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${reason:0:500}" >>"$out/logs/steps.tsv"
}

# What a step said last, of errors the first line of it rather than the hint.
last_word() {
  local line word=""
  while IFS= read -r line; do
    case $line in
      error:*) word=$line; break ;;
      *[![:space:]]*) word=$line ;;
    esac
  done < <(tail -n 20 "$1" 2>/dev/null | tr -d '\000-\010\013-\037')
  printf '%s' "$word"
}

# step NAME SECONDS STDOUT COMMAND...: runs a command, with a limit, and notes how it came out. Returns its exit code.
step() {
  local name=$1 limit=$2 stdout=$3 begin=$SECONDS code=0 status reason=""
  shift 3
  printf '== %s\n' "$name" >&2
  timeout -k 30 "$limit" "$@" >"$stdout" 2>"$out/logs/$name.txt" </dev/null || code=$?
  case $code in
    0) status=ok ;;
    5) status=skipped ;;
    124 | 137) status=failed reason="took longer than $limit s" ;;
    *) status=failed ;;
  esac
  if [ "$code" != 0 ] && [ -z "$reason" ]; then
    reason=$(last_word "$out/logs/$name.txt")
    [ -n "$reason" ] || reason=$(last_word "$stdout")
    reason="exit code $code: $reason"
  fi
  # Peers that are wrong or failed are told there one by one; they are not ours.
  [ "$name" != peers ] || [ "$code" != 1 ] || [ ! -s "$out/peers.json" ] || status=ok
  note "$name" "$status" "$code" $((SECONDS - begin)) "$reason"
  return "$code"
}

# document NAME SECONDS COMMAND...: a step whose standard output is NAME.json.
document() {
  local name=$1 code=0
  step "$1" "$2" "$out/$name.json.part" "${@:3}" || code=$?
  if python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/$name.json.part" 2>/dev/null; then
    mv "$out/$name.json.part" "$out/$name.json"
  else
    mv "$out/$name.json.part" "$out/logs/$name.stdout.txt"
    [ "$code" != 0 ] || note "$name" failed 0 0 "its output is not JSON"
  fi
}

finish() {
  local code=0
  python3 "$tools/summary.py" "$out" || code=$?
  echo "wrote $out" >&2
  exit "$code"
}
trap 'exit 130' INT TERM

step device 120 "$out/logs/device.stdout.txt" python3 "$tools/device.py" "$out/device.json"
[ $? != 5 ] || finish

if [ -z "$sprag" ] && [ -f Cargo.toml ] && command -v cargo >/dev/null; then
  if step build 3600 "$out/logs/build.stdout.txt" cargo build --release --locked; then
    sprag=${CARGO_TARGET_DIR:-$root/target}/release/sprag
  fi
fi
if [ -z "$sprag" ]; then
  for candidate in "$root/target/release/sprag" "$root/sprag" "$here/sprag"; do
    [ ! -x "$candidate" ] || { sprag=$candidate; break; }
  done
fi
if [ -z "$sprag" ] || [ ! -x "$sprag" ]; then
  note sprag failed 2 0 "there is no sprag: neither cargo nor a program in target/release/; name one with --sprag"
else
  step sprag 60 "$out/logs/sprag.stdout.txt" "$sprag" --version
  document compile 1800 "$sprag" kernels compile --json
  document parity 1800 "$sprag" kernels check --json
  run=("$sprag" run --suite gpu ${quick:+"$quick"} --output-run "$out/run.json")
  if ! step run 5400 "$out/logs/run.stdout.txt" "${run[@]}" --output-json "$out/seed.json" --output-md "$out/seed.md" \
    && [ ! -s "$out/run.json" ]; then
    # Without the report, which may be what failed.
    step "run alone" 5400 "$out/logs/run.stdout.txt" "${run[@]}"
  fi
fi

step peers 5400 "$out/logs/peers.stdout.txt" "$python" "$tools/peers.py" --out "$out/peers.json" ${quick:+"$quick"}

mkdir -p "$out/profile"
no_profile() { printf '{"reason": "%s"}\n' "$1" >"$out/profile/reason.json"; note profile skipped 0 0 "$1"; }
if [ -z "$sprag" ]; then
  no_profile "there is no sprag"
elif command -v nsys >/dev/null; then
  if step profile 1800 "$out/logs/profile.stdout.txt" nsys profile --trace=cuda --cuda-graph-trace=node --sample=none \
    --cpuctxsw=none --force-overwrite=true --output "$out/profile/run" "$sprag" run --suite gpu --quick; then
    step "profile tables" 900 "$out/logs/profile-tables.stdout.txt" nsys stats --force-export=true --format json \
      --report cuda_gpu_kern_sum --report cuda_gpu_mem_size_sum --output "$out/profile/kernels" \
      "$out/profile/run.nsys-rep"
  fi
  rm -f "$out/profile/run.sqlite"
elif command -v ncu >/dev/null; then
  # It replays every launch many times, so some of one kernel are enough. Its counters need a permission.
  step profile 1800 "$out/logs/profile.stdout.txt" ncu --target-processes all --set basic --csv --page raw \
    --launch-count 200 --log-file "$out/profile/kernels.csv" "$sprag" kernels check --filter tile_pack --json || true
  if grep -q ERR_NVGPUCTRPERM "$out/profile/kernels.csv" "$out/logs/profile.txt" "$out/logs/profile.stdout.txt" 2>/dev/null; then
    sed -i '/^profile\t/d' "$out/logs/steps.tsv"
    no_profile "the performance counters of the device are closed to this user"
  fi
else
  no_profile "neither nsys nor ncu is installed"
fi

finish
