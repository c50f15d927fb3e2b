"""Which files may hold a row that a predicate wants, by the bounds of their columns.

A predicate is true, false or null of a row. Of a file it is known what it can be of some row: three masks. They may
claim too much and never too little, so that a file is dropped only when no row of it can match.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.keys import Mask
from lakeshare.columnar.moments import days, instant_micros
from lakeshare.columnar.part import Part
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
from lakeshare.columnar.statistics import ALL_NULLS, NO_NULLS, SOME_NULLS, Bounds

MAX_PREFIX = 1024
"""The longest string constant for which bounds that were cut short are reckoned with; a longer one is not judged."""
_INT64 = 2**63
_EXACT = 2**53
"""Whole numbers below this are the same as 64-bit floats; past it a comparison of the two kinds would be a guess."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a predicate can be of some row of each file."""

    true: Mask
    false: Mask
    null: Mask


@dataclass(frozen=True, slots=True)
class Judged:
    """Which files may match, and of which every row does."""

    may: Mask
    must: Mask


def judge(part: Part, predicate: Predicate, shape: TableShape) -> Judged:
    """Judge the files of a part. `shape` names the table's columns as they are now."""
    found = _Judge(part, shape).outcome(predicate)
    return Judged(found.true, found.true & ~found.false & ~found.null)


class _Judge:
    """One part, judged by one predicate."""

    def __init__(self, part: Part, shape: TableShape) -> None:
        self._part = part
        self._shape = shape
        self._count = part.num_files

    def outcome(self, predicate: Predicate) -> Outcome:  # noqa: PLR0911 - one arm for each kind of predicate.
        match predicate:
            case Compare():
                return self._compare(predicate)
            case Holds():
                yes = Literal(value=True, kind=ValueKind.TRUTH)
                return self._compare(Compare(Comparison.EQUAL, predicate.column, yes))
            case IsNull():
                return self._is_null(predicate)
            case Constant():
                return self._constant(predicate.value)
            case Unknown():
                return self._anything()
            case Not():
                inner = self.outcome(predicate.child)
                return Outcome(inner.false, inner.true, inner.null)
            case And():
                return self._all(predicate.children)
            case Or():
                # By De Morgan: some child holds unless all of them fail.
                fails = self._all(tuple(Not(child) for child in predicate.children))
                return Outcome(fails.false, fails.true, fails.null)
            case _:
                assert_never(predicate)

    def _all(self, children: tuple[Predicate, ...]) -> Outcome:
        """Join by AND: true when all are, false when any is, null when some are and none is false."""
        true, false = self._mask(value=True), self._mask(value=False)
        null, not_false = self._mask(value=False), self._mask(value=True)
        for child in children:
            found = self.outcome(child)
            true &= found.true
            false |= found.false
            null |= found.null
            not_false &= found.true | found.null
        return Outcome(true, false, null & not_false)

    def _compare(self, test: Compare) -> Outcome:
        column, bounds = self._bounds(test.column)
        if column is None or bounds is None or (test.narrow and not column.narrow):
            return self._anything()
        value = _coerced(test.literal, column.kind)
        if value is None:
            return self._anything()
        if isinstance(value, float) and column.kind is ValueKind.WHOLE:
            bounds = Bounds(_as_reals(bounds.low), _as_reals(bounds.high), bounds.nulls)
        true, false = _reach(test.comparison, bounds, value, exact=column.partition)
        nulls = _null_states(bounds)
        some = nulls != ALL_NULLS
        return Outcome(true & some, false & some, nulls != NO_NULLS)

    def _is_null(self, test: IsNull) -> Outcome:
        _, bounds = self._bounds(test.column)
        if bounds is None:
            return Outcome(self._mask(value=True), self._mask(value=True), self._mask(value=False))
        nulls = _null_states(bounds)
        return Outcome(nulls != NO_NULLS, nulls != ALL_NULLS, self._mask(value=False))

    def _bounds(self, name: str) -> tuple[BoundColumn | None, Bounds | None]:
        column = self._shape.find(name)
        return column, None if column is None else self._part.bounds(column)

    def _constant(self, value: bool | None) -> Outcome:  # noqa: FBT001
        return Outcome(*(self._mask(value=value is wanted) for wanted in (True, False, None)))

    def _anything(self) -> Outcome:
        return Outcome(*(self._mask(value=True) for _ in range(3)))

    def _mask(self, *, value: bool) -> Mask:
        return np.full(self._count, value, dtype=np.bool_)


