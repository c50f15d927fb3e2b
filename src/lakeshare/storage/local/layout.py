"""Where things lie on disk, and the file that says so.

- `format.json`: which deployment this is, and the version of this layout; written once
- `index/meta.db`: the index
- `blobs/abc/<id>`: payloads, in 4096 folders by the last three digits of their ids; never changed once named.
  All folders are made at the start: one made later would need its own name synced before any blob in it counts.
- `tmp/`: payloads on their way in, where the file system cannot hold them without a name
"""

import contextlib
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import orjson

from lakeshare.errors import Kind
from lakeshare.storage.errors import StorageError

LAYOUT_VERSION = 1
FANOUT_DIGITS = 3
"""Hexadecimal digits of a blob's id that name its folder."""

PRIVATE = 0o700
OWN_NAMES = frozenset(
    {"blobs", "index", "tmp", "state", "audit", "cache", "root-credentials.json", "secrets.key", "lost+found"}
)
"""What may lie in a folder before it is a data directory: parts of one, and what a fresh file system has."""


class WrongLayout(StorageError):
    """The folder is not a data directory, or one of a newer release."""

    kind = Kind.INVALID

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(f"{root} cannot be used as a data directory: {reason}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one data directory."""

    root: Path
    fanout_digits: int = FANOUT_DIGITS

    @property
    def format_file(self) -> Path:
        """The file that says what the folder is."""
        return self.root / "format.json"

    @property
    def index(self) -> Path:
        """The database."""
        return self.root / "index" / "meta.db"

    @property
    def blobs(self) -> Path:
        """The folder of the blob folders."""
        return self.root / "blobs"

    @property
    def temporary(self) -> Path:
        """The folder of payloads on their way in."""
        return self.root / "tmp"

    @property
    def collector_lock(self) -> Path:
        """Held alone by the collector, shared by whoever needs it to wait."""
        return self.root / "index" / "collector.lock"

    def folder_of(self, blob: bytes) -> str:
        """Return the folder of a blob."""
        return f"{self.root}/blobs/{blob.hex()[-self.fanout_digits :]}"

    def path_of(self, blob: bytes) -> str:
        """Return the path of a blob."""
        name = blob.hex()
        return f"{self.root}/blobs/{name[-self.fanout_digits :]}/{name}"


def prepare(root: Path, fanout_digits: int = FANOUT_DIGITS) -> Layout:
    """Return the layout of a data directory, making it if the folder is empty or not there. Raises WrongLayout."""
    layout = Layout(root.absolute(), fanout_digits)
    if not layout.format_file.exists():
        _refuse_foreign(layout.root)
        _make(layout)
    return existing(root)


def _refuse_foreign(root: Path) -> None:
    """Refuse a folder that holds anything but what a first start that was cut short may leave."""
    if not root.is_dir():
        return
    foreign = sorted(
        path.name
        for path in root.iterdir()
        if path.name not in OWN_NAMES and not path.name.startswith((".", "format.json"))
    )
    if foreign:
        raise WrongLayout(root, f"it holds {foreign[0]!r}, which is not Lakeshare's: choose an empty folder")


def existing(root: Path) -> Layout:
    """Return the layout of a data directory that is there. Raises WrongLayout."""
    layout = Layout(root.absolute())
    try:
        found = orjson.loads(layout.format_file.read_bytes())
        version, digits = int(found["layout"]), int(found["fanout_digits"])
    except FileNotFoundError:
        raise WrongLayout(root, "it has no format.json; `lakeshare server` makes a data directory") from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise WrongLayout(root, f"format.json cannot be read ({error})") from error
    if version != LAYOUT_VERSION:
        raise WrongLayout(root, f"its layout is version {version}, this release knows {LAYOUT_VERSION}")
    return Layout(layout.root, digits)


def sync_folder(path: Path | str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, data: bytes) -> None:
    """Write a small file whole, or not at all, in place of one that is there."""
    _temporary(path, data).replace(path)
    sync_folder(path.parent)


def write_once(path: Path, data: bytes) -> None:
    """Write a small file whole, unless it is there: of several writers the first wins."""
    temporary = _temporary(path, data)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(temporary)
    temporary.unlink()
    sync_folder(path.parent)


def _temporary(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return temporary


def _make(layout: Layout) -> None:
    """Make the folders, durable, and only then the file that says they are there. Several may do so at once."""
    if layout.index.exists() and not layout.format_file.exists():
        raise WrongLayout(layout.root, "format.json is missing though an index is there")
    layout.root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    for folder in (layout.index.parent, layout.blobs, layout.temporary):
        folder.mkdir(mode=PRIVATE, exist_ok=True)
    for number in range(16**layout.fanout_digits):
        (layout.blobs / f"{number:0{layout.fanout_digits}x}").mkdir(mode=PRIVATE, exist_ok=True)
    sync_folder(layout.blobs)
    sync_folder(layout.root)
    description = {
        "layout": LAYOUT_VERSION,
        "fanout_digits": layout.fanout_digits,
        "deployment": str(uuid.uuid4()),
    }
    write_once(layout.format_file, orjson.dumps(description, option=orjson.OPT_INDENT_2))
    sync_folder(layout.root.parent)
