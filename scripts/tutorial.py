#!/usr/bin/env python3
"""Follows pages of the documentation in a new repository, as a reader would.

    scripts/tutorial.py SPRAG docs/START.md

A code block after a line that ends with `FILE`: is written to that file. A block of the language `sh` is run;
it must exit with 0, and what it exports holds in the blocks after it. Everything else is prose.
Prints what was run, and how long it took: to the first `sprag check`, when a result is recorded, rendered and gated, and to
the end. Exits with 1 where a page fails at one command, and again when it is followed once more.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

FENCE = re.compile(r"^```(\w*)$")


def steps(text):
    """The files to write and the commands to run: (name or None, content)."""
    before, block, language = "", None, ""
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if block is None and fence:
            block, language = [], fence[1]
        elif block is not None and fence:
            name = re.search(r"`([^`]+)`:$", before)
            if language == "sh":
                yield None, "\n".join(block)
            elif name:
                yield name[1], "\n".join(block) + "\n"
            block = None
        elif block is not None:
            block.append(line)
        elif line.strip():
            before = line.rstrip()


def follow(sprag, page):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        project, tools = home / "project", home / "tools"
        project.mkdir()
        tools.mkdir()
        (tools / "sprag").symlink_to(sprag)
        environment = {**os.environ, "HOME": folder, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        for variable, name in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")):  # the toolchain of whoever runs this
            environment.setdefault(variable, str(pathlib.Path.home() / name))
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=project, check=True)
        for setting in ("user.name=Ada", "user.email=ada@example.com"):
            subprocess.run(["git", "config", "--global", *setting.split("=")], env=environment, check=True)
        begun, gated = time.monotonic(), ""
        for name, content in steps(page.read_text(encoding="utf-8")):
            if name:
                (project / name).parent.mkdir(parents=True, exist_ok=True)
                (project / name).write_text(content, encoding="utf-8")
                print(f"wrote {name}", flush=True)
                continue
            print(f"+ {content}", flush=True)
            exported = home / "exported"
            script = f"[ ! -e {exported} ] || . {exported}\n{content}\nexport -p > {exported}"
            code = subprocess.run(["bash", "-euc", script], cwd=project, env=environment).returncode
            if code:
                return f"{page}: exit code {code} of\n{content}"
            seconds = f"{time.monotonic() - begun:.0f} s"
            if not gated and "sprag check" in content:
                gated = f", gated after {seconds}"
        print(f"== {page}: {seconds}{gated}", flush=True)
    return None


def follow_twice(sprag, page):
    """A shared machine may become slower between two measurements of one page, but not each time."""
    failure = follow(sprag, page)
    if failure:
        print(f"{failure}\nfollowed once more from its beginning", flush=True)
    return failure and follow(sprag, page)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: scripts/tutorial.py SPRAG PAGE...")
    program = pathlib.Path(sys.argv[1]).resolve()
    sys.exit("\n".join(failure for page in sys.argv[2:] if (failure := follow_twice(program, pathlib.Path(page)))) or 0)
