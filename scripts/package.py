#!/usr/bin/env python3
"""Packages every crate as a registry would take it: scripts/package.py [OPTION OF cargo package]...

The crates build in files of other folders (`site/`, `templates/`, `schemas/`, ...), which a package of a crate alone
lacks. So the tracked files are copied to `target/packages`, each such file is copied into the crates that name it, and its
path there is rewritten. Then `cargo package` packs that copy and builds each crate from its package; `--no-verify` leaves
the building out. The packages are in `target/packages/target/package`; only that copy may be published.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "target/packages"
# A path that leaves the folder of its file: in `include_str!`, in `#[path]`, and in the `dirs` of askama.toml.
OUTSIDE = re.compile(r'((?:include_(?:str|bytes)!\(|#\[path = |dirs = \[)\s*")(\.\.[^"]*)"')
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copy2(source, target)


def copy_tree():
    """Copies the tracked files; what earlier runs built stays."""
    for old in COPY.iterdir() if COPY.is_dir() else []:
        if old.name != "target":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            copy(ROOT / name, COPY / name)


def bring_in(crate, path):
    """Copies what a file of the crate names elsewhere to `outside/` of the crate; the file then names it there."""
    brought = 0

    def inside(match):
        nonlocal brought
        source = pathlib.Path(os.path.normpath(path.parent / match[2]))
        if source.is_relative_to(crate):
            return match[0]
        # Cargo packs no file whose name begins with a dot.
        target = crate / "outside" / source.relative_to(COPY).as_posix().lstrip(".")
        copy(source, target)
        brought += 1
        return f'{match[1]}{pathlib.Path(os.path.relpath(target, path.parent)).as_posix()}"'

    text = path.read_text(encoding="utf-8")
    path.write_text(OUTSIDE.sub(inside, text), encoding="utf-8")
    return brought


def main():
    copy_tree()
    workspace = COPY / "Cargo.toml"
    workspace.write_text(workspace.read_text().replace("publish = false", "publish = true"))
    for manifest in sorted(COPY.glob("src/*/Cargo.toml")):
        crate = manifest.parent
        files = [*sorted(crate.rglob("*.rs")), *crate.glob("askama.toml")]
        brought = sum(bring_in(crate, path) for path in files)
        for name in LICENSES:
            copy(COPY / name, crate / name)
        print(f"{crate.name}: {brought} paths to files of other folders rewritten", flush=True)
    # In a copy of this repository, so that no build of ours is replaced.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")}
    command = ["cargo", "package", "--locked", "--workspace", "--allow-dirty", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=COPY, env=environment).returncode)


if __name__ == "__main__":
    main()
