"""What is read and what is written, parsed: files, a Delta table by its path, an Iceberg table by its name.

A name of an alias decides, as it does everywhere on the command line: `lake/bucket/path` is on the server `lake`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lakeshare.pipeline.errors import Misused, NoAlias

SCHEMES = ("s3://", "s3a://")
CSV = "csv"
PARQUET = "parquet"
DELTA = "delta"
ICEBERG = "iceberg"

_FORMATS = {
    ".csv": CSV, ".tsv": CSV, ".txt": CSV, ".csv.gz": CSV, ".csv.bz2": CSV, ".csv.zst": CSV, ".tsv.gz": CSV,
    ".parquet": PARQUET, ".pq": PARQUET,
}  # fmt: skip
_NAME = re.compile(r"[^./`\x00-\x1f]+")
_PATTERN = re.compile(r"([\\*?\[\]{}])")
_ESCAPED = r"\\\1"
_LEVELS = 3
"""Fewest parts of an Iceberg table's name: warehouse, namespace, table."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files to read: on this machine, or in a bucket. `alias` is empty where none was named."""

    path: str
    format: str
    bucket: str = ""
    alias: str = ""

    @property
    def url(self) -> str:
        """The place as Spark is given it."""
        if self.bucket:
            return f"s3a://{self.bucket}/{self.path}"
        path = Path(self.path).absolute()
        # A name that is there is that file, whatever a pattern would make of it.
        return f"file://{_PATTERN.sub(_ESCAPED, str(path)) if path.exists() else path}"

    @property
    def text(self) -> str:
        """The place as a person writes it."""
        return f"s3://{self.bucket}/{self.path}" if self.bucket else self.path


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """A Delta table in a bucket."""

    bucket: str
    path: str
    alias: str = ""
    format: str = DELTA

    @property
    def url(self) -> str:
        """The place as Spark is given it."""
        return f"s3a://{self.bucket}/{self.path}"

    @property
    def text(self) -> str:
        """The place as a person writes it."""
        return f"s3://{self.bucket}/{self.path}"

    @property
    def sql(self) -> str:
        """The table in Spark's SQL."""
        return f"delta.{quoted(self.url)}"

    @property
    def name(self) -> str:
        """The table's own name."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class IcebergTarget:
    """A table of the Iceberg catalog."""

    warehouse: str
    namespace: tuple[str, ...]
    name: str
    alias: str = ""
    format: str = ICEBERG

    @property
    def text(self) -> str:
        """The table as a person writes it."""
        return ".".join([self.warehouse, *self.namespace, self.name])


Target = DeltaTarget | IcebergTarget


def quoted(name: str) -> str:
    """Write a name for Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def parse_place(text: str, aliases: Collection[str]) -> tuple[str, str, str]:
    """Take a place apart: alias, bucket and path, each empty where there is none."""
    for scheme in SCHEMES:
        if text.startswith(scheme):
            bucket, _, path = text.removeprefix(scheme).partition("/")
            if not bucket:
                raise Misused(f"{text!r} names no bucket", "Write s3://BUCKET/PATH.")
            return "", bucket, path
    alias, slash, rest = text.partition("/")
    if not slash or alias not in aliases:
        return "", "", ""
    bucket, _, path = rest.partition("/")
    if not bucket:
        raise Misused(f"{text!r} names no bucket", f"Write {alias}/BUCKET/PATH.")
    return alias, bucket, path


def parse_source(text: str, aliases: Collection[str] = (), format_name: str = "") -> Source:
    """Read where rows come from."""
    if not text:
        raise Misused("a source cannot be empty", "Write a path, s3://BUCKET/KEY or ALIAS/BUCKET/KEY.")
    alias, bucket, path = parse_place(text, aliases)
    if bucket and not path:
        raise Misused(f"{text} is a whole bucket", f"Name the files in it: {text.rstrip('/')}/KEY")
    place = path if bucket else str(Path(text).expanduser())
    chosen = format_name or _format_of(place)
    if chosen not in (CSV, PARQUET):
        raise Misused(f"it cannot be told from {text!r} whether it is CSV or Parquet", "Say --format csv or parquet.")
    return Source(place, chosen, bucket, alias)


def parse_target(text: str, aliases: Collection[str] = ()) -> Target:
    """Read where rows go to."""
    alias, bucket, path = parse_place(text, aliases)
    if bucket and path.strip("/"):
        return DeltaTarget(bucket, path.strip("/"), alias)
    name = bucket if alias and not path else text
    parts = name.split(".")
    if len(parts) >= _LEVELS and all(_NAME.fullmatch(part) for part in parts):
        return IcebergTarget(parts[0], tuple(parts[1:-1]), parts[-1], alias)
    hint = "Delta: ALIAS/BUCKET/PATH or s3://BUCKET/PATH. Iceberg: WAREHOUSE.NAMESPACE.TABLE."
    if bucket:
        raise Misused(f"{text} is a whole bucket, and a table has a folder in it", hint)
    if "/" in text and (first := text.partition("/")[0]) and first not in {".", ".."}:
        raise NoAlias(first, text, hint)
    raise Misused(f"{text!r} is no table on a server", hint)


def _format_of(path: str) -> str:
    """Tell a format from the end of a name, also that of what a pattern or a folder holds."""
    lower = path.lower().rstrip("/*")
    return next((name for ending, name in _FORMATS.items() if lower.endswith(ending)), _format_below(path))


def _format_below(path: str) -> str:
    folder = Path(path)
    if not folder.is_dir():
        return ""
    found = {_format_of(child.name) for child in list(folder.iterdir())[:_LOOKED_AT] if child.is_file()} - {""}
    return found.pop() if len(found) == 1 else ""


_LOOKED_AT = 1000
"""Most files of a folder whose names are looked at."""
