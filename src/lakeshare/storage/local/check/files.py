"""The files, against the rows: each there, as long as the index says, and in a deep check with the right sum."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from lakeshare.storage.hashing import combine_crc64nvme, crc64nvme
from lakeshare.storage.local.check.ledger import Ledger
from lakeshare.storage.local.check.report import CheckReport, ProblemKind, Progress
from lakeshare.storage.local.index import collect
from lakeshare.storage.local.index.rows import unsigned
from lakeshare.storage.local.layout import Layout
from lakeshare.storage.local.segments import Segment, unpack
from lakeshare.storage.local.sweep import ORPHAN_AGE_SECONDS

READ_BYTES = 1024 * 1024


@dataclass(slots=True)
class FileCheck:
    """One pass over the blob folders."""

    layout: Layout
    cursor: apsw.Cursor
    ledger: Ledger
    report: CheckReport
    deep: bool

    def run(self, progress: Progress) -> set[bytes]:
        """Look at every file, then for every blob that had none; return the blobs whose bytes are lost."""
        lost: set[bytes] = set()
        total = self.ledger.blob_count()
        for folder in sorted(self.layout.blobs.iterdir()):
            lost.update(self._folder(folder))
            progress("blobs", self.report.blobs, total)
        for blob in self.ledger.not_found():
            if self._still_named(blob) and not Path(self.layout.path_of(blob)).exists():
                self.report.add(ProblemKind.MISSING, blob.hex(), "its file is not there")
                lost.add(blob)
        if self.deep:
            self._composed(lost)
        return lost

    def _folder(self, folder: Path) -> Iterator[bytes]:
        with os.scandir(folder) as entries:
            for entry in entries:
                blob = _blob_of(entry.name)
                expected = self.ledger.find(blob) if blob else None
                if blob is None or expected is None:
                    self._stray(Path(entry.path), blob)
                elif not self._sound(Path(entry.path), blob, *expected):
                    yield blob

    def _sound(self, path: Path, blob: bytes, size: int, crc64: int) -> bool:
        self.report.blobs += 1
        try:
            found = path.stat().st_size
            if found != size:
                self.report.add(ProblemKind.SIZE, blob.hex(), f"has {found} bytes, not {size}")
                return False
            if self.deep and self._sum(path, 0, size) != unsigned(crc64):
                self.report.add(ProblemKind.CHECKSUM, blob.hex(), "its bytes fail their checksum")
                return False
        except FileNotFoundError:
            return not self._still_named(blob)
        except OSError as error:
            self.report.add(ProblemKind.MISSING, blob.hex(), f"its file cannot be read ({error.strerror})")
            return False
        return True

    def _stray(self, path: Path, blob: bytes | None) -> None:
        """Judge a file that the snapshot did not know: made since, about to be removed, in flight, or an orphan."""
        if blob is not None and collect.is_known(self.cursor, blob):
            return
        try:
            found = path.stat()
        except FileNotFoundError:
            return
        if max(found.st_mtime, found.st_ctime) > time.time() - ORPHAN_AGE_SECONDS:
            self.report.in_flight += 1
        else:
            self.report.add(ProblemKind.ORPHAN, path.name, "no row names it; the collector will remove it")

    def _still_named(self, blob: bytes) -> bool:
        return bool(self.cursor.execute("SELECT EXISTS (SELECT 1 FROM blob WHERE id = ?)", (blob,)).get)

    def _composed(self, lost: set[bytes]) -> None:
        """Check the sum over each object that is made of several stretches."""
        for label, size, crc64, content in self.ledger.composed():
            segments = list(unpack(content, size))
            if any(segment.source in lost for segment in segments):
                continue
            whole = self._sum_of(segments)
            if whole is not None and whole != unsigned(crc64):
                self.report.add(ProblemKind.CHECKSUM, label, "the sum over its segments is wrong")

    def _sum_of(self, segments: list[Segment]) -> int | None:
        """Return the sum over stretches; None if some were collected meanwhile."""
        total = 0
        for source, offset, length in segments:
            if isinstance(source, int):
                one = self._sum_inline(source, offset, length)
            else:
                one = self._sum_file(source, offset, length)
            if one is None:
                return None
            total = combine_crc64nvme(total, one, length)
        return total

    def _sum_file(self, blob: bytes, offset: int, length: int) -> int | None:
        try:
            return self._sum(Path(self.layout.path_of(blob)), offset, length)
        except FileNotFoundError:
            return None

    def _sum_inline(self, number: int, offset: int, length: int) -> int | None:
        row = self.cursor.execute("SELECT data FROM inline WHERE id = ?", (number,)).fetchone()
        return None if row is None else crc64nvme(row[0][offset : offset + length])

    def _sum(self, path: Path, offset: int, length: int) -> int:
        crc64 = 0
        with path.open("rb", buffering=0) as file:
            file.seek(offset)
            left = length
            while left > 0 and (chunk := file.read(min(left, READ_BYTES))):
                crc64 = crc64nvme(chunk, crc64)
                left -= len(chunk)
        self.report.bytes_read += length - left
        return crc64


def _blob_of(name: str) -> bytes | None:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return None
