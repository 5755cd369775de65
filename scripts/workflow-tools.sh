#!/usr/bin/env bash
# Installs what reads workflows, each of a pinned version and digest, and prints the folder of the virtual environment.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/workflow-tools
wanted=$(sha256sum <scripts/workflow-tools.txt)
if [ "$(cat "$tools/of" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-deps --require-hashes \
    --requirement scripts/workflow-tools.txt >&2
  printf '%s\n' "$wanted" >"$tools/of"
fi
printf '%s\n' "$tools"
