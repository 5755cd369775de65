#!/usr/bin/env python3
"""Prints what Sprag is made of: every crate that is linked into it on any system, as CycloneDX 1.6.

The same lock file gives the same bytes: no time is in it, and its serial number comes from its content.
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def metadata():
    """What Cargo knows of the packages and who needs whom."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def checksums():
    """The SHA-256 of each crate by name and version, as the lock file has it."""
    import tomllib

    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {(one["name"], one["version"]): one["checksum"] for one in packages if "checksum" in one}


def program(graph):
    """The id of the package that is the program."""
    return next(one["id"] for one in graph["packages"] if one["name"] == "sprag")


def linked(graph):
    """The ids of the packages that the program needs, itself included; what only tests and builds need is left out."""
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    wanted, found = [program(graph)], set()
    while wanted:
        one = wanted.pop()
        if one in found:
            continue
        found.add(one)
        for dependency in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                wanted.append(dependency["pkg"])
    return found


def component(package, checksum):
    """One crate."""
    name, version = package["name"], package["version"]
    address = f"pkg:cargo/{name}@{version}"
    found = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    if package.get("license"):
        found["licenses"] = [{"expression": " ".join(package["license"].replace("/", " OR ").split())}]
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def numbered(document):
    """The document with a serial number, a version 5 UUID of all that it holds; who attests one takes none without it."""
    content = json.dumps(document, sort_keys=True, ensure_ascii=False)
    number = uuid.uuid5(uuid.NAMESPACE_URL, content).urn
    return {"bomFormat": document["bomFormat"], "serialNumber": number} | document


def bom(graph, sums):
    """The whole document."""
    packages = {one["id"]: one for one in graph["packages"]}
    root, ids = program(graph), linked(graph)
    parts = {one: component(packages[one], sums.get((packages[one]["name"], packages[one]["version"]))) for one in ids}
    needs = {node["id"]: [one for one in node["dependencies"] if one in ids] for node in graph["resolve"]["nodes"]}
    return numbered({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": parts[root] | {"type": "application"}},
        "components": sorted((parts[one] for one in ids if one != root), key=lambda part: part["bom-ref"]),
        "dependencies": sorted(
            ({"ref": parts[one]["bom-ref"], "dependsOn": sorted({parts[need]["bom-ref"] for need in needs[one]})} for one in ids),
            key=lambda entry: entry["ref"],
        ),
    })


if __name__ == "__main__":
    json.dump(bom(metadata(), checksums()), sys.stdout, indent=1, ensure_ascii=False)
    print()
