"""Large bodies off a connection: a thread takes them from the socket itself and hands each block to a sink.

Past the loop and the parser a byte is copied once less, and hashing and writing it needs no hop between threads. A
turn goes on while its peer sends quickly. A slow peer's bytes are gathered by the loop, as those of small bodies are,
and a turn follows when there are enough of them: so it is the loop that waits, and its deadlines that count.

Laws: reading by the loop is paused during a turn; a turn takes no byte behind the body; a sink is never called once
the turn's end was awaited, however that ended; a connection that ends is left to the loop to notice.
"""

import asyncio
import mmap
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from lakeshare.http.connection import Connection, borrowed
from lakeshare.http.request import Block, Sink

SOCKETS_SHARED = sys.platform == "linux"
"""Whether a thread may take bytes from a socket that the loop watches: tried on Linux alone."""

POUR_BYTES = 256 * 1024
"""A body of a known length from this on may be taken by a thread."""

BLOCK_BYTES = 1024 * 1024
"""Bytes handed on at a time, up to a multiple of this in the body: file systems write such blocks at half the cost."""

TURN_BYTES = 4 * 1024 * 1024
"""Most bytes of one turn while others wait for a thread."""

STALL_MS = 25
"""How long a block may take before its peer counts as slow."""

THREADS = 8
"""Threads that receive; each is busy only while its peer sends."""


class _Receivers:
    """The threads that receive, started when first needed, how many turns wait for one, and a buffer for each."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lakeshare-receive")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._waiting = 0

    def submit(self, turn: "Turn") -> "Future[None]":
        """Run a turn in a thread."""
        with self._lock:
            self._waiting += 1
        return self._pool.submit(self._run, turn)

    @property
    def contended(self) -> bool:
        """Say whether turns wait for a thread: then none may wait for its peer."""
        return self._waiting > 0

    def _run(self, turn: "Turn") -> None:
        with self._lock:
            self._waiting -= 1
        try:
            buffer: memoryview = self._local.buffer
        except AttributeError:
            buffer = self._local.buffer = memoryview(mmap.mmap(-1, BLOCK_BYTES))
        turn.work(buffer)


_receivers = _Receivers()


class Turn:
    """A thread's turn at one body: what the loop has gathered of it, then what comes from the socket."""

    __slots__ = ("_at", "_connection", "_fd", "_gathered", "_left", "_poll", "_sink", "_stopped", "stalled", "taken")

    def __init__(self, connection: Connection, sink: Sink, gathered: Sequence[bytes], at: int, left: int) -> None:
        """Take the bytes gathered so far, where in the body the next ones are, and how many are still to come."""
        self._connection = connection
        self._sink = sink
        self._gathered = gathered
        self._at = at
        self._left = left
        self._fd = os.dup(connection.plain_fd) if left else -1
        self._poll = select.poll()
        self._stopped = False
        self.taken = 0
        """Bytes that were taken from the socket, whatever the sink did with them."""
        self.stalled = False
        """Whether the turn ended because the peer was slow, or is gone."""

    async def run(self) -> None:
        """Have the turn, and raise what the sink raises; a cancelled wait ends once the thread has."""
        try:
            ended = asyncio.wrap_future(_receivers.submit(self))
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError:
                self._stopped = True
                await _end_of(ended)
                raise
        finally:
            if self._fd >= 0:
                os.close(self._fd)

    def work(self, buffer: memoryview) -> None:
        """Take and hand on, until the body, the turn or the peer's haste ends. Runs in a thread."""
        if not self._left:
            self._sink(self._gathered)
            return
        self._poll.register(self._fd, select.POLLIN)
        with borrowed(self._fd) as sock:
            while self.taken < self._left and not self.stalled and not self._is_over():
                to_edge = BLOCK_BYTES - (self._at + self.taken) % BLOCK_BYTES
                block = buffer[: min(self._left - self.taken, to_edge)]
                got = self._fill(sock, block)
                self.taken += got
                self.stalled = got < len(block)
                self._hand_on(block[:got])
        self.stalled = self.stalled or self._connection.gone

    def _hand_on(self, block: memoryview) -> None:
        blocks: list[Block] = [*self._gathered]
        self._gathered = ()
        if len(block):
            blocks.append(block)
        if blocks:
            self._sink(blocks)

    def _is_over(self) -> bool:
        if self._stopped or self._connection.gone:
            return True
        return self.taken >= TURN_BYTES and _receivers.contended

    def _fill(self, sock: socket.socket, block: memoryview) -> int:
        """Receive a block, or as much of it as comes in time."""
        got, size, give_up_at = 0, len(block), 0.0
        while got < size:
            try:
                more = sock.recv_into(block[got:], size - got, socket.MSG_DONTWAIT)
            except BlockingIOError:
                give_up_at = give_up_at or time.monotonic() + STALL_MS / 1000
                if not self._wait_until(give_up_at):
                    return got
                continue
            except OSError:
                return got
            if not more:
                return got
            got += more
        return got

    def _wait_until(self, give_up_at: float) -> bool:
        left_ms = 0.0 if _receivers.contended else (give_up_at - time.monotonic()) * 1000
        return bool(self._poll.poll(max(0.0, left_ms)))


async def _end_of(ended: "asyncio.Future[None]") -> None:
    """Wait for a thread, whoever cancels meanwhile: it stops at its next block."""
    while not ended.done():
        try:
            await asyncio.wait({ended})
        except asyncio.CancelledError:
            continue
    ended.exception()