def _reach(comparison: Comparison, bounds: Bounds, value: Scalar, *, exact: bool) -> tuple[Mask, Mask]:
    """Say where a comparison can be true and where it can be false of a value between the bounds."""
    low, high = bounds.low, _High(bounds.high, value, exact=exact)
    match comparison:
        case Comparison.LESS:
            return _filled(pc.less(low, value)), high.reaches(pc.greater_equal)
        case Comparison.LESS_OR_EQUAL:
            return _filled(pc.less_equal(low, value)), high.reaches(pc.greater)
        case Comparison.GREATER:
            return high.reaches(pc.greater), _filled(pc.less_equal(low, value))
        case Comparison.GREATER_OR_EQUAL:
            return high.reaches(pc.greater_equal), _filled(pc.less(low, value))
        case Comparison.EQUAL:
            may = _filled(pc.less_equal(low, value)) & high.reaches(pc.greater_equal)
            return may, _filled(pc.less(low, value)) | high.reaches(pc.greater)
        case _:
            assert_never(comparison)


@dataclass(frozen=True, slots=True)
class _High:
    """Greatest values beside a constant.

    Writers cut long strings: what is bounded by `abc` may go on after it, so it reaches past all that begins so.
    """

    high: pa.ChunkedArray
    value: Scalar
    exact: bool

    def reaches(self, compare: Callable[[pa.ChunkedArray, Scalar], pa.ChunkedArray]) -> Mask:
        """Say where the greatest value may compare so with the constant."""
        found = _filled(compare(self.high, self.value))
        if self.exact or not isinstance(self.value, str):
            return found
        return found | _filled(pc.is_in(self.high, value_set=_prefixes(self.value)))


def _as_reals(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast whole numbers to floats, rounding those that are too large; rounding keeps their order."""
    return pc.cast(values, pa.float64(), safe=False)


def _prefixes(value: str) -> pa.Array:
    return pa.array([value[:length] for length in range(len(value) + 1)], pa.string())


def _filled(mask: pa.ChunkedArray) -> Mask:
    """Turn a mask of Arrow into one of numpy; where nothing is known anything may be."""
    filled: Mask = pc.fill_null(mask, fill_value=True).to_numpy(zero_copy_only=False)
    return filled


def _null_states(bounds: Bounds) -> "np.ndarray[tuple[int], np.dtype[np.int8]]":
    """Return how many values are null in each file; where nobody knows, some may be."""
    states: np.ndarray[tuple[int], np.dtype[np.int8]] = pc.fill_null(bounds.nulls, SOME_NULLS).to_numpy()
    return states


def _coerced(literal: Literal, kind: ValueKind) -> Scalar | None:
    """Return a constant as bounds of a kind are kept, or None where the two cannot be compared without a guess."""
    value = literal.value
    if isinstance(value, str) and len(value) > MAX_PREFIX:
        return None
    if literal.kind is kind:
        return int(value) if kind is ValueKind.TRUTH else value
    if literal.kind is ValueKind.REAL and kind is ValueKind.WHOLE:
        return value if abs(float(value)) < _EXACT else None
    return _untyped(value, kind) if literal.kind is None else None


def _untyped(value: Scalar, kind: ValueKind) -> Scalar | None:
    """Give SQL text or a bare number the kind of the column beside it."""
    if not isinstance(value, str):
        return value if kind in {ValueKind.WHOLE, ValueKind.REAL} and abs(value) < _EXACT else None
    read = _READERS.get(kind)
    try:
        return None if read is None else read(value)
    except ValueError:
        return None


def _int64(text: str) -> int:
    value = int(text)
    if not -_INT64 <= value < _INT64:
        raise ValueError(text)
    return value


_READERS: Mapping[ValueKind, Callable[[str], Scalar]] = {
    ValueKind.TEXT: str,
    ValueKind.DAY: days,
    ValueKind.INSTANT: instant_micros,
    ValueKind.WHOLE: _int64,
}
