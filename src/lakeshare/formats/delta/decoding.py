"""JSON into actions. A line holds one action under its name; names that are not known are passed over."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from lakeshare.formats.delta.actions import (
    Action,
    AddFile,
    ChangeFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    Transaction,
)
from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.vectors import DeletionVector, Storage

Fields = Mapping[str, Any]


def decode_line(line: bytes) -> Action | None:
    """Decode one line of a commit, or return None for an action that is not known."""
    try:
        whole = orjson.loads(line)
    except orjson.JSONDecodeError as reason:
        msg = f"a line of the log is not JSON: {reason}"
        raise BrokenLog(msg) from None
    if not isinstance(whole, dict):
        msg = "a line of the log is not a JSON object"
        raise BrokenLog(msg)
    return decode_action(whole)


def decode_action(whole: Fields) -> Action | None:
    """Decode an object that holds one action under its name."""
    for name, fields in whole.items():
        decode = _DECODERS.get(name)
        if decode is None or fields is None:
            continue
        try:
            return decode(fields)
        except (KeyError, TypeError, ValueError, AttributeError) as reason:
            msg = f"a {name} action of the log is malformed: {type(reason).__name__} {reason}"
            raise BrokenLog(msg) from None
    return None


def decode_protocol(fields: Fields) -> Protocol:
    """Decode a protocol action."""
    return Protocol(
        min_reader_version=_whole(fields["minReaderVersion"]),
        min_writer_version=_whole(fields["minWriterVersion"]),
        reader_features=_names(fields.get("readerFeatures")),
        writer_features=_names(fields.get("writerFeatures")),
    )


def decode_metadata(fields: Fields) -> Metadata:
    """Decode a metaData action; one without a schema is refused, for no reader could make sense of its files."""
    if fields.get("schemaString") is None:
        msg = "the table's metadata has no schema (schemaString is missing)"
        raise BrokenLog(msg)
    layout = fields.get("format") or {}
    return Metadata(
        id=_text(fields["id"]),
        schema_string=_text(fields["schemaString"]),
        partition_columns=_names(fields.get("partitionColumns")) or (),
        configuration=_texts(fields.get("configuration")),
        name=_optional_text(fields.get("name")),
        description=_optional_text(fields.get("description")),
        provider=_text(layout.get("provider") or "parquet"),
        options=_texts(layout.get("options")),
        created_time=_optional_whole(fields.get("createdTime")),
    )


def decode_vector(fields: Fields | None) -> DeletionVector | None:
    """Decode a deletion vector descriptor, if there is one."""
    if fields is None:
        return None
    return DeletionVector(
        storage=Storage(fields["storageType"]),
        text=_text(fields["pathOrInlineDv"]),
        offset=_optional_whole(fields.get("offset")),
        size_bytes=_whole(fields["sizeInBytes"]),
        cardinality=_whole(fields["cardinality"]),
    )


def _add(fields: Fields) -> AddFile:
    return AddFile(
        path=_text(fields["path"]),
        partition_values=_partition(fields.get("partitionValues") or {}),
        size=_whole(fields["size"]),
        modification_time=_whole(fields.get("modificationTime") or 0),
        data_change=bool(fields.get("dataChange", True)),
        stats=_optional_text(fields.get("stats")),
        deletion_vector=decode_vector(fields.get("deletionVector")),
        tags=fields.get("tags"),
        base_row_id=_optional_whole(fields.get("baseRowId")),
        default_row_commit_version=_optional_whole(fields.get("defaultRowCommitVersion")),
        clustering_provider=_optional_text(fields.get("clusteringProvider")),
    )


def _remove(fields: Fields) -> RemoveFile:
    values = fields.get("partitionValues")
    return RemoveFile(
        path=_text(fields["path"]),
        data_change=bool(fields.get("dataChange", True)),
        deletion_timestamp=_optional_whole(fields.get("deletionTimestamp")),
        partition_values=None if values is None else _partition(values),
        size=_optional_whole(fields.get("size")),
        stats=_optional_text(fields.get("stats")),
        deletion_vector=decode_vector(fields.get("deletionVector")),
        base_row_id=_optional_whole(fields.get("baseRowId")),
        default_row_commit_version=_optional_whole(fields.get("defaultRowCommitVersion")),
    )


def _change(fields: Fields) -> ChangeFile:
    return ChangeFile(
        path=_text(fields["path"]),
        partition_values=_partition(fields.get("partitionValues") or {}),
        size=_whole(fields["size"]),
    )


def _transaction(fields: Fields) -> Transaction:
    return Transaction(_text(fields["appId"]), _whole(fields["version"]), _optional_whole(fields.get("lastUpdated")))


def _domain(fields: Fields) -> DomainMetadata:
    return DomainMetadata(
        _text(fields["domain"]), _text(fields.get("configuration") or ""), bool(fields.get("removed", False))
    )


def _commit_info(fields: Fields) -> CommitInfo:
    metrics = fields.get("operationMetrics")
    return CommitInfo(
        timestamp=_lenient_whole(fields.get("timestamp")),
        in_commit_timestamp=_optional_whole(fields.get("inCommitTimestamp")),
        operation=fields["operation"] if isinstance(fields.get("operation"), str) else None,
        operation_metrics={k: str(v) for k, v in metrics.items()} if isinstance(metrics, dict) else {},
    )


_DECODERS: Mapping[str, Callable[[Any], Action]] = {
    "add": _add,
    "remove": _remove,
    "cdc": _change,
    "protocol": decode_protocol,
    "metaData": decode_metadata,
    "txn": _transaction,
    "domainMetadata": _domain,
    "commitInfo": _commit_info,
}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{value!r} is not a whole number"
        raise TypeError(msg)
    return value


def _optional_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _lenient_whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{value!r} is not a string"
        raise TypeError(msg)
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _names(value: Any) -> tuple[str, ...] | None:
    return None if value is None else tuple(_text(item) for item in value)


def _texts(value: Any) -> dict[str, str]:
    return {} if value is None else {_text(k): "" if v is None else _text(v) for k, v in value.items()}


def _partition(value: Any) -> dict[str, str | None]:
    return {_text(k): _optional_text(v) for k, v in value.items()}


def is_count(value: Any) -> bool:
    """Say whether a value of JSON is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
