"""Tables, snapshots and updates for the tests of this folder."""

from lakeshare.formats.iceberg.creating import new_table, parse_create_table
from lakeshare.formats.iceberg.table import TableMetadata
from lakeshare.formats.iceberg.updates import apply_updates, parse_updates

UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
OTHER_UUID = "1e6a1a4a-5d22-4c1b-9f0a-2a0c4f8d7a10"
LOCATION = "s3://warehouse/tables/9c12d441"
PREVIOUS = "s3://warehouse/tables/9c12d441/metadata/00000-a.metadata.json"


def field(number, name, kind="long", *, required=False, **more):
    return {"id": number, "name": name, "type": kind, "required": required, **more}


def schema(*fields, **more):
    return {"type": "struct", "fields": list(fields), **more}


SCHEMA = schema(field(1, "id", required=True), field(2, "at", "timestamptz"), field(3, "name", "string"))


def created(version=2, *, columns=SCHEMA, now_ms=1_000, **more) -> TableMetadata:
    properties = {"format-version": str(version), **more.pop("properties", {})}
    request = {"name": "t", "schema": columns, "properties": properties, **more}
    return new_table(parse_create_table(request), uuid=UUID, location=LOCATION, now_ms=now_ms)


def changed(base, *updates, now_ms=5_000, previous=PREVIOUS) -> TableMetadata:
    return apply_updates(base, parse_updates(list(updates)), now_ms=now_ms, previous_location=previous)


def snapshot(number, *, sequence=None, parent=None, at=None, **more):
    document = {
        "snapshot-id": number,
        "sequence-number": number if sequence is None else sequence,
        "timestamp-ms": 1_000 + number if at is None else at,
        "manifest-list": f"{LOCATION}/metadata/snap-{number}.avro",
        "summary": {"operation": "append"},
        **more,
    }
    if parent is not None:
        document["parent-snapshot-id"] = parent
    return document


def add(number, **more):
    return {"action": "add-snapshot", "snapshot": snapshot(number, **more)}


def ref(number, name="main", kind="branch", **more):
    return {"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": number, **more}


def with_snapshots(*numbers, version=2) -> TableMetadata:
    """Make a table whose main branch moved over these snapshots, one commit each."""
    table = created(version)
    parent = None
    for number in numbers:
        lineage = {"first-row-id": table.next_row_id, "added-rows": 10} if version == 3 else {}
        one = add(number, parent=parent, sequence=0 if version == 1 else None, **lineage)
        table = changed(table, one, ref(number), now_ms=1_000 + number)
        parent = number
    return table


def log_of(table):
    return [(entry.timestamp_ms, entry.snapshot_id) for entry in table.snapshot_log]
