#!/usr/bin/env bash
# Exports a history in every form and reads it back with DuckDB, Polars and the client of Prometheus, which are
# installed from an index under target/. Usage: scripts/export-check.sh BINARY [REPOSITORY]; without a repository that
# of `sprag demo`. Says `skipped` where the packages cannot be had.
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/.."
repository=${2:-}

venv=$PWD/target/export-venv
packages=("duckdb" "polars" "prometheus-client" "pytz")
python=$venv/bin/python
if ! { [ -x "$python" ] && "$python" -c "import duckdb, polars, prometheus_client, pytz"; } 2>/dev/null; then
  if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "${packages[@]}"; } 2>/dev/null; then
    echo "skipped: ${packages[*]} cannot be had here"
    exit 0
  fi
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
export_as jsonl | head -n 1 >"$work/first.txt" # A reader that has seen enough is no error.
"$python" scripts/export-check.py "$work"
