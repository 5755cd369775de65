#!/usr/bin/env python3
"""Flips single random bits in the evidence of a release, and counts how many `sprag release verify` finds.

    scripts/bit-flips.py SPRAG [--flips 1000] [--seed 1]

Makes the demo and its evidence in a temporary folder, and flips one bit at a time: as often in the records, the baselines, the
ledger, the checklist and the evidence about them. A flip is found where the program ends with exit code 4 and names that file,
and the byte where it tells one. Ends with 1 where one is not found.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

KINDS = {
    "history": lambda path: path.startswith("history/"),
    "baselines": lambda path: path.startswith("baselines/"),
    "ledger": lambda path: path.startswith("ledger/"),
    "checklist": lambda path: path.startswith("release/"),
    "evidence": lambda path: not path.startswith(("history/", "baselines/", "ledger/", "release/")),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("sprag")
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sprag = str(pathlib.Path(arguments.sprag).resolve())
    generator = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        demo, folder = pathlib.Path(place, "demo"), pathlib.Path(place, "evidence")
        run = lambda *words: subprocess.run([sprag, *words], capture_output=True, text=True, check=False)
        made = run("demo", str(demo), "--seed", "3")
        assert made.returncode == 0, made.stderr
        key = pathlib.Path(place, "key.pem")
        # The example of RFC 8410, section 10.3.
        key.write_text(
            "-----BEGIN PRIVATE KEY-----\n"
            "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
            "-----END PRIVATE KEY-----\n"
        )
        attested = run("-C", str(demo), "release", "attest", "v0.4.0", "--out", str(folder), "--key", str(key))
        assert attested.returncode in (0, 1), attested.stderr
        verify = ("release", "verify", str(folder), "--repository", str(demo))
        whole = run(*verify)
        assert whole.returncode == attested.returncode, whole.stdout + whole.stderr
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        kinds = {kind: [path for path in files if belongs(path)] for kind, belongs in KINDS.items()}
        found = {kind: 0 for kind in kinds}
        tried = {kind: 0 for kind in kinds}
        bytes_told = 0
        for number in range(arguments.flips):
            kind = list(kinds)[number % len(kinds)]
            path = generator.choice(kinds[kind])
            whole_bytes = (folder / path).read_bytes()
            byte, bit = generator.randrange(len(whole_bytes)), generator.randrange(8)
            flipped = bytearray(whole_bytes)
            flipped[byte] ^= 1 << bit
            (folder / path).write_bytes(flipped)
            ended = run(*verify)
            (folder / path).write_bytes(whole_bytes)
            first = ended.stdout.splitlines()[0] if ended.stdout else ""
            exact = first.startswith(f"fails: {path} at byte {byte}: ")
            tried[kind] += 1
            if ended.returncode == 4 and (exact or first.startswith(f"fails: {path}: ")):
                found[kind] += 1
                bytes_told += exact
            else:
                print(f"not found: bit {bit} of byte {byte} of {path}: {ended.returncode} {first} {ended.stderr}")
        for kind in kinds:
            print(f"{kind}: {found[kind]} of {tried[kind]} found, in {len(kinds[kind])} files")
        total = sum(found.values())
        print(f"{total} of {arguments.flips} found, each with its file; with the byte, too: {bytes_told}")
        return 0 if total == arguments.flips else 1


if __name__ == "__main__":
    sys.exit(main())
