"""The server itself: what it is, what it holds, its settings, its audit log."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.admin.book import Entry
from lakeshare.admin.errors import NoAuditLog
from lakeshare.admin.model.overrides import Override
from lakeshare.admin.room import Disk, Room, Server
from lakeshare.identity.arns import EVERYTHING
from lakeshare.identity.caller import Caller, Need
from lakeshare.storage.port import BucketUsage
from lakeshare.telemetry.tail import Tail, Wanted, tail


@dataclass(frozen=True, slots=True)
class ServerCall:
    """Any question about the server; `action` is what it needs."""

    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, EVERYTHING),)


@dataclass(frozen=True, slots=True)
class Info:
    """The server, at one moment."""

    server: Server
    disk: Disk
    region: str
    watermark_bytes: int
    at: float


async def get_info(room: Room, _call: ServerCall) -> Info:
    """Return what the server is."""
    settings = await room.book.current()
    return Info(room.server, room.disk(), settings.region, settings.free_space_watermark, room.clock())


async def get_usage(room: Room, _call: ServerCall) -> Sequence[BucketUsage]:
    """Return what each bucket holds."""
    return await room.store.usage()


async def list_settings(room: Room, _call: ServerCall) -> tuple[Entry, ...]:
    """Return every setting."""
    return await room.book.entries()


@dataclass(frozen=True, slots=True)
class SettingCall:
    """Anything that is asked of one setting; `action` is what it needs, `text` its new value if it has one."""

    caller: Caller
    setting: str
    action: str
    text: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, EVERYTHING),)


async def get_setting(room: Room, call: SettingCall) -> Entry:
    """Return one setting."""
    return await room.book.entry(call.setting)


async def put_setting(room: Room, call: SettingCall) -> Entry:
    """Change a live setting."""
    await room.book.change(call.setting, Override(call.text, int(room.clock()), call.caller.name))
    return await room.book.entry(call.setting)


async def delete_setting(room: Room, call: SettingCall) -> Entry:
    """Take a change of a setting back."""
    await room.book.take_back(call.setting, call.caller.name)
    return await room.book.entry(call.setting)


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """The newest audit events that are wanted."""

    wanted: Wanted

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:AuditRead", EVERYTHING),)


async def read_audit(room: Room, call: ReadAudit) -> Tail:
    """Return audit events, those of this worker up to now; another's wait at most a moment to be written."""
    if (log := room.audit) is None:
        raise NoAuditLog

    def read() -> Tail:
        log.flush()
        return tail(log.folder, call.wanted)

    return await asyncio.to_thread(read)
