#!/usr/bin/env bash
# Compares the CPU kernels with ndarray and torch on this machine, in one run, and prints Markdown tables of ratios.
#
#   scripts/peers.sh [PROCESSES [ROUNDS]]        5 and 12 by default
#
# What the comparison needs beyond this project is not among its dependencies: a small crate is built in a temporary
# folder, and torch is installed from PyPI into a temporary virtual environment (several hundred megabytes). Where that
# cannot be had, the rows of torch say `skipped` and why.
#
#   PEERS_PYTHON=FILE        a Python that has torch already; nothing is installed
#   PEERS_TARGET=FOLDER      where to build; kept, so that a second run need not build all of it again
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/src"
cp "$root/scripts/peers/"*.rs "$work/src/"
cp "$root/Cargo.lock" "$work/Cargo.lock"
cat >"$work/Cargo.toml" <<TOML
[package]
name = "peers"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
sprag-kernels = { path = "$root/src/kernels" }
ndarray = { version = "0.16", default-features = false, features = ["std"] }
rayon = { version = "1.12", default-features = false }
TOML
target=${PEERS_TARGET:-$work/target}
CARGO_TARGET_DIR=$target cargo build --quiet --release --manifest-path "$work/Cargo.toml"

python=${PEERS_PYTHON:-}
reason="none"
if [ -z "$python" ]; then
    if ! python3 -m venv "$work/venv" >"$work/log" 2>&1; then
        reason="no Python that makes virtual environments"
    elif ! "$work/venv/bin/pip" install --quiet torch==2.15.0 >"$work/log" 2>&1; then
        reason="torch could not be installed from PyPI"
    else
        python="$work/venv/bin/python"
    fi
fi
if [ -n "$python" ] && ! "$python" -c "import torch" >"$work/log" 2>&1; then
    reason="$python cannot import torch"
    python=""
fi

"$target/release/peers" "${1:-5}" "${2:-12}" "$reason" ${python:+"$python" "$root/scripts/peers/peers.py"}
