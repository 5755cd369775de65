#!/usr/bin/env bash
# Compiles every crate for the other systems of a release: ARM Linux, macOS on both processors, and Windows, whose program is
# linked, too. C parts are compiled by Zig, which carries the headers of each system. A warning is an error.
#
#     scripts/cross-check.sh [TARGET...]
#
# Says `skipped` and ends with 0 where Zig or the standard library of a target cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

zig=$PWD/target/zig
if [ ! -x "$zig/bin/python" ] || ! "$zig/bin/python" -m ziglang version >/dev/null 2>&1; then
  { python3 -m venv "$zig" && "$zig/bin/pip" install --quiet --require-hashes -r scripts/zig.txt; } ||
    { echo "skipped: the wheel ziglang cannot be had here"; exit 0; }
fi

# The compilers that Cargo's build scripts call. What names a target for clang is left to Zig's own names.
for one in aarch64-linux-gnu aarch64-macos x86_64-macos x86_64-windows-gnu; do
  cat >"$zig/bin/cc-$one" <<SCRIPT
#!/usr/bin/env bash
words=()
for word in "\$@"; do
  case \$word in --target=* | -arch | arm64 | x86_64 | -mmacosx-version-min=* | -isysroot) ;; *) words+=("\$word") ;; esac
done
exec "$zig/bin/python" -m ziglang cc -target $one "\${words[@]}"
SCRIPT
done
printf '#!/usr/bin/env bash\nexec "%s" -m ziglang ar "$@"\n' "$zig/bin/python" >"$zig/bin/ar"
chmod +x "$zig"/bin/cc-* "$zig/bin/ar"
export AR="$zig/bin/ar" RUSTFLAGS="-D warnings" CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/cross}

check() { # check TARGET ZIG-TARGET
  local name=${1//-/_}
  export "CC_$name=$zig/bin/cc-$2" "CARGO_TARGET_${name^^}_LINKER=$zig/bin/cc-$2"
  if ! rustup target add "$1" >/dev/null 2>&1; then
    echo "skipped: the standard library of $1 cannot be had here"
    return
  fi
  cargo check --locked --workspace --target "$1"
  echo "$1: every crate compiles"
}

[ $# -gt 0 ] || set -- aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu
for target in "$@"; do
  case $target in
    aarch64-unknown-linux-gnu) check "$target" aarch64-linux-gnu ;;
    aarch64-apple-darwin) check "$target" aarch64-macos ;;
    x86_64-apple-darwin) check "$target" x86_64-macos ;;
    x86_64-pc-windows-gnu) check "$target" x86_64-windows-gnu ;;
    *) echo "no compiler is known for \`$target\`" >&2; exit 2 ;;
  esac
done
