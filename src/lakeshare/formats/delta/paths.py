"""The names of a Delta table's files, and what they say.

Log names are those directly under `_delta_log/`; data paths are the URIs that file actions carry.
"""

import re
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote

from lakeshare.formats.delta.errors import BrokenLog

LOG_FOLDER = "_delta_log/"
SIDECAR_FOLDER = "_delta_log/_sidecars/"
LAST_CHECKPOINT = "_delta_log/_last_checkpoint"

_COMMIT = re.compile(r"(?:^|/)_delta_log/[0-9]{20}\.json\Z")
_LOG_NAME = re.compile(
    r"(?P<version>[0-9]{20})\.(?:"
    r"(?P<commit>json)"
    r"|(?P<checksum>crc)"
    r"|(?P<last>[0-9]{20})\.compacted\.json"
    r"|checkpoint(?:"
    r"(?P<classic>\.parquet)"
    r"|\.(?P<part>[0-9]{10})\.(?P<parts>[0-9]{10})\.parquet"
    r"|\.(?P<uuid>[0-9A-Za-z-]{1,64})\.(?P<format>json|parquet)"
    r"))\Z"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class LogKind(Enum):
    """What a file of the log holds."""

    COMMIT = "commit"
    CHECKPOINT = "classic checkpoint"
    CHECKPOINT_PART = "part of a checkpoint"
    V2_CHECKPOINT = "V2 checkpoint"
    COMPACTED = "compacted commits"
    CHECKSUM = "checksum"


_KINDS = (
    ("commit", LogKind.COMMIT),
    ("checksum", LogKind.CHECKSUM),
    ("last", LogKind.COMPACTED),
    ("classic", LogKind.CHECKPOINT),
    ("part", LogKind.CHECKPOINT_PART),
    ("uuid", LogKind.V2_CHECKPOINT),
)


@dataclass(frozen=True, slots=True)
class LogName:
    """A name of the log, understood. `last` ends a compacted range; `part` of `parts` counts from 1."""

    kind: LogKind
    version: int
    last: int = 0
    part: int = 0
    parts: int = 0


@dataclass(frozen=True, slots=True)
class Relative:
    """A file under the table's root, by its decoded key."""

    key: str


@dataclass(frozen=True, slots=True)
class Absolute:
    """A file anywhere: `scheme` is empty for a bare absolute path, `authority` is the bucket, `key` is decoded."""

    scheme: str
    authority: str
    key: str


def is_commit(key: str) -> bool:
    """Say whether a key names a Delta commit: 20 digits and `.json`, directly under `_delta_log/`."""
    return _COMMIT.search(key) is not None


def commit_name(version: int) -> str:
    """Name the commit of a version, relative to the table's root."""
    return f"{LOG_FOLDER}{version:020d}.json"


def checksum_name(version: int) -> str:
    """Name the checksum file of a version."""
    return f"{LOG_FOLDER}{version:020d}.crc"


def just_before(version: int) -> str:
    """Name a key that sorts before every log file of a version, and after all of those before it."""
    return f"{LOG_FOLDER}{version:020d}"


def parse_log_name(name: str) -> LogName | None:
    """Understand a file name of the log (with or without its folder), or return None for any other."""
    match = _LOG_NAME.match(name.removeprefix(LOG_FOLDER))
    if match is None:
        return None
    version, last = int(match["version"]), int(match["last"] or 0)
    part, parts = int(match["part"] or 0), int(match["parts"] or 0)
    if (match["last"] and last <= version) or (match["part"] and not 1 <= part <= parts):
        return None
    kind = next(kind for group, kind in _KINDS if match[group])
    return LogName(kind, version, last, part, parts)


def sidecar_name(path: str) -> str:
    """Name a sidecar by the path its checkpoint gives it: a bare name, or a whole URI that ends in one."""
    return SIDECAR_FOLDER + unquote(path).rsplit("/", 1)[-1]


def locate(path: str) -> Relative | Absolute:
    """Say where the file of an action lies. Paths are URIs (RFC 2396), so they are percent-decoded once."""
    if match := _SCHEME.match(path):
        rest = path[match.end() :]
        authority, _, key = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest.lstrip("/"))
        return Absolute(match[1].lower(), unquote(authority), unquote(key))
    if path.startswith("/"):
        return Absolute("", "", unquote(path).lstrip("/"))
    key = unquote(path)
    if ".." in key.split("/"):
        msg = f"a file's path climbs out of the table: {path!r}"
        raise BrokenLog(msg)
    return Relative(key)
