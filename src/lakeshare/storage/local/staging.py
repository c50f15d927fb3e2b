"""Bytes on their way in: small ones in memory, the rest to a file without a name.

Chunks are gathered to batches; a batch is hashed and written in threads while the next one arrives, so that memory
holds two of them at most. Who has a thread already writes at once, and nothing is held. Nothing here is visible to
anyone until the index says so.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from types import TracebackType
from typing import Self

from lakeshare.http.request import Block
from lakeshare.storage.hashing import Digests
from lakeshare.storage.laws import Content
from lakeshare.storage.local.blobs import PendingBlob
from lakeshare.storage.local.layout import Layout
from lakeshare.storage.local.space import FreeSpace

INLINE_BYTES = 64 * 1024
"""The largest payload that goes into the index."""

BATCH_BYTES = 1024 * 1024
"""What is hashed and written at once; smaller batches pay for the hop between threads."""

_at_work: "set[LocalStaging]" = set()
"""Bodies that are written on threads of their own: one alone has another thread's help, since processors idle."""


class LocalStaging:
    """One payload on its way in. Leaving its block discards it, unless it was handed to the index."""

    def __init__(self, layout: Layout, space: FreeSpace, threads: Executor, algorithms: frozenset[str]) -> None:
        self.size = 0
        self._layout = layout
        self._space = space
        self._threads = threads
        self._digests = Digests(algorithms)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._under_way: list[Future[None]] = []
        self._blob: PendingBlob | None = None
        self._finished = False
        self._named = False
        self.handed_over = False

    async def __aenter__(self) -> Self:
        self._space.check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._waiting.clear()
        _at_work.discard(self)
        if self._blob is not None or self._under_way:
            self._threads.submit(self._discard)

    async def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        if self._waiting_bytes >= BATCH_BYTES:
            await self._dispatch()

    def write_now(self, blocks: Sequence[Block]) -> None:
        """Take the next bytes on the calling thread, which may block. Raises StoreFull, StoreFailed."""
        self.size += sum(map(len, blocks))
        _at_work.add(self)
        try:
            if len(_at_work) == 1:
                self._write_with_help(blocks)
            else:
                self._hash_and_write(self._digests.update, blocks)
        except OSError as error:
            raise self._space.translated(error) from error

    async def digest(self, algorithm: str) -> bytes:
        """Return a digest of all bytes written."""
        await self.finish()
        return self._digests.digest(algorithm)

    @property
    def small(self) -> bool:
        """Whether the payload goes into the index."""
        return self.size <= INLINE_BYTES and self._blob is None

    async def finish(self) -> Content:
        """Take no more bytes; return what tells these apart."""
        if not self._finished:
            _at_work.discard(self)
            if self.small:
                self._waiting = [b"".join(self._waiting)]
                self._digests.update(self._waiting)
            else:
                await self._dispatch()
                await self._settle()
            self._finished = True
        return Content(self.size, self._digests.md5_hex, self._digests.crc64)

    @property
    def data(self) -> bytes:
        """The bytes of a small payload that is finished."""
        return self._waiting[0]

    async def publish(self, description: bytes) -> bytes:
        """Make a finished blob durable under its name, which it returns. No row names it yet."""
        blob = self._blob
        assert blob is not None
        self._start(lambda: self._name(blob, description))
        await self._settle()
        return blob.id

    def _name(self, blob: PendingBlob, description: bytes) -> None:
        blob.publish(description)
        self._named = True

    async def _dispatch(self) -> None:
        await self._settle()
        if not self._waiting:
            return
        chunks, self._waiting, self._waiting_bytes = self._waiting, [], 0
        hashing, *others = self._digests.halves()
        for other in others:
            self._start(lambda other=other: other(chunks))  # type: ignore[misc]
        self._start(lambda: self._hash_and_write(hashing, chunks))

    def _hash_and_write(self, hashing: Callable[[Sequence[Block]], None], chunks: Sequence[Block]) -> None:
        if self._blob is None:
            self._blob = PendingBlob(self._layout)
        self._blob.write(chunks)
        hashing(chunks)

    def _write_with_help(self, blocks: Sequence[Block]) -> None:
        """Let another thread reckon the slowest digest meanwhile; both are done when this returns."""
        slowest, *others = self._digests.halves()
        helping = self._threads.submit(slowest, blocks)
        try:
            self._hash_and_write(others[0] if others else lambda _: None, blocks)
        finally:
            helping.result()

    def _start(self, work: Callable[[], None]) -> None:
        self._under_way.append(self._threads.submit(work))

    async def _settle(self) -> None:
        """Wait for what is under way. Raises StoreFull, StoreFailed."""
        for future in self._under_way:
            try:
                await asyncio.wrap_future(future)
            except OSError as error:
                raise self._space.translated(error) from error
        self._under_way.clear()

    def _discard(self) -> None:
        """Let go of the file once no thread uses it: a cancelled request leaves its last batch running."""
        wait(self._under_way)
        if self._blob is None:
            return
        if self._named and not self.handed_over:
            self._blob.unpublish()
        self._blob.close()
