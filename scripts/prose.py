#!/usr/bin/env python3
"""Checks that the documentation is readable and true: sentence length, banned words, links, anchors, paths in code spans.

    scripts/prose.py            # prints FILE:LINE: MESSAGE for each fault, exits with 1 on any

Sentences are counted in running text and in cells of tables; inline code counts as one word.
Prints the words of `docs/` too, and fails where they are more than 30,000.
"""

import pathlib
import re
import sys

LONGEST = 30  # words in a sentence
MOST = 30_000  # words of the pages of docs/, with those of their code

# Words not to write, and what to write in their place. CONTRIBUTING.md shows them; messages.py checks messages for them.
BANNED = (
    (("told",), "reported, shown or listed"),
    (("stands", "standing"), "is, remains or applies"),
    (("lies apart", "lie apart", "lay apart"), "is an outlier"),
    (("hangs on", "hang on"), "depends on"),
    (("speaks against", "speak against"), "is a problem with"),
    (("counts as", "count as"), "is treated as"),
    (("beside",), "next to, or compared with"),
    (("held against",), "compared with"),
    (("could see",), "minimum detectable effect"),
    (("restless", "restlessness"), "noisy, noise"),
    (("taken back",), "reverted, withdrawn"),
    (("known by",), "identified by"),
    (("befalls", "befall"), "happens to"),
    (("for ever",), "forever, or no limit"),
    (("nothing can be said",), "not enough data"),
    (("anew",), "again, or new"),
    (("mend", "mended"), "fix, or correct"),
    (("learnt",), "estimated"),
    (("tells most", "tell most"), "is most informative"),
    (("does not hold together",), "is damaged or was changed"),
    (("settle it", "would settle"), "would decide"),
)
INSTEAD = {word: instead for words, instead in BANNED for word in words}
ANY_BANNED = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b".replace(" ", r"\s+"), re.IGNORECASE)
VOCABULARY = "\n".join(["| Not | But |", "|---|---|", *(f"| {', '.join(f'`{word}`' for word in words)} | {instead} |" for words, instead in BANNED)])

# "What is unchanged is not listed": name the thing instead.
RIDDLE = re.compile(r"^\W*What (?:is|was|are|were|has|had) [^?:]*\b(?:is|was|are|were|has|gets|goes|stays|counts)\b[^?:]*[.!]\s*$")

# "It is no file": write that it is not a file.
IS_NO = re.compile(r"(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|less\b|evidence\b)[a-z`]", re.IGNORECASE)

# Pages that are still to be rewritten. Empty this.
NOT_YET = ()

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "GLOSSARY.md", "SECURITY.md", "benches/CONSTANTS.md")

ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
PATH = re.compile(r"`((?:src|scripts|docs|tests|fixtures|benches|examples|templates)/[\w./-]*\w)")
CODE = re.compile(r"(`+).*?\1", re.DOTALL)
SENTENCE_END = re.compile(r"[.!?][)\"'*_]*\s+(?=[\"'(*_`\[]*[A-Z0-9`\[])")
ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|vs|etc|approx|No)\.$")


def classified(text):
    """Each line as (number, kind, text); the kind is code, table, heading, blank, item or text."""
    fence = None
    in_list = indented = False
    previous = "blank"
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"^\s*(```+|~~~+)", line)
        if fence:
            kind = "code"
            fence = None if mark and mark[1].startswith(fence) else fence
        elif mark:
            kind, fence = "code", mark[1]
        elif not line.strip():
            kind = "blank"
        elif ITEM.match(line) and not (indented and line.startswith("    ")):
            kind, in_list = "item", True
        elif line.startswith("    ") and (indented or previous == "blank") and not in_list:
            kind = "code"
        elif line.lstrip().startswith("|"):
            kind = "table"
        elif line.startswith("#"):
            kind, in_list = "heading", False
        else:
            kind = "text"
            in_list = in_list and (line.startswith(" ") or previous in ("item", "text"))
        indented = kind == "code" and not fence and not mark or indented and kind == "blank"
        previous = kind
        yield number, kind, line


def paragraphs(text):
    """Running text as lists of (line number, line): paragraphs and items of lists."""
    current = []
    for number, kind, line in classified(text):
        if kind != "text" and current:
            yield current
            current = []
        if kind in ("text", "item"):
            current.append((number, ITEM.sub("", line) if kind == "item" else line))
    if current:
        yield current


def cells(text):
    """Cells of tables, each as a paragraph."""
    for number, kind, line in classified(text):
        if kind == "table":
            plain = CODE.sub(lambda code: code[0].replace("|", " "), line).replace("\\|", " ")
            yield from ([(number, cell)] for cell in plain.split("|") if cell.strip())


def words(text):
    """The words outside code blocks, and all of them."""
    counts = [(kind, sum(1 for word in line.split() if re.search(r"[A-Za-z0-9]", word))) for _, kind, line in classified(text)]
    return sum(count for kind, count in counts if kind != "code"), sum(count for _, count in counts)


