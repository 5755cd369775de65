#!/usr/bin/env bash
# Installs mdbook, which makes the pages of the book: scripts/mdbook.sh FOLDER. Ends with 5 where it cannot be had.
set -euo pipefail
[ -x "$1/bin/mdbook" ] || cargo install mdbook --version 0.5.4 --locked --no-default-features --quiet --root "$1" || exit 5
