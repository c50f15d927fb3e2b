"""The newest events of the audit log, over the files of all workers, read from their ends."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from lakeshare.telemetry.audit import AuditEvent

BLOCK_BYTES = 256 * 1024
SCAN_LIMIT_BYTES = 64 * 1024 * 1024
"""Most bytes of one worker's files that are looked through for one answer."""

EVENTS_LOST = "EventsLost"
"""The action of a line that says how many events no disk would take."""

_NAMES = frozenset(item.name for item in fields(AuditEvent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events, and how many of them at most; what is empty or None does not count."""

    limit: int
    access_key: str = ""
    action: str = ""
    error: str = ""
    request_id: str = ""
    peer: str = ""
    status: int | None = None
    since: float | None = None
    until: float | None = None

    def takes(self, event: AuditEvent) -> bool:
        """Say whether an event is wanted."""
        texts = ("access_key", "action", "error", "request_id", "peer")
        if any(getattr(self, name) and getattr(self, name) != getattr(event, name) for name in texts):
            return False
        if self.status is not None and self.status != event.status:
            return False
        return self.until is None or event.time.timestamp() <= self.until


@dataclass(frozen=True, slots=True)
class Tail:
    """Events, the newest first; `complete` says that nothing older was left unread for its size."""

    events: tuple[AuditEvent, ...]
    complete: bool


def tail(folder: Path, wanted: Wanted) -> Tail:
    """Return the newest events of all workers that are wanted."""
    found: list[AuditEvent] = []
    complete = True
    for stem in sorted({path.name.split(".", 1)[0] for path in folder.glob("worker-*.jsonl")}):
        reader = _Backwards(_files(folder, stem))
        found += _newest(reader.lines(), wanted)
        complete = complete and not reader.cut
    found.sort(key=lambda event: event.time, reverse=True)
    return Tail(tuple(found[: wanted.limit]), complete)


def _files(folder: Path, stem: str) -> list[Path]:
    """Return the files of one worker, the newest first: their names hold the time at which they were set aside."""
    return [folder / f"{stem}.jsonl", *sorted(folder.glob(f"{stem}.*.jsonl"), reverse=True)]


def _newest(lines: Iterator[bytes], wanted: Wanted) -> list[AuditEvent]:
    found: list[AuditEvent] = []
    for line in lines:
        event = _read(line)
        if event is None:
            continue
        if wanted.since is not None and event.time.timestamp() < wanted.since:
            break
        if wanted.takes(event):
            found.append(event)
            if len(found) >= wanted.limit:
                break
    return found


class _Backwards:
    """The lines of files from the last to the first, up to a bound."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._left = SCAN_LIMIT_BYTES
        self.cut = False

    def lines(self) -> Iterator[bytes]:
        for path in self._files:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                continue
            try:
                yield from self._of(descriptor)
            finally:
                os.close(descriptor)

    def _of(self, descriptor: int) -> Iterator[bytes]:
        offset, rest = os.fstat(descriptor).st_size, b""
        while offset:
            if self._left <= 0:
                self.cut = True
                return
            size = min(BLOCK_BYTES, offset)
            offset -= size
            self._left -= size
            rest, *whole = (os.pread(descriptor, size, offset) + rest).split(b"\n")
            yield from reversed(whole)
        yield rest


def _read(line: bytes) -> AuditEvent | None:
    """Read a line; one that was cut by a crash is none."""
    try:
        found: dict[str, Any] = orjson.loads(line)
        at = datetime.fromisoformat(found["time"])
        if "events_lost" in found:
            return _lost(at, int(found["events_lost"]))
        known = {name: value for name, value in found.items() if name in _NAMES}
        return AuditEvent(**known | {"time": at, "resources": tuple(found["resources"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _lost(at: datetime, count: int) -> AuditEvent:
    return AuditEvent(
        time=at,
        request_id="",
        peer="",
        access_key="",
        action=EVENTS_LOST,
        resources=(),
        decision="none",
        status=0,
        error=f"{count} events were lost",
    )
