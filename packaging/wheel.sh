#!/usr/bin/env bash
# Builds a Python wheel that carries the program, and runs the program from it.
# Usage: packaging/wheel.sh FOLDER [OPTION OF maturin build]...
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift

tools=$PWD/target/maturin
install() { python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$@"; }
install "$tools" --only-binary :all: --require-hashes --requirement packaging/maturin.txt
"$tools/bin/maturin" build --locked --out "$folder" "$@"
install target/wheel --no-index "$folder"/sprag-*.whl
target/wheel/bin/sprag --version
