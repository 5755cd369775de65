#!/usr/bin/env python3
"""Checks what the program says (messages, help, pages of the site) for banned words and long sentences, as prose.py checks the documentation.

    scripts/messages.py         # prints FILE:LINE: MESSAGE for each fault, exits with 1 on any

Checked are string literals with a space in `src/` outside tests, the help texts of `src/sprag/cli/`, the text of `templates/`, and the
words of all comments, where "is no X" is a fault, too.
A raw string with `#` and a file of `templates/` that is not a page hold data of another language: only their words are checked.
"""

import re
import sys

import prose

# Texts that recorded evidence holds byte for byte: `sprag release verify` writes them again and compares.
RECORDED = ("src/evidence/derive.rs", "src/evidence/play.rs", "src/pipeline/release/findings.rs")

# Code of tests, and data that conformance cases and old formats fix.
NOT_SAID = re.compile(r"/tests/|^src/conformance/|^src/formats/compat/|^src/formats/golden\.rs$")

RUST = re.compile(
    r"""(?P<doc>///[^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)|b?r(?P<hash>\#*)"(?P<raw>.*?)"(?P=hash)"""
    r"""|b?"(?P<string>(?:[^"\\]|\\.)*)"|(?P<char>b?'(?:[^'\\\n]|\\[^\n]{1,9}?)')|(?P<test>\#\[cfg\((?:test|all\(test)[^\]]*\])|(?P<mark>[{};])""",
    re.DOTALL,
)
ESCAPED = re.compile(r"\\(?:\n\s*|u\{[0-9a-fA-F]+\}|.)", re.DOTALL)
NAME = re.compile(r"\b[a-z]+[A-Z]\w*")
HOLE = re.compile(r"\{[^{}]*\}")
MODULE = re.compile(r"mod\s+(\w+)\s*;\s*$")
TAGS = re.compile(r"\{#.*?#\}|\{%.*?%\}|<(?:style|script)\b.*?</(?:style|script)>|<!--.*?-->", re.DOTALL)
BLOCK = re.compile(r"</?(?:p|li|ul|ol|dl|dt|dd|td|th|tr|h\d|div|section|summary|details|caption|title|nav|main|option|label|button)\b[^>]*>")


def same_lines(text, instead):
    """`instead`, on as many lines as `text`, so that numbers of lines stay true."""
    return instead + "\n" * text.count("\n")


def spoken(code):
    """What a file of Rust says, as (line, kind, text), and the modules that it declares for tests alone."""
    said, for_tests = [], []
    if "\n#![cfg(test)]\n" in code:
        return said, for_tests
    test_at, depth = None, 0  # `test_at`: where an item for tests begins; `depth`: braces within it
    counted, line = 0, 1
    for token in RUST.finditer(code):
        if token["test"]:
            if test_at is None:
                test_at, depth = token.end(), 0
        elif token["mark"] and test_at is not None:
            depth += {"{": 1, "}": -1, ";": 0}[token["mark"]]
            if depth <= 0:
                declared = MODULE.search(code[test_at : token.end()])
                if declared:
                    for_tests.append(declared[1])
                test_at = None
        elif test_at is None and (token["doc"] or token["string"] or token["raw"]):
            line += code.count("\n", counted, token.start())
            counted = token.start()
            kind = "doc" if token["doc"] else "data" if token["hash"] else "string"
            said.append((line, kind, token["doc"] or token["string"] or token["raw"]))
    return said, for_tests


def of_string(text):
    """A literal as its reader sees it: a hole is one word, a line of its own and a block of HTML are paragraphs; camelCase is not a word."""
    plain = ESCAPED.sub(lambda one: "\n\n" if one[0] == "\\n" else same_lines(one[0], "" if one[0][1] in "\n" else one[0][-1]), text)
    plain = NAME.sub("", BLOCK.sub(lambda tag: same_lines(tag[0], "\0"), plain))
    return HOLE.sub(lambda hole: same_lines(hole[0], "x"), plain)


