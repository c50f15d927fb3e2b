"""Predicates over columns, as values. They say nothing of where they came from; `prune` judges files by them.

Values compared are of one of a few kinds, each with the order in which files' bounds are kept.
"""

from dataclasses import dataclass
from enum import Enum


class ValueKind(Enum):
    """A family of types that share an order. INSTANT is a time in UTC, LOCAL one without a zone."""

    TRUTH = "boolean"
    WHOLE = "whole"
    REAL = "real"
    TEXT = "text"
    DAY = "day"
    INSTANT = "instant"
    LOCAL = "local"


class Comparison(Enum):
    """How two values are compared. `<>` is the negation of EQUAL."""

    EQUAL = "="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    def mirrored(self) -> "Comparison":
        """Return the comparison that holds when the two sides change places."""
        return _MIRROR[self]


_MIRROR = {
    Comparison.EQUAL: Comparison.EQUAL,
    Comparison.LESS: Comparison.GREATER,
    Comparison.LESS_OR_EQUAL: Comparison.GREATER_OR_EQUAL,
    Comparison.GREATER: Comparison.LESS,
    Comparison.GREATER_OR_EQUAL: Comparison.LESS_OR_EQUAL,
}

Scalar = bool | int | float | str
"""TRUTH is bool, WHOLE int, REAL float, TEXT str; DAY is days since 1970, INSTANT and LOCAL microseconds."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `kind` is None for SQL text whose type is that of the column beside it."""

    value: Scalar
    kind: ValueKind | None


@dataclass(frozen=True, slots=True)
class Compare:
    """`column <comparison> literal`, by the column's name in the schema.

    `narrow` says that the column is to be cast to a type of 32 bits first: only a column that fits may be judged.
    """

    comparison: Comparison
    column: str
    literal: Literal
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """The column has no value."""

    column: str


@dataclass(frozen=True, slots=True)
class Holds:
    """The column, a boolean one, is true."""

    column: str


@dataclass(frozen=True, slots=True)
class Constant:
    """The same for every row: true, false, or null."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part of a predicate that cannot be judged here: it may be true, false or null of any row."""


@dataclass(frozen=True, slots=True)
class Not:
    """The negation."""

    child: "Predicate"


@dataclass(frozen=True, slots=True)
class And:
    """All hold."""

    children: "tuple[Predicate, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one holds."""

    children: "tuple[Predicate, ...]"


Predicate = Compare | IsNull | Holds | Constant | Unknown | Not | And | Or
