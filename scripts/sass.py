#!/usr/bin/env python3
"""What the machine code of the CUDA kernels does, without a device: compiled by NVRTC, read by nvdisasm.

    scripts/sass.py [SPRAG] [--arch N...] [--type TYPE] [--only KERNEL]

SPRAG (default: target/debug/sprag) lists the variants with their registers and spills. Both tools come from the wheels of
scripts/nvrtc.txt, in the environment VIRTUAL_ENV. A row is a kernel on an architecture, over its variants: registers, bytes of
spills, loads and stores of global memory with those of 16 bytes or more, accesses of local memory, and the share of a
multiprocessor's warps that its registers, static shared memory and threads leave room for. The program exits with 1 if a
kernel spills or uses local memory, if one that is to access 16 bytes at once does not (except stores of fusion_gate, see
NARROW), or if a word that blocks pass on is accessed in parts.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = ["f32", "f16", "bf16", "e4m3"]
# Bytes of shared memory of a multiprocessor by architecture, of which a block takes another 1024. All three have 64 warps, 32
# blocks and 65536 registers, given to a warp in pieces of 256 (CUDA C++ Programming Guide, "Technical Specifications").
SHARED = {80: 164 << 10, 90: 228 << 10, 100: 228 << 10}
WARPS, BLOCKS, REGISTERS, PIECE = 64, 32, 65536, 256
# Threads of a block where no macro says it.
THREADS = {"ff_modulation": 512}
ACCESS = re.compile(r"\b(LDG|STG|LDL|STL)\b(\S*)")
# Words that blocks pass on hold a value and its flag, so they must be read and written at once.
PASSED_ON = {"scan_long": ".64"}
# NVRTC 13.0 and 13.5 take its stores apart for sm_80 and sm_90. Whole ones were 4 % slower on an H100 at the fixed profile, and
# equal at the large one.
NARROW = {"fusion_gate"}


def found(name):
    files = sorted(pathlib.Path(os.environ.get("VIRTUAL_ENV", "/nowhere")).glob(f"lib/python3*/site-packages/nvidia/**/{name}"))
    if not files:
        print(f"skipped: VIRTUAL_ENV has no {name}; install scripts/nvrtc.txt there")
        sys.exit(5)
    return str(files[0])


def occupancy(arch, kernel):
    threads = kernel["defines"].get("BLOCK", THREADS.get(kernel["entry"], 256))
    warps = -(-threads // 32)
    of_warp = -(-kernel["registers"] * 32 // PIECE) * PIECE
    by_registers = REGISTERS // 4 // of_warp * 4 // warps
    by_shared = SHARED[arch] // (kernel["shared_bytes"] + 1024)
    return min(by_registers, by_shared, BLOCKS, WARPS // warps) * warps / WARPS


def image(nvrtc, source, options):
    """The machine code of a source."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(options), words) or nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)):
        sys.exit(f"NVRTC does not compile with {options}")
    code = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


def accesses(nvdisasm, code):
    """How often each kernel of an image accesses memory: global and local, in all and with 16 bytes or more."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        text = subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True, check=True).stdout
    counts = {}
    for part in text.split("\n.section\t.text.")[1:] or text.split(".text.")[1:]:
        counts[re.match(r"\w+", part)[0]] = found = collections.Counter()
        for name, how in ACCESS.findall(part):
            found[name] += 1
            found[name, "wide"] += ".128" in how or ".256" in how
            found["torn"] += ".STRONG" in how and PASSED_ON.get(re.match(r"\w+", part)[0], "") not in how
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sprag", nargs="?", default=str(ROOT / "target/debug/sprag"))
    parser.add_argument("--arch", nargs="+", type=int, choices=sorted(SHARED), default=sorted(SHARED))
    parser.add_argument("--type", choices=TYPES)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    nvdisasm, nvrtc = found("nvdisasm"), ctypes.CDLL(found("libnvrtc.so.1?"))
    head = (ROOT / "kernels/element.cuh").read_text()
    command = [given.sprag, "kernels", "compile", "--json", "--arch", ",".join(map(str, given.arch))]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["kernels"]
    units = collections.defaultdict(list)
    for kernel in listed:
        if given.only in kernel["entry"] and given.type in (None, kernel["dtype"]):
            units[kernel["file"], kernel["dtype"], kernel["arch"], *sorted(kernel["defines"].items())].append(kernel)

    def read(unit):
        file, dtype, arch, *defines = unit
        options = [f"--gpu-architecture={arch}", "--std=c++17", f"-DELEMENT={TYPES.index(dtype)}"]
        options += [f"-D{name}={value}" for name, value in defines]
        return accesses(nvdisasm, image(nvrtc, head + (ROOT / "kernels" / file).read_text(), options))

    rows, faults = collections.defaultdict(list), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (unit, kernels), counts in zip(units.items(), pool.map(read, units)):
            for kernel in kernels:
                count = counts[kernel["entry"]]
                rows[kernel["arch"], kernel["entry"]].append((kernel, count))
                is_narrow = kernel["defines"].get("VECTOR") == 16 and kernel["entry"] + ".cu" == kernel["file"]
                is_narrow = is_narrow and not (count["LDG", "wide"] and (count["STG", "wide"] or kernel["entry"] in NARROW))
                if kernel["spill_bytes"] or count["LDL"] + count["STL"] + count["torn"] or is_narrow:
                    faults += 1
                    print(f"fault: {kernel['entry']} {unit}: {dict(count)}, {kernel['spill_bytes']} bytes spilled")
    print(f"{'kernel':22} {'for':7}{'variants':>9}{'registers':>11}{'spills':>7}{'loads (16 B)':>14}{'stores (16 B)':>14}{'local':>6}"
          f"{'occupancy':>12}")
    for (arch, entry), of in sorted(rows.items(), key=lambda row: (row[0][1], int(row[0][0][3:]))):
        total = sum((count for _, count in of), collections.Counter())
        registers = [kernel["registers"] for kernel, _ in of]
        share = [occupancy(int(arch[3:]), kernel) for kernel, _ in of]
        print(f"{entry:22} {arch:7}{len(of):9}{min(registers):7}-{max(registers):<3}{sum(k['spill_bytes'] for k, _ in of):7}"
              f"{total['LDG']:7} ({total['LDG', 'wide']:4}){total['STG']:7} ({total['STG', 'wide']:4})"
              f"{total['LDL'] + total['STL']:6}{min(share):7.0%}-{max(share):<4.0%}")
    print(f"{sum(map(len, rows.values()))} kernels, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
