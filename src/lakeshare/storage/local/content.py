"""The bytes of one version, as literal bytes and runs of blob files."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.http.response import FileSpan, Spans
from lakeshare.storage.errors import ContentLost
from lakeshare.storage.local.layout import Layout
from lakeshare.storage.local.segments import Stored, stretch
from lakeshare.storage.port import ObjectInfo


@dataclass(frozen=True, slots=True)
class InlineContent:
    """Bytes that came with their row."""

    data: bytes

    def spans(self, start: int, stop: int) -> Spans:
        """Return the bytes from `start` up to `stop`."""
        if start >= stop:
            return ()
        return (self.data if start == 0 and stop >= len(self.data) else self.data[start:stop],)


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """Bytes in blobs, and here and there in the index. Each blob is looked for before it is promised."""

    info: ObjectInfo
    stored: Stored
    layout: Layout
    inline: Callable[[int], bytes | None]

    def spans(self, start: int, stop: int) -> Spans:
        """Return the bytes from `start` up to `stop`. Raises ContentLost."""
        result: list[bytes | FileSpan] = []
        for source, offset, length in stretch(self.stored, self.info.size, start, stop):
            if isinstance(source, int):
                result.append(self._small(source, offset, length))
            else:
                path = self.layout.path_of(source)
                self.check(path, offset + length)
                result.append(FileSpan(path, offset, length))
        return tuple(result)

    def check(self, path: str, needed_bytes: int) -> None:
        """Raise ContentLost unless a blob is there and long enough."""
        try:
            size = os.stat(path).st_size  # noqa: PTH116 (on the path of every read)
        except OSError as error:
            raise self._lost(f"blob {path} cannot be read ({error.strerror})") from error
        if size < needed_bytes:
            raise self._lost(f"blob {path} has {size} bytes, not {needed_bytes}")

    def _small(self, row: int, offset: int, length: int) -> bytes:
        data = self.inline(row)
        if data is None or len(data) < offset + length:
            raise self._lost(f"inline payload {row} is not in the index")
        return data[offset : offset + length]

    def _lost(self, reason: str) -> ContentLost:
        return ContentLost(self.info.bucket, self.info.key, reason)
