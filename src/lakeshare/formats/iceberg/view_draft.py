"""The working copy of one commit on a view, and what becomes of it: limits of history, no dialect lost unasked."""

from lakeshare.formats.iceberg.documents import shown
from lakeshare.formats.iceberg.errors import InvalidMetadata
from lakeshare.formats.iceberg.schema import Schema
from lakeshare.formats.iceberg.view import MAX_VERSIONS, VersionLogEntry, ViewMetadata, ViewVersion

HISTORY_SIZE = "version.history.num-entries"
DEFAULT_HISTORY_SIZE = 10
DROP_DIALECT_ALLOWED = "replace.drop-dialect.allowed"
MAX_DIGITS = 9


class ViewDraft:
    """What a view is becoming; lives only while a commit is folded."""

    def __init__(self, base: ViewMetadata, *, now_ms: int) -> None:
        """Start from a view."""
        self.now_ms = now_ms
        self.uuid = base.uuid
        self.location = base.location
        self.current_version_id = base.current_version_id
        self.versions: dict[int, ViewVersion] = {item.id: item for item in base.versions}
        self.schemas: dict[int, Schema] = {item.id: item for item in base.schemas}
        self.properties = dict(base.properties)
        self.schema_meanings: dict[int, object] = {}
        self.last_added_schema: int | None = None
        self.last_added_version: int | None = None
        self.added_versions: set[int] = set()


def finished_view(draft: ViewDraft, base: ViewMetadata) -> ViewMetadata:
    """Return the view after the updates; the view itself where they change nothing."""
    _check_dialects(draft, base)
    versions = _kept_versions(draft)
    if max(len(versions), len(draft.schemas)) > MAX_VERSIONS:
        raise InvalidMetadata(f"a view may have {MAX_VERSIONS} versions and schemas")
    candidate = ViewMetadata(
        uuid=draft.uuid,
        format_version=base.format_version,
        location=draft.location,
        current_version_id=draft.current_version_id,
        versions=versions,
        version_log=_kept_log(draft, base, {version.id for version in versions}),
        schemas=tuple(draft.schemas.values()),
        properties=draft.properties,
        extra=base.extra,
    )
    return base if candidate == base else candidate


def _kept_versions(draft: ViewDraft) -> tuple[ViewVersion, ...]:
    """Return the newest versions by id, and the current one however old."""
    most = max(min(_history_size(draft), MAX_VERSIONS), len(draft.added_versions | {draft.current_version_id}))
    others = sorted((number for number in draft.versions if number != draft.current_version_id), reverse=True)
    kept = {draft.current_version_id, *others[: most - 1]}
    return tuple(version for number, version in draft.versions.items() if number in kept)


def _kept_log(draft: ViewDraft, base: ViewMetadata, kept: set[int]) -> tuple[VersionLogEntry, ...]:
    """Return the log with the version that became current, from after the last version that is gone."""
    log = list(base.version_log)
    if draft.current_version_id != base.current_version_id:
        log.append(_log_entry(draft, log))
    if len(kept) < len(draft.versions):
        gone = [place for place, entry in enumerate(log) if entry.version_id not in kept]
        log = log[gone[-1] + 1 :] if gone else log
    return tuple(log[-MAX_VERSIONS:])


def _log_entry(draft: ViewDraft, log: list[VersionLogEntry]) -> VersionLogEntry:
    current = draft.versions[draft.current_version_id]
    since_ms = current.timestamp_ms if current.id in draft.added_versions else draft.now_ms
    if log:
        since_ms = max(since_ms, log[-1].timestamp_ms)
    return VersionLogEntry({"timestamp-ms": since_ms, "version-id": current.id})


def _history_size(draft: ViewDraft) -> int:
    found = draft.properties.get(HISTORY_SIZE)
    if found is None:
        return DEFAULT_HISTORY_SIZE
    if not (found.isascii() and found.isdecimal()) or len(found) > MAX_DIGITS or int(found) < 1:
        raise InvalidMetadata(f"{HISTORY_SIZE} must be positive but was {shown(found)}")
    return int(found)


def _check_dialects(draft: ViewDraft, base: ViewMetadata) -> None:
    if draft.properties.get(DROP_DIALECT_ALLOWED, "").lower() == "true":
        return
    before, after = base.current_version.dialects, draft.versions[draft.current_version_id].dialects
    if not set(before) <= set(after):
        raise InvalidMetadata(
            f"Cannot replace view due to loss of view dialects ({DROP_DIALECT_ALLOWED}=false):\n"
            f"Previous dialects: [{', '.join(before)}]\nNew dialects: [{', '.join(after)}]"
        )
