#!/usr/bin/env bash
# Collects the files of the container image: the program, git, and the libraries of both.
# Usage: packaging/image-root.sh PROGRAM FOLDER
set -euo pipefail
program=$1 root=$2

mkdir -p "$root/usr/bin" "$root/etc" "$root/tmp" "$root/work"
install -m 755 "$program" "$root/usr/bin/sprag"
git_core=$(git --exec-path)
git=$(command -v git)
tar -C / -cf - "${git#/}" "${git_core#/}" | tar -C "$root" -xf -
cp --parents /usr/bin/ssh "$root" 2>/dev/null || echo "no ssh here: the image reaches remotes by HTTPS alone" >&2
if [ -d /etc/ssl/certs ]; then cp -RL --parents /etc/ssl/certs "$root"; fi
# A mounted repository belongs to the user outside.
printf '[safe]\n\tdirectory = *\n' >"$root/etc/gitconfig"
# Scripts among them have no libraries, which is no fault.
libraries() { find "$root/usr/bin" "$root$git" "$root$git_core" -type f -perm -u+x -exec ldd {} + 2>/dev/null || true; }
libraries | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
  cp -L --parents "$library" "$root"
done