def sentences(paragraph):
    """Sentences of a paragraph as (number of their first line, text)."""
    joined, starts = "", []
    for number, line in paragraph:
        starts.append((len(joined), number))
        joined += line.strip() + "\n"
    plain = CODE.sub(lambda code: "`" + "x" * (len(code[0]) - 2) + "`", joined)
    plain = LINK.sub(lambda link: re.sub(r"\([^)]*\)$", lambda end: " " * len(end[0]), link[0]), plain)
    begin = 0
    ends = [end.end() for end in SENTENCE_END.finditer(plain) if not ABBREVIATIONS.search(plain[: end.start() + 1])]
    for end in [*ends, len(plain)]:
        line = max((number for start, number in starts if start <= begin), default=starts[0][1])
        yield line, plain[begin:end]
        begin = end


def slugs(page):
    """The anchors of a page's headings, as GitHub and mdBook make them."""
    seen = {}
    for _, kind, line in classified(page.read_text(encoding="utf-8")):
        if kind == "heading":
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            count = seen.get(words, 0)
            seen[words] = count + 1
            yield f"{words}-{count}" if count else words


def wrong_words(lines):
    """Banned words in numbered lines, also across their ends."""
    text = "\n".join(line for _, line in lines)
    for found in ANY_BANNED.finditer(text):
        words = " ".join(found[0].split())
        yield lines[text.count("\n", 0, found.start())][0], f"banned: `{words}` (write {INSTEAD[words.lower()]})"


def is_no(lines):
    for number, line in lines:
        if IS_NO.search(line):
            yield number, f"write `is not a`: {' '.join(line.split()[:8])} ..."


def wrong_sentences(paragraph):
    for number, sentence in sentences(paragraph):
        count = sum(1 for word in sentence.split() if re.search(r"\w", word))
        if RIDDLE.match(" ".join(sentence.split())):
            yield number, f"a riddle, name the thing: {' '.join(sentence.split()[:8])} ..."
        yield from is_no([(number, " ".join(sentence.split()))])
        if count > LONGEST:
            yield number, f"{count} words in a sentence, at most {LONGEST}: {' '.join(sentence.split()[:6])} ..."


def faults(page, name):
    text = page.read_text(encoding="utf-8")
    checked = []
    written = set(re.findall(r"`([^`\s]+)`:$", text, re.MULTILINE))  # files that the reader of a tutorial writes
    previous = "blank"
    for number, kind, line in classified(text):
        if kind == "text" and previous == "table":
            yield number, f"a line of text right below a table becomes a row of it: {' '.join(line.split()[:6])} ..."
        previous = kind
        if kind == "code":
            continue
        bare = CODE.sub("`x`", line)
        for target in LINK.findall(bare):
            if re.match(r"^[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            other = page.parent / file if file else page
            if not other.exists():
                yield number, f"no such file: {target}"
            elif anchor and other.suffix == ".md" and anchor not in slugs(other):
                yield number, f"no such heading: {target}"
        for path in PATH.findall(line):
            if path not in written and not (ROOT / path).exists():
                yield number, f"no such file: {path}"
        checked.append((number, bare))
    if name in NOT_YET:
        return
    yield from wrong_words(checked)
    for paragraph in [*paragraphs(text), *cells(text)]:
        yield from wrong_sentences(paragraph)


def absent_messages(page):
    """Headings in backticks quote a message of the program; its source must hold the words."""
    sources = "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.rs")))
    for number, kind, line in classified(page.read_text(encoding="utf-8")):
        quoted = re.match(r"^### `(.+)`$", line)
        if kind == "heading" and quoted and quoted[1] not in sources:
            yield number, f"no message of the program says: {quoted[1]}"


def absent_vocabulary(page):
    """CONTRIBUTING.md holds the table of words as it is above."""
    if f"\n{VOCABULARY}\n" not in page.read_text(encoding="utf-8"):
        yield 1, f"the section `Vocabulary` must hold this table:\n{VOCABULARY}"


def main():
    pages = [ROOT / name for name in PAGES] + sorted((ROOT / "docs").rglob("*.md"))
    count = 0
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        found = [*faults(page, name), *(absent_messages(page) if page.name == "TROUBLESHOOTING.md" else ())]
        found += absent_vocabulary(page) if name == "CONTRIBUTING.md" else ()
        for number, message in sorted(found):
            print(f"{name}:{number}: {message}")
            count += 1
    prose_words, all_words = (sum(one) for one in zip(*(words(page.read_text(encoding="utf-8")) for page in (ROOT / "docs").rglob("*.md"))))
    if all_words > MOST:
        print(f"docs: {all_words} words with code, at most {MOST}")
        count += 1
    print(f"{len(pages)} pages, {prose_words} words of docs, {all_words} with code; {count} faults", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
