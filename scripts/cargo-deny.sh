#!/usr/bin/env bash
# Checks every crate of Cargo.lock by deny.toml with `cargo deny`, which it installs: scripts/cargo-deny.sh [CHECK...]
#
# Without an argument it checks bans, licences and sources, which needs no network once the crates are there. `advisories` reads
# the database of RustSec from GitHub, as the nightly workflow does. Ends with 5 where the tool cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
tool=$PWD/target/cargo-deny-$version
[ -x "$tool/bin/cargo-deny" ] || cargo install cargo-deny --version $version --locked --debug --quiet --root "$tool" || exit 5
[ $# -gt 0 ] || set -- bans licenses sources
"$tool/bin/cargo-deny" --locked check "$@"
