"""What a commit may require, and the words in which it fails."""

import pytest

from lakeshare.errors import Kind
from lakeshare.formats.iceberg.errors import InvalidMetadata, RequirementFailed, Unsupported
from lakeshare.formats.iceberg.requirements import (
    MAX_REQUIREMENTS,
    AssertCreate,
    check_requirements,
    is_create,
    parse_requirements,
)
from tests.formats.iceberg.made import OTHER_UUID, UUID, changed, ref, with_snapshots

CREATE = {"type": "assert-create"}


def require(document):
    table = changed(with_snapshots(1, 2), ref(1, "t", "tag"))
    check_requirements(parse_requirements([document]), table)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "assert-table-uuid", "uuid": UUID},
        {"type": "assert-table-uuid", "uuid": UUID.upper()},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
        {"type": "assert-ref-snapshot-id", "ref": "t", "snapshot-id": 1},
        {"type": "assert-ref-snapshot-id", "ref": "b", "snapshot-id": None},
        {"type": "assert-ref-snapshot-id", "ref": "b"},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
    ],
)
def test_what_holds(document):
    """A requirement that holds lets the commit pass."""
    require(document)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (CREATE, "table already exists"),
        (
            {"type": "assert-table-uuid", "uuid": OTHER_UUID},
            f"UUID does not match: expected {UUID} != {OTHER_UUID}",
        ),
        (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
            "branch main was created concurrently",
        ),
        ({"type": "assert-ref-snapshot-id", "ref": "t"}, "tag t was created concurrently"),
        (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
            "branch main has changed: expected id 1 != 2",
        ),
        ({"type": "assert-ref-snapshot-id", "ref": "t", "snapshot-id": 2}, "tag t has changed: expected id 2 != 1"),
        (
            {"type": "assert-ref-snapshot-id", "ref": "b", "snapshot-id": 5},
            "branch or tag b is missing, expected 5",
        ),
        (
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 7},
            "last assigned field id changed: expected id 7 != 3",
        ),
        (
            {"type": "assert-current-schema-id", "current-schema-id": 7},
            "current schema changed: expected id 7 != 0",
        ),
        (
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 7},
            "last assigned partition id changed: expected id 7 != 999",
        ),
        (
            {"type": "assert-default-spec-id", "default-spec-id": 7},
            "default partition spec changed: expected id 7 != 0",
        ),
        (
            {"type": "assert-default-sort-order-id", "default-sort-order-id": 7},
            "default sort order changed: expected id 7 != 0",
        ),
    ],
)
def test_what_fails(document, message):
    """A requirement that does not hold is a conflict, in the words that clients look for."""
    with pytest.raises(RequirementFailed) as refused:
        require(document)
    assert refused.value.message == f"Requirement failed: {message}"
    assert refused.value.kind is Kind.CONFLICT


@pytest.mark.parametrize("kind", ["assert-view-uuid", "assert-", "current-schema-id", "", None, 3, {}])
def test_an_unknown_requirement_is_refused(kind):
    """A requirement of an unknown type is refused."""
    with pytest.raises(Unsupported, match="Cannot convert update requirement"):
        parse_requirements([{"type": kind}])


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        ["assert-create"],
        [{"type": "assert-table-uuid"}],
        [{"type": "assert-ref-snapshot-id", "snapshot-id": 1}],
        [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": "1"}],
        [{"type": "assert-current-schema-id", "current-schema-id": True}],
        [CREATE] * (MAX_REQUIREMENTS + 1),
    ],
)
def test_requirements_are_whole(found):
    """Requirements that are no list of whole objects are refused."""
    with pytest.raises(InvalidMetadata):
        parse_requirements(found)


def test_a_create_requires_nothing_else():
    """A commit creates its table when it asserts that there is none, and nothing beside."""
    assert is_create(parse_requirements([CREATE]))
    assert not is_create(parse_requirements([{"type": "assert-table-uuid", "uuid": UUID}]))
    assert not is_create(())
    with pytest.raises(InvalidMetadata, match="Invalid create requirements: AssertTableUuid"):
        is_create(parse_requirements([CREATE, {"type": "assert-table-uuid", "uuid": UUID}]))


def test_without_a_table_only_its_absence_holds():
    """Where there is no table assert-create holds, and every other requirement fails."""
    check_requirements([AssertCreate()], None)
    with pytest.raises(RequirementFailed, match="table does not exist"):
        check_requirements(parse_requirements([{"type": "assert-table-uuid", "uuid": UUID}]), None)
