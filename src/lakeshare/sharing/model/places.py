"""Where a shared table lies: in a bucket, here or at a remote source, or in the Iceberg catalog. Pure."""

from dataclasses import dataclass
from enum import Enum

from lakeshare.sharing.errors import BadPlace

MAX_PATH_BYTES = 900
"""Of a table's path: a key has 1024 bytes, and the names of the table's files follow."""

MAX_NAMESPACE_LEVELS = 16


class TableKind(Enum):
    """What sort of table is shared."""

    DELTA = "delta"
    UNIFORM = "uniform"


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """A Delta table, or the folder of several: a bucket and a path without slashes at its ends.

    `source` names the remote source whose bucket it is, and is empty for a bucket of this server.
    """

    bucket: str
    path: str
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.path.strip("/"))
        if not self.bucket or "/" in self.bucket:
            raise BadPlace(f"{self.bucket!r} is no bucket name")
        if len(self.path.encode("utf-8", "replace")) > MAX_PATH_BYTES or "\x00" in self.path:
            raise BadPlace(f"a path has at most {MAX_PATH_BYTES} bytes")
        if any(part in {"", ".", ".."} for part in self.path.split("/")) and self.path:
            raise BadPlace(f"{self.path!r} has an empty part, or one of dots")

    @property
    def prefix(self) -> str:
        """What the keys of the table begin with."""
        return f"{self.path}/" if self.path else ""

    def below(self, name: str) -> "DeltaPlace":
        """Return the place of a table in this folder."""
        return DeltaPlace(self.bucket, self.prefix + name, self.source)

    def __str__(self) -> str:
        scheme = f"{self.source}:s3" if self.source else "s3"
        return f"{scheme}://{self.bucket}/{self.path}"


@dataclass(frozen=True, slots=True)
class UniformPlace:
    """An Iceberg table of the catalog, or with no table a namespace."""

    warehouse: str
    namespace: tuple[str, ...]
    table: str = ""

    def __post_init__(self) -> None:
        levels = self.namespace
        if not self.warehouse or not 0 < len(levels) <= MAX_NAMESPACE_LEVELS or not all(levels):
            raise BadPlace("an Iceberg table has a warehouse, a namespace and a name")

    def below(self, name: str) -> "UniformPlace":
        """Return the place of a table in this namespace."""
        return UniformPlace(self.warehouse, self.namespace, name)

    def __str__(self) -> str:
        return ".".join((self.warehouse, *self.namespace, self.table)).rstrip(".")


Place = DeltaPlace | UniformPlace
