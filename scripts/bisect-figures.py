#!/usr/bin/env python3
"""Bisects real repositories with a planted regression: bisect-figures.py SPRAG [RUNS]

Two repositories of 64 commits, a C program and a Rust crate without dependencies, each with 5 % more work from one commit on;
all other commits change code that is not timed. Each run has another culprit. Prints how often it was named, and the time.
"""

import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

COMMITS = 64
ROUNDS = (200_000, 210_000)
SUITE = '[suites.own]\nkind = "command"\nformat = "custom"\nbuild = {build}\ncommand = ["{program}"]\n'
REPORT = '{"schema_version": 1, "benchmarks": [{"name": "mix", "metrics": [{"name": "time", "unit": "s", "better": "lower", "value": %s}]}]}'

C = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "other.h"
static int by_size(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static uint64_t mix(uint64_t x) {
  for (int i = 0; i < ROUNDS; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
  return x;
}
int main(void) {
  double all[31];
  uint64_t sum = other();
  for (int n = 0; n < 31; n++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    sum += mix(sum + n + 1);
    clock_gettime(CLOCK_MONOTONIC, &b);
    all[n] = (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9;
  }
  qsort(all, 31, sizeof *all, by_size);
  printf("REPORT\\n", all[15]);
  return sum == 0;
}
"""

RUST = """mod other;
fn mix(mut x: u64) -> u64 {
    for _ in 0..ROUNDS { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    x
}
fn main() {
    let mut sum = std::hint::black_box(other::other());
    let mut all: Vec<f64> = (0..31).map(|n| {
        let start = std::time::Instant::now();
        sum = std::hint::black_box(mix(sum.wrapping_add(n + 1)));
        start.elapsed().as_secs_f64()
    }).collect();
    all.sort_by(f64::total_cmp);
    println!("REPORT", all[15]);
}
"""


def c_files(rounds, number):
    return {
        "main.c": C.replace("ROUNDS", str(rounds)).replace("REPORT", (REPORT % "%.9e").replace('"', '\\"')),
        "other.h": f"static uint64_t other(void) {{ return {number}; }}\n",
        "sprag.toml": SUITE.format(build='["cc", "-O2", "-o", "mix", "main.c"]', program="./mix"),
        ".gitignore": "/mix\n",
    }


def rust_files(rounds, number):
    report = (REPORT.replace("{", "{{").replace("}", "}}") % "{:e}").replace('"', '\\"')
    return {
        "src/main.rs": RUST.replace("ROUNDS", str(rounds)).replace("REPORT", report),
        "src/other.rs": f"pub fn other() -> u64 {{ {number} }}\n",
        "Cargo.toml": '[package]\nname = "mix"\nversion = "0.1.0"\nedition = "2021"\n',
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "mix"\nversion = "0.1.0"\n',
        "sprag.toml": SUITE.format(build='["cargo", "build", "--release", "--offline", "--quiet"]', program="target/release/mix"),
        ".gitignore": "/target\n",
    }


def repository(folder, files, culprit):
    def git(*words):
        subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL)

    folder.mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    git("config", "user.name", "Tester")
    git("config", "user.email", "tester@example.org")
    for number in range(COMMITS):
        for path, text in files(ROUNDS[number >= culprit], number).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", f"Change {number}")


def main():
    program, runs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    chance = random.Random(7)
    for name, files in (("C", c_files), ("Rust", rust_files)):
        right, seconds, measured = 0, [], []
        for run in range(runs):
            culprit = chance.randrange(1, COMMITS)
            with tempfile.TemporaryDirectory() as parent:
                folder = pathlib.Path(parent) / "project"
                repository(folder, files, culprit)
                words = [program, "bisect", f"HEAD~{COMMITS - 1}", "HEAD", "--format", "json"]
                environment = os.environ | {"XDG_CACHE_HOME": str(pathlib.Path(parent) / "cache")}
                begun = time.monotonic()
                ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
                seconds.append(time.monotonic() - begun)
                report = json.loads(ended.stdout or "{}")
            named = [one["subject"] for each in report.get("culprits", []) for one in each["commits"]]
            measured.append(len(report.get("measurements", [])) + report.get("end_sessions", 0))
            right += named == [f"Change {culprit}"]
            print(f"{name} {run + 1}: Change {culprit}, named {named}, exit {ended.returncode}, {seconds[-1]:.0f} s", flush=True)
        print(f"{name}: {right} of {runs} right, {statistics.median(seconds):.0f} s, {statistics.median(measured):.0f} sessions in the median")


if __name__ == "__main__":
    main()
