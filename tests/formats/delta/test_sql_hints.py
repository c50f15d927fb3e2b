"""Predicates as SQL text."""

import pytest

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
from lakeshare.formats.delta.sql_hints import parse_sql_hints


def one(text):
    (found,) = parse_sql_hints([text]).children
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("date = '2021-01-01'", Compare(Comparison.EQUAL, "date", Literal("2021-01-01", None))),
        ("'x''y' < name", Compare(Comparison.GREATER, "name", Literal("x'y", None))),
        ("id >= 10", Compare(Comparison.GREATER_OR_EQUAL, "id", Literal(10, None))),
        ("(id <= -1.5)", Compare(Comparison.LESS_OR_EQUAL, "id", Literal(-1.5, None))),
        ("id <> 3", Not(Compare(Comparison.EQUAL, "id", Literal(3, None)))),
        ("`a b`.c > 1L", Compare(Comparison.GREATER, "a b.c", Literal(1, None))),
        ("a IS NULL", IsNull("a")),
        ("((a is not null))", Not(IsNull("a"))),
        ("flag", Holds("flag")),
        ("NOT flag", Not(Holds("flag"))),
        ("a = NULL", Constant(None)),
        (
            "(CAST(partitionValues.date AS DATE) = DATE '2024-01-02')",
            Compare(Comparison.EQUAL, "date", Literal(19724, ValueKind.DAY)),
        ),
        (
            "cast(partitionValues.n as int) > 5",
            Compare(Comparison.GREATER, "n", Literal(5, ValueKind.WHOLE), narrow=True),
        ),
        (
            "ts >= TIMESTAMP '1970-01-01T00:00:01Z'",
            Compare(Comparison.GREATER_OR_EQUAL, "ts", Literal(1_000_000, ValueKind.INSTANT)),
        ),
        (
            "a = 1 AND (b = 2 OR NOT c = 3)",
            And(
                (
                    Compare(Comparison.EQUAL, "a", Literal(1, None)),
                    Or(
                        (
                            Compare(Comparison.EQUAL, "b", Literal(2, None)),
                            Not(Compare(Comparison.EQUAL, "c", Literal(3, None))),
                        )
                    ),
                )
            ),
        ),
        (
            "a NOT IN (1, 2)",
            Not(
                Or(
                    (
                        Compare(Comparison.EQUAL, "a", Literal(1, None)),
                        Compare(Comparison.EQUAL, "a", Literal(2, None)),
                    )
                )
            ),
        ),
    ],
)
def test_the_forms_that_clients_send(text, expected):
    """Comparisons either way round, null tests, casts, lists and what joins them are read."""
    assert one(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a =",
        "a = 'x",
        "a LIKE 'x%'",
        "a <=> 1",
        "f(a) = 1",
        "a = 1 garbage",
        "a ~ 1",
        "(" * 200 + "a = 1" + ")" * 200,
        "CAST(a AS DATE) = DATE '2024-99-99'",
        "ts > TIMESTAMP '2024-01-01 00:00:00'",
        "a = b",
        "CAST(a AS DECIMAL) = 1",
        "a = 1" + " " * 70_000 + "AND",
    ],
)
def test_other_text_filters_nothing(text):
    """A hint that cannot be read is Unknown: it drops no file, and proves nothing."""
    assert one(text) == Unknown()


def test_duckdbs_placeholder_is_harmless():
    """The placeholder that DuckDB sends is a column that no table has."""
    assert one("string") == Holds("string")


def test_no_hints_are_no_predicate():
    """An empty list asks for nothing; too long a list is not read."""
    assert parse_sql_hints([]) is None
    assert parse_sql_hints(["a = 1"] * 1001) == Unknown()
