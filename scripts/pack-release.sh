#!/usr/bin/env bash
# Packs a release of one target: the program, its completions, its manual pages and its papers.
# Usage: scripts/pack-release.sh PROGRAM TAG TARGET FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 tag=$2 target=$3 folder=$4

windows=""
[[ $target != *windows* ]] || windows=.exe
[ -f "$program" ] || program=$program.exe
[ "v$("$program" --version | cut -d ' ' -f 2)" = "$tag" ] || { echo "$program is not $tag" >&2; exit 1; }

name=sprag-$tag-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name/completions" "$folder"
cp "$program" "$work/$name/sprag$windows"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/$name/"
"$program" man "$work/$name/man"
for shell in bash zsh fish powershell elvish; do
  "$program" completions "$shell" >"$work/$name/completions/sprag.$shell"
done
tar -C "$work" -czf "$folder/$name.tar.gz" "$name"
