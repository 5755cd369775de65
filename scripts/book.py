#!/usr/bin/env python3
"""Builds the book: scripts/book.py SPRAG [--out FOLDER]

Copies `docs/` to `target/book-source/` and adds the parts of the reference that SPRAG (the program) prints itself: the help of each command,
the settings of `sprag.toml` and the formats that can be imported. Then `mdbook` makes the pages, and every link of them is checked. Without `mdbook`
the pages are not made, and `scripts/prose.py` alone checks links. Exits with 1 on a broken link.
"""

import argparse
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "target" / "book-source"

# Pages that are made here: title, file, and the page that they follow. Those of `docs/` do not link to them, as the repository lacks them.
GENERATED = (
    ("Help of all commands", "HELP.md", "COMMANDS.md"),
    ("Formats that can be imported", "FORMATS.md", "CONFIGURATION.md"),
    ("Settings", "SETTINGS.md", "CONFIGURATION.md"),
)


def printed(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"`sprag {' '.join(arguments)}` failed: {done.stderr}")
    return done.stdout


def subcommands(help_text):
    """The names of the section `Commands:` of a help text."""
    section = re.search(r"^Commands:\n((?:[ \t]+.*\n|\n)*)", help_text, re.MULTILINE)
    names = re.findall(r"^  (\w[\w-]*)", section[1], re.MULTILINE) if section else []
    return [name for name in names if name != "help"]


def commands(program):
    """The help of every command, each under a heading of its own."""
    pages = ["# Help of all commands", "", "Generated from `sprag --help`.", ""]
    def add(path):
        text = printed(program, *path, "--help")
        pages.extend([f"{'#' * min(len(path) + 2, 4)} `{' '.join(['sprag', *path])}`", "", "```text", text.rstrip(), "```", ""])
        for name in subcommands(text):
            add([*path, name])
    add([])
    return "\n".join(pages)


def settings(program):
    """Every setting of `sprag.toml`, from its schema."""
    schema = json.loads(printed(program, "schema", "config-1"))
    pages = ["# Settings", "", "Every setting of `sprag.toml`, from `sprag schema config-1`. [Configuration](CONFIGURATION.md) has an example.", ""]

    def branches(node):
        """The forms that a setting may have."""
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
        return [one for each in node["anyOf"] for one in branches(each)] if "anyOf" in node else [] if node.get("type") == "null" else [node]

    def kind(node):
        several = list(dict.fromkeys(kind(one) for one in branches(node))) if len(branches(node)) > 1 else []
        if several:
            return " or ".join(several)
        node = branches(node)[0]
        values = [one["const"] for one in node.get("oneOf", []) if "const" in one] or node.get("enum")
        if values:
            return " or ".join(f"`{one}`" for one in values)
        name = node.get("type")
        name = next(one for one in name if one != "null") if isinstance(name, list) else name
        if name == "array":
            return f"list of {kind(node['items'])}"
        return {"object": "table", "boolean": "`true` or `false`", "integer": "whole number"}.get(name, name)

    def section(title, node):
        pages.extend([f"## `{title}`", "", *([node["description"], ""] if "description" in node else [])])
        pages.extend(["| Setting | Type | Meaning |", "|---|---|---|"])
        below = []
        for name, setting in node["properties"].items():
            forms = branches(setting)
            place = f"{title.strip('[]')}.{name}"
            for form in forms:
                inner = branches(form["items"])[0] if form.get("type") == "array" else form
                if "properties" in inner:
                    below.append((f"[[{place}]]" if inner is not form else f"[{place}]", inner))
            meaning = " ".join(setting.get("description", forms[0].get("description", "")).split()).replace("|", "\\|")
            pages.append(f"| `{name}` | {kind(setting)} | {meaning} |")
        pages.append("")
        for one in below:
            section(*one)

    for name, node in schema["properties"].items():
        node = branches(node)[0]
        if name == "suites":
            section("[suites.NAME]", branches(node["additionalProperties"])[0])
        else:
            section(f"[{name}]", node)
    return "\n".join(pages)


def listed(title, introduction, text):
    return f"# {title}\n\n{introduction}\n\n```text\n{text.rstrip()}\n```\n"


class Links(html.parser.HTMLParser):
    """The targets of links and pictures of a page, and its anchors."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(value for key, value in attrs if key in ("id", "name") and value)
        target = values.get("href") if tag in ("a", "link") else values.get("src") if tag in ("img", "script") else None
        if target:
            self.targets.append(target)


def broken(folder):
    """Links of the built pages to a page or an anchor that is not there."""
    pages = {}
    for page in folder.rglob("*.html"):
        pages[page] = Links()
        pages[page].feed(page.read_text())
    for page, links in pages.items():
        if page.name in ("404.html", "print.html", "toc.html"):
            continue
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            to = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            if not to.exists():
                yield f"{page.relative_to(folder)}: `{target}` is not a file"
            elif parts.fragment and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                yield f"{page.relative_to(folder)}: `{target}` is not an anchor"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "target" / "book")
    options = arguments.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    shutil.copy(ROOT / "GLOSSARY.md", SOURCE)
    for page in SOURCE.glob("*.md"):
        page.write_text(page.read_text().replace("(../GLOSSARY.md", "(GLOSSARY.md"))
    summary = (SOURCE / "SUMMARY.md").read_text()
    for title, page, after in GENERATED:
        summary = re.sub(rf"(\({after}\)\n)", rf"\1- [{title}]({page})\n", summary)
    (SOURCE / "SUMMARY.md").write_text(summary)
    formats = printed(program, "import", "--list")
    (SOURCE / "HELP.md").write_text(commands(program))
    (SOURCE / "SETTINGS.md").write_text(settings(program))
    (SOURCE / "FORMATS.md").write_text(listed("Formats that can be imported", "Printed by `sprag import --list`.", formats))
    if not shutil.which("mdbook"):
        print("skipped: `mdbook` is not installed (cargo install mdbook), so the pages are not made")
        return
    subprocess.run(["mdbook", "build", "--dest-dir", str(options.out.resolve()), str(ROOT)], check=True)
    faults = list(broken(options.out))
    print("\n".join(faults) or f"the book is in {options.out}; no link is broken")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
