"""Sharing as an operator has it: the operations of that room, in pages, and what the server can check of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lakeshare.admin.model.paging import Page, Taken, take
from lakeshare.admin.room import Room
from lakeshare.identity.arns import EVERYTHING
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import SharingError
from lakeshare.sharing.model.endpoints import choose
from lakeshare.sharing.operations.shown import LIST
from lakeshare.sharing.room import Room as SharingRoom
from lakeshare.storage.errors import StorageError

T = TypeVar("T")
MAX_TABLES_CHECKED = 500
PROBE_PAUSE_SECONDS = 1.0
"""Between the two lines by which a client tells whether a proxy holds answers back."""


@dataclass(frozen=True, slots=True)
class Paged(Generic[T]):
    """An operation that lists something, and the page that is wanted."""

    inner: T
    page: Page

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.inner.requires()  # type: ignore[attr-defined, no-any-return]


def on_shares(operate: Callable[[SharingRoom, Any], Awaitable[T]]) -> Callable[[Room, Any], Awaitable[T]]:
    """Return an operation of sharing as one of administration."""

    async def run(room: Room, call: Any) -> T:
        return await operate(room.sharing, call)

    return run


def in_pages(
    operate: Callable[[SharingRoom, Any], Awaitable[tuple[T, ...]]], key: Callable[[T], str]
) -> Callable[[Room, Paged[Any]], Awaitable[Taken[T]]]:
    """Return an operation of sharing that lists something, a page at a time; `key` is what it is in order of."""

    async def run(room: Room, call: Paged[Any]) -> Taken[T]:
        return take(await operate(room.sharing, call.inner), key, call.page)

    return run


@dataclass(frozen=True, slots=True)
class CheckSharing:
    """A look at everything that keeps recipients from reading; `origin` is how the operator came."""

    origin: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, EVERYTHING),)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked. `subject` is what it is about, `level` is `ok`, `warning` or `error`."""

    check: str
    level: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, the URL that recipients are given, and whether there were more tables than were looked at."""

    endpoint: str
    items: tuple[Finding, ...]
    complete: bool


async def check_sharing(room: Room, call: CheckSharing) -> Findings:
    """Check the endpoint, the lifetime of what URLs point to, and every shared table."""
    settings = await room.book.current()
    endpoint = choose("", settings.delta_sharing_endpoint, call.origin)
    found = [Finding("endpoint", "warning", endpoint.url, text) for text in endpoint.warnings]
    if not found:
        found.append(Finding("endpoint", "ok", endpoint.url, "recipients are given this URL"))
    lifetime = settings.delta_sharing_url_expiry
    if settings.garbage_grace < lifetime:
        text = (
            f"a file that is removed stays {settings.garbage_grace} s, and URLs live {lifetime} s: raise garbage_grace"
        )
        found.append(Finding("retention", "warning", "garbage_grace", text))
    else:
        found.append(Finding("retention", "ok", "garbage_grace", "removed files outlive the URLs that point to them"))
    tables, complete = await _tables(room.sharing)
    return Findings(endpoint.url, (*found, *tables), complete)


@dataclass(frozen=True, slots=True)
class ProbeStream:
    """A stream whose second line comes after a while, by which a client sees what lies between."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, EVERYTHING),)


async def probe_stream(_room: Room, _call: ProbeStream) -> AsyncIterator[bytes]:
    """Return two lines with a pause between them."""

    async def lines() -> AsyncIterator[bytes]:
        yield b'{"line":1}\n'
        await asyncio.sleep(PROBE_PAUSE_SECONDS)
        yield b'{"line":2}\n'

    return lines()


async def _tables(room: SharingRoom) -> tuple[list[Finding], bool]:
    view = await room.directory.current()
    found: list[Finding] = []
    seen = 0
    for share in view.shares:
        for schema in view.schemas(share):
            for table in schema.tables:
                if (seen := seen + 1) > MAX_TABLES_CHECKED:
                    return found, False
                found += await _table(room, f"{share.name}.{schema.name}.{table.name}", table.place)
    return found, True


async def _table(room: SharingRoom, name: str, place: Any) -> list[Finding]:
    try:
        report = await room.inspector.inspect(place)
    except (SharingError, StorageError) as error:
        return [Finding("table", "error", name, error.message)]
    warnings = [Finding("table", "warning", name, text) for text in report.warnings]
    return warnings or [Finding("table", "ok", name, f"version {report.version} can be read")]
