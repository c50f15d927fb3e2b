"""Manifest lists and manifests for the tests, of any format version, as the specification lays them out."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.columnar.avro_files import avro_file

Json = dict[str, Any]


def field(name: str, kind: Any, number: int, *, optional: bool = False) -> Json:
    """Describe one field of a record."""
    found: Json = {"name": name, "type": ["null", kind] if optional else kind, "field-id": number}
    return found | ({"default": None} if optional else {})


def id_map(key_id: int, value_id: int, kind: Any) -> Json:
    """Describe a map with whole numbers for keys, which Avro has only as an array of pairs."""
    pair = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [field("key", "int", key_id), field("value", kind, value_id)],
    }
    return {"type": "array", "items": pair, "logicalType": "map"}


SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        field("contains_null", "boolean", 509),
        field("contains_nan", "boolean", 518, optional=True),
        field("lower_bound", "bytes", 510, optional=True),
        field("upper_bound", "bytes", 511, optional=True),
    ],
}


def list_schema(version: int) -> Json:
    """Describe a manifest list."""
    fields = [field("manifest_path", "string", 500), field("manifest_length", "long", 501)]
    fields.append(field("partition_spec_id", "int", 502))
    if version >= 2:
        fields += [field("content", "int", 517), field("sequence_number", "long", 515)]
        fields.append(field("min_sequence_number", "long", 516))
    fields.append(field("added_snapshot_id", "long", 503))
    counts = ("added_files_count", "existing_files_count", "deleted_files_count")
    rows = ("added_rows_count", "existing_rows_count", "deleted_rows_count")
    fields += [field(name, "int", 504 + at, optional=version == 1) for at, name in enumerate(counts)]
    fields += [field(name, "long", 512 + at, optional=version == 1) for at, name in enumerate(rows)]
    fields.append(field("partitions", {"type": "array", "items": SUMMARY, "element-id": 508}, 507, optional=True))
    fields.append(field("key_metadata", "bytes", 519, optional=True))
    if version >= 3:
        fields.append(field("first_row_id", "long", 520, optional=True))
    return {"type": "record", "name": "manifest_file", "fields": fields}


def entry_schema(version: int, partition: Sequence[Json] = ()) -> Json:
    """Describe the entries of a manifest."""
    data = [field("content", "int", 134)] if version >= 2 else []
    data += [field("file_path", "string", 100), field("file_format", "string", 101)]
    data.append(field("partition", {"type": "record", "name": "r102", "fields": list(partition)}, 102))
    data += [field("record_count", "long", 103), field("file_size_in_bytes", "long", 104)]
    if version == 1:
        data.append(field("block_size_in_bytes", "long", 105))
    data += [
        field("column_sizes", id_map(117, 118, "long"), 108, optional=True),
        field("value_counts", id_map(119, 120, "long"), 109, optional=True),
        field("null_value_counts", id_map(121, 122, "long"), 110, optional=True),
        field("nan_value_counts", id_map(138, 139, "long"), 137, optional=True),
        field("lower_bounds", id_map(126, 127, "bytes"), 125, optional=True),
        field("upper_bounds", id_map(129, 130, "bytes"), 128, optional=True),
        field("key_metadata", "bytes", 131, optional=True),
        field("split_offsets", {"type": "array", "items": "long", "element-id": 133}, 132, optional=True),
    ]
    if version >= 2:
        data.append(field("equality_ids", {"type": "array", "items": "int", "element-id": 136}, 135, optional=True))
    data.append(field("sort_order_id", "int", 140, optional=True))
    if version >= 3:
        data.append(field("first_row_id", "long", 142, optional=True))
    if version >= 2:
        data.append(field("referenced_data_file", "string", 143, optional=True))
    if version >= 3:
        data.append(field("content_offset", "long", 144, optional=True))
        data.append(field("content_size_in_bytes", "long", 145, optional=True))
    fields = [field("status", "int", 0), field("snapshot_id", "long", 1, optional=version >= 2)]
    if version >= 2:
        fields.append(field("sequence_number", "long", 3, optional=True))
        fields.append(field("file_sequence_number", "long", 4, optional=True))
    fields.append(field("data_file", {"type": "record", "name": "r2", "fields": data}, 2))
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def entry(path: str, *, status: int = 1, snapshot: int = 1, **more: Any) -> Json:
    """Make one entry of a manifest."""
    file = {
        "content": 0,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": 10,
        "file_size_in_bytes": 1_000,
        "block_size_in_bytes": 64 * 1024**2,
        **more,
    }
    return {"status": status, "snapshot_id": snapshot, "data_file": file}


def manifest(
    entries: Sequence[Mapping[str, Any]],
    version: int = 2,
    partition: Sequence[Json] = (),
    codec: str = "deflate",
    content: str = "data",
) -> bytes:
    """Write a manifest."""
    facts = {
        "schema": json.dumps({"type": "struct", "schema-id": 0, "fields": []}),
        "partition-spec": "[]",
        "partition-spec-id": "0",
        "format-version": str(version),
    }
    if version >= 2:
        facts["content"] = content
    return avro_file(entry_schema(version, partition), entries, facts, codec)


def listed(path: str, data: bytes, *, snapshot: int = 1, content: int = 0, **more: Any) -> Json:
    """Make one entry of a manifest list."""
    return {
        "manifest_path": path,
        "manifest_length": len(data),
        "partition_spec_id": 0,
        "content": content,
        "sequence_number": 1,
        "min_sequence_number": 1,
        "added_snapshot_id": snapshot,
        "added_files_count": 1,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": 10,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        **more,
    }


def manifest_list(manifests: Sequence[Mapping[str, Any]], version: int = 2, codec: str = "deflate") -> bytes:
    """Write a manifest list."""
    facts = {"format-version": str(version), "snapshot-id": "1", "sequence-number": "1"}
    return avro_file(list_schema(version), manifests, facts, codec)
