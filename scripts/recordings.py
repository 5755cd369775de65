#!/usr/bin/env python3
"""Makes the pictures of the book from the demo: scripts/recordings.py SPRAG [--check]

Runs commands in a fresh `sprag demo` and draws what they print as `docs/pictures/<name>.svg`, with the command above it.
`run.svg` is the first run of the project that docs/START.md describes. With Chromium, pages of the demo's site become
`docs/pictures/<name>.png`. `--check` draws nothing; it fails where a command prints something else than its picture shows.
Times and fonts differ between machines, so the pictures of the run and of pages are not compared.
"""

import argparse
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 100  # columns of the terminal
MOST = 34  # lines of a picture; the rest is cut

# Name, command, and the machine that it pretends to be. `--as-of` is a moment after the demo's newest run.
COMMANDS = (
    ("trend", "sprag trend", ["--as-of", "2026-11-14T00:00:00Z"], ""),
    ("trend-event", "sprag trend --event {event}", ["--as-of", "2026-11-14T00:00:00Z"], ""),
    ("check", "sprag check", [], "bench-xeon"),
    ("compare", "sprag compare v0.4.0 HEAD --only-changed", [], ""),
    ("history-log", "sprag history log --limit 10", [], ""),
)
PAGES = (("digest", "index.html"), ("event", "events/{event}.html"), ("series", "{series}"), ("release", "release/{release}"))


def printed(program, folder, command, more, machine):
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    environment.pop("SPRAG_MACHINE", None)
    if machine:
        environment["SPRAG_MACHINE"] = machine
    done = subprocess.run([program, *command.split()[1:], *more], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"`{command}` failed: {done.stderr}")
    lines = done.stdout.rstrip().split("\n")
    return lines if len(lines) <= MOST else [*lines[: MOST - 1], "…"]


def drawing(command, machine, lines):
    """The lines as an SVG that follows the reader's light or dark theme."""
    prompt = f"$ {f'SPRAG_MACHINE={machine} ' if machine else ''}{command}"
    rows = [prompt, *lines]
    width, height = 20 + round(8.43 * max(map(len, rows))), 24 + 19 * len(rows)
    style = (
        ".b{fill:#fbfaf7;stroke:#d8d4cc}text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#2a2a28;white-space:pre}.p{fill:#33659a}"
        "@media(prefers-color-scheme:dark){.b{fill:#1d1e20;stroke:#3a3b3e}text{fill:#dcdad5}.p{fill:#8fb8e0}}"
    )
    texts = [f'<text x="12" y="{26 + 19 * row}" xml:space="preserve">{html.escape(text)}</text>' for row, text in enumerate(rows)]
    texts[0] = texts[0].replace("<text", '<text class="p"', 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    frame = f'<rect class="b" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>'
    return "\n".join([head, f"<title>{html.escape(prompt)}</title>", f"<style>{style}</style>", frame, *texts, "</svg>", ""])


def worst_event(site):
    return re.search(r'href="events/(e-\w+)\.html"', (site / "index.html").read_text())[1]


def page_pictures(site):
    """Pictures of pages, 1280 pixels wide, where Chromium is there."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("skipped: there is no Chromium, so pages are not pictured")
        return
    worst = worst_event(site)
    series = re.search(r'href="\.\./(series/[^"#]+-[0-9a-f]{8}\.html)', (site / "events" / f"{worst}.html").read_text())[1]
    names = {"event": worst, "series": series, "release": max(page.name for page in (site / "release").glob("*.html"))}
    for name, page in PAGES:
        target = site / page.format(**names)
        # The script would compare the demo's date with the present.
        target.write_text(re.sub(' data-newest="[^"]*"', "", target.read_text()))
        with tempfile.TemporaryDirectory() as profile:
            options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={profile}"]
            picture = f"--screenshot={PICTURES / f'{name}.png'}"
            subprocess.run([chromium, *options, "--window-size=1280,1000", picture, target.as_uri()], check=True, capture_output=True)


def run_picture(program, folder):
    """The first run of the project of docs/START.md."""
    start = (ROOT / "docs" / "START.md").read_text()
    folder.mkdir()
    for name, language in (("bench.py", "python"), ("sprag.toml", "toml")):
        (folder / name).write_text(re.search(rf"```{language}\n(.*?)```", start, re.S)[1])
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    picture = drawing("sprag run", "", printed(program, folder, "sprag run", [], "laptop"))
    (PICTURES / "run.svg").write_text(picture)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / "demo"
        subprocess.run([program, "demo", folder], check=True, stdout=subprocess.DEVNULL)
        PICTURES.mkdir(exist_ok=True)
        for name, command, more, machine in COMMANDS:
            command = command.format(event=worst_event(folder / "_site"))
            picture = PICTURES / f"{name}.svg"
            drawn = drawing(" ".join([command, *more]), machine, printed(program, folder, command, more, machine))
            if not options.check:
                picture.write_text(drawn)
            elif not picture.is_file() or picture.read_text() != drawn:
                stale.append(f"{picture.relative_to(ROOT)} shows something else than `{command}` prints; run `scripts/recordings.py SPRAG`")
        log = subprocess.run(["git", "-C", folder, "log", "--format=%H"], check=True, capture_output=True, text=True).stdout
        known = log + "".join(one.name for one in (folder / "_site" / "events").iterdir())
        hunt = (ROOT / "docs" / "HUNT.md").read_text()
        ids = set(re.findall(r"\b(?:e-[0-9a-f]{6}|(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,40})\b", hunt))
        stale += [f"docs/HUNT.md names `{one}`, which the demo does not have" for one in sorted(ids) if one not in known]
        if not options.check:
            run_picture(program, folder.with_name("start"))
            page_pictures(folder / "_site")
    print("\n".join(stale), end="\n" if stale else "")
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
