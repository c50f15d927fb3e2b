"""Many hands: files in parallel, and the parts of large ones too, until all is done or the command is told to stop.

Threads for files wait on threads for parts, which wait on nobody: the two never share a pool.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

from lakeshare.cli.errors import ClientError, Interrupted
from lakeshare.cli.output import Failure
from lakeshare.cli.places import Local, Remote
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.items import Transfer
from lakeshare.cli.transfer.progress import Bar
from lakeshare.errors import LakeshareError

FILES_AT_ONCE = 8
PARTS_AT_ONCE = 6
AHEAD = 4
"""Transfers planned ahead of each thread: enough to keep it busy, few enough to forget."""

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Manner:
    """How objects are written: their headers, and whether an unfinished upload is gone on with."""

    headers: Mapping[str, str] = field(default_factory=dict)
    multipart: bool = True
    resume: bool = False
    version: str = ""


class Crew:
    """Moves items. Leaving its block stops whatever is still under way."""

    def __init__(self, session: Session, bar: Bar, manner: Manner | None = None, parallel: int = FILES_AT_ONCE) -> None:
        self.session = session
        self.bar = bar
        self.manner = manner or Manner()
        self.stopped = threading.Event()
        self._ahead = parallel * AHEAD
        self._files = ThreadPoolExecutor(parallel, "file")
        self._parts = ThreadPoolExecutor(PARTS_AT_ONCE, "part")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del error, trace
        if kind is not None:
            self.stop()
        self._files.shutdown(cancel_futures=True)
        self._parts.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """Tell every thread to stop, and take away what it may be waiting on."""
        self.stopped.set()
        for server in self.session.servers():
            server.stop()

    def check(self) -> None:
        """Raise Interrupted if the command was told to stop."""
        if self.stopped.is_set():
            raise Interrupted

    def run(self, transfers: Iterable[Transfer | Failure]) -> Iterator[Transfer | Failure]:
        """Yield each transfer when it is done, in no order, and each failure."""
        waiting: dict[Future[None], Transfer] = {}
        for transfer in transfers:
            if isinstance(transfer, Failure):
                yield transfer
                continue
            self.bar.plan(transfer.item.size)
            waiting[self._files.submit(self._move, transfer)] = transfer
            while len(waiting) >= self._ahead:
                yield from self._finished(waiting)
        while waiting:
            yield from self._finished(waiting)

    def each_part(self, work: Callable[[Value], Result], parts: Sequence[Value]) -> list[Result]:
        """Do something for every part, several at a time; the first failure stops the others."""
        futures = [self._parts.submit(self._guarded, work, part) for part in parts]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
            wait(futures)

    def _guarded(self, work: Callable[[Value], Result], part: Value) -> Result:
        self.check()
        return work(part)

    def _finished(self, waiting: "dict[Future[None], Transfer]") -> Iterator[Transfer | Failure]:
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            transfer = waiting.pop(future)
            reason = future.exception()
            if reason is None:
                self.bar.done()
                yield transfer
            elif isinstance(reason, LakeshareError):
                yield Failure(reason, transfer.facts)
            elif isinstance(reason, OSError):
                yield Failure(_file_error(transfer, reason), transfer.facts)
            else:
                raise reason

    def _move(self, transfer: Transfer) -> None:
        from lakeshare.cli.transfer.copying import copy_remote, relay  # noqa: PLC0415 - each is loaded when it is used
        from lakeshare.cli.transfer.download import download  # noqa: PLC0415
        from lakeshare.cli.transfer.plan import same_server  # noqa: PLC0415
        from lakeshare.cli.transfer.upload import upload  # noqa: PLC0415

        self.check()
        match transfer.item.place, transfer.target:
            case Local() as source, Remote() as target:
                upload(self, source, target)
            case Remote() as source, Local() as target:
                download(self, transfer.item, source, target)
            case Remote() as source, Remote() as target if same_server(self.session, source, target):
                copy_remote(self, transfer.item, source, target)
            case Remote() as source, Remote() as target:
                relay(self, transfer.item, source, target)
            case source, target:
                raise ClientError(f"{source.text} and {target.text} are both on this machine")


def _file_error(transfer: Transfer, reason: OSError) -> ClientError:
    name = reason.filename if isinstance(reason.filename, str) else transfer.target.text
    why = reason.strerror or str(reason)
    if isinstance(reason, NotADirectoryError | FileExistsError | IsADirectoryError):
        return ClientError(
            f"{transfer.item.place.text}: {name} is a folder here, or a file where a folder must be",
            "S3 has both `a` and `a/b`; a file system cannot. Copy one of them elsewhere.",
        )
    return ClientError(f"{transfer.item.place.text}: {name}: {why}")
