#!/usr/bin/env python3
"""Times the import of a large history: a data.js of about 25 MB, of 150 benchmarks (or BENCHMARKS) over a thousand commits.

    python3 scripts/import-figures.py target/release/sprag [BENCHMARKS]

Makes the file and an empty repository in a temporary folder, imports it five times into fresh copies of the repository
(once with `--dry-run` to tell reading from recording), and prints medians of wall and processor seconds and of the most
memory, beside those of Python's own JSON reader on the same file in the same run. Standard library only; needs git.
"""

import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COMMITS, BENCHMARKS, ROUNDS = 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 150, 5


def data_js(path):
    random.seed(7)
    base = [10 ** random.uniform(1, 6) for _ in range(BENCHMARKS)]
    entries = []
    for number in range(COMMITS):
        who = {"email": "", "name": "A Person", "username": "person"}
        sha = f"{number:040x}"
        entries.append({
            "commit": {"author": who, "committer": who, "distinct": True, "id": sha, "message": f"Change {number}",
                       "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_600_000_000 + 3600 * number)),
                       "tree_id": sha, "url": f"https://example.org/commit/{sha}"},
            "date": 1_600_000_000_000 + 3_600_000 * number, "tool": "cargo",
            "benches": [{"name": f"kernels/case_{i}/{2 ** (i % 12)}", "value": round(value * random.gauss(1, 0.02), 1),
                         "range": f"± {random.randint(1, 99)}", "unit": "ns/iter"} for i, value in enumerate(base)]})
    data = {"lastUpdate": 1_700_000_000_000, "repoUrl": "https://example.org", "entries": {"Kernels": entries}}
    with open(path, "w") as file:
        file.write("window.BENCHMARK_DATA = " + json.dumps(data, indent=2))


def timed(command, folder):
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: wait status {status}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    sprag = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as root:
        source, template = os.path.join(root, "data.js"), os.path.join(root, "template")
        # In a process of its own: the memory of this one would be counted for those that it starts.
        maker = multiprocessing.Process(target=data_js, args=(source,))
        maker.start()
        maker.join()
        subprocess.run(["git", "init", "-q", "-b", "main", template], check=True)
        subprocess.run(["git", "-C", template, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q",
                        "--allow-empty", "-m", "Begin"], check=True)
        reader = [sys.executable, "-c",
                  "import json,sys; t=open(sys.argv[1]).read(); json.loads(t[t.index('=')+1:])", source]
        configured = os.path.join(root, "configured")
        shutil.copytree(template, configured)
        with open(os.path.join(configured, "sprag.toml"), "w") as file:
            file.write('[history]\nref = "results"\n')
        kinds = {"dry run": (template, ["--dry-run"]), "on the current branch": (template, []),
                 "on a branch of its own": (configured, [])}
        times = {name: [] for name in [*kinds, "python json"]}
        for number in range(ROUNDS):
            for name, (repository, options) in kinds.items():
                folder = os.path.join(root, f"{number}-{name}")
                shutil.copytree(repository, folder)
                # Nothing is removed in between: where many files were just removed, ext4 is slow to make new ones.
                times[name].append(timed([sprag, "import", *options, source], folder))
            times["python json"].append(timed(reader, root))
        print(f"{os.path.getsize(source) / 1e6:.1f} MB, {COMMITS} runs of {BENCHMARKS} benchmarks")
        for name, pairs in times.items():
            wall, cpu, memory = (statistics.median(column) for column in zip(*pairs))
            print(f"{name:>22}: {wall:.2f} s wall, {cpu:.2f} s processor, {memory:.0f} MiB (medians of {ROUNDS})")


main()
