"""Opening a shared table at a moment, within what is shared of its history."""

from dataclasses import dataclass

from lakeshare.formats.delta.history import History
from lakeshare.formats.delta.opening import history_of
from lakeshare.formats.delta.protocol import features_of_data
from lakeshare.formats.delta.schema import MappingMode, mapping_mode
from lakeshare.formats.delta.snapshot import Snapshot, TableState
from lakeshare.sharing.errors import BeforeWindow, HistoryNotShared, UnsupportedTable
from lakeshare.sharing.inspector import delta_place
from lakeshare.sharing.model.asking import Capabilities, Moment, ResponseFormat, TableName
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.operations.catalog import Located, find_table
from lakeshare.sharing.room import Room
from lakeshare.sharing.tables import Tables, broken
from lakeshare.sharing.view import Access

_VECTORS = "deletionVectors"
_NEEDS = "they need delta-sharing-spark 3.1, the Python package delta-sharing 1.1 or Databricks Runtime 14.1, or newer"


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table at one version. `timestamp_ms` is when it was committed, where travel in time was asked for."""

    located: Located
    place: DeltaPlace
    snapshot: Snapshot
    timestamp_ms: int | None = None


def tables_of(room: Room, place: DeltaPlace) -> Tables:
    """Return what opens the table at a place."""
    if room.tables is None:
        raise RuntimeError("this room opens no tables")
    return room.tables.of(place)


async def found_at(room: Room, access: Access, name: TableName) -> tuple[Located, DeltaPlace]:
    """Return a table that the recipient sees, and where it lies. Raises NoSuchResource, IcebergNotShared."""
    located = await find_table(room, access, name.share, name.schema, name.table)
    return located, delta_place(located.table.place)


async def open_at(room: Room, access: Access, name: TableName, moment: Moment) -> OpenTable:
    """Open a table. Raises NoSuchResource, HistoryNotShared, BeforeWindow, TableBroken, and what is wrong with time."""
    located, place = await found_at(room, access, name)
    tables = tables_of(room, place)
    if moment.is_latest:
        return OpenTable(located, place, await tables.open(place))
    check_history(located)
    with broken(place):
        times = await times_of(tables, place)
        version = moment.version
        if moment.timestamp_ms is not None:
            at_ms = moment.timestamp_ms
            version = await tables.heavy(lambda: times.version_at(at_ms))
        check_window(located, version or 0)
        snapshot = await tables.open(place, version)
        known = snapshot.version in times.by_file
        timestamp_ms = await tables.heavy(lambda: times.time_of(snapshot.version)) if known else None
    return OpenTable(located, place, snapshot, timestamp_ms)


async def times_of(tables: Tables, place: DeltaPlace) -> History:
    """Return when the versions of a table were committed, for use on a thread. Raises TableBroken."""
    log = await tables.whole_log(place)
    newest = await tables.open(place)
    return history_of(tables.files(place), log, newest.state.metadata)


def check_history(located: Located) -> None:
    """Refuse travel in time where only the newest version is shared. Raises HistoryNotShared."""
    if not located.table.history:
        raise HistoryNotShared(located.full_name)


def check_window(located: Located, version: int) -> None:
    """Refuse what is older than what is shared. Raises BeforeWindow."""
    if version < located.table.start_version:
        raise BeforeWindow(located.table.start_version)


def choose_format(asked: Capabilities, state: TableState, *, has_vectors: bool) -> ResponseFormat:
    """Choose delta whenever a client offers it and knows the table's features, else parquet. Raises UnsupportedTable.

    Clients read the delta format faster, and it alone can say what advanced tables are.
    """
    if ResponseFormat.DELTA in asked.formats:
        unknown = _unknown(asked, state)
        if not unknown:
            return ResponseFormat.DELTA
        if ResponseFormat.PARQUET not in asked.formats or _advanced(state, has_vectors=has_vectors):
            raise UnsupportedTable(
                f"the table has features that your client did not say it can read: {', '.join(unknown)}; {_NEEDS}"
            )
        return ResponseFormat.PARQUET
    if advanced := _advanced(state, has_vectors=has_vectors):
        raise UnsupportedTable(
            f"Unsupported Delta Table Properties: {', '.join(advanced)} cannot be read with responseformat=parquet. "
            f"Use a client that reads responseformat=delta; {_NEEDS}"
        )
    return ResponseFormat.PARQUET


def has_vectors(snapshot: Snapshot) -> bool:
    """Say whether any file of a snapshot may have a deletion vector."""
    if _VECTORS not in features_of_data(snapshot.state.protocol):
        return False
    parts = (layer.part for layer in snapshot.files.layers)
    return any(part.column("dv_storage").null_count < part.num_files for part in parts)


def _unknown(asked: Capabilities, state: TableState) -> list[str]:
    if asked.reader_features is None:
        return []
    return sorted(each for each in features_of_data(state.protocol) if each.lower() not in asked.reader_features)


def _advanced(state: TableState, *, has_vectors: bool) -> list[str]:
    """Name the features that the parquet format cannot say, of those that the table makes use of."""
    features = set(features_of_data(state.protocol))
    if not has_vectors:
        features.discard(_VECTORS)
    if mapping_mode(state.protocol, state.metadata) is MappingMode.NONE:
        features.discard("columnMapping")
    return sorted(features)
