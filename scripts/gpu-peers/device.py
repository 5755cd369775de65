"""What device there is, and how it is doing: libcuda and NVML by ctypes, so that nothing needs to be installed.

    device.py [OUT]           writes the facts as JSON (default: standard output); exit code 5 where there is no device

Nothing here sets a clock, a limit or a mode.
"""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

# Attributes of a device, as the driver interface numbers them.
ATTRIBUTES = {
    "sm_count": 16,
    "l2_bytes": 38,
    "clock_khz": 13,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "shared_bytes_per_sm": 81,
    "registers_per_sm": 82,
    "ecc": 32,
}
# Reasons to run slower that spoil a timing: power cap, hardware slowdown, software and hardware heat, power brake.
BAD_REASONS = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
SM_CLOCK, MEMORY_CLOCK, GPU_TEMPERATURE = 1, 2, 0


def library(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def find():
    """The first device by the driver itself: facts, or (None, reason). The reason begins with a code."""
    cuda = library("libcuda.so.1", "libcuda.so")
    if cuda is None:
        return None, "cuda_driver_not_found: no CUDA driver library (libcuda) on this machine"
    try:
        code = cuda.cuInit(0)
        # 100 is the code of no device.
        if code == 100:
            return None, "cuda_no_device: the CUDA driver finds no device"
        if code != 0:
            return None, f"cuda_init_failed: cuInit gives {code}"
        count, version = ctypes.c_int(), ctypes.c_int()
        code = cuda.cuDeviceGetCount(ctypes.byref(count))
        if code != 0 or count.value == 0:
            return None, "cuda_no_device: the CUDA driver finds no device"
    except AttributeError as missing:
        return None, f"cuda_driver_too_old: {missing}"
    facts = {"devices": count.value}
    device = ctypes.c_int()
    if asked(cuda, "cuDeviceGet", ctypes.byref(device), 0):
        name, memory, bus = ctypes.create_string_buffer(128), ctypes.c_size_t(), ctypes.create_string_buffer(32)
        if asked(cuda, "cuDeviceGetName", name, len(name), device):
            facts["name"] = name.value.decode(errors="replace")
        if asked(cuda, "cuDeviceTotalMem_v2", ctypes.byref(memory), device):
            facts["memory_bytes"] = memory.value
        if asked(cuda, "cuDeviceGetPCIBusId", bus, len(bus), device):
            facts["pci_bus_id"] = bus.value.decode(errors="replace")
        major, minor = attribute(cuda, device, 75), attribute(cuda, device, 76)
        if major is not None and minor is not None:
            facts["compute_capability"] = f"{major}.{minor}"
        facts |= {key: attribute(cuda, device, number) for key, number in ATTRIBUTES.items()}
    if asked(cuda, "cuDriverGetVersion", ctypes.byref(version)):
        facts["driver_cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return facts, None


def asked(source, name, *arguments):
    """Calls a function of a library that may lack it; whether it answered with success."""
    try:
        return getattr(source, name)(*arguments) == 0
    except AttributeError:
        return False


def attribute(cuda, device, number):
    value = ctypes.c_int()
    return value.value if asked(cuda, "cuDeviceGetAttribute", ctypes.byref(value), number, device) else None


class Monitor:
    """The state of the first device by NVML; every field is None where NVML is not there or does not say."""

    def __init__(self, bus=None):
        self.nvml = library("libnvidia-ml.so.1", "libnvidia-ml.so")
        self.handle = ctypes.c_void_p()
        ready = self.nvml is not None and asked(self.nvml, "nvmlInit_v2")
        # The numbering of NVML and that of CUDA may differ: the bus tells.
        if ready and bus:
            ready = asked(self.nvml, "nvmlDeviceGetHandleByPciBusId_v2", bus.encode(), ctypes.byref(self.handle))
        elif ready:
            ready = asked(self.nvml, "nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.handle))
        self.ready = ready

    def read(self, name, *arguments, kind=ctypes.c_uint):
        value = kind()
        if self.ready and asked(self.nvml, name, self.handle, *arguments, ctypes.byref(value)):
            return value.value
        return None

    def text(self, name, *, of_device=True):
        buffer = ctypes.create_string_buffer(96)
        arguments = (self.handle,) if of_device else ()
        if self.ready and asked(self.nvml, name, *arguments, buffer, len(buffer)):
            return buffer.value.decode(errors="replace")
        return None

    def state(self):
        power = self.read("nvmlDeviceGetPowerUsage")
        reasons = self.read("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong)
        return {
            "sm_mhz": self.read("nvmlDeviceGetClockInfo", SM_CLOCK),
            "memory_mhz": self.read("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            "temperature_c": self.read("nvmlDeviceGetTemperature", GPU_TEMPERATURE),
            "power_w": None if power is None else power / 1000,
            "throttle_reasons": reasons,
            "throttled": reasons is not None and bool(reasons & BAD_REASONS),
        }

    def facts(self):
        limit = self.read("nvmlDeviceGetEnforcedPowerLimit")
        return {
            "driver": self.text("nvmlSystemGetDriverVersion", of_device=False),
            "nvml": self.text("nvmlSystemGetNVMLVersion", of_device=False),
            "vbios": self.text("nvmlDeviceGetVbiosVersion"),
            "power_limit_w": None if limit is None else limit / 1000,
            "max_sm_mhz": self.read("nvmlDeviceGetMaxClockInfo", SM_CLOCK),
            "max_memory_mhz": self.read("nvmlDeviceGetMaxClockInfo", MEMORY_CLOCK),
        }


def told(*command):
    """What a program says: its output, or why there is none."""
    if shutil.which(command[0]) is None:
        return {"value": None, "reason": f"`{command[0]}` is not installed"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"value": None, "reason": str(error)}
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        return {"value": None, "reason": lines[-1][:200]}
    return {"value": done.stdout.strip(), "reason": None}


def smi(facts):
    """Facts of nvidia-smi about the device that was found, by name; no serial numbers.

    It counts devices in another order than the driver, so the place on the bus says which is meant.
    """
    which = (facts or {}).get("pci_bus_id", "0")
    names = [
        "name",
        "driver_version",
        "vbios_version",
        "compute_cap",
        "memory.total",
        "ecc.mode.current",
        "mig.mode.current",
        "persistence_mode",
        "compute_mode",
        "power.limit",
        "clocks.max.sm",
        "clocks.max.mem",
        "pcie.link.gen.current",
        "pcie.link.width.current",
    ]
    answer = told("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader", f"--id={which}")
    if answer["value"] is None:
        return answer
    values = [value.strip() for value in answer["value"].splitlines()[0].split(",")]
    return {"value": dict(zip(names, values)), "reason": None}


def nvrtc():
    """The version of NVRTC, where one is found by name or in the folders that it usually lies in."""
    folders = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders.append(Path("/usr/local/cuda"))
    beside = [str(path) for folder in folders for path in sorted(folder.glob("lib*/libnvrtc.so*"), reverse=True)]
    wheels = [str(path) for entry in sys.path for path in sorted(Path(entry).glob("nvidia/*/lib/libnvrtc.so*"))]
    found = library(*(f"libnvrtc.so.{major}" for major in (13, 12, 11)), "libnvrtc.so", *beside, *wheels)
    major, minor = ctypes.c_int(), ctypes.c_int()
    if found is None:
        return {"value": None, "reason": "nvrtc_not_found: no libnvrtc on the library path, in CUDA_HOME or in wheels"}
    if not asked(found, "nvrtcVersion", ctypes.byref(major), ctypes.byref(minor)):
        return {"value": None, "reason": "nvrtc does not tell its version"}
    return {"value": f"{major.value}.{minor.value}", "reason": None}


def module(python, name):
    return told(python, "-c", f"import {name}; print({name}.__version__)")


def main():
    facts, reason = find()
    python = os.environ.get("GPU_PYTHON") or sys.executable
    document = {
        "schema_version": 1,
        "status": "skipped" if facts is None else "ok",
        "reason": reason,
        "device": facts,
        "nvml": Monitor((facts or {}).get("pci_bus_id")).facts(),
        "nvidia_smi": smi(facts),
        "nvcc": told("nvcc", "--version"),
        "nvrtc": nvrtc(),
        "python": {"value": platform.python_version(), "reason": None},
        "torch": module(python, "torch"),
        "triton": module(python, "triton"),
        "system": {"release": platform.release(), "processors": os.cpu_count()},
    }
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        sys.stdout.write(text)
    if facts is None:
        print(f"skipped: {reason}", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
