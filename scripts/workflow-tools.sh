#!/usr/bin/env bash
# Installs what reads workflows, each of a pinned version and digest, and prints the folder of the virtual environment.
# Ends with 5 where they cannot be had, as without a network; what is not of its digest is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/workflow-tools
wanted=$(sha256sum <scripts/workflow-tools.txt)
if [ "$(cat "$tools/of" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-deps --require-hashes \
    --requirement scripts/workflow-tools.txt >&2 2>"$tools/log" || {
    cat "$tools/log" >&2
    if grep -q 'DO NOT MATCH THE HASHES' "$tools/log"; then exit 1; else exit 5; fi
  }
  printf '%s\n' "$wanted" >"$tools/of"
fi
printf '%s\n' "$tools"
