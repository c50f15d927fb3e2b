"""A commit's updates of a view as values, their fold over its metadata, and what such a commit may require."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.formats.iceberg.documents import (
    MAX_INT,
    Document,
    document_in,
    integer,
    shown,
    text,
)
from lakeshare.formats.iceberg.errors import InvalidMetadata, RequirementFailed, Unsupported
from lakeshare.formats.iceberg.property_updates import (
    AssignUuid,
    RemoveProperties,
    SetLocation,
    SetProperties,
)
from lakeshare.formats.iceberg.reading import SUPPORTED_VERSION
from lakeshare.formats.iceberg.requirements import requirement_documents
from lakeshare.formats.iceberg.schema import Schema, checked, keep_schema, parse_new_schema
from lakeshare.formats.iceberg.updates import parser_of, update_documents
from lakeshare.formats.iceberg.view import ViewMetadata, ViewVersion, check_view_version, parse_version
from lakeshare.formats.iceberg.view_draft import ViewDraft, finished_view

LAST_ADDED = -1
_NO_SCHEMA = "Cannot set last added schema: no schema has been added"
_NO_VERSION = "Cannot set last version id: no current version id has been set"


class ViewUpdate(Protocol):
    """One change of a view, as a value."""

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""


@dataclass(frozen=True, slots=True)
class AssertViewUuid:
    """The view must be this one."""

    uuid: str

    def check(self, base: ViewMetadata) -> None:
        """Compare without regard to case."""
        if base.uuid.lower() != self.uuid.lower():
            raise RequirementFailed(f"view UUID does not match: expected {base.uuid} != {self.uuid}")


@dataclass(frozen=True, slots=True)
class AssignViewUuid:
    """Name the view; a view never changes its UUID."""

    uuid: str

    def apply(self, draft: ViewDraft) -> None:
        """Change nothing, or refuse."""
        if draft.uuid.lower() != self.uuid.lower():
            raise InvalidMetadata(f"Cannot reassign uuid: the view is {draft.uuid}, not {self.uuid}")


@dataclass(frozen=True, slots=True)
class UpgradeView:
    """Move a view to another format version; there is one."""

    def apply(self, draft: ViewDraft) -> None:
        """Change nothing."""


@dataclass(frozen=True, slots=True)
class AddViewSchema:
    """Add a schema; one that is there already is not added twice."""

    schema: Schema

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        checked(self.schema, SUPPORTED_VERSION)
        draft.last_added_schema = keep_schema(draft.schemas, self.schema, draft.schema_meanings)


@dataclass(frozen=True, slots=True)
class SetViewLocation:
    """Say where a view's new metadata files go."""

    location: str

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        draft.location = self.location


@dataclass(frozen=True, slots=True)
class SetViewProperties:
    """Set properties."""

    updates: Mapping[str, str]

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        draft.properties.update(self.updates)


@dataclass(frozen=True, slots=True)
class RemoveViewProperties:
    """Remove properties; those that are not there are gone already."""

    removals: tuple[str, ...]

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        for name in self.removals:
            draft.properties.pop(name, None)


@dataclass(frozen=True, slots=True)
class AddViewVersion:
    """Add a version; one that says the same is not added twice."""

    version: ViewVersion

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        schema_id = _resolved(self.version.schema_id, draft.last_added_schema, _NO_SCHEMA)
        if schema_id not in draft.schemas:
            raise InvalidMetadata(f"Cannot add version with unknown schema: {schema_id}")
        check_dialects_differ(self.version)
        document = {**self.version.document, "schema-id": schema_id}
        for number, known in draft.versions.items():
            if _meaning(known.document) == _meaning(document):
                draft.last_added_version = number
                return
        fresh = max(draft.versions, default=0) + 1
        draft.versions[fresh] = ViewVersion({**document, "version-id": fresh})
        draft.added_versions.add(fresh)
        draft.last_added_version = fresh


