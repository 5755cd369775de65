#!/usr/bin/env python3
"""Builds the book: scripts/book.py SPRAG [--out FOLDER]

Copies `docs/` to `target/book-source/` and adds the parts of the reference that SPRAG (the program) prints itself: the help of each command,
the settings of `sprag.toml`, the schemas and the formats. Then `mdbook` makes the pages, and every link of them is checked. Without `mdbook`
the pages are not made; the generated parts and the links of the sources are checked all the same. Exits with 1 on a broken link.
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


def listed(title, introduction, text):
    return f"# {title}\n\n{introduction}\n\n```text\n{text.rstrip()}\n```\n"


def type_words(schema, root):
    """The type of a setting in words."""
    if "$ref" in schema:
        return type_words(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            words = [type_words(one, root) for one in schema[key] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"] if value is not None)
    kinds = schema.get("type", "any")
    kind = next((one for one in kinds if one != "null"), "any") if isinstance(kinds, list) else kinds
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "table"}
    if kind == "array":
        return f"list of {type_words(schema.get('items', {}), root)}"
    return names.get(kind, kind)


def settings(program):
    """The settings of `sprag.toml`, a table for each section, from its schema."""
    root = json.loads(printed(program, "schema", "config-1"))
    lines = ["# Settings of sprag.toml", "", "Generated from the types that read the file.", ""]
    def add(schema, path):
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        rows, inner = [], []
        for name, one in schema.get("properties", {}).items():
            target = next((part for part in [one, *one.get("anyOf", [])] if "$ref" in part), one)
            resolved = root["$defs"][target["$ref"].rsplit("/", 1)[1]] if "$ref" in target else one
            if resolved.get("type") == "object" and "properties" in resolved:
                inner.append((target, [*path, name]))
                continue
            items = one.get("additionalProperties")
            if isinstance(items, dict) and "$ref" in items:
                inner.append((items, [*path, name, "NAME"]))
                continue
            about = " ".join(one.get("description", "").split()).replace("|", "\\|")
            rows.append(f"| `{name}` | {type_words(one, root)} | {about} |")
        for variant in schema.get("oneOf", []):
            add(variant, path)
        if rows:
            title = ".".join(path)
            lines.extend([f"## `[{title}]`" if path else "## Top level", "", *([schema["description"], ""] if schema.get("description") else [])])
            lines.extend(["| Setting | Type | Meaning |", "|---|---|---|", *rows, ""])
        for schema, path in inner:
            add(schema, path)
    add(root, [])
    return "\n".join(lines)


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
                yield f"{page.relative_to(folder)}: `{target}` is no file"
            elif parts.fragment and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                yield f"{page.relative_to(folder)}: `{target}` is no anchor"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "target" / "book")
    options = arguments.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
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