def of_template(text):
    """The text of a page: without tags and statements; a block of HTML is a paragraph."""
    plain = TAGS.sub(lambda tag: same_lines(tag[0], " "), text)
    plain = re.sub(r"\{\{.*?\}\}", lambda hole: same_lines(hole[0], "x"), plain, flags=re.DOTALL)
    plain = BLOCK.sub(lambda tag: same_lines(tag[0], "\0"), plain)
    return re.sub(r"<[^>]*>", lambda tag: same_lines(tag[0], ""), plain)


def parts(lines):
    """Paragraphs, as lists of (line, text), of text whose paragraphs end with an empty line or NUL."""
    current = []
    for number, line in lines:
        for place, piece in enumerate(line.split("\0")):
            if (place or not piece.strip()) and current:
                yield current
                current = []
            if piece.strip():
                current.append((number, piece))
    if current:
        yield current


def faults(lines):
    for paragraph in parts(lines):
        yield from prose.wrong_words(paragraph)
        yield from prose.wrong_sentences(paragraph)


def numbered(text, first=1):
    return list(enumerate(text.split("\n"), first))


def main():
    sources = {file.relative_to(prose.ROOT).as_posix(): spoken(file.read_text(encoding="utf-8")) for file in sorted((prose.ROOT / "src").rglob("*.rs"))}
    tests = set()
    for name, (_, modules) in sources.items():
        folder, _, file = name.rpartition("/")
        within = folder if file in ("lib.rs", "mod.rs", "main.rs") else name.removesuffix(".rs")
        tests |= {path for module in modules for path in (f"{within}/{module}.rs", f"{within}/{module}/mod.rs")}
    folders = tuple(path.removesuffix("mod.rs") for path in tests if path.endswith("/mod.rs") and path in sources)

    found = []
    for name, (said, _) in sources.items():
        if name in tests or name.startswith(folders) or name.startswith(RECORDED) or NOT_SAID.search(name):
            continue
        help_text = []
        for line, kind, text in said:
            if kind == "string" and " " in text:
                found += [(name, *fault) for fault in faults(numbered(of_string(text), line))]
            elif kind == "data":
                found += [(name, *fault) for fault in prose.wrong_words(numbered(text, line))]
            elif kind == "doc" and name.startswith("src/sprag/cli/"):
                if help_text and help_text[-1][0] != line - 1:
                    help_text.append((line - 1, ""))
                help_text.append((line, text[3:]))
        found += [(name, *fault) for fault in faults(help_text)]
    for folder in ("src", "tests", "benches"):
        for file in sorted((prose.ROOT / folder).rglob("*.rs")):
            comments = [(line, text.strip()) for line, text in numbered(file.read_text(encoding="utf-8")) if text.lstrip().startswith("//")]
            wrong = [*prose.wrong_words(comments), *prose.is_no(comments)]
            found += [(file.relative_to(prose.ROOT).as_posix(), *fault) for fault in wrong]
    for file in sorted([*(prose.ROOT / "site").glob("*.js"), *(prose.ROOT / "python").rglob("*.py")]):
        wrong = prose.wrong_words(numbered(file.read_text(encoding="utf-8")))
        found += [(file.relative_to(prose.ROOT).as_posix(), *fault) for fault in wrong]
    for page in sorted(file for file in (prose.ROOT / "templates").rglob("*") if file.is_file()):
        name, text = page.relative_to(prose.ROOT).as_posix(), page.read_text(encoding="utf-8")
        wrong = faults(numbered(of_template(text))) if page.suffix == ".html" else prose.wrong_words(numbered(text))
        found += [(name, *fault) for fault in wrong]

    for name, line, message in sorted(found):
        print(f"{name}:{line}: {message}")
    print(f"{len(sources)} files, {len(found)} faults", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
