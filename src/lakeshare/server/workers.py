"""The supervisor: binds the address, starts the workers, restarts those that die, and stops them all.

The supervisor stays a process of one thread that opens nothing, so every child is a plain fork: fast, with the
code already loaded and shared, and without anyone else's threads or database handles. Periodic jobs, which need
both, run in a child of their own beside the workers, the keeper; it is restarted like them.

Each worker has its own listening sockets (SO_REUSEPORT on Linux). Measured with bursts of 32 connections over two
workers, 30 times: the busier worker got 18 in the median and 24 at worst; with one shared socket 27, and all 32 at
worst, since the worker that wakes first accepts until the queue is empty. The supervisor keeps the sockets open, so
connections that arrive while a worker restarts wait in its queue.

A child dies with its supervisor: at once on Linux (PR_SET_PDEATHSIG), elsewhere when the pipe that only the
supervisor holds open ends. Killing the supervisor never leaves an orphan on the port.
"""

import asyncio
import contextlib
import ctypes
import logging
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import FrameType

import uvloop

from lakeshare.columnar.lean import stay_lean
from lakeshare.errors import LakeshareError
from lakeshare.http.asgi import Handler
from lakeshare.http.listen import Address, Listeners, listen
from lakeshare.http.serve import serve
from lakeshare.http.tls import Tls
from lakeshare.settings import Settings

MakeHandler = Callable[[int], AbstractAsyncContextManager[Handler]]

FIRST_BACKOFF = 0.1
LAST_BACKOFF = 10.0
STEADY_SECONDS = 10.0
"""A child that lived this long starts again at once, and its backoff from the beginning."""

STOP_GRACE = 5.0
"""Seconds beyond the shutdown timeout after which children that still live are killed."""

LOOK_SECONDS = 1.0
"""Longest time for which a job's interval that has changed goes unseen."""

PR_SET_PDEATHSIG = 1
KEEPER = -1

_log = logging.getLogger("lakeshare.server")


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do again and again, by one process for all workers; the interval is asked for as it passes."""

    name: str
    interval: Callable[[], float]
    work: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Ready:
    """What can be said once every worker accepts connections."""

    address: Address
    tls: bool
    workers: int


@dataclass(slots=True)
class _Child:
    """A place for one process: who fills it, since when, and when to fill it again."""

    number: int
    pid: int = 0
    started: float = 0.0
    ready: bool = False
    backoff: float = FIRST_BACKOFF
    due: float = 0.0


@dataclass(slots=True)
class _Plan:
    """What the supervisor was asked to run."""

    settings: Settings
    make_handler: MakeHandler
    jobs: Sequence[Job]
    listeners: Listeners
    tls: Tls | None
    ready_pipe: tuple[int, int] = field(default_factory=os.pipe)
    life_pipe: tuple[int, int] = field(default_factory=os.pipe)


def run(
    settings: Settings,
    make_handler: MakeHandler,
    jobs: Sequence[Job] = (),
    on_ready: Callable[[Ready], None] | None = None,
) -> int:
    """Serve until told to stop, and return the exit code.

    `make_handler(number)` runs in each worker, inside its loop. Open no database and start no thread before this.
    """
    tls = Tls.of(settings)
    listeners = listen(Address.parse(settings.address), settings.workers)
    _raise_file_limit()
    plan = _Plan(settings, make_handler, jobs, listeners, tls)
    return _Supervisor(plan, on_ready).run()


class _Supervisor:
    """Keeps one process in each place until told to stop."""

    def __init__(self, plan: _Plan, on_ready: Callable[[Ready], None] | None) -> None:
        self._plan = plan
        self._on_ready = on_ready
        self._told_ready = False
        self._stopping = False
        self._hurried = False
        numbers = [*range(plan.settings.workers), *([KEEPER] if plan.jobs else [])]
        self._children = [_Child(number) for number in numbers]
        os.set_blocking(plan.ready_pipe[0], False)

    def run(self) -> int:
        """Run until told to stop, or until a worker cannot start at all."""
        with _woken_by_signals(self._on_signal) as wake:
            for child in self._children:
                self._start(child)
            failed = False
            while not self._stopping and not failed:
                select.select([wake, self._plan.ready_pipe[0]], [], [], self._pause())
                _drain(wake)
                self._note_ready()
                failed = self._reap()
                self._restart_due()
            return self._stop(wake, failed=failed)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._signal_all(signal.SIGHUP)
        elif number in {signal.SIGTERM, signal.SIGINT}:
            self._hurried = self._stopping
            self._stopping = True

    def _start(self, child: _Child) -> None:
        _warn_of_threads()
        child.started, child.ready = time.monotonic(), child.number == KEEPER
        child.pid = os.fork()
        if not child.pid:
            _live(self._plan, child.number)

    def _pause(self) -> float | None:
        waits = [child.due for child in self._children if not child.pid]
        return max(0.0, min(waits) - time.monotonic()) if waits else None

    def _note_ready(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for number in os.read(self._plan.ready_pipe[0], len(self._children)):
                self._children[number].ready = True
        if not self._told_ready and all(child.ready for child in self._children):
            self._told_ready = True
            _log.info(
                "ready", extra={"address": str(self._plan.listeners.address), "workers": self._plan.settings.workers}
            )
            if self._on_ready is not None:
                settings, address = self._plan.settings, self._plan.listeners.address
                self._on_ready(Ready(address, self._plan.tls is not None, settings.workers))

    def _reap(self) -> bool:
        """Take note of children that ended, and say whether one could not even start."""
        failed = False
        for child in self._children:
            if child.pid and (code := _ended(child.pid)) is not None:
                failed |= not self._told_ready and not child.ready
                self._bury(child, code)
        return failed

    def _bury(self, child: _Child, code: int) -> None:
        now = time.monotonic()
        if now - child.started > STEADY_SECONDS:
            child.backoff = FIRST_BACKOFF
        child.pid, child.due = 0, now + child.backoff
        child.backoff = min(child.backoff * 2, LAST_BACKOFF)
        if not self._stopping:
            _log.error("worker ended", extra={"worker": _name(child.number), "code": code})

    def _restart_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if not child.pid and child.due <= now and self._told_ready and not self._stopping:
                self._start(child)

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self._children:
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    def _stop(self, wake: int, *, failed: bool) -> int:
        self._stopping = True
        self._plan.listeners.close()
        self._signal_all(signal.SIGTERM)
        end = time.monotonic() + self._plan.settings.shutdown_timeout + STOP_GRACE
        while any(child.pid for child in self._children):
            left = end - time.monotonic()
            if left <= 0 or self._hurried:
                self._signal_all(signal.SIGKILL)
            select.select([wake], [], [], max(0.05, min(left, 1.0)))
            _drain(wake)
            self._reap()
        return 1 if failed else 0


@contextlib.contextmanager
def _woken_by_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[int]:
    """Handle the supervisor's signals, and yield a descriptor that is readable after each."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
    before = {number: signal.signal(number, handler) for number in numbers}
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(-1)
        for number, old in before.items():
            signal.signal(number, old)
        os.close(reader)
        os.close(writer)


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, 4096)


