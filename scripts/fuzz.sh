#!/usr/bin/env bash
# Fuzzes the readers of what others write: scripts/fuzz.sh SECONDS [READER...]
#
# Each reader (by default every one that `fuzz/readers.rs` lists: all formats that are imported, records, baselines,
# settings and the like) runs for that long, JOBS (2) at a time, from the golden samples and from what earlier runs found,
# with at most MAX_LEN (65536) bytes an input, 512 MiB of memory and ten seconds. An input that breaks a reader is kept in
# `target/fuzz/artifacts`, and the script fails; `SPRAG_FUZZ=READER target/debug/readers FILE` runs it again.
#
# Works with the stable compiler. Only Sprag is instrumented, so everything else is what an ordinary build has made.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?how many seconds each reader runs}
shift

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/fuzz
mkdir -p "$work/seeds" "$work/artifacts" "$work/logs"
cat > "$work/rustc" <<'END'
#!/bin/sh
case " $* " in
  *" --crate-name sprag"*) exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares ;;
  *) exec "$@" ;;
esac
END
chmod +x "$work/rustc"
RUSTC_WRAPPER=$work/rustc CARGO_TARGET_DIR=$target cargo build --quiet --manifest-path fuzz/Cargo.toml
program=$target/debug/readers

readers=("$@")
if [ ${#readers[@]} -eq 0 ]; then
  mapfile -t readers < <(SPRAG_FUZZ=list "$program")
fi

# Each sample alone, and each folder of samples as one input.
samples() {
  find "$1" -type f ! -name README.md ! -name expected.json ! -name '*.py' -size -64k | sort
}
for file in $(samples fixtures/golden/formats) $(samples fixtures/golden/trueno/cases) $(samples fixtures/records) \
  $(samples fuzz/seeds) $(samples baselines) $(samples release) $(samples history | head -8) sprag.toml; do
  cp "$file" "$work/seeds/$(echo "$file" | tr / _)"
done
for folder in fixtures/golden/formats/*/; do
  for file in $(samples "$folder"); do
    printf '\n=== %s\n' "${file#"$folder"}"
    cat "$file"
  done > "$work/seeds/$(basename "$folder")-folder"
done

fuzz() {
  mkdir -p "$work/corpus/$1"
  local log=$work/logs/$1
  if ! SPRAG_FUZZ=$1 "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -max_len="${MAX_LEN:-65536}" \
    -print_final_stats=1 -artifact_prefix="$work/artifacts/$1-" "$work/corpus/$1" "$work/seeds" > "$log" 2>&1; then
    tail -30 "$log"
    echo "FAILED $1: see $work/artifacts"
    return 1
  fi
  # A program without instruments runs as well, and finds nothing.
  grep -q 'inline 8-bit counters' "$log" || { echo "FAILED $1: $program is not instrumented"; return 1; }
  local inputs edges
  inputs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  echo "$1: $inputs inputs, $edges edges, nothing found"
}
export -f fuzz
export work program seconds
# shellcheck disable=SC2016 # The shells that xargs starts expand it.
printf '%s\n' "${readers[@]}" | xargs -P "${JOBS:-2}" -I '{}' bash -c 'fuzz "$1"' fuzz '{}' |
  awk '{ print; inputs += $2 } END { print NR " readers, " inputs " inputs" }'
