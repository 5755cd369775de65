"""Tests of the table and of what it is made of, with made-up documents."""

import json
import tempfile
import unittest
from pathlib import Path

import shapes
import summary

LARGE = {"b": "32", "c": "256", "h": "256", "w": "256", "t": "8", "k": "512"}
FIXED = {"b": "1", "c": "128", "h": "128", "w": "128", "t": "8", "k": "32"}
SCAN = {"b": "8", "c": "1024", "steps": "16384", "way": "forward", "initial": "zero"}
DEVICE = {"status": "ok", "reason": None, "device": {"name": "Device", "compute_capability": "9.0"}}
STEPS = [
    ("device", "ok", 0, 1, ""),
    ("compile", "ok", 0, 9, ""),
    ("parity", "ok", 0, 9, ""),
    ("run", "ok", 0, 60, ""),
    ("peers", "ok", 0, 90, ""),
]


def benchmark(name, parameters, time, variant="cuda", track="hot", dtype="f16", parity="exact", **metrics):
    values = {"time": time} | metrics
    return {
        "name": name,
        "params": parameters | {"dtype": dtype, "track": track},
        "variant": variant,
        "metrics": [{"name": key, "value": value} for key, value in values.items()],
        "parity": {"status": parity, "max_abs_error": 0.0, "tolerance": 0.0},
        "failure": None,
        "attributes": {},
    }


def record(*benchmarks):
    return {"status": "ok", "suite": "gpu", "benchmarks": list(benchmarks)}


def check_of(operation, status="exact", dtype="f16", form="tuned", error=0.0):
    return {
        "operation": operation,
        "shape": "uneven",
        "dtype": dtype,
        "form": form,
        "configuration": "block256",
        "status": status,
        "max_abs_error": error,
        "tolerance": 0.004,
        "reason": None,
    }


def peers(operation, profile, times, dtype="f16", **group):
    forms = [
        {"peer": peer, "form": form, "status": status, "reason": "why", "time": {"median_s": seconds}}
        for peer, form, status, seconds in times
    ]
    return {
        "status": "ok",
        "groups": [
            {"operation": operation, "profile": profile, "dtype": dtype, "forms": forms, "reason": None} | group
        ],
    }


def judged(steps=STEPS, **documents):
    """The summary of a folder with these documents; None stands for one that is not there."""
    whole = {
        "device": DEVICE,
        "run": record(),
        "parity": {"checks": [check_of("tile_pack")], "status": "ok"},
        "compile": {"kernels": []},
        "peers": {"status": "ok", "groups": []},
    } | documents
    with tempfile.TemporaryDirectory() as folder:
        for name, document in whole.items():
            if document is not None:
                text = document if isinstance(document, str) else json.dumps(document)
                (Path(folder) / f"{name}.json").write_text(text)
        (Path(folder) / "logs").mkdir()
        lines = ["\t".join(str(part) for part in step) for step in steps]
        (Path(folder) / "logs/steps.tsv").write_text("\n".join(lines) + "\n")
        return summary.judge(folder)


