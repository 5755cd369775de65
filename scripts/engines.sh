#!/usr/bin/env bash
# Detects the changes of generated histories in DuckDB, DataFusion, Spark, Dask and Ray, and compares what the parts join to with
# what one machine finds, byte for byte; see scripts/engines.py. Installs them from an index under target/. Usage:
# scripts/engines.sh BINARY [RUNSxSERIES...]. Says `skipped` where the packages cannot be had, of Spark where there is no Java.
set -euo pipefail
binary=$(realpath "$1")
shift
cd "$(dirname "$0")/.."

venv=$PWD/target/engines-venv
wanted=$(sha256sum <scripts/engines.txt)
if [ "$(cat "$venv/of" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  pip=("$venv/bin/pip" --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement)
  # Spark comes as a source package, which is built with what was installed before it.
  log=$({ python3 -m venv "$venv" && grep -v '^pyspark' scripts/engines.txt >"$venv/first.txt" &&
    "${pip[@]}" "$venv/first.txt" --only-binary :all: &&
    "${pip[@]}" scripts/engines.txt --no-build-isolation; } 2>&1) || {
    if [[ $log = *"DO NOT MATCH THE HASHES"* ]]; then printf '%s\n' "$log" >&2; exit 1; fi
    echo "skipped: the packages of scripts/engines.txt cannot be had here"
    exit 0
  }
  printf '%s\n' "$wanted" >"$venv/of"
fi
PYTHONWARNINGS=ignore exec "$venv/bin/python" scripts/engines.py "$binary" "$@"
