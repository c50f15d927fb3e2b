"""Which files a predicate keeps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    Unknown,
    ValueKind,
)
from lakeshare.columnar.prune import judge
from tests.columnar.files import SHAPE, add, moment, part_of, stats

EQUAL, LESS, LEAST = Comparison.EQUAL, Comparison.LESS, Comparison.LESS_OR_EQUAL
MORE, MOST = Comparison.GREATER, Comparison.GREATER_OR_EQUAL


def whole(comparison, value, column="n"):
    return Compare(comparison, column, Literal(value, ValueKind.WHOLE))


def text(comparison, value, column="s"):
    return Compare(comparison, column, Literal(value, ValueKind.TEXT))


def kept(predicate, *adds):
    return judge(part_of(*adds), predicate, SHAPE).may.tolist()


def surely(predicate, *adds):
    return judge(part_of(*adds), predicate, SHAPE).must.tolist()


ONE_TO_NINE = add("a", stats(3, {"n": 1}, {"n": 9}, {"n": 0}))
ALL_NULL = add("b", stats(3, None, None, {"n": 3}))
UNKNOWN = add("c")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (whole(EQUAL, 5), [True, False, True]),
        (whole(EQUAL, 10), [False, False, True]),
        (whole(LESS, 1), [False, False, True]),
        (whole(LEAST, 1), [True, False, True]),
        (whole(MORE, 9), [False, False, True]),
        (whole(MOST, 9), [True, False, True]),
        (Not(whole(LEAST, 9)), [False, False, True]),
        (IsNull("n"), [False, True, True]),
        (Not(IsNull("n")), [True, False, True]),
        (And((whole(MORE, 0), whole(MORE, 9))), [False, False, True]),
        (Or((whole(MORE, 9), IsNull("n"))), [False, True, True]),
        (Not(And((whole(MORE, 0), Constant(value=True)))), [False, False, True]),
        (Constant(value=True), [True, True, True]),
        (Constant(value=False), [False, False, False]),
        (Constant(value=None), [False, False, False]),
        (Unknown(), [True, True, True]),
        (And((Unknown(), whole(MORE, 9))), [False, False, True]),
        (Or((Unknown(), whole(MORE, 9))), [True, True, True]),
        (whole(EQUAL, 5, "nothing"), [True, True, True]),
        (IsNull("nothing"), [True, True, True]),
        (Compare(EQUAL, "n", Literal("5", ValueKind.TEXT)), [True, True, True]),
        (Compare(EQUAL, "n", Literal(10.5, ValueKind.REAL)), [False, False, True]),
        (Compare(EQUAL, "n", Literal("50", None)), [False, False, True]),
        (Compare(EQUAL, "n", Literal("x", None)), [True, True, True]),
        (Compare(EQUAL, "n", Literal(50, ValueKind.WHOLE), narrow=True), [True, True, True]),
    ],
)
def test_files_are_kept_unless_no_row_can_match(predicate, expected):
    """A file with bounds, one whose values are all null, and one of which nothing is known."""
    assert kept(predicate, ONE_TO_NINE, ALL_NULL, UNKNOWN) == expected


def test_a_file_is_sure_when_every_row_matches():
    """Every row must match, so that nulls and unknown bounds make a file unsure."""
    some_null = add("d", stats(3, {"n": 1}, {"n": 9}, {"n": 1}))
    files = (ONE_TO_NINE, ALL_NULL, UNKNOWN, some_null)
    assert surely(whole(LESS, 10), *files) == [True, False, False, False]
    assert surely(IsNull("n"), *files) == [False, True, False, False]
    assert surely(whole(EQUAL, 7), add("e", stats(1, {"n": 7}, {"n": 7}, {"n": 0}))) == [True]
    assert surely(Or((whole(LESS, 10), Unknown())), *files) == [True, False, False, False]


def test_strings_may_go_on_where_their_bounds_were_cut():
    """A greatest value of `abc` may stand for `abcdef`."""
    cut = add("a", stats(3, {"s": "aaa"}, {"s": "abc"}, {"s": 0}))
    assert kept(text(EQUAL, "abcd"), cut) == [True]
    assert kept(text(MORE, "abc"), cut) == [True]
    assert kept(text(EQUAL, "abd"), cut) == [False]
    assert kept(text(LESS, "aaa"), cut) == [False]
    assert surely(text(LEAST, "abcd"), cut) == [False]
    assert surely(text(EQUAL, "x"), add("a", stats(1, {"s": "x"}, {"s": "x"}, {"s": 0}))) == [False]


def test_partition_values_are_exact():
    """A partition's string is no prefix, and is found by the table's name for it."""
    file = add("a", partition={"col-p": "abc", "d": "2024-01-02"})
    assert kept(text(EQUAL, "abcd", "P"), file) == [False]
    assert surely(text(EQUAL, "abc", "p"), file) == [True]
    assert kept(Compare(EQUAL, "d", Literal("2024-01-03", None)), file) == [False]
    assert kept(Compare(EQUAL, "d", Literal("2024-01-02", None)), file) == [True]
    null = add("b", partition={"col-p": None})
    assert kept(text(EQUAL, "abc", "p"), null) == [False]
    assert kept(IsNull("p"), null) == [True]


def test_nested_and_boolean_columns():
    """A nested column is named by its path; a boolean column is a predicate of its own."""
    file = add("a", stats(2, {"o": {"col-q": 1}, "b": False}, {"o": {"col-q": 2}, "b": False}, {"b": 0}))
    assert kept(whole(EQUAL, 3, "o.q"), file) == [False]
    assert kept(Holds("b"), file) == [False]
    assert surely(Not(Holds("b")), file) == [True]


def test_a_literal_too_long_is_not_judged():
    """There is a bound to how long a string is compared with cut ones."""
    file = add("a", stats(3, {"s": "a"}, {"s": "b"}, {"s": 0}))
    assert kept(text(EQUAL, "z" * 2000), file) == [True]


# Files of random rows, judged by random predicates: none that a row matches may be dropped.

_NUMBERS = st.integers(-5, 5) | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1])
_VALUES = {
    "n": _NUMBERS,
    "i": st.integers(-5, 5),
    "x": st.integers(-5, 5).map(float) | st.sampled_from([0.1, 1e300, -1e300]),
    "f": st.sampled_from([0.1, 0.2, -0.1, 1.5, 3.0]).map(lambda value: float(np.float32(value))),
    "s": st.text("abc\uffff", max_size=5),
    "t": st.integers(-3000, 3000),
    "p": st.text("ab", min_size=1, max_size=3),
}
_KINDS = {
    "n": ValueKind.WHOLE,
    "i": ValueKind.WHOLE,
    "x": ValueKind.REAL,
    "f": ValueKind.REAL,
    "s": ValueKind.TEXT,
    "t": ValueKind.INSTANT,
    "p": ValueKind.TEXT,
}
_COLUMNS = st.sampled_from(sorted(_VALUES))


@st.composite
def _files(draw):
    partition = draw(st.none() | _VALUES["p"])
    names = ("n", "i", "x", "f", "s", "t")
    rows = draw(
        st.lists(st.fixed_dictionaries({name: st.none() | _VALUES[name] for name in names}), min_size=1, max_size=4)
    )
    return [row | {"p": partition} for row in rows], draw(st.integers(1, 5)), draw(st.sets(st.sampled_from(names)))


@st.composite
def _compares(draw):
    column = draw(_COLUMNS)
    value = draw(_VALUES[column])
    if column == "f" and draw(st.booleans()):
        value = draw(st.sampled_from([0.1, 0.2, -0.1]))
    if column in {"n", "i"} and draw(st.booleans()):
        return Compare(draw(st.sampled_from(Comparison)), column, Literal(float(value), ValueKind.REAL))
    return Compare(draw(st.sampled_from(Comparison)), column, Literal(value, _KINDS[column]))


_LEAVES = (
    _compares() | _COLUMNS.map(IsNull) | st.builds(Constant, st.sampled_from([True, False, None])) | st.builds(Unknown)
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(lambda *two: And(two), inner, inner)
        | st.builds(lambda *two: Or(two), inner, inner)
    ),
    max_leaves=6,
)


def _described(number, rows, cut, silent):
    """Write a file's action: statistics of its rows, with strings cut and some columns left out."""
    low, high, nulls = {}, {}, {}
    for name in ("n", "i", "x", "f", "s", "t"):
        if name in silent:
            continue
        values = [row[name] for row in rows if row[name] is not None]
        nulls[name] = len(rows) - len(values)
        if values:
            least, greatest = min(values, key=_order), max(values, key=_order)
            low[name], high[name] = _written(name, least, cut), _written(name, greatest, cut)
    partition = {"col-p": rows[0]["p"]}
    return add(f"f{number}", stats(len(rows), low, high, nulls), partition)


