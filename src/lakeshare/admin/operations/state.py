"""State taken out, put back and checked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import BinaryIO

from lakeshare.admin.errors import ImportTooLarge, SealedOtherwise
from lakeshare.admin.room import Room
from lakeshare.identity.arns import EVERYTHING
from lakeshare.identity.caller import Need
from lakeshare.identity.records import (
    ACCOUNTS,
    PLACE_OF_SESSION_KEYS,
    SESSION_KEYS,
    USERS,
    place_of_account,
    place_of_user,
)
from lakeshare.identity.vault import SecretUnreadable, Vault
from lakeshare.sharing import records as sharing
from lakeshare.sharing.model.sources import place_of_source
from lakeshare.state.errors import CorruptValue
from lakeshare.state.export import Summary, exported, import_state, read_export
from lakeshare.state.keys import Key, is_under
from lakeshare.state.port import Record

IMPORT_LIMIT_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class ExportState:
    """All of state, at one moment."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ExportState", EVERYTHING),)


async def export_state(room: Room, _call: ExportState) -> AsyncIterator[bytes]:
    """Return the lines of an export as they are read."""
    return exported(room.state, Summary())


@dataclass(frozen=True, slots=True)
class ImportState:
    """An export in place of what is there; `replace` says that there may be something."""

    replace: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ImportState", EVERYTHING),)


async def import_export(room: Room, call: ImportState, body: AsyncIterator[bytes]) -> Summary:
    """Put an export in place: all of it, or nothing when any of it is wrong or its secrets would not open.

    Raises BadExport, NotEmpty, ImportTooLarge, SealedOtherwise, and what a body raises that is not what was signed.
    """
    with TemporaryFile() as file:
        await _gather(body, file)
        await asyncio.to_thread(check_secrets, file, (await room.directory.current()).vault)
        file.seek(0)
        summary = await import_state(room.state, file, replace=call.replace)
    room.book.ring()
    return summary


@dataclass(frozen=True, slots=True)
class VerifyState:
    """A check of state as it is kept."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:VerifyState", EVERYTHING),)


async def verify_state(room: Room, _call: VerifyState) -> Sequence[str]:
    """Return what is wrong, nothing when all is well."""
    return await room.state.check()


def check_secrets(file: BinaryIO, vault: Vault) -> None:
    """Refuse an export whose secrets this server's key file does not open: nobody could sign in after it.

    Raises SealedOtherwise, BadExport.
    """
    file.seek(0)
    for fact in read_export(file, Summary()):
        if not isinstance(fact, Record):
            continue
        for prefix, opens in _SEALED:
            if is_under(fact.key, prefix):
                _open(opens, vault, fact)


def _open(opens: "Callable[[Vault, Record], object]", vault: Vault, record: Record) -> None:
    try:
        opens(vault, record)
    except SecretUnreadable as error:
        raise SealedOtherwise(error.place) from None
    except CorruptValue:
        return  # an identity that cannot be read is closed already: it keeps nobody out but itself


def _user(vault: Vault, record: Record) -> object:
    user = USERS.read(record).value
    return vault.open(user.sealed_secret, place_of_user(user.name, user.uid))


def _account(vault: Vault, record: Record) -> object:
    account = ACCOUNTS.read(record).value
    return vault.open(account.sealed_secret, place_of_account(account.access_key, account.uid))


def _session_keys(vault: Vault, record: Record) -> object:
    return [vault.open(sealed, PLACE_OF_SESSION_KEYS) for sealed in SESSION_KEYS.read(record).value.sealed_keys]


def _sharing_keys(vault: Vault, record: Record) -> object:
    return vault.open(sharing.KEYS.read(record).value.sealed, sharing.PLACE_OF_KEYS)


def _source(vault: Vault, record: Record) -> object:
    source = sharing.SOURCES.read(record).value
    return vault.open(source.sealed_secret, place_of_source(source.name, source.uid))


_SEALED: tuple[tuple[Key, Callable[[Vault, Record], object]], ...] = (
    (USERS.prefix, _user),
    (ACCOUNTS.prefix, _account),
    (SESSION_KEYS.prefix, _session_keys),
    (sharing.KEYS.prefix, _sharing_keys),
    (sharing.SOURCES.prefix, _source),
)


async def _gather(body: AsyncIterator[bytes], file: BinaryIO) -> None:
    size = 0
    async for chunk in body:
        size += len(chunk)
        if size > IMPORT_LIMIT_BYTES:
            raise ImportTooLarge(IMPORT_LIMIT_BYTES)
        file.write(chunk)
