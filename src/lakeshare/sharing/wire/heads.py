"""The lines that stand before the files: the protocol and the metadata of a table, in either format.

Equal facts give equal bytes, whichever call asks: clients compare them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.changes import feed_enabled
from lakeshare.formats.delta.protocol import LOG_FEATURES
from lakeshare.formats.delta.snapshot import Snapshot
from lakeshare.sharing.model.asking import ResponseFormat

_HIDDEN_FEATURES = LOG_FEATURES | {
    "inCommitTimestamp",
    "inCommitTimestamp-preview",
    "vacuumProtocolCheck",
    "rowTracking",
}
"""Features of the log alone. A client makes a log of its own from our lines, which has none of them.

The ids of rows are among them: Spark refuses a table that says it tracks rows when a file has no first id.
"""
_HIDDEN_SETTINGS = (
    "delta.enableInCommitTimestamps",
    "delta.inCommitTimestampEnablement",
    "delta.checkpointPolicy",
    "delta.enableRowTracking",
    "delta.rowTracking",
)
SCHEMAS_REMEMBERED = 64
"""Schemas that are kept as clients of the parquet format are told them."""
_KEPT_METADATA = frozenset({"comment"})


@dataclass(frozen=True, slots=True)
class Totals:
    """How large a table is at a version; of an older state that stands inside an answer nothing is said."""

    size_bytes: int
    num_files: int


def head_lines(snapshot: Snapshot, chosen: ResponseFormat, *, history: bool) -> bytes:
    """Write the two lines of a snapshot."""
    totals = Totals(snapshot.files.size_bytes, snapshot.files.num_files)
    state = snapshot.state
    return protocol_line(state.protocol, chosen) + metadata_line(
        state.metadata, chosen, snapshot.version, totals, history=history
    )


def protocol_line(protocol: Protocol, chosen: ResponseFormat, version: int | None = None) -> bytes:
    """Write a protocol; `version` is said of one that stands among changes."""
    if chosen is ResponseFormat.PARQUET:
        return _line({"protocol": {"minReaderVersion": 1}})
    inner: dict[str, Any] = {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
    }
    if protocol.reader_features is not None:
        inner["readerFeatures"] = _features(protocol.reader_features)
    if protocol.writer_features is not None:
        inner["writerFeatures"] = _features(protocol.writer_features)
    said: dict[str, Any] = {"deltaProtocol": inner}
    return _line({"protocol": said if version is None else said | {"version": version}})


def metadata_line(
    metadata: Metadata, chosen: ResponseFormat, version: int, totals: Totals | None = None, *, history: bool = True
) -> bytes:
    """Write a metadata line."""
    said: dict[str, Any] = {"version": version}
    if totals is not None:
        said |= {"size": totals.size_bytes, "numFiles": totals.num_files}
    if chosen is ResponseFormat.DELTA:
        return _line({"metaData": said | {"deltaMetadata": _delta(metadata)}})
    return _line({"metaData": _parquet(metadata, history=history) | said})


def _delta(metadata: Metadata) -> dict[str, Any]:
    return _described(metadata) | {
        "format": {"provider": metadata.provider, "options": dict(metadata.options)},
        "schemaString": metadata.schema_string,
        "partitionColumns": metadata.partition_columns,
        "configuration": {
            name: value
            for name, value in sorted(metadata.configuration.items())
            if not name.startswith(_HIDDEN_SETTINGS)
        },
        **({} if metadata.created_time is None else {"createdTime": metadata.created_time}),
    }


def _parquet(metadata: Metadata, *, history: bool) -> dict[str, Any]:
    changes = {"enableChangeDataFeed": "true"} if history and feed_enabled(metadata) else {}
    return _described(metadata) | {
        "format": {"provider": metadata.provider},
        "schemaString": _plain_schema(metadata.schema_string),
        "partitionColumns": metadata.partition_columns,
        "configuration": changes,
    }


@lru_cache(SCHEMAS_REMEMBERED)
def _plain_schema(schema_string: str) -> str:
    return orjson.dumps(_plain(orjson.loads(schema_string))).decode()


def _described(metadata: Metadata) -> dict[str, Any]:
    said: dict[str, Any] = {"id": metadata.id}
    if metadata.name is not None:
        said["name"] = metadata.name
    if metadata.description is not None:
        said["description"] = metadata.description
    return said


def _plain(schema: Any) -> Any:
    """Leave of the metadata of fields what clients of the parquet format know."""
    if isinstance(schema, Mapping):
        return {
            name: {each: said for each, said in value.items() if each in _KEPT_METADATA}
            if name == "metadata" and isinstance(value, Mapping) and "name" in schema
            else _plain(value)
            for name, value in schema.items()
        }
    return [_plain(each) for each in schema] if isinstance(schema, list) else schema


def _features(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name not in _HIDDEN_FEATURES]


def _line(said: Mapping[str, Any]) -> bytes:
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)
