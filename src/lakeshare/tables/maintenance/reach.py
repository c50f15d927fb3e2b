"""What the snapshots of a table reach: manifest lists, manifests, and files.

Files are remembered as 64-bit hashes: eight bytes each, so that a table of ten million files takes 80 MB. Two files
with one hash mean that one of them is taken for the other, and so is kept.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lakeshare.columnar.source import Blob, FileGone
from lakeshare.formats.iceberg.snapshots import Snapshot
from lakeshare.formats.iceberg_files.manifests import (
    CONTENT,
    PATH,
    SIZE,
    STATUS,
    Manifest,
    ManifestContent,
    Status,
    entries,
    read_manifest_list,
)
from lakeshare.tables.maintenance.folder import TableFolder

Hashes = npt.NDArray[np.int64]
_EMPTY: Hashes = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file that a manifest names."""

    uri: str
    size: int
    content: int


async def manifests_of(folder: TableFolder, snapshot: Snapshot) -> tuple[Manifest, ...]:
    """Return the manifests of a snapshot. Raises FileGone, Unreadable."""
    if snapshot.manifest_list is None:
        return tuple(_bare(path) for path in snapshot.manifests)
    blob = await folder.blob(snapshot.manifest_list)
    return await asyncio.to_thread(read_manifest_list, blob)


async def listed_files(folder: TableFolder, manifest: Manifest) -> list[ListedFile]:
    """Return the files that a manifest has, without those that it says were deleted. Raises FileGone, Unreadable."""
    blob = await folder.blob(manifest.path)

    def read() -> list[ListedFile]:
        found: list[ListedFile] = []
        for batch in entries(blob, (PATH, SIZE, CONTENT, STATUS), manifest):
            rows = zip(*(batch.column(at).to_pylist() for at in range(4)), strict=True)
            found += [
                ListedFile(uri, size or 0, content or 0)
                for uri, size, content, status in rows
                if status != Status.DELETED
            ]
        return found

    return await asyncio.to_thread(read)


class Reach:
    """What a growing number of snapshots reaches. Nothing is read twice."""

    def __init__(self, folder: TableFolder, *, deleted_too: bool = False) -> None:
        """Take the table's folder, and whether files that a manifest says were deleted count as reached."""
        self._folder = folder
        self._deleted_too = deleted_too
        self._usual = f"s3://{folder.place.bucket}/"
        self.lists: set[str] = set()
        """The manifest lists that were read, by what their names have in common."""
        self.manifests: dict[str, Manifest] = {}
        """The manifests that they name, in the same way."""
        self._read: set[str] = set()
        self._hashes: list[Hashes] = []
        self._sorted: Hashes = _EMPTY

    async def add_lists(self, snapshots: Iterable[Snapshot]) -> None:
        """Read which manifests snapshots have. Raises FileGone, Unreadable."""
        for snapshot in snapshots:
            name = "" if snapshot.manifest_list is None else self.named(snapshot.manifest_list)
            if name in self.lists:
                continue
            found = await manifests_of(self._folder, snapshot)
            if name:
                self.lists.add(name)
            self.manifests.update((self.named(each.path), each) for each in found)

    async def add_files(self) -> None:
        """Read which files the manifests name. Raises FileGone, Unreadable."""
        for name, manifest in self.manifests.items():
            if name not in self._read:
                blob = await self._folder.blob(manifest.path)
                self._hashes.append(await asyncio.to_thread(self._hashed, blob, manifest))
                self._read.add(name)
        if self._hashes:
            self._sorted = np.unique(np.concatenate([self._sorted, *self._hashes]))
            self._hashes = []

    def add_paths(self, uris: Iterable[str]) -> None:
        """Take files that are named elsewhere, such as statistics."""
        more = np.fromiter((hash(self.named(uri)) for uri in uris), np.int64)
        self._sorted = np.unique(np.concatenate([self._sorted, more]))

    @property
    def count(self) -> int:
        """Return how many files are reached."""
        return len(self._sorted)

    def holds(self, uris: Sequence[str]) -> Sequence[bool]:
        """Say of each file whether it is reached, or may be."""
        wanted = np.fromiter((hash(self.named(uri)) for uri in uris), np.int64, len(uris))
        found: list[bool] = np.isin(wanted, self._sorted).tolist()
        return found

    def _hashed(self, blob: Blob, manifest: Manifest) -> Hashes:
        parts = [_EMPTY]
        for batch in entries(blob, (PATH, STATUS), manifest):
            rows = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
            wanted = (uri for uri, status in rows if self._deleted_too or status != Status.DELETED)
            parts.append(np.fromiter((hash(self.named(uri)) for uri in wanted), np.int64))
        return np.unique(np.concatenate(parts))

    def named(self, uri: str) -> str:
        """Return what two names of one file have in common: `s3` and `s3a`, and doubled slashes."""
        if uri.startswith(self._usual) and "//" not in (key := uri[len(self._usual) :]):
            return key
        found = self._folder.key_of(uri)
        if found is None:
            return uri
        while "//" in found:
            found = found.replace("//", "/")
        return found


async def tolerant_files(folder: TableFolder, manifest: Manifest) -> list[ListedFile]:
    """Return the files of a manifest, none where it is gone: then its files went before it."""
    try:
        return await listed_files(folder, manifest)
    except FileGone:
        return []


async def tolerant_manifests(folder: TableFolder, snapshot: Snapshot) -> tuple[Manifest, ...]:
    """Return the manifests of a snapshot, none where its list is gone: then they went before it."""
    try:
        return await manifests_of(folder, snapshot)
    except FileGone:
        return ()


def _bare(path: str) -> Manifest:
    return Manifest(path, 0, 0, ManifestContent.DATA, 0, 0, None, None, None)
