"""What is to be done for tables, and how it is inherited: table, namespace, namespaces above, warehouse, server.

Pure. Nothing is removed from a table unless somebody asked for it at one of these places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from lakeshare.formats.iceberg_files.retention import Retention
from lakeshare.tables.errors import BadRequest

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MAX_HOURS = 24 * 366 * 100
MAX_DAYS = 366 * 100
MAX_KEPT = 1_000_000
MIN_INTERVAL_MINUTES = 5
MAX_INTERVAL_MINUTES = 60 * 24 * 366
DEFAULT_UNREFERENCED_DAYS = 3
DEFAULT_INTERVAL_MINUTES = 60 * 24


class Activity(Enum):
    """What can be done for a table, under the names that S3 Tables and AIStor give it."""

    SNAPSHOTS = "icebergSnapshotManagement"
    UNREFERENCED = "icebergUnreferencedFileRemoval"


COMPACTION = "icebergCompaction"


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen at one place; None leaves it to the place above."""

    snapshots_enabled: bool | None = None
    max_snapshot_age_hours: int | None = None
    min_snapshots_to_keep: int | None = None
    snapshots_interval_minutes: int | None = None
    unreferenced_enabled: bool | None = None
    unreferenced_days: int | None = None
    unreferenced_interval_minutes: int | None = None


DEFAULTS = Choices(
    snapshots_enabled=False,
    max_snapshot_age_hours=5 * 24,
    min_snapshots_to_keep=1,
    snapshots_interval_minutes=DEFAULT_INTERVAL_MINUTES,
    unreferenced_enabled=False,
    unreferenced_days=DEFAULT_UNREFERENCED_DAYS,
    unreferenced_interval_minutes=DEFAULT_INTERVAL_MINUTES,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How one choice is written: its name on the wire, and its bounds."""

    field: str
    name: str
    low: int
    high: int


SETTINGS: Mapping[Activity, tuple[Setting, ...]] = {
    Activity.SNAPSHOTS: (
        Setting("max_snapshot_age_hours", "maxSnapshotAgeHours", 1, MAX_HOURS),
        Setting("min_snapshots_to_keep", "minSnapshotsToKeep", 1, MAX_KEPT),
        Setting("snapshots_interval_minutes", "intervalMinutes", MIN_INTERVAL_MINUTES, MAX_INTERVAL_MINUTES),
    ),
    Activity.UNREFERENCED: (
        Setting("unreferenced_days", "unreferencedDays", 1, MAX_DAYS),
        Setting("unreferenced_interval_minutes", "intervalMinutes", MIN_INTERVAL_MINUTES, MAX_INTERVAL_MINUTES),
    ),
}
STATUS_FIELD = {Activity.SNAPSHOTS: "snapshots_enabled", Activity.UNREFERENCED: "unreferenced_enabled"}


@dataclass(frozen=True, slots=True)
class Effective:
    """What counts for one table, which place each choice comes from, and properties of the table that count before."""

    choices: Choices
    sources: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    def is_enabled(self, activity: Activity) -> bool:
        """Say whether an activity is done for the table without being asked."""
        return bool(getattr(self.choices, STATUS_FIELD[activity]))

    def interval_ms(self, activity: Activity) -> int:
        """Return how long to wait between two runs."""
        kept = self.choices
        snapshots = activity is Activity.SNAPSHOTS
        minutes = kept.snapshots_interval_minutes if snapshots else kept.unreferenced_interval_minutes
        return (minutes or DEFAULT_INTERVAL_MINUTES) * 60_000

    @property
    def retention(self) -> Retention:
        """Return how long snapshots are kept where neither the table nor a reference says it."""
        hours = self.choices.max_snapshot_age_hours or 1
        return Retention(hours * HOUR_MS, self.choices.min_snapshots_to_keep or 1)

    @property
    def unreferenced_age_ms(self) -> int:
        """Return how old a file must be to be taken for one that no writer will refer to any more."""
        return (self.choices.unreferenced_days or DEFAULT_UNREFERENCED_DAYS) * DAY_MS


def settled(places: Sequence[tuple[str, Choices | None]]) -> Effective:
    """Put the choices of places together, the nearest first; what nobody chose has its default."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, choices in (*places, ("default", DEFAULTS)):
        for each in fields(Choices):
            value = None if choices is None else getattr(choices, each.name)
            if each.name not in values and value is not None:
                values[each.name] = value
                sources[each.name] = source
    return Effective(Choices(**values), sources)


def chosen(before: Choices, activity: Activity, enabled: bool | None, given: Mapping[str, object]) -> Choices:  # noqa: FBT001
    """Return choices with one activity chosen anew: what is not given is left to the place above. Raises BadRequest."""
    known = {each.name: each for each in SETTINGS[activity]}
    for name in given:
        if name not in known:
            raise BadRequest(f"{activity.value} has no setting {name[:64]!r}; it has {', '.join(known)}")
    values: dict[str, Any] = {STATUS_FIELD[activity]: enabled}
    for name, setting in known.items():
        values[setting.field] = _within(name, given.get(name), setting)
    return replace(before, **values)


def forgotten(before: Choices, activity: Activity) -> Choices:
    """Return choices with nothing chosen for an activity."""
    return chosen(before, activity, None, {})


def _within(name: str, value: object, setting: Setting) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not setting.low <= value <= setting.high:
        raise BadRequest(f"{name} must be a whole number from {setting.low} to {setting.high}")
    return value
