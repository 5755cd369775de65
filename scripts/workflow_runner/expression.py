"""Expressions of workflows: names from a table, `==`, `!=`, `!`, `&&`, `||`, parentheses, texts, `fromJSON`, and the status functions."""

import json
import re

TOKEN = re.compile(r"\s*(?:'((?:[^']|'')*)'|([A-Za-z_][A-Za-z0-9_.-]*)|(==|!=|&&|\|\||[!()]))")
EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
STATUS = ("always", "cancelled", "failure", "success")


class Unknown(Exception):
    """An expression that is not known here."""


def tokens(text):
    """The parts of an expression: pairs of a kind and what it says."""
    found, place = [], 0
    while text[place:].strip():
        part = TOKEN.match(text, place)
        if not part:
            raise Unknown(f"cannot read `{text}` from `{text[place:]}`")
        place = part.end()
        word, name, sign = part.groups()
        if word is not None:
            found.append(("text", word.replace("''", "'")))
        else:
            found.append(("name", name) if name else ("sign", sign))
    return found


class Reader:
    """Reads and computes one expression."""

    def __init__(self, text, table, status):
        self.text, self.table, self.status, self.rest = text, table, status, tokens(text)

    def take(self, sign):
        """Whether that sign comes next; it is then read."""
        is_next = self.rest[:1] == [("sign", sign)]
        if is_next:
            self.rest.pop(0)
        return is_next

    def whole(self):
        value = self.either()
        if self.rest:
            raise Unknown(f"cannot read the end of `{self.text}`")
        return value

    def either(self):
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value or other
        return value

    def both(self):
        value = self.equal()
        while self.take("&&"):
            other = self.equal()
            value = value and other
        return value

    def equal(self):
        value = self.single()
        for sign in ("==", "!="):
            if self.take(sign):
                other = self.single()
                # What is absent is as an empty text, and neither true nor false.
                value = "" if value is None and isinstance(other, str) else value
                other = "" if other is None and isinstance(value, str) else other
                return (value == other) == (sign == "==")
        return value

    def single(self):
        if self.take("!"):
            return not self.single()
        if self.take("("):
            value = self.either()
            if not self.take(")"):
                raise Unknown(f"a parenthesis of `{self.text}` is open")
            return value
        if not self.rest:
            raise Unknown(f"`{self.text}` breaks off")
        kind, word = self.rest.pop(0)
        if kind == "text":
            return word
        if kind == "name" and word in ("true", "false"):
            return word == "true"
        if kind == "name" and word in STATUS and self.take("(") and self.take(")"):
            return self.status[word]
        if kind == "name" and word == "fromJSON" and self.take("("):
            value = json.loads(self.either())
            if not self.take(")"):
                raise Unknown(f"a parenthesis of `{self.text}` is open")
            return value
        if kind == "name" and word in self.table:
            return self.table[word]
        raise Unknown(f"`{word}` of `{self.text}` is not in the table")


def value(text, table, status=None):
    """What an expression gives, with or without its marks."""
    bare = EMBEDDED.fullmatch(text.strip())
    return Reader(bare.group(1) if bare else text, table, status or {}).whole()


def filled(text, table):
    """A text with what its expressions give."""
    def one(match):
        found = Reader(match.group(1), table, {}).whole()
        return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)

    return EMBEDDED.sub(one, text)


def holds(condition, table, status):
    """Whether a job or step is run; a condition without a status function stands for `success()` and itself."""
    if isinstance(condition, bool):
        return condition and status["success"]
    text = condition or "success()"
    found = value(text, table, status)
    return bool(found) and (status["success"] or any(f"{name}(" in text for name in STATUS))
