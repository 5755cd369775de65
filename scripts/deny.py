#!/usr/bin/env python3
"""Checks every crate of `Cargo.lock` by `deny.toml`: its licence, where it comes from, its checksum, and that it is not banned.

`cargo deny check` does the same and reads the database of advisories, too; this needs neither that tool nor a network.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def is_allowed(expression, allowed):
    """Whether an expression of SPDX can be met by allowed licences alone."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def either():
        met = both()
        while words and words[0] == "OR":
            words.pop(0)
            met = both() or met
        return met

    def both():
        met = one()
        while words and words[0] == "AND":
            words.pop(0)
            met = one() and met
        return met

    def one():
        word = words.pop(0)
        if word == "(":
            met = either()
            words.pop(0)
            return met
        if words and words[0] == "WITH":
            word = " ".join([word, words.pop(0), words.pop(0)])
        return word in allowed

    return either()


def faults(packages, rules, checksums):
    """A line for each crate that the rules do not allow."""
    banned = {one["crate"]: one["reason"] for one in rules["bans"]["deny"]}
    registries = {f"registry+{address}" for address in rules["sources"]["allow-registry"]}
    for one in packages:
        name = f"{one['name']} {one['version']}"
        if one["source"] is None:
            continue
        if one["source"] not in registries:
            yield f"{name}: comes from {one['source']}"
        if (one["name"], one["version"]) not in checksums:
            yield f"{name}: has no checksum in Cargo.lock"
        if one["name"] in banned:
            yield f"{name}: is banned: {banned[one['name']]}"
        if not one["license"] or not is_allowed(one["license"], set(rules["licenses"]["allow"])):
            yield f"{name}: has the licence `{one['license']}`, which deny.toml does not allow"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]) for one in lock if "checksum" in one}
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    # Each rule can fail.
    wrong = {"name": "bincode", "version": "0", "source": "git+https://example.org", "license": "MIT AND GPL-3.0"}
    assert len(list(faults([wrong], rules, checksums))) == 4
    found = list(faults(packages, rules, checksums))
    print("\n".join([*found, f"{len(packages)} crates, {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
