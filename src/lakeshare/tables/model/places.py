"""Where tables lie: locations inside a warehouse's bucket, and the names that are made for them (iceberg.md 2.3)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.names import Namespace

MAX_SEGMENTS = 12
"""Most folders of a location: as many as a key of state has room for."""
MAX_LOCATION_BYTES = 700
"""Of the key below the bucket: file names need room within S3's 1024."""
MAX_URI_CHARACTERS = 1_200
"""Of any location: a scheme, a bucket and a key of S3's 1024 bytes."""
HINT_CHARACTERS = 40
METADATA_FOLDER = "write.metadata.path"
"""The property that chooses another folder for metadata files."""
FOLDERS = (METADATA_FOLDER, "write.data.path", "write.object-storage.path", "write.folder-storage.path")
"""The properties by which writers choose other folders; the last two are old names of the second."""
MAX_FOLDER_BYTES = 256
"""Of such a folder, for credentials to reach it: what credentials may reach is written into them."""

_SCHEMES = ("s3://", "s3a://", "s3n://")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket and the key, or the folder without its slash, below it."""

    bucket: str
    key: str

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts of the key."""
        return tuple(self.key.split("/"))

    @property
    def uri(self) -> str:
        """Write it as clients do."""
        return f"s3://{self.bucket}/{self.key}"

    def lies_in(self, folder: "Place") -> bool:
        """Say whether it is a folder, or lies below it."""
        return self.bucket == folder.bucket and f"{self.key}/".startswith(f"{folder.key}/")


def place_of(uri: str) -> Place | None:
    """Read a location; None where it is not one of S3's."""
    scheme = next((each for each in _SCHEMES if uri.startswith(each)), None)
    if scheme is None:
        return None
    bucket, _, key = uri[len(scheme) :].partition("/")
    return Place(bucket, key)


def table_place(uri: str, bucket: str) -> Place:
    """Return the place of a table's location, which must lie inside its warehouse. Raises BadRequest."""
    place = _inside(uri.rstrip("/"), bucket)
    if len(place.segments) > MAX_SEGMENTS:
        raise BadRequest(f"the location {uri[:200]} has more than {MAX_SEGMENTS} folders")
    if len(place.key.encode()) > MAX_LOCATION_BYTES:
        raise BadRequest(f"the location {uri[:200]} is longer than {MAX_LOCATION_BYTES} bytes")
    return place


def file_place(uri: str, bucket: str) -> Place:
    """Return the place of a metadata file, which must lie inside its warehouse. Raises BadRequest."""
    return _inside(uri, bucket)


def _inside(uri: str, bucket: str) -> Place:
    if len(uri) > MAX_URI_CHARACTERS:
        raise BadRequest(f"the location {uri[:200]}... is longer than any key can be")
    place = place_of(uri)
    if place is None or place.bucket != bucket:
        raise BadRequest(f"the location {uri[:200]} is not inside the warehouse: it must begin with s3://{bucket}/")
    if not all(part not in ("", ".", "..") for part in place.segments) or _CONTROL.search(place.key):
        raise BadRequest(f"the location {uri[:200]} has an empty, dotted or unprintable part")
    return place


def namespace_location(bucket: str, namespace: Namespace) -> str:
    """Return the folder that a namespace's tables lie in unless its properties say otherwise."""
    return f"s3://{bucket}/{_hint('.'.join(namespace))}"


def new_location(parent: str, name: str, uuid: str) -> str:
    """Make a location of a new table: a hint for people, and a UUID, so that it never meets another."""
    return f"{parent.rstrip('/')}/{_hint(name)}-{uuid.replace('-', '')}"


def chosen_place(uri: str | None, bucket: str) -> Place | None:
    """Return the place that a request chooses, if it is one that the warehouse can give."""
    try:
        return None if not uri else table_place(uri, bucket)
    except BadRequest:
        return None


def folders_beside(location: str, properties: Mapping[str, str], bucket: str) -> tuple[str, ...]:
    """Return the folders of the warehouse outside of a location that properties have files written to."""
    places = {chosen_place(properties.get(name), bucket) for name in FOLDERS} - {None}
    keys = sorted(each.key for each in places if each is not None and len(each.key.encode()) <= MAX_FOLDER_BYTES)
    own = place_of(location)
    found: list[str] = [] if own is None else [own.key]
    for key in keys:
        if not any(f"{key}/".startswith(f"{above}/") for above in found):
            found.append(key)
    return tuple(found if own is None else found[1:])


def metadata_file(location: str, properties: Mapping[str, str], version: int, unique: str, bucket: str) -> str:
    """Name a new metadata file (iceberg.md 1.15), in the folder that the properties choose. Raises BadRequest."""
    chosen = properties.get(METADATA_FOLDER)
    folder = table_place(chosen, bucket).uri if chosen else f"{location.rstrip('/')}/metadata"
    return f"{folder}/{version:05d}-{unique}.metadata.json"


def version_of(metadata_location: str) -> int:
    """Read the number that a metadata file's name begins with; -1 where it has none."""
    digits = metadata_location.rpartition("/")[2].partition("-")[0].removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else -1


def _hint(text: str) -> str:
    return _UNSAFE.sub("_", text)[:HINT_CHARACTERS].strip(".") or "_"