def _ended(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _name(number: int) -> str:
    return "jobs" if number == KEEPER else str(number)


def _warn_of_threads() -> None:
    if threading.active_count() > 1:
        names = ", ".join(thread.name for thread in threading.enumerate())
        _log.warning("forking with threads", extra={"threads": names})


def _raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# In a child.


def _live(plan: _Plan, number: int) -> None:
    """Be a child: do its work, and end the process whatever happens."""
    code = 1
    try:
        _be_born(plan)
        if number == KEEPER:
            _keep(plan)
        else:
            _work(plan, number)
        code = 0
    except LakeshareError as error:
        _log.error("worker cannot go on", extra={"worker": _name(number), "reason": error.message})
    finally:
        if sys.exc_info()[0] is not None:
            sys.excepthook(*sys.exc_info())
        logging.shutdown()
        os._exit(code)


def _be_born(plan: _Plan) -> None:
    stay_lean()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(plan.life_pipe[1])
    os.close(plan.ready_pipe[0])
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([plan.life_pipe[0]], [], [], 0)[0]:
        os._exit(1)


def _work(plan: _Plan, number: int) -> None:
    mine = plan.listeners.each[number]
    for sockets in plan.listeners.each:
        for sock in sockets:
            if sock not in mine:
                sock.close()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_answer(plan, number, mine))


async def _answer(plan: _Plan, number: int, sockets: Sequence[socket.socket]) -> None:
    asyncio.get_running_loop().add_reader(plan.life_pipe[0], os._exit, 1)

    def started() -> None:
        os.write(plan.ready_pipe[1], bytes((number,)))

    async with plan.make_handler(number) as handler:
        await serve(handler, sockets, plan.settings, plan.tls, started)


def _keep(plan: _Plan) -> None:
    """Run the jobs, each in a thread of its own, until told to stop."""
    plan.listeners.close()
    stopping = threading.Event()
    threads = [threading.Thread(target=_repeat, args=(job, stopping), name=job.name, daemon=True) for job in plan.jobs]
    threading.Thread(target=_follow, args=(plan.life_pipe[0],), name="supervisor-watch", daemon=True).start()
    for thread in threads:
        thread.start()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopping.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stopping.wait()
    end = time.monotonic() + plan.settings.shutdown_timeout
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))


def _repeat(job: Job, stopping: threading.Event) -> None:
    last, wait = time.monotonic(), 0.0
    while not stopping.wait(min(wait, LOOK_SECONDS)):
        try:
            wait = last + job.interval() - time.monotonic()
            if wait > 0:
                continue
            last = time.monotonic()
            job.work()
        except Exception:  # noqa: BLE001 - the outermost frame of a job: it must not end the others
            _log.exception("job failed", extra={"job": job.name})
            wait = LOOK_SECONDS


def _follow(life: int) -> None:
    select.select([life], [], [])
    os._exit(1)
