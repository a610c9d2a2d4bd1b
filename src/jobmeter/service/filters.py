"""The filter language of `ls --filter`: comparisons, `and`, `or`, `not`, brackets; never evaluated as code.

`parse` turns text into the filter of a `RunQuery`. What can mislead: a field the
run does not have matches no comparison, not even `!=`, because unmeasured is not different; write
`not field=value` to have such runs too. See docs/filters.md.
"""

import re
from dataclasses import dataclass
from enum import Enum

from jobmeter.errors import UsageError
from jobmeter.model import query
from jobmeter.model.query import All, Compare, Either, Filter, Not, Op, Word
from jobmeter.service import comparisons, fields


def parse(text: str, *, now: float) -> Filter:
    """Read a filter; `now` is what `started>-7d` counts from."""
    parser = _Parser(text, now)
    if parser.at(_Kind.END):
        raise parser.error(
            "an empty filter", "write a comparison, as in status=failed, or a word to search for"
        )
    found = parser.either(0)
    if parser.at(_Kind.CLOSE):
        raise parser.error("a ) without its (", "remove it, or open a ( before")
    if not parser.at(_Kind.END):
        raise parser.error("a comparison without a field", "write the field first, as in wall>90s")
    return found


_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<op>!=|!~|<=|>=|==|[=<>~])"""
    r"""|(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s()=<>!~"']+)|(?P<end>\Z))""",
    re.DOTALL,
)
_MAX_DEPTH = 50


class _Kind(Enum):
    OPEN = "open"
    CLOSE = "close"
    OP = "op"
    QUOTED = "quoted"
    WORD = "word"
    AND = "and"
    OR = "or"
    NOT = "not"
    END = "end"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    text: str
    position: int


class _Parser:
    """Recursive descent; `token` is the next one not yet taken."""

    def __init__(self, text: str, now: float) -> None:
        self.text = text
        self.now = now
        self.offset = 0
        self.token = self._read()

    def at(self, *kinds: _Kind) -> bool:
        return self.token.kind in kinds

    def take(self) -> _Token:
        taken, self.token = self.token, self._read()
        return taken

    def either(self, depth: int) -> Filter:
        parts = [self._all(depth)]
        while self.at(_Kind.OR):
            self.take()
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def error(self, found: str, hint: str, position: int | None = None) -> UsageError:
        at = self.token.position if position is None else position
        shown = "".join(letter if letter.isprintable() else "?" for letter in self.text)
        return UsageError(
            f"cannot read the filter at column {at + 1}: {found}\n  {shown}\n  {' ' * at}^", hint=hint
        )

    def _all(self, depth: int) -> Filter:
        parts = [self._one(depth)]
        while self.at(_Kind.AND, _Kind.NOT, _Kind.OPEN, _Kind.WORD, _Kind.QUOTED):
            if self.at(_Kind.AND):
                self.take()
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self, depth: int) -> Filter:
        if depth > _MAX_DEPTH:
            raise self.error("nested too deep", f"use at most {_MAX_DEPTH} levels of ( ) and not")
        if self.at(_Kind.NOT):
            self.take()
            return Not(self._one(depth + 1))
        if self.at(_Kind.OPEN):
            self.take()
            found = self.either(depth + 1)
            if not self.at(_Kind.CLOSE):
                raise self.error("a ( is not closed", "write the missing )")
            self.take()
            return found
        if not self.at(_Kind.WORD, _Kind.QUOTED):
            raise self.error("a field or a word is missing", "write a comparison, as in status=failed")
        word = self.take()
        if not self.at(_Kind.OP):
            return Word(word.text)
        return self._compare(word)

    def _compare(self, field: _Token) -> Compare:
        if fields.type_of(field.text) is None:
            raise self.error(f"unknown field {field.text}", fields.nearest(field.text), field.position)
        op = self.take()
        if self.at(_Kind.OPEN, _Kind.CLOSE, _Kind.OP, _Kind.END):
            raise self.error(f"a value is missing after {op.text}", 'write one, as in wall>90s or name="a b"')
        value = self.take()
        try:
            return comparisons.compare(field.text, Op(op.text), value.text, now=self.now)
        except UsageError as error:
            raise self.error(str(error), error.hint, value.position) from error

    def _read(self) -> _Token:
        match = _TOKEN.match(self.text, self.offset)
        if match is None:
            at = self.offset + len(self.text[self.offset :]) - len(self.text[self.offset :].lstrip())
            problem = "a quote is not closed" if self.text[at] in "\"'" else "a ! stands alone"
            raise self.error(problem, 'use != or !~ for "not", and quotes in pairs', at)
        self.offset = match.end()
        name = match.lastgroup or "end"
        text, position = match[name], match.start(name)
        if name == "quoted":
            return _Token(_Kind.QUOTED, re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL), position)
        if name == "word" and text.lower() in query.KEYWORDS:
            return _Token(_Kind(text.lower()), text, position)
        return _Token(_Kind(name), "=" if text == "==" else text, position)
