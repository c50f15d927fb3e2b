"""Conditions of reads."""

import pytest

from lakeshare.objects.errors import NotModified, PreconditionFailed
from lakeshare.objects.model.conditions import ReadCondition, etags_of

AT = 1_000
AT_NS = AT * 1_000_000_000 + 5


def test_etags_may_be_quoted_or_not():
    """Quoted, unquoted, weak and several ETags are all read."""
    assert etags_of('"a"') == etags_of("a") == etags_of('W/"a"') == ("a",)
    assert etags_of('"a", "b"') == ("a", "b")


@pytest.mark.parametrize(
    "condition",
    [
        ReadCondition(),
        ReadCondition(if_match=("e",)),
        ReadCondition(if_match=("*",)),
        ReadCondition(if_none_match=("x",)),
        ReadCondition(if_modified_since=AT - 1),
        ReadCondition(if_unmodified_since=AT),
        ReadCondition(if_match=("e",), if_unmodified_since=AT - 10),
        ReadCondition(if_none_match=("x",), if_modified_since=AT + 10),
    ],
)
def test_conditions_that_hold(condition):
    """An ETag condition goes before a time, as RFC 9110 orders them."""
    condition.check("e", AT_NS)


@pytest.mark.parametrize("condition", [ReadCondition(if_match=("x",)), ReadCondition(if_unmodified_since=AT - 1)])
def test_positive_conditions_that_fail(condition):
    """A reader that insists on another object gets none."""
    with pytest.raises(PreconditionFailed):
        condition.check("e", AT_NS)


@pytest.mark.parametrize(
    "condition",
    [ReadCondition(if_none_match=("e",)), ReadCondition(if_none_match=("*",)), ReadCondition(if_modified_since=AT)],
)
def test_negative_conditions_that_fail(condition):
    """A reader that has the object is told so; a copy from it is refused."""
    with pytest.raises(NotModified):
        condition.check("e", AT_NS)
    with pytest.raises(PreconditionFailed):
        condition.check_source("e", AT_NS)
