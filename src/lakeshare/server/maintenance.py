"""Maintenance of tables, by one process for all workers: the catalog's room, opened in that process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lakeshare.identity import vault
from lakeshare.identity.directory import Directory
from lakeshare.identity.root import RootCredentials
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.view import RootKey
from lakeshare.server.catalog import OpenedCatalog
from lakeshare.server.opened import open_state
from lakeshare.server.workers import Job
from lakeshare.settings import Settings
from lakeshare.storage.local.store import LocalStore
from lakeshare.tables.maintenance.keeper import ROUND_SECONDS, Maintenance
from lakeshare.tables.room import Room


def maintenance_job(root: Path, settings: Settings, credentials: RootCredentials, throttle: Throttle) -> Job:
    """Return the job that maintains the tables of a data directory."""

    @asynccontextmanager
    async def open_room() -> AsyncIterator[Room]:
        state = open_state(root)
        store = LocalStore.open_root(root, settings.free_space_watermark)
        secrets = vault.Vault.load(root / vault.FILE_NAME)
        directory = Directory(state, secrets, RootKey(credentials.access_key, credentials.secret))
        try:
            yield OpenedCatalog.of(state, store, directory).room(store, directory, throttle, settings)
        finally:
            await store.close()
            await state.close()

    return Job("maintenance", lambda: ROUND_SECONDS, Maintenance(open_room))
