#!/usr/bin/env bash
# Packs the program as a Debian package, with its manual pages and completions, and runs the program from it.
# Usage: packaging/deb.sh PROGRAM FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 folder=$2

version=$("$program" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
share=$root/usr/share
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$share/man/man1" "$share/doc/sprag" "$folder" \
  "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
install -m 755 "$program" "$root/usr/bin/sprag"
"$program" man "$share/man/man1" >/dev/null
gzip -9n "$share"/man/man1/*.1
"$program" completions bash >"$share/bash-completion/completions/sprag"
"$program" completions zsh >"$share/zsh/vendor-completions/_sprag"
"$program" completions fish >"$share/fish/vendor_completions.d/sprag.fish"
cat LICENSE-MIT LICENSE-APACHE >"$share/doc/sprag/copyright"
# What the program links to; git is for remotes and hooks.
libraries=$(cd "$root" && mkdir debian && touch debian/control && dpkg-shlibdeps -O usr/bin/sprag 2>/dev/null | sed -n 's/^shlibs:Depends=//p'; rm -rf debian)
cat >"$root/DEBIAN/control" <<CONTROL
Package: sprag
Version: $version
Architecture: $architecture
Maintainer: The Sprag authors <sprag@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: ${libraries:-libc6}
Recommends: git
Section: devel
Priority: optional
Description: run benchmarks, record them in git, find regressions
 Runs the benchmarks of any project, records every result in git, finds what
 got slower and since which commit, and renders a static site.
CONTROL
package=$folder/sprag_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package"
dpkg-deb --extract "$package" "$root/unpacked"
"$root/unpacked/usr/bin/sprag" --version
