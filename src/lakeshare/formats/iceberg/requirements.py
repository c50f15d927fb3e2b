"""What a commit requires of the table that it changes; all of it is checked before anything is applied."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    as_document,
    as_list,
    check_size,
    integer,
    optional_integer,
    shown,
    text,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, RequirementFailed, Unsupported
from lakeshare.formats.iceberg.metadata import TableMetadata

MAX_REQUIREMENTS = 10_000
"""How many requirements a commit may have; clients send one for each branch and a few more."""


class Requirement(Protocol):
    """Something that must hold of a table that exists."""

    def check(self, base: TableMetadata) -> None:
        """Refuse the commit where it does not hold."""


@dataclass(frozen=True, slots=True)
class AssertCreate:
    """The table must not exist."""

    def check(self, base: TableMetadata) -> None:  # noqa: ARG002 that there is one is enough
        """Refuse any table."""
        raise RequirementFailed("table already exists")


@dataclass(frozen=True, slots=True)
class AssertTableUuid:
    """The table must be this one."""

    uuid: str

    def check(self, base: TableMetadata) -> None:
        """Compare without regard to case."""
        if base.uuid.lower() != self.uuid.lower():
            raise RequirementFailed(f"UUID does not match: expected {base.uuid} != {self.uuid}")


@dataclass(frozen=True, slots=True)
class AssertRefSnapshotId:
    """A branch or tag must point to this snapshot; None: there must be no such reference."""

    name: str
    snapshot_id: int | None

    def check(self, base: TableMetadata) -> None:
        """Compare with the reference of that name."""
        ref = base.refs.get(self.name)
        if ref is None:
            if self.snapshot_id is not None:
                raise RequirementFailed(f"branch or tag {self.name} is missing, expected {self.snapshot_id}")
            return
        if self.snapshot_id is None:
            raise RequirementFailed(f"{ref.type} {self.name} was created concurrently")
        if ref.snapshot_id != self.snapshot_id:
            raise RequirementFailed(
                f"{ref.type} {self.name} has changed: expected id {self.snapshot_id} != {ref.snapshot_id}"
            )


@dataclass(frozen=True, slots=True)
class AssertNumber:
    """A number of the table must be the one that the commit was made for."""

    kind: str
    expected: int

    def check(self, base: TableMetadata) -> None:
        """Compare with the table's number."""
        what, of = _NUMBERS[self.kind]
        if of(base) != self.expected:
            raise RequirementFailed(f"{what} changed: expected id {self.expected} != {of(base)}")


_NUMBERS: Mapping[str, tuple[str, Callable[[TableMetadata], int]]] = {
    "last-assigned-field-id": ("last assigned field id", lambda table: table.last_column_id),
    "current-schema-id": ("current schema", lambda table: table.current_schema_id),
    "last-assigned-partition-id": ("last assigned partition id", lambda table: table.last_partition_id),
    "default-spec-id": ("default partition spec", lambda table: table.default_spec_id),
    "default-sort-order-id": ("default sort order", lambda table: table.default_sort_order_id),
}


def parse_requirements(found: object) -> tuple[Requirement, ...]:
    """Read the `requirements` of a commit."""
    return tuple(_parse_requirement(item) for item in requirement_documents(found))


def requirement_documents(found: object) -> list[Document]:
    """Return the objects of a `requirements` list of bounded size."""
    documents = as_list(found, "requirements", MAX_REQUIREMENTS)
    check_size(documents, "requirements")
    return [as_document(item, "requirement") for item in documents]


def check_requirements(requirements: Sequence[Requirement], base: TableMetadata | None) -> None:
    """Refuse a commit whose requirements do not hold; `base` is None where there is no table."""
    for requirement in requirements:
        if base is not None:
            requirement.check(base)
        elif not isinstance(requirement, AssertCreate):
            raise RequirementFailed("table does not exist")


def is_create(requirements: Sequence[Requirement]) -> bool:
    """Say whether the commit creates the table; such a commit can require nothing else."""
    others = [item for item in requirements if not isinstance(item, AssertCreate)]
    if len(others) == len(requirements):
        return False
    if others:
        raise InvalidMetadata(f"Invalid create requirements: {', '.join(str(item) for item in others[:5])}")
    return True


def _parse_requirement(document: Document) -> Requirement:
    kind = document.get("type")
    match kind:
        case "assert-create":
            return AssertCreate()
        case "assert-table-uuid":
            return AssertTableUuid(text(document, "uuid", "assert-table-uuid"))
        case "assert-ref-snapshot-id":
            return _parse_ref(document)
    number = kind.removeprefix("assert-") if isinstance(kind, str) else ""
    if f"assert-{number}" != kind or number not in _NUMBERS:
        raise Unsupported(f"Cannot convert update requirement: {shown(kind)} is no requirement of a table")
    return AssertNumber(number, integer(document, number, f"assert-{number}", most=MAX_INT))


def _parse_ref(document: Document) -> AssertRefSnapshotId:
    name = text(document, "ref", "assert-ref-snapshot-id")
    return AssertRefSnapshotId(name, optional_integer(document, "snapshot-id", "assert-ref-snapshot-id"))
