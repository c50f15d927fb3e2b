"""Predicates as SQL text, into values: comparisons of a column with a constant, and what joins them.

The forms are those that Delta Sharing's connectors send, such as
`(CAST(partitionValues.date AS DATE) = DATE '2024-01-02')`. A hint that cannot be read filters nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.columnar.moments import days, instant_micros
from lakeshare.columnar.predicate import (
    And,
    Compare,
    Comparison,
    Constant,
    Holds,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    Unknown,
    ValueKind,
)

MAX_HINTS = 1000
MAX_LETTERS = 65_536
MAX_DEPTH = 50
MAX_LIST = 1000
"""The longest IN list that is read."""

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')"
    r"|(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[LlDd]?(?![\w.])"
    r"|(?P<name>(?:`[^`]+`|[A-Za-z_]\w*)(?:\.(?:`[^`]+`|\w+))*)"
    r"|(?P<sign><=>|<=|>=|<>|!=|=|<|>|\(|\)|,))"
)
_COMPARISONS = {
    "=": Comparison.EQUAL,
    "<": Comparison.LESS,
    "<=": Comparison.LESS_OR_EQUAL,
    ">": Comparison.GREATER,
    ">=": Comparison.GREATER_OR_EQUAL,
}
_CASTS = {
    "BOOLEAN": ValueKind.TRUTH,
    "TINYINT": ValueKind.WHOLE,
    "SMALLINT": ValueKind.WHOLE,
    "INT": ValueKind.WHOLE,
    "INTEGER": ValueKind.WHOLE,
    "BIGINT": ValueKind.WHOLE,
    "LONG": ValueKind.WHOLE,
    "STRING": ValueKind.TEXT,
    "DATE": ValueKind.DAY,
}
_NARROW = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER"})
_PARTITION_PREFIX = "partitionvalues."


class _BadHint(Exception):
    """The text is none of the forms that are read."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    cast: str | None = None


_Operand = _Column | Literal | None
"""A column, a constant, or None for NULL."""


def parse_sql_hints(hints: Sequence[str]) -> Predicate | None:
    """Read hints, which hold together; one that cannot be read stands as Unknown. None when there are none."""
    if not hints:
        return None
    if len(hints) > MAX_HINTS:
        return Unknown()
    return And(tuple(_hint(hint) for hint in hints))


