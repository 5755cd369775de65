#!/usr/bin/env bash
# Opens the pages of the demonstration and of a site of many series in Chromium, and asks validators about them; see tests/browser.
# Usage: scripts/browser.sh BINARY. With SPRAG_THOROUGH=1, what is the same for many pages is looked at on each of them.
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/.."
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT

"$binary" demo "$pages/demo" --seed 3 >/dev/null
scripts/site-figures.py "$binary" --commits 40 --series 220 --suites 4 --changing 0.03 --pages changed --cold --folder "$pages/many" >/dev/null
npm ci --prefix tests/browser --ignore-scripts --silent
cd tests/browser
# The files of tests at two times: one waits for its browser, the other computes.
SPRAG_SITE="$pages/demo/_site" node --test --test-concurrency=2
many() { SPRAG_SITE="$pages/many/repo/_site" node --test "$@"; }
many viewer.test.mjs # A site whose series have no page, and its pages that differ from those above.
many --test-name-pattern='^(series/(view|index)|compare/)' pages.test.mjs