def _order(value):
    return value.encode() if isinstance(value, str) else value


def _written(name, value, cut):
    if name == "s":
        return value[:cut]
    if name == "t":
        return moment(value)
    return float(str(np.float32(value))) if name == "f" else value


def _holds(predicate, row):  # noqa: PLR0911 - one arm for each kind of predicate.
    """Evaluate a predicate of one row, by SQL's logic of three values; Unknown is a coin, here always true."""
    match predicate:
        case Compare():
            left, right = row[predicate.column], predicate.literal.value
            if left is None:
                return None
            if isinstance(right, float) and isinstance(left, int):
                left = float(left)
            left, right = _order(left), _order(right)
            return {
                EQUAL: left == right,
                LESS: left < right,
                LEAST: left <= right,
                MORE: left > right,
                MOST: left >= right,
            }[predicate.comparison]
        case IsNull():
            return row[predicate.column] is None
        case Constant():
            return predicate.value
        case Unknown():
            return True
        case Not():
            inner = _holds(predicate.child, row)
            return None if inner is None else not inner
        case And():
            return _kleene([_holds(child, row) for child in predicate.children], False)
        case Or():
            return _kleene([_holds(child, row) for child in predicate.children], True)


def _kleene(values, decisive):
    if decisive in values:
        return decisive
    return None if None in values else not decisive


@settings(max_examples=150, deadline=None)
@given(st.lists(_files(), min_size=1, max_size=4), _TREES)
def test_no_file_with_a_matching_row_is_dropped(files, predicate):
    """Pruning keeps every file of which a row matches, and calls no file sure of which a row does not."""
    adds = [_described(number, *file) for number, file in enumerate(files)]
    judged = judge(part_of(*adds), predicate, SHAPE)
    for (rows, _, _), may, must in zip(files, judged.may, judged.must, strict=True):
        answers = [_holds(predicate, row) for row in rows]
        assert may or True not in answers
        assert not must or all(answer is True for answer in answers)


def test_infinities_compare():
    """An infinite constant is past every bound."""
    file = add("a", stats(1, {"x": 1.0}, {"x": 2.0}, {"x": 0}))
    assert kept(Compare(MORE, "x", Literal(math.inf, ValueKind.REAL)), file) == [False]
    assert surely(Compare(LESS, "x", Literal(math.inf, ValueKind.REAL)), file) == [True]
