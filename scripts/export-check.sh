#!/usr/bin/env bash
# Exports a history in every form and reads it back with DuckDB, Polars and the client of Prometheus, which are
# installed from an index under target/. Usage: scripts/export-check.sh BINARY [REPOSITORY]; without a repository that
# of `sprag demo`. Says `skipped` where the packages cannot be had.
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/.."
repository=${2:-}

venv=$PWD/target/export-venv
python=$venv/bin/python
wanted=$(sha256sum <scripts/export-check.txt)
if [ "$(cat "$venv/of" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  log=$(python3 -m venv "$venv" 2>&1 && "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --only-binary :all: --requirement scripts/export-check.txt 2>&1) || {
    if [[ $log = *"DO NOT MATCH THE HASHES"* ]]; then printf '%s\n' "$log" >&2; exit 1; fi
    echo "skipped: the packages of scripts/export-check.txt cannot be had here"
    exit 0
  }
  printf '%s\n' "$wanted" >"$venv/of"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$repository" ]; then
  repository=$work/demo
  "$binary" demo "$repository" >"$work/demo.txt"
fi
export_as() { "$binary" -C "$repository" export "$@"; }
export_as parquet --out "$work/parquet"
export_as parquet --out "$work/again" >/dev/null
diff -r "$work/parquet" "$work/again" # Equal input gives equal bytes.
export_as csv --out "$work/flat.csv"
export_as csv --long >"$work/long.csv"
export_as jsonl >"$work/values.jsonl"
export_as openmetrics >"$work/metrics.txt"
export_as jsonl | head -n 1 >"$work/first.txt" # A reader that has seen enough is not an error.
"$python" scripts/export-check.py "$work"
