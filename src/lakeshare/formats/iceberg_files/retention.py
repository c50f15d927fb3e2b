"""Which snapshots and references of a table have had their time, by Iceberg's own rules.

They are the table specification's "Snapshot Retention Policy".

A branch or a tag other than main goes once its snapshot is older than the reference may be. Of each branch that stays,
the newest snapshots stay in the number that is asked for, and those before them for as long as they are young enough.
A snapshot that no reference reaches stays while it is young enough. Whatever a reference points to stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakeshare.formats.iceberg.snapshots import MAIN, Snapshot, SnapshotRef

DAY_MS = 86_400_000
MAX_AGE_PROPERTY = "history.expire.max-snapshot-age-ms"
MIN_KEPT_PROPERTY = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE_PROPERTY = "history.expire.max-ref-age-ms"
GARBAGE_PROPERTY = "gc.enabled"
PROPERTIES = (MAX_AGE_PROPERTY, MIN_KEPT_PROPERTY, MAX_REF_AGE_PROPERTY, GARBAGE_PROPERTY)
"""What a table says of itself about what may be removed."""
FOREVER_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Retention:
    """How long snapshots are kept where a reference does not say it itself; the defaults are Iceberg's."""

    max_snapshot_age_ms: int = 5 * DAY_MS
    min_snapshots_to_keep: int = 1
    max_ref_age_ms: int = FOREVER_MS

    def with_properties(self, properties: Mapping[str, str]) -> "Retention":
        """Return the rules as a table's own properties change them; a property that is no number changes nothing."""
        return replace(
            self,
            max_snapshot_age_ms=_number(properties, MAX_AGE_PROPERTY, 0, self.max_snapshot_age_ms),
            min_snapshots_to_keep=_number(properties, MIN_KEPT_PROPERTY, 1, self.min_snapshots_to_keep),
            max_ref_age_ms=_number(properties, MAX_REF_AGE_PROPERTY, 0, self.max_ref_age_ms),
        )


@dataclass(frozen=True, slots=True)
class Expiry:
    """What has had its time: snapshots by id, oldest first, and references by name."""

    snapshot_ids: tuple[int, ...] = ()
    ref_names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether there is anything."""
        return bool(self.snapshot_ids or self.ref_names)


def collects_garbage(properties: Mapping[str, str]) -> bool:
    """Say whether files of a table may be removed at all: those that others own too say `gc.enabled=false`."""
    return properties.get(GARBAGE_PROPERTY, "true").strip().lower() != "false"


def expiry_of(snapshots: Sequence[Snapshot], refs: Mapping[str, SnapshotRef], rules: Retention, now_ms: int) -> Expiry:
    """Say what of a table has had its time."""
    by_id = {snapshot.id: snapshot for snapshot in snapshots}
    kept_refs = {name: ref for name, ref in refs.items() if _is_kept(name, ref, by_id, rules, now_ms)}
    oldest_ms = now_ms - rules.max_snapshot_age_ms
    kept = {ref.snapshot_id for ref in kept_refs.values()}
    reached = set(kept)
    for ref in kept_refs.values():
        if ref.is_branch:
            line = [each.id for each in _ancestors(ref.snapshot_id, by_id)]
            reached.update(line)
            kept.update(_kept_of_branch(ref, line, by_id, rules, now_ms))
    kept.update(each.id for each in snapshots if each.id not in reached and each.timestamp_ms >= oldest_ms)
    gone = sorted((each for each in snapshots if each.id not in kept), key=lambda each: (each.timestamp_ms, each.id))
    return Expiry(tuple(each.id for each in gone), tuple(sorted(set(refs) - set(kept_refs))))


def _is_kept(name: str, ref: SnapshotRef, by_id: Mapping[int, Snapshot], rules: Retention, now_ms: int) -> bool:
    if name == MAIN:
        return True
    snapshot = by_id.get(ref.snapshot_id)
    max_age_ms = rules.max_ref_age_ms if ref.max_ref_age_ms is None else ref.max_ref_age_ms
    return snapshot is not None and now_ms - snapshot.timestamp_ms <= max_age_ms


def _kept_of_branch(
    ref: SnapshotRef, line: Sequence[int], by_id: Mapping[int, Snapshot], rules: Retention, now_ms: int
) -> Iterator[int]:
    """Yield what a branch keeps of its line, from its head back to the first snapshot that goes."""
    age_ms = rules.max_snapshot_age_ms if ref.max_snapshot_age_ms is None else ref.max_snapshot_age_ms
    least = rules.min_snapshots_to_keep if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep
    for count, snapshot_id in enumerate(line):
        if count >= least and by_id[snapshot_id].timestamp_ms < now_ms - age_ms:
            return
        yield snapshot_id


def _ancestors(head: int, by_id: Mapping[int, Snapshot]) -> Iterator[Snapshot]:
    """Yield a snapshot and those before it, each once whatever the parents say."""
    seen: set[int] = set()
    at: int | None = head
    while at is not None and at not in seen and (snapshot := by_id.get(at)) is not None:
        seen.add(at)
        yield snapshot
        at = snapshot.parent_id


def _number(properties: Mapping[str, str], name: str, least: int, otherwise: int) -> int:
    text = properties.get(name, "").strip()
    if not text.isascii() or not text.isdigit():
        return otherwise
    return max(least, min(int(text[:19]), FOREVER_MS))