@dataclass(frozen=True, slots=True)
class SetCurrentViewVersion:
    """Make a version the one that readers see."""

    version_id: int

    def apply(self, draft: ViewDraft) -> None:
        """Change the draft."""
        version_id = _resolved(self.version_id, draft.last_added_version, _NO_VERSION)
        if version_id not in draft.versions:
            raise InvalidMetadata(f"Cannot set current version to unknown version: {version_id}")
        draft.current_version_id = version_id


def parse_view_updates(found: object) -> tuple[ViewUpdate, ...]:
    """Read the `updates` of a commit on a view."""
    return tuple(_parse_update(item) for item in update_documents(found))


def apply_view_updates(base: ViewMetadata, updates: Sequence[ViewUpdate], *, now_ms: int) -> ViewMetadata:
    """Return the view after a commit; `base` itself where nothing changes."""
    draft = ViewDraft(base, now_ms=now_ms)
    for update in updates:
        update.apply(draft)
    return finished_view(draft, base)


def parse_view_requirements(found: object) -> tuple[AssertViewUuid, ...]:
    """Read the `requirements` of a commit on a view."""
    return tuple(_parse_requirement(item) for item in requirement_documents(found))


def check_view_requirements(requirements: Sequence[AssertViewUuid], base: ViewMetadata) -> None:
    """Refuse a commit whose requirements do not hold."""
    for requirement in requirements:
        requirement.check(base)


def check_dialects_differ(version: ViewVersion) -> None:
    """Refuse a version that is written twice in one dialect."""
    taken: set[str] = set()
    for dialect in version.dialects:
        if dialect in taken:
            raise InvalidMetadata(f"Invalid view version: Cannot add multiple queries for dialect {dialect}")
        taken.add(dialect)


def _upgrade(document: Document) -> UpgradeView:
    version = integer(document, "format-version", "upgrade-format-version", least=1, most=MAX_INT)
    check_view_version(version)
    return UpgradeView()


def _add_schema(document: Document) -> AddViewSchema:
    return AddViewSchema(parse_new_schema(document_in(document, "schema", "add-schema")))


def _add_version(document: Document) -> AddViewVersion:
    return AddViewVersion(parse_version(document_in(document, "view-version", "add-view-version")))


def _set_current(document: Document) -> SetCurrentViewVersion:
    return SetCurrentViewVersion(integer(document, "view-version-id", "set-current-view-version", most=MAX_INT))


_PARSERS: Mapping[str, Callable[[Document], ViewUpdate]] = {
    "assign-uuid": lambda document: AssignViewUuid(AssignUuid.parse(document).uuid),
    "upgrade-format-version": _upgrade,
    "add-schema": _add_schema,
    "set-location": lambda document: SetViewLocation(SetLocation.parse(document).location),
    "set-properties": lambda document: SetViewProperties(SetProperties.parse(document).updates),
    "remove-properties": lambda document: RemoveViewProperties(RemoveProperties.parse(document).removals),
    "add-view-version": _add_version,
    "set-current-view-version": _set_current,
}

VIEW_ACTIONS = frozenset(_PARSERS)
"""The names of all updates that a view takes."""


def _parse_update(document: Document) -> ViewUpdate:
    return parser_of(document, _PARSERS, "a view")(document)


def _parse_requirement(document: Document) -> AssertViewUuid:
    if document.get("type") != "assert-view-uuid":
        raise Unsupported(
            f"Cannot convert update requirement: {shown(document.get('type'))} is no requirement of a view"
        )
    return AssertViewUuid(text(document, "uuid", "assert-view-uuid"))


def _resolved(asked: int, last_added: int | None, refusal: str) -> int:
    if asked != LAST_ADDED:
        return asked
    if last_added is None:
        raise InvalidMetadata(refusal)
    return last_added


def _meaning(document: Document) -> Document:
    """Return what makes two versions one: all but their number and time; null and absent are one."""
    return {
        key: value for key, value in document.items() if key not in {"version-id", "timestamp-ms"} and value is not None
    }
