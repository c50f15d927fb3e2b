"""Runs of files onto a connection: the kernel copies where it can, threads read where it cannot.

Up to 32 KiB: one read and one write. Up to 8 MiB: `sendfile` on the loop, in turns of 2 MiB, as long as they are in the
page cache. Above that, and for what is not in the cache: a few threads, with `sendfile` on a duplicate of the socket,
handed back to the loop when the peer stalls. So small requests wait neither behind large ones nor behind the disk.
Under TLS, and where `sendfile` does not take a socket and three numbers as Linux's does: blocks read in those threads
and written under back-pressure.

A file that is shorter than promised fails the send; it never ends quietly.
"""

import asyncio
import os
import select
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

from lakeshare.http.connection import Connection, PeerGone, borrowed

SMALL_BYTES = 32 * 1024
"""A run up to this is read and written at once; the copy costs less than another system call."""

TURN_BYTES = 2 * 1024 * 1024
"""Most bytes that one connection sends in one turn of the loop."""

LOOP_BYTES = 8 * 1024 * 1024
"""A run up to this is sent by the loop: handing it to a thread and back costs more than its turns."""

THREAD_TURN_BYTES = 32 * 1024 * 1024
"""Most bytes that one connection sends before another may have its thread."""

STALL_MS = 20
"""How long a thread waits for a peer before it hands the connection back to the loop."""

COPY_BYTES = 512 * 1024
"""Bytes read at a time where the kernel cannot copy."""

THREADS = 4
"""Threads that send; each is busy only while its peer takes bytes."""

_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)
"""Asks a read to fail rather than to wait for the disk; 0 where that cannot be asked."""

KERNEL_COPIES = sys.platform == "linux" and hasattr(os, "sendfile")


class ShortFile(OSError):
    """A file holds fewer bytes than were promised of it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is shorter than the answer promised")


class _Senders:
    """The threads that send files, started when first needed, and how many sends wait for one."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lakeshare-send")
        self._lock = threading.Lock()
        self._waiting = 0

    def submit(self, work: Callable[[], bool]) -> "Future[bool]":
        """Run one turn of a send in a thread."""
        with self._lock:
            self._waiting += 1
        return self._pool.submit(self._run, work)

    def read(self, path: str, offset: int, size: int) -> "Future[bytes]":
        """Read a run of a file in a thread."""
        return self._pool.submit(_read, path, offset, size)

    def patience_ms(self) -> int:
        """Say how long a turn may wait for its peer: not at all while other sends wait for a thread."""
        return 0 if self._waiting else STALL_MS

    def _run(self, work: Callable[[], bool]) -> bool:
        with self._lock:
            self._waiting -= 1
        return work()


_senders = _Senders()


