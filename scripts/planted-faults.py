#!/usr/bin/env python3
"""Plants the faults of tests/cuda/faults.txt in the CUDA kernels, one at a time, and says which the emulator finds.

    scripts/planted-faults.py [SPRAG] [--quick] [--modes MODE...] [--only TEXT]

SPRAG is the program (default: target/debug/sprag). Each fault is tried in these modes until one finds it: conflicting accesses
in order and with blocks interleaved, then the address sanitizer. `--quick` plants one fault of each class. The program exits
with 1 if a fault is not found, or can no longer be planted since a kernel changed.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "target/kernels-on-cpu"
# What is compiled in, and the order of blocks and threads.
MODES = ["races", "races,interleave:1", "races,interleave:2", "1", "1,random:1"]
FOUND = re.compile(r"sprag emulator: kernel `.*|.*AddressSanitizer: .*|.*runtime error: .*|^mismatch: .*", re.MULTILINE)


def faults():
    for line in (ROOT / "tests/cuda/faults.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            # A bar in an edit has no blanks around it.
            kind, *fields = [field.strip() for field in line.split(" | ")]
            yield kind.lstrip("*"), kind.startswith("*"), *fields


def tried(program, mode, edit, wanted):
    """What the emulator says of the kernels with this edit; nothing if it finds no fault."""
    sanitize, _, order = mode.partition(",")
    libraries = ":".join(str(OUT / part) for part in ("Driver", "Compiler", "Management"))
    asan = subprocess.check_output(["g++", "-print-file-name=libasan.so"], text=True).strip()
    variables = {
        "LD_LIBRARY_PATH": libraries,
        "LD_PRELOAD": asan if sanitize == "1" else "",
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
        "SPRAG_EMULATOR_SANITIZE": sanitize,
        "SPRAG_EMULATOR_BLOCKS": order,
        "SPRAG_EMULATOR_CACHE": str(OUT / "faults"),
        "SPRAG_EMULATOR_EDIT": edit,
    } | dict.fromkeys(["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"], "")
    command = [program, "kernels", "check", "--filter", wanted]
    try:
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, errors="replace", timeout=120
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode == 0:
        return ""
    found = FOUND.search(done.stdout + done.stderr)
    if not found:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}\n{edit}: the kernels do not run with this fault")
    return found[0].strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sprag", nargs="?", default=str(ROOT / "target/debug/sprag"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    subprocess.run([ROOT / "tests/cuda/build.sh", OUT], check=True)

    def plant(fault):
        kind, _, file, wanted, edit, _ = fault
        source = (ROOT / "kernels" / file).read_text()
        if subprocess.run(["sed", "-E", edit], input=source, capture_output=True, text=True, check=True).stdout == source:
            return "", "the edit fits nothing in the kernel"
        modes = sorted(given.modes, key=lambda mode: kind == "bounds" and "races" in mode)
        said = ((mode, tried(given.sprag, mode, edit, wanted)) for mode in modes)
        return next((pair for pair in said if pair[1]), ("", ""))

    chosen = [fault for fault in faults() if (fault[1] or not given.quick) and given.only in "|".join(map(str, fault))]
    n_found, n_all = collections.Counter(), collections.Counter(fault[0] for fault in chosen)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (kind, _, file, _, _, words), (mode, said) in zip(chosen, pool.map(plant, chosen)):
            n_found[kind] += bool(mode)
            print(f"{'found' if mode else 'NOT FOUND'}: {kind}, {file}: {words}\n    {mode}: {said}", flush=True)
    for kind in n_all:
        print(f"{kind}: {n_found[kind]} of {n_all[kind]} found")
    print(f"{n_found.total()} of {n_all.total()} planted faults found")
    return n_found != n_all


if __name__ == "__main__":
    sys.exit(main())
