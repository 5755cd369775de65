#!/usr/bin/env python3
"""Lines of Rust by crate beside their budgets, and how many files are short: scripts/lines.py [--check]

`budgets.toml` holds the most lines that each crate may have, tests and comments included. With `--check` the script fails where
a crate, the whole or the number of short files passes its budget: growth is a decision, made by changing that file.
"""

import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORT = 50


def rust_files(folder):
    return [path for path in sorted((ROOT / folder).rglob("*.rs")) if "target" not in path.parts]


def main():
    budgets = tomllib.loads((ROOT / "budgets.toml").read_text())
    crates = sorted(path.parent.name for path in (ROOT / "src").glob("*/Cargo.toml"))
    folders = {name: [f"src/{name}"] for name in crates} | {"tests and benches": ["tests", "benches", "examples", "fuzz"]}
    faults, total, short, files_in_all = [], 0, 0, 0
    print(f"{'':20}{'lines':>8}{'budget':>8}{'files':>7}{f'under {SHORT}':>10}")
    for name, parts in folders.items():
        counts = [len(path.read_text().splitlines()) for part in parts for path in rust_files(part)]
        lines, few, budget = sum(counts), sum(count < SHORT for count in counts), budgets["lines"].get(name)
        total, short, files_in_all = total + lines, short + few, files_in_all + len(counts)
        print(f"{name:20}{lines:8}{budget or '':>8}{len(counts):7}{few:10}")
        if budget is None:
            faults.append(f"`{name}` has no budget in budgets.toml")
        elif lines > budget:
            faults.append(f"`{name}` has {lines} lines; its budget is {budget}")
    print(f"{'all':20}{total:8}{budgets['all']:>8}{files_in_all:7}{short:10}")
    if total > budgets["all"]:
        faults.append(f"all Rust has {total} lines; the budget is {budgets['all']}")
    if short > budgets["short_files"]:
        faults.append(f"{short} files have fewer than {SHORT} lines; the budget is {budgets['short_files']}")
    for fault in faults:
        print(f"over budget: {fault}", file=sys.stderr)
    sys.exit(1 if faults and "--check" in sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
