"""Predicates as JSON trees, into values (Delta Sharing, JSON predicates for filtering).

They are hints: whatever is wrong with one, the answer is None, no filter, and never an error.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import orjson

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
    Scalar,
    Unknown,
    ValueKind,
)

MAX_LETTERS = 1_000_000
"""The longest tree that is read; the reference server stops at a megabyte too."""
MAX_DEPTH = 100
"""The deepest tree that is read, as on the reference server."""

_COMPARISONS = {
    "equal": Comparison.EQUAL,
    "lessThan": Comparison.LESS,
    "lessThanOrEqual": Comparison.LESS_OR_EQUAL,
    "greaterThan": Comparison.GREATER,
    "greaterThanOrEqual": Comparison.GREATER_OR_EQUAL,
}
_INT_BITS = {"int": 31, "long": 63}


class _BadHint(Exception):
    """The tree makes no sense; the filter is dropped."""


def parse_json_hints(text: str) -> Predicate | None:
    """Read a tree of predicates, or return None when it cannot be read as one."""
    if len(text) > MAX_LETTERS:
        return None
    try:
        return _node(orjson.loads(text), 0)
    except (_BadHint, orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _node(node: Mapping[str, Any], depth: int) -> Predicate:
    if depth > MAX_DEPTH:
        raise _BadHint
    name = node["op"]
    if name in _COMPARISONS:
        return _compare(_COMPARISONS[name], *_children(node, 2))
    match name:
        case "and" | "or":
            children = tuple(_node(child, depth + 1) for child in _children(node, None))
            return And(children) if name == "and" else Or(children)
        case "not":
            return Not(_node(_children(node, 1)[0], depth + 1))
        case "isNull":
            return _is_null(_children(node, 1)[0])
        case "column":
            return Holds(_name(node)) if node.get("valueType", "bool") == "bool" else Unknown()
        case "literal":
            value, kind = _literal(node)
            return Constant(bool(value)) if kind is ValueKind.TRUTH else Unknown()
        case _:
            raise _BadHint


def _children(node: Mapping[str, Any], count: int | None) -> list[Mapping[str, Any]]:
    children = node["children"]
    if not isinstance(children, list) or (len(children) != count if count else len(children) < 2):
        raise _BadHint
    return children


def _is_null(child: Mapping[str, Any]) -> Predicate:
    if child["op"] == "column":
        return IsNull(_name(child))
    if child["op"] == "literal":
        return Constant(child.get("value") is None)
    raise _BadHint


def _compare(comparison: Comparison, left: Mapping[str, Any], right: Mapping[str, Any]) -> Predicate:
    sides = (left["op"], right["op"])
    if sides == ("literal", "column"):
        return _compare(comparison.mirrored(), right, left)
    if not set(sides) <= {"column", "literal"}:
        raise _BadHint
    if sides != ("column", "literal") or left.get("valueType") != right.get("valueType"):
        return Unknown()
    if right.get("value") is None:
        return Constant(None)
    value, kind = _literal(right)
    if isinstance(value, float) and math.isnan(value):
        return Unknown()
    return Compare(comparison, _name(left), Literal(value, kind), narrow=right["valueType"] in {"int", "float"})


def _name(node: Mapping[str, Any]) -> str:
    name = node["name"]
    if not isinstance(name, str):
        raise _BadHint
    return name


def _literal(node: Mapping[str, Any]) -> tuple[Scalar, ValueKind]:
    kind, read = _READERS[node["valueType"]]
    text = node["value"]
    if not isinstance(text, str):
        raise _BadHint
    value = read(text)
    if kind is ValueKind.WHOLE and not _fits(value, _INT_BITS[node["valueType"]]):
        raise _BadHint
    return value, kind


def _fits(value: Scalar, bits: int) -> bool:
    return isinstance(value, int) and -(1 << bits) <= value < 1 << bits


def _truth(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise _BadHint
    return text.lower() == "true"


_READERS: Mapping[str, tuple[ValueKind, Callable[[str], Scalar]]] = {
    "bool": (ValueKind.TRUTH, _truth),
    "int": (ValueKind.WHOLE, int),
    "long": (ValueKind.WHOLE, int),
    "string": (ValueKind.TEXT, str),
    "date": (ValueKind.DAY, days),
    "float": (ValueKind.REAL, float),
    "double": (ValueKind.REAL, float),
    "timestamp": (ValueKind.INSTANT, instant_micros),
}