class _Run:
    """A run of a file on its way. Owns the file and, once it needs one, a duplicate of the socket."""

    __slots__ = ("block", "connection", "end", "file_fd", "offset", "path", "socket_fd", "turn")

    def __init__(self, connection: Connection, path: str, offset: int, count: int) -> None:
        self.connection = connection
        self.path = path
        self.file_fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.socket_fd = -1
        self.offset = offset
        self.end = offset + count
        self.block = b""
        self.turn: Future[bool] | None = None

    def close(self) -> None:
        """Give the descriptors back, after the thread that uses them."""
        if self.turn is None:
            self._release()
        else:
            self.turn.add_done_callback(lambda _: self._release())

    def _release(self) -> None:
        os.close(self.file_fd)
        if self.socket_fd >= 0:
            os.close(self.socket_fd)

    def own_socket(self) -> int:
        """Return a duplicate of the socket, which stays valid however the transport ends."""
        if self.socket_fd < 0:
            self.socket_fd = os.dup(self.connection.plain_fd)
        return self.socket_fd

    async def in_thread(self, work: Callable[[], bool]) -> bool:
        """Run a turn in a thread; a cancelled wait leaves it to end by itself."""
        self.turn = _senders.submit(work)
        try:
            return await asyncio.shield(asyncio.wrap_future(self.turn))
        except (ConnectionError, TimeoutError) as lost:
            raise PeerGone from lost

    def copy(self, socket_fd: int, most: int) -> int:
        """Let the kernel copy bytes onto the socket; fail when the file has none left."""
        sent = os.sendfile(socket_fd, self.file_fd, self.offset, min(self.end - self.offset, most))
        if not sent:
            raise ShortFile(self.path)
        self.offset += sent
        return sent

    def is_cached(self) -> bool:
        """Say whether both ends of the next turn can be read without waiting for the disk."""
        if not _NOWAIT:
            return True
        try:
            for place in (self.offset, min(self.offset + TURN_BYTES, self.end) - 1):
                os.preadv(self.file_fd, [bytearray(1)], place, _NOWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True  # The file system cannot tell, as those in memory cannot.
        return True

    def push(self) -> bool:
        """Send until the run or the turn ends, and say whether the peer stalled. Runs in a thread."""
        socket_fd, budget = self.socket_fd, THREAD_TURN_BYTES
        poll = select.poll()
        poll.register(socket_fd, select.POLLOUT)
        while self.offset < self.end and budget > 0 and not self.connection.gone:
            try:
                budget -= self.copy(socket_fd, budget)
            except BlockingIOError:
                if not poll.poll(_senders.patience_ms()):
                    return True
        return False

    def read(self) -> bool:
        """Read the next block. Runs in a thread."""
        self.block = os.pread(self.file_fd, min(self.end - self.offset, COPY_BYTES), self.offset)
        if not self.block:
            raise ShortFile(self.path)
        self.offset += len(self.block)
        return False


async def send_file(connection: Connection, take_head: Callable[[], bytes], path: str, offset: int, count: int) -> None:
    """Send a run of a file behind a head; the head is taken only once the file is known to hold the run."""
    if count <= SMALL_BYTES:
        block = read_cached(path, offset, count)
        if block is None:
            block = await read_block(path, offset, count)
        connection.transport.write(take_head() + block)
        return
    run = _Run(connection, path, offset, count)
    try:
        if os.fstat(run.file_fd).st_size < run.end:
            raise ShortFile(path)
        await _way(run)(run, take_head())
    finally:
        run.close()


def _way(run: _Run) -> "Callable[[_Run, bytes], Awaitable[None]]":
    if not KERNEL_COPIES or run.connection.plain_fd < 0:
        return _copied
    return _on_loop if run.end - run.offset <= LOOP_BYTES and run.is_cached() else _in_threads


async def _copied(run: _Run, head: bytes) -> None:
    connection = run.connection
    connection.transport.write(head)
    while run.offset < run.end:
        await run.in_thread(run.read)
        await connection.drained()
        connection.transport.write(run.block)


async def _on_loop(run: _Run, head: bytes) -> None:
    connection = run.connection
    await _lead_in(connection, head)
    turn_ends = run.offset + TURN_BYTES
    while run.offset < run.end:
        if run.offset >= turn_ends:
            await asyncio.sleep(0)
            turn_ends = run.offset + TURN_BYTES
            if not run.is_cached():
                await _in_threads(run, b"")
                return
        try:
            run.copy(connection.plain_fd, turn_ends - run.offset)
        except BlockingIOError:
            await connection.writable(run.own_socket())
        except (ConnectionError, TimeoutError) as lost:
            raise PeerGone from lost


async def _in_threads(run: _Run, head: bytes) -> None:
    connection = run.connection
    await _lead_in(connection, head)
    run.own_socket()
    while run.offset < run.end:
        stalled = await run.in_thread(run.push)
        if connection.gone:
            raise PeerGone
        if stalled:
            await connection.writable(run.socket_fd)


async def _lead_in(connection: Connection, head: bytes) -> None:
    """Send a head so that the file's first bytes join it, after all that was written before."""
    if head and not connection.gone and not connection.transport.get_write_buffer_size():
        head = head[_send_more(connection.plain_fd, head) :]
    if head:
        connection.transport.write(head)
    await connection.emptied()


def _send_more(socket_fd: int, head: bytes) -> int:
    """Send bytes that more follow at once (MSG_MORE), and return how many the socket took."""
    try:
        with borrowed(socket_fd) as sock:
            return sock.send(head, socket.MSG_MORE | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0
    except (ConnectionError, TimeoutError) as lost:
        raise PeerGone from lost


def read_cached(path: str, offset: int, size: int) -> bytes | None:
    """Read a small run of a file at once, or nothing where that would wait for the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        block = _read_now(fd, size, offset)
    finally:
        os.close(fd)
    return block if block is not None and len(block) == size else None


def _read_now(fd: int, size: int, offset: int) -> bytes | None:
    if not _NOWAIT:
        return os.pread(fd, size, offset)
    buffer = bytearray(size)
    try:
        got = os.preadv(fd, [buffer], offset, _NOWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return os.pread(fd, size, offset)
    return bytes(buffer[:got])


async def read_block(path: str, offset: int, size: int) -> bytes:
    """Read a run of a file in a thread, for servers that cannot send files themselves."""
    return await asyncio.wrap_future(_senders.read(path, offset, size))


def _read(path: str, offset: int, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        block = os.pread(fd, size, offset)
    finally:
        os.close(fd)
    if len(block) != size:
        raise ShortFile(path)
    return block
