"""Version checksums (`.crc`): what a writer says a version holds, to be held against what was read."""

from dataclasses import dataclass

import orjson

from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.decoding import decode_action, is_count
from lakeshare.formats.delta.errors import BrokenLog


@dataclass(frozen=True, slots=True)
class Checksum:
    """The sums of one version. `in_commit_timestamp` is there where the table has such."""

    table_size_bytes: int
    num_files: int
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    in_commit_timestamp: int | None = None


def parse_checksum(data: bytes) -> Checksum | None:
    """Parse a checksum file; readers must go on without one, so a broken one is None."""
    try:
        whole = orjson.loads(data)
        size, count = whole["tableSizeBytes"], whole["numFiles"]
        stamp = whole.get("inCommitTimestampOpt")
        metadata = decode_action({"metaData": whole.get("metadata")})
        protocol = decode_action({"protocol": whole.get("protocol")})
    except (orjson.JSONDecodeError, BrokenLog, KeyError, TypeError, AttributeError):
        return None
    if not is_count(size) or not is_count(count):
        return None
    return Checksum(
        table_size_bytes=size,
        num_files=count,
        metadata=metadata if isinstance(metadata, Metadata) else None,
        protocol=protocol if isinstance(protocol, Protocol) else None,
        in_commit_timestamp=stamp if is_count(stamp) else None,
    )


def check_state(found: Checksum, version: int, protocol: Protocol, metadata: Metadata) -> None:
    """Hold the protocol and the metadata of a version against its checksum. Raises BrokenLog when they differ."""
    if found.protocol is not None and _facts_of(found.protocol) != _facts_of(protocol):
        raise BrokenLog(f"version {version} has another protocol than its checksum says")
    if found.metadata is not None and _told_by(found.metadata) != _told_by(metadata):
        raise BrokenLog(f"version {version} has other metadata than its checksum says")


def check_sums(found: Checksum, version: int, num_files: int, table_size_bytes: int) -> None:
    """Hold what was read against a version's checksum. Raises BrokenLog when they differ."""
    if (found.num_files, found.table_size_bytes) == (num_files, table_size_bytes):
        return
    raise BrokenLog(
        f"version {version} has {num_files} files of {table_size_bytes} bytes, "
        f"and its checksum says {found.num_files} files of {found.table_size_bytes} bytes"
    )


def _facts_of(protocol: Protocol) -> tuple[object, ...]:
    features = (frozenset(each or ()) for each in (protocol.reader_features, protocol.writer_features))
    return protocol.min_reader_version, protocol.min_writer_version, *features


def _told_by(metadata: Metadata) -> tuple[object, ...]:
    return metadata.id, metadata.schema_string, metadata.partition_columns, dict(metadata.configuration)
