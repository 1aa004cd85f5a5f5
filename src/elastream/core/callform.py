"""The small language for things written in one line: `cosine(200k..2.2M, period=60m) + 2 * spike(1M, at=40m)`.

    expression = term { "+" term }
    term       = factor { "*" factor }
    factor     = number | call | "(" expression ")"
    call       = name [ "(" [ argument { "," argument } ] ")" ]
    argument   = [ name "=" ] value
    value      = number [ ".." number ] | string | true | false | call
    name       = word { "-" word } | word { "." word } ":" word | path ".py:" word

The second and third form of a name are a class of somebody else's: `package.module:Class`, `jobs/my_job.py:Class`. This
module knows the form only. What a name means, and whether expressions make sense at all, is for its users.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from elastream.core.errors import BadInput
from elastream.core.quantity import NUMBER, Quantity, parse_quantity

NAME = r"[A-Za-z_]\w*(?:-\w+)*"
CLASS_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"
"""`package.module:Class`."""
FILE_PATH = r"[^\s()*+,=\"':]+\.py:[A-Za-z_]\w*"
"""`jobs/my_job.py:Class`, without what would end a name in a text."""

# A parser that calls itself must refuse what is nested more deeply than the interpreter's stack allows.
MAX_DEPTH = 50

_TOKEN = re.compile(
    rf"""(?P<space>\s+)
      | (?P<file>{FILE_PATH})
      | (?P<number>-?{NUMBER}(?:[A-Za-z%]+(?:{NUMBER}[A-Za-z%]+)*)?)
      | (?P<name>{CLASS_PATH}|{NAME})
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>\.\.|[()+*,=])""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Range:
    """`200k..2.2M`."""

    low: Quantity
    high: Quantity


@dataclass(frozen=True, slots=True)
class Argument:
    """A value inside a call, with its key if it has one and the column where it stands (from 1)."""

    key: str | None
    value: "Value"
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """`name(200k..2.2M, period=60m)`; a bare name is a call without arguments."""

    name: str
    arguments: tuple[Argument, ...]
    column: int

    @property
    def is_bare(self) -> bool:
        return not self.arguments


@dataclass(frozen=True, slots=True)
class Number:
    """A number that stands where a call could stand."""

    quantity: Quantity
    column: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Two or more expressions added or multiplied."""

    operator: Literal["+", "*"]
    operands: tuple["Expression", ...]
    column: int


Value: TypeAlias = Quantity | Range | Call | str | bool
Expression: TypeAlias = Call | Number | Operation


def parse_expression(text: str, *, what: str) -> Expression:
    """The tree of an expression. `what` opens every error: `workload: column 8: expected ')'`."""
    parser = _Parser(text, what)
    tree = parser.expression()
    parser.end()
    return tree


def parse_call(text: str, *, what: str) -> Call:
    """The tree of a single call, for things that cannot be added."""
    parser = _Parser(text, what)
    call = parser.call()
    parser.end()
    return call


def is_class_path(name: str) -> bool:
    """Whether a name says in which module a class stands: `package.module:Class`."""
    return re.fullmatch(CLASS_PATH, name, re.ASCII) is not None


def is_file_path(name: str) -> bool:
    """Whether a name says in which file a class stands: `jobs/my_job.py:Class`."""
    return re.fullmatch(r".+\.py:[A-Za-z_]\w*", name, re.ASCII | re.DOTALL) is not None


def quoted(text: str) -> str:
    """`text` as a string of this language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Parser:
    def __init__(self, text: str, what: str) -> None:
        self._what = what
        self._tokens = list(self._tokenize(text))
        self._next = 0
        self._depth = 0

    def expression(self) -> Expression:
        return self._operation("+", self._term)

    def end(self) -> None:
        if self._peek.kind != "end":
            raise self._expected("'+', '*' or the end")

    def call(self) -> Call:
        if self._peek.kind != "name":
            raise self._expected("a name")
        name = self._take()
        return Call(name.text, self._arguments() if self._skip("(") else (), name.column)

    def _term(self) -> Expression:
        return self._operation("*", self._factor)

    def _operation(self, operator: Literal["+", "*"], operand: Callable[[], Expression]) -> Expression:
        column = self._peek.column
        operands = [operand()]
        while self._skip(operator):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else Operation(operator, tuple(operands), column)

    def _factor(self) -> Expression:
        token = self._peek
        if token.kind == "number":
            return Number(self._quantity(), token.column)
        if token.kind == "name":
            return self.call()
        if not self._skip("("):
            raise self._expected("a name, a number or '('")
        self._enter()
        inner = self.expression()
        self._depth -= 1
        if not self._skip(")"):
            raise self._expected("'+', '*' or ')'")
        return inner

    def _arguments(self) -> tuple[Argument, ...]:
        self._enter()
        found: list[Argument] = []
        while not self._skip(")"):
            if found and not self._skip(","):
                raise self._expected("',' or ')'")
            found.append(self._argument(keyed=bool(found) and found[-1].key is not None))
        self._depth -= 1
        return tuple(found)

    def _argument(self, *, keyed: bool) -> Argument:
        column, key = self._peek.column, None
        if self._peek.kind == "name" and self._tokens[self._next + 1].text == "=":
            key = self._take().text
            self._take()
        elif keyed:
            raise self._expected("a setting such as name=value, since one came before")
        return Argument(key, self._value(), column)

    def _value(self) -> Value:
        token = self._peek
        if token.kind == "number":
            low = self._quantity()
            return Range(low, self._quantity()) if self._skip("..") else low
        if token.kind == "string":
            return re.sub(r"\\(.)", r"\1", self._take().text[1:-1], flags=re.DOTALL)
        if token.kind == "name" and token.text in ("true", "false"):
            return self._take().text == "true"
        if token.kind != "name":
            raise self._expected("a value")
        return self.call()

    def _quantity(self) -> Quantity:
        if self._peek.kind != "number":
            raise self._expected("a number")
        token = self._take()
        try:
            return parse_quantity(token.text)
        except BadInput as wrong:
            raise self._error(token.column, str(wrong)) from None

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek
        self._next += 1
        return token

    def _skip(self, sign: str) -> bool:
        if self._peek.kind == "sign" and self._peek.text == sign:
            self._next += 1
            return True
        return False

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._peek.column, f"more than {MAX_DEPTH} levels of parentheses")

    def _tokenize(self, text: str) -> Iterator[_Token]:
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                if text[at] in "\"'":
                    raise self._error(at + 1, "a string without its closing quote")
                raise self._error(at + 1, f"unexpected {text[at]!r}")
            if match.lastgroup != "space":
                kind = "name" if match.lastgroup == "file" else str(match.lastgroup)
                yield _Token(kind, match.group(), at + 1)
            at = match.end()
        yield _Token("end", "", len(text) + 1)

    def _expected(self, expected: str) -> BadInput:
        found = repr(self._peek.text) if self._peek.kind != "end" else "the end"
        return self._error(self._peek.column, f"expected {expected}, found {found}")

    def _error(self, column: int, message: str) -> BadInput:
        return BadInput(f"{self._what}: column {column}: {message}")
