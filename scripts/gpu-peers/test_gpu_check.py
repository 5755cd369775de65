"""Tests of scripts/gpu-check.sh with a made-up program and a driver library of a few lines. Without a C compiler what
needs a device is skipped."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "gpu-check.sh"

COREUTILS = ("date", "dirname", "ls", "mkdir", "mv", "realpath", "rm", "tail", "timeout", "tr")

DRIVER = """
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
int cuDeviceGet(int *device, int place) { *device = place; return 0; }
int cuDeviceGetName(char *name, int length, int device) { __builtin_strcpy(name, "Made-up device"); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
"""

PROGRAM = """#!/bin/bash
case "$1 $2" in
  "--version ") echo "sprag 0.0.0" ;;
  "kernels compile") echo '{"schema_version": 1, "kernels": []}' ;;
  "kernels check")
    echo '{"schema_version": 1, "status": "STATUS", "checks": [{"operation": "tile_pack", "dtype": "f16",
          "form": "tuned", "status": "WORD", "max_abs_error": 0.0, "tolerance": 0.0}]}'
    CHECK ;;
  "run --suite")
    while [ $# -gt 0 ]; do
      [ "$1" != --output-run ] || echo '{"status": "ok", "benchmarks": []}' >"$2"
      [ "$1" != --output-json ] || echo '{}' >"$2"
      shift
    done
    RUN ;;
  *) exit 2 ;;
esac
"""


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def program(self, word="exact", check="exit 0", run="exit 0"):
        text = PROGRAM.replace("STATUS", "ok" if word == "exact" else "failed").replace("WORD", word)
        path = self.path / "sprag"
        path.write_text(text.replace("CHECK", check).replace("RUN", run))
        path.chmod(0o755)
        return path

    def driver(self, devices=1):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        (self.path / "driver.c").write_text(DRIVER)
        subprocess.run(
            [
                compiler,
                "-shared",
                "-fPIC",
                f"-DDEVICES={devices}",
                "-o",
                self.path / "libcuda.so.1",
                self.path / "driver.c",
            ],
            check=True,
        )

    def tools(self):
        """Bash, coreutils and Python are all there is: no cargo, no profiler."""
        tools = self.path / "bin"
        if not tools.exists():
            tools.mkdir()
            (tools / "python3").symlink_to(sys.executable)
            for name in ("bash", *COREUTILS):
                (tools / name).symlink_to(shutil.which(name))
        return tools

    def check(self, *arguments):
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.path), "PATH": str(self.tools())}
        command = ["bash", SCRIPT, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def summary(self):
        return json.loads((self.path / "out/summary.json").read_text())

    def test_without_a_device_it_is_skipped(self):
        self.driver(devices=0)
        code, stdout, _ = self.check(str(self.path / "out"), "--sprag", str(self.program()))
        self.assertEqual((code, stdout), (5, "skipped: cuda_no_device: the CUDA driver finds no device\n"))
        self.assertEqual(json.loads((self.path / "out/device.json").read_text())["status"], "skipped")

    def test_all_documents_are_written_and_parity_holds(self):
        self.driver()
        code, stdout, stderr = self.check(str(self.path / "out"), "--sprag", str(self.program()), "--quick")
        found = self.summary()
        self.assertEqual((code, found["status"], found["parity"]["status"]), (0, "ok", "ok"), stdout + stderr)
        self.assertEqual((found["device"]["name"], found["device"]["compute_capability"]), ("Made-up device", "9.0"))
        for name in ("device", "compile", "parity", "run", "seed", "peers", "summary", "profile/reason"):
            json.loads((self.path / f"out/{name}.json").read_text())
        steps = {step["name"]: step["status"] for step in found["steps"]}
        self.assertEqual(
            steps,
            {
                "device": "ok",
                "sprag": "ok",
                "compile": "ok",
                "parity": "ok",
                "run": "ok",
                "peers": "skipped",
                "profile": "skipped",
            },
        )

    def test_what_breaks_is_told_and_the_rest_is_done(self):
        self.driver()
        for program, reason in (
            (dict(word="mismatch", check="exit 1"), "parity: tile_pack f16 tuned: mismatch"),
            (
                dict(run="echo 'error: it broke' >&2; echo 'hint: none' >&2; exit 101"),
                "run: exit code 101: error: it broke",
            ),
        ):
            with self.subTest(reason):
                shutil.rmtree(self.path / "out", ignore_errors=True)
                code, _, stderr = self.check(str(self.path / "out"), "--sprag", str(self.program(**program)))
                self.assertEqual(code, 1, stderr)
                self.assertIn(reason, self.summary()["reason"])
                self.assertTrue((self.path / "out/peers.json").exists())

    def test_a_profile_is_taken_where_there_is_a_profiler(self):
        self.driver()
        tools = self.tools()
        (tools / "nsys").write_text(
            '#!/bin/bash\nfor word; do case $word in */profile/*) echo "$1" >"${word%.nsys-rep}.$1" ;; esac; done\n'
        )
        (tools / "nsys").chmod(0o755)
        self.check(str(self.path / "out"), "--sprag", str(self.program()))
        steps = {step["name"]: step["status"] for step in self.summary()["steps"]}
        self.assertEqual((steps["profile"], steps["profile tables"]), ("ok", "ok"))
        names = sorted(path.name for path in (self.path / "out/profile").iterdir())
        self.assertEqual(names, ["kernels.stats", "run.profile", "run.stats"])

    def test_wrong_use_is_refused_before_anything_runs(self):
        (self.path / "full").mkdir()
        (self.path / "full/file").write_text("")
        for arguments, word in (
            (["--what"], "unknown option"),
            (["a", "b"], "two folders"),
            (["--sprag"], "needs a file"),
            (["--sprag", "/none"], "there is no program"),
            ([str(self.path / "full")], "is not empty"),
        ):
            code, _, stderr = self.check(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(word, stderr)
        self.assertIn("Exit code 0 where every step", self.check("--help")[1])


if __name__ == "__main__":
    unittest.main()