def _hint(text: str) -> Predicate:
    try:
        parser = _Parser(_tokens(text))
        found = parser.disjunction(0)
        parser.end()
    except (_BadHint, ValueError, OverflowError):
        return Unknown()
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > MAX_LETTERS:
        raise _BadHint
    tokens: list[tuple[str, str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _BadHint
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


class _Parser:
    """A recursive descent over the tokens of one hint."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def end(self) -> None:
        if self._at != len(self._tokens):
            raise _BadHint

    def disjunction(self, depth: int) -> Predicate:
        parts = [self._conjunction(depth)]
        while self._word("OR"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self, depth: int) -> Predicate:
        parts = [self._negation(depth)]
        while self._word("AND"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise _BadHint
        if self._word("NOT"):
            return Not(self._negation(depth + 1))
        start = self._at
        try:
            return self._test(self._operand(depth))
        except _BadHint:
            self._at = start
        self._expect("(")
        found = self.disjunction(depth + 1)
        self._expect(")")
        return found

    def _test(self, left: _Operand) -> Predicate:
        """Read what is asked of an operand: a comparison, IS NULL, IN, or nothing for a boolean column."""
        if self._word("IS"):
            negated = self._word("NOT")
            self._need("NULL")
            found: Predicate = IsNull(left.name) if isinstance(left, _Column) else Constant(left is None)
            return Not(found) if negated else found
        negated = self._word("NOT")
        if self._word("IN"):
            found = Or(tuple(_compare(Comparison.EQUAL, left, item) for item in self._list()))
            return Not(found) if negated else found
        if negated:
            raise _BadHint
        sign = self._sign()
        if sign is None:
            return _alone(left)
        right = self._operand(0)
        if sign in {"<>", "!="}:
            return Not(_compare(Comparison.EQUAL, left, right))
        if sign not in _COMPARISONS:
            raise _BadHint
        return _compare(_COMPARISONS[sign], left, right)

    def _list(self) -> list[_Operand]:
        self._expect("(")
        items = [self._operand(0)]
        while self._peek() == ("sign", ",") and len(items) < MAX_LIST:
            self._at += 1
            items.append(self._operand(0))
        self._expect(")")
        return items

    def _operand(self, depth: int) -> _Operand:
        if depth > MAX_DEPTH:
            raise _BadHint
        kind, text = self._next()
        if kind == "text":
            return Literal(text[1:-1].replace("''", "'"), None)
        if kind == "number":
            return Literal(int(text) if text.lstrip("+-").isdigit() else float(text), None)
        if (kind, text) == ("sign", "("):
            inner = self._operand(depth + 1)
            self._expect(")")
            return inner
        if kind != "name":
            raise _BadHint
        return self._named(text, depth)

    def _named(self, text: str, depth: int) -> _Operand:
        """Read what begins with a word: NULL, TRUE, FALSE, DATE '…', TIMESTAMP '…', CAST(… AS …), or a column."""
        word, following = text.upper(), self._peek()
        if word in {"TRUE", "FALSE"}:
            return Literal(word == "TRUE", ValueKind.TRUTH)
        if word == "NULL":
            return None
        if word in {"DATE", "TIMESTAMP"} and following is not None and following[0] == "text":
            value = self._next()[1][1:-1]
            if word == "DATE":
                return Literal(days(value), ValueKind.DAY)
            return Literal(instant_micros(value), ValueKind.INSTANT)
        if word == "CAST" and following == ("sign", "("):
            return self._cast(depth)
        if word in {"AND", "OR", "NOT", "IS", "IN", "AS"}:
            raise _BadHint
        return _Column(_column_name(text))

    def _cast(self, depth: int) -> _Operand:
        self._expect("(")
        inner = self._operand(depth + 1)
        self._need("AS")
        kind, name = self._next()
        self._expect(")")
        if kind != "name" or not isinstance(inner, _Column):
            raise _BadHint
        return _Column(inner.name, name.upper())

    def _peek(self) -> tuple[str, str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        if found is None:
            raise _BadHint
        self._at += 1
        return found

    def _word(self, word: str) -> bool:
        found = self._peek()
        if found is None or found[0] != "name" or found[1].upper() != word:
            return False
        self._at += 1
        return True

    def _need(self, word: str) -> None:
        if not self._word(word):
            raise _BadHint

    def _sign(self) -> str | None:
        found = self._peek()
        if found is None or found[0] != "sign" or found[1] in {"(", ")", ","}:
            return None
        self._at += 1
        return found[1]

    def _expect(self, sign: str) -> None:
        if self._next() != ("sign", sign):
            raise _BadHint


def _compare(comparison: Comparison, left: _Operand, right: _Operand) -> Predicate:
    if left is None or right is None:
        return Constant(None)
    if isinstance(left, Literal) and isinstance(right, _Column):
        return _compare(comparison.mirrored(), right, left)
    if not isinstance(left, _Column) or not isinstance(right, Literal):
        return Unknown()
    if left.cast is None:
        return Compare(comparison, left.name, right)
    kind = _CASTS.get(left.cast)
    literal = None if kind is None else _as_kind(right, kind)
    return Unknown() if literal is None else Compare(comparison, left.name, literal, narrow=left.cast in _NARROW)


def _as_kind(literal: Literal, kind: ValueKind) -> Literal | None:
    """Give an untyped constant the kind of the cast beside it, or return None where that would change its meaning."""
    if literal.kind is not None:
        return literal if literal.kind is kind else None
    if kind is ValueKind.DAY and isinstance(literal.value, str):
        return Literal(days(literal.value), kind)
    if kind is ValueKind.TEXT and isinstance(literal.value, str):
        return Literal(literal.value, kind)
    if kind is ValueKind.WHOLE and isinstance(literal.value, int):
        return Literal(literal.value, kind)
    return None


def _alone(operand: _Operand) -> Predicate:
    if isinstance(operand, _Column):
        return Holds(operand.name) if operand.cast in {None, "BOOLEAN"} else Unknown()
    if operand is None:
        return Constant(None)
    if operand.kind is not ValueKind.TRUTH:
        raise _BadHint
    return Constant(bool(operand.value))


def _column_name(text: str) -> str:
    plain = text.replace("`", "")
    return plain[len(_PARTITION_PREFIX) :] if plain.lower().startswith(_PARTITION_PREFIX) else plain