class Rows(unittest.TestCase):
    def test_a_row_tells_time_floor_share_peers_and_targets(self):
        found = judged(
            run=record(
                benchmark("tile_pack", LARGE, 1e-3, limit_share=0.93),
                benchmark("calibration_device_launch", {}, 5e-4, variant="calibration"),
                benchmark("tile_pack", LARGE, 2e-3, variant="reference"),
                benchmark("tile_pack", LARGE, 3e-3, track="cold"),
            ),
            peers=peers(
                "tile_pack",
                "large",
                [
                    ("torch", "index", "ok", 5e-3),
                    ("torch.compile", "index", "ok", 2e-3),
                    ("torch", "wrong", "mismatch", 1e-4),
                    ("triton", "lines", "ok", 1.5e-3),
                ],
            ),
        )
        self.assertEqual(len(found["rows"]), 1)
        row = found["rows"][0]
        self.assertEqual((row["profile"], row["over_floor"], row["share_of_copy"]), ("large", 2.0, 0.93))
        self.assertEqual((row["over_torch"], row["torch_form"], row["over_triton"]), (2.0, "torch.compile: index", 1.5))
        self.assertEqual((row["met"], found["status"], found["targets"]["met"]), (True, "ok", 1))
        self.assertIn(
            "| tile_pack | f16 | large | 1 ms | 2.00x | 0.93 | 2.00x | 1.50x | exact | >= 0.9, peers > 1 | yes |",
            summary.text_of(found),
        )

    def test_each_missed_target_is_named(self):
        def check(share, torch, triton, expected, text):
            found = judged(
                run=record(benchmark("tile_ssm_scan", SCAN, 1e-3, limit_share=share)),
                peers=peers("tile_ssm_scan", "large", [("torch", "a", "ok", torch), ("triton", "b", "ok", triton)]),
            )
            row = found["rows"][0]
            self.assertEqual((row["met"], summary.met_text(row), found["status"]), (expected, text, "ok"))

        check(0.8, 2e-3, 2e-3, True, "yes")
        check(0.79, 2e-3, 2e-3, False, "no: of device copy")
        check(0.9, 1e-3, 2e-3, False, "no: over torch")
        check(0.7, 2e-3, 0.5e-3, False, "no: of device copy, over Triton")
        check(0.9, 2e-3, None, None, "open: no figure over Triton")
        check(0.7, None, None, False, "no: of device copy")

    def test_the_copies_of_the_record_stand_in_for_a_share(self):
        moved = shapes.bytes_of("tile_unpack", shapes.MAPS["large"], "f16")
        copy = benchmark("calibration_device_copy", {"bytes": str(moved // 2)}, 1e-3, variant="calibration")
        small = benchmark("calibration_device_copy", {"bytes": "1024"}, 1e-6, variant="calibration")
        floor = benchmark("calibration_device_launch", {}, 2e-6, variant="calibration")
        row = judged(run=record(benchmark("tile_unpack", LARGE, 1.25e-3), copy, small, floor))["rows"][0]
        self.assertAlmostEqual(row["share_of_copy"], 0.8)
        self.assertAlmostEqual(row["over_floor"], 625)

    def test_peers_stand_beside_equal_work_alone(self):
        def check(parameters, expected):
            found = judged(
                run=record(benchmark("tile_ssm_scan", parameters, 1e-3)),
                peers=peers("tile_ssm_scan", "large", [("torch", "a", "ok", 2e-3)]),
            )
            self.assertEqual(found["rows"][0]["over_torch"], expected)

        check(SCAN, 2.0)
        check({"b": "8", "c": "1024", "steps": "16384"}, 2.0)
        check(SCAN | {"way": "backward"}, None)
        check(SCAN | {"steps": "16383"}, None)
        check(SCAN | {"b": "1", "c": "128", "steps": "256"}, None)

    def test_fixed_sizes_and_unknown_kernels_have_no_targets(self):
        found = judged(
            run=record(
                benchmark("tile_pack", FIXED, 2e-6),
                benchmark("calibration_device_launch", {}, 1e-6, variant="calibration"),
                benchmark("ff_path", {"b": "1", "kmax": "32"}, 1e-4),
            )
        )
        self.assertEqual([row["targets"] for row in found["rows"]], [[], []])
        self.assertEqual(found["rows"][0]["over_floor"], 2.0)
        self.assertIn("| ff_path | f16 | b=1,kmax=32 | 100 us |", summary.text_of(found))

    def test_what_makes_figures_doubtful_is_noted(self):
        copy = benchmark("calibration_device_copy", {"bytes": "1000000000"}, 1e-3, variant="calibration")
        found = judged(
            run=record(benchmark("tile_pack", LARGE, 1e-3), copy),
            peers=peers(
                "tile_pack",
                "large",
                [("triton", "a", "failed", None), ("triton", "b", "failed", None)],
                bytes=2000000000,
                copy={"bytes_per_s": 3e12},
                device={"throttled": True},
            ),
        )
        notes = "\n".join(found["notes"])
        self.assertIn("slowed down while the peers ran", notes)
        self.assertIn("2.00 TB/s and that of the peers 3.00 TB/s", notes)
        self.assertIn("peer: tile_pack large f16 triton a and 1 more: failed: why", notes)
        self.assertEqual(found["status"], "ok")


class Outcome(unittest.TestCase):
    def test_a_parity_fault_fails_whatever_the_speed(self):
        run = record(benchmark("tile_pack", LARGE, 1e-3, limit_share=0.99))
        parity = {"status": "failed", "checks": [check_of("tile_pack"), check_of("tile_pack", "mismatch", error=3.0)]}
        found = judged(run=run, parity=parity)
        self.assertEqual((found["status"], found["parity"]["status"]), ("failed", "failed"))
        self.assertEqual(
            (found["rows"][0]["parity"]["status"], found["rows"][0]["parity"]["max_abs_error"]), ("mismatch", 3.0)
        )
        self.assertIn("parity: tile_pack uneven f16 tuned block256: mismatch", found["reason"])

    def test_a_reference_form_that_is_wrong_fails_too_and_so_does_a_run(self):
        parity = {"status": "failed", "checks": [check_of("scan", "failed", form="reference")]}
        self.assertEqual(judged(parity=parity)["status"], "failed")
        found = judged(run=record(benchmark("tile_pack", LARGE, 1e-3, parity="mismatch")), parity={"checks": []})
        self.assertEqual(
            (found["status"], found["reason"]), ("failed", "parity: tile_pack f16 large: mismatch in the run")
        )
        self.assertEqual(judged(parity={"status": "failed", "checks": [], "reason": "no"})["reason"], "parity: no")

    def test_another_word_for_the_scan_is_the_same(self):
        run = record(benchmark("scan", SCAN, 1e-3))
        found = judged(run=run, parity={"checks": [check_of("tile_ssm_scan", "within", error=1e-3)], "status": "ok"})
        self.assertEqual(found["rows"][0]["parity"]["max_abs_error"], 1e-3)

    def test_without_a_device_all_is_skipped(self):
        found = judged(
            device={"status": "skipped", "reason": "cuda_no_device: none", "device": None}, run=None, parity=None
        )
        self.assertEqual((found["status"], found["reason"]), ("skipped", "cuda_no_device: none"))
        self.assertEqual(summary.text_of(found), "skipped: cuda_no_device: none\n")

    def test_a_device_that_the_program_cannot_use_is_as_good_as_none(self):
        found = judged(
            run={"status": "skipped", "reason": "nvrtc_not_found: none", "benchmarks": []},
            parity=None,
            steps=STEPS[:2] + [("parity", "skipped", 5, 1, "nvrtc_not_found")] + STEPS[3:],
        )
        self.assertEqual((found["status"], found["reason"]), ("skipped", "nvrtc_not_found: none"))
        self.assertIn("No kernel was timed.", summary.text_of(found))

    def test_missing_and_damaged_documents_are_told(self):
        for name in ("device", "run", "parity", "compile", "peers"):
            with self.subTest(name):
                steps = [step for step in STEPS if step[0] != name]
                self.assertIn(f"there is no {name}.json", judged(steps=steps, **{name: None})["reason"])
        self.assertEqual(judged(run="{", steps=[])["status"], "failed")
        self.assertEqual(judged(run="[]", steps=[])["status"], "failed")

    def test_torch_may_be_absent(self):
        found = judged(
            run=record(benchmark("tile_pack", LARGE, 1e-3, limit_share=0.95)),
            peers={"status": "skipped", "reason": "No module named 'torch'", "groups": []},
            steps=STEPS[:4] + [("peers", "skipped", 5, 1, "no torch")],
        )
        self.assertEqual((found["status"], found["rows"][0]["met"]), ("ok", None))
        self.assertEqual(summary.met_text(found["rows"][0]), "open: no figure over torch, over Triton")
        self.assertIn("- peers: skipped in 1 s: no torch", summary.text_of(found))

    def test_a_broken_step_fails(self):
        found = judged(steps=STEPS[:3] + [("run", "failed", 101, 5, "exit code 101: it broke")] + STEPS[4:])
        self.assertEqual((found["status"], found["reason"]), ("failed", "run: exit code 101: it broke"))


class Text(unittest.TestCase):
    def test_seconds_take_a_fitting_unit(self):
        for seconds, text in (
            (None, "-"),
            (2.5, "2.5 s"),
            (0.00123, "1.23 ms"),
            (3.4567e-6, "3.46 us"),
            (2e-7, "0.2 us"),
        ):
            self.assertEqual(summary.seconds_text(seconds), text)

    def test_bytes_are_those_of_the_operation(self):
        fixed, scan = shapes.MAPS["fixed"], shapes.SCANS["fixed"]
        for operation, shape, dtype, count in (
            ("tile_pack", fixed, "f32", 2 * 1048576),
            ("tile_unpack", fixed, "f16", 2 * 4194304),
            ("fusion_gate", fixed, "f32", 3 * (8388608 + 65536)),
            ("tile_ssm_scan", scan, "bf16", 2 * 65536),
        ):
            self.assertEqual(shapes.bytes_of(operation, shape, dtype), count, operation)

    def test_a_profile_is_known_by_its_sizes(self):
        for operation, parameters, profile in (
            ("tile_pack", LARGE, "large"),
            ("tile_pack", FIXED, "fixed"),
            ("tile_pack", FIXED | {"t": "16"}, None),
            ("fusion_gate", {"b": "1", "c": "128", "h": "128", "w": "128"}, "fixed"),
            ("scan", SCAN, "large"),
            ("ff_path", FIXED, None),
            ("tile_pack", {"b": "1"}, None),
        ):
            self.assertEqual(shapes.profile_of(operation, parameters), profile, (operation, parameters))


if __name__ == "__main__":
    unittest.main()
