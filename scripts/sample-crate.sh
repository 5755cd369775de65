#!/usr/bin/env bash
# Measures the Criterion bench of fixtures/criterion-crate with a built sprag, as its user would: in a repository of its
# own, recorded. Checks that every benchmark was recorded with an interval over processes.
#
#     scripts/sample-crate.sh [SPRAG]        SPRAG: the binary (default: target/release/sprag)
#
# Needs git and cargo, and the network where cargo has not fetched Criterion before; without it says `skipped`.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
sprag="$(realpath -- "${1:-$root/target/release/sprag}")"
[ -x "$sprag" ] || { echo "error: there is no binary \`$sprag\`; build one with \`cargo build --release\`" >&2; exit 2; }

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cp -R "$root/fixtures/criterion-crate" "$folder/crate"
cd "$folder/crate"
rm -rf target

if ! told="$(cargo fetch --locked --quiet 2>&1)"; then
  echo "$told" >&2
  grep -q "lock file" <<<"$told" && exit 1
  echo "skipped: the dependencies of the sample crate cannot be fetched"
  exit 0
fi
git init -q -b main
git -c user.name=Sample -c user.email=sample@example.org add -A
git -c user.name=Sample -c user.email=sample@example.org commit -q -m "Begin"

"$sprag" run --record

fail() { echo "error: $*" >&2; exit 1; }
record="$(git ls-tree -r --name-only main -- history/v1)"
[ "$(wc -l <<<"$record")" = 1 ] || fail "one record was expected, not: $record"
text="$(git show "main:$record")"
grep -q '"status":"ok","suite":"checksum"' <<<"$text" || fail "the run was not recorded as ok: $text"
for id in 'checksum/blocks{parameter=1024}' 'checksum/blocks{parameter=65536}'; do
  grep -qF "\"id\":\"checksum/$id @default\"" <<<"$text" || fail "\`$id\` was not recorded"
done
grep -qF '"id":"checksum/checksum_plain @default"' <<<"$text" || fail "\`checksum_plain\` was not recorded"
# A record is canonical JSON, so the keys of a metric always stand in this order.
times="$(grep -oE '\{"better":"lower",[^{}]*"name":"time"[^{}]*\}' <<<"$text")"
[ "$(wc -l <<<"$times")" = 3 ] || fail "three times were expected, not: $times"
[ "$(grep -cE '"interval":\[[^]]+\]' <<<"$times")" = 3 ] || fail "a time has no interval: $times"
[ "$(grep -cE '"workers":\[[^],]+(,[^],]+){4}\]' <<<"$times")" = 3 ] || fail "not five processes each: $times"
[ "$(grep -cE '"p95":[0-9]' <<<"$times")" = 3 ] || fail "150 samples give a 95th percentile: $times"
[ "$(grep -o '"name":"bytes_per_s"' <<<"$text" | wc -l)" = 2 ] || fail "the throughput of two benches is not there"
[ -z "$(git status --porcelain)" ] || fail "the working tree is not clean"
echo "ok: 3 benchmarks recorded, each with its interval over 5 processes"
