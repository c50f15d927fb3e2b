"""What a worker holds open for as long as it lives: the store, state, the audit log, its numbers."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lakeshare import __version__
from lakeshare.admin.room import Disk
from lakeshare.formats.delta.opening import Engine
from lakeshare.identity import vault
from lakeshare.identity.directory import Directory
from lakeshare.identity.root import RootCredentials
from lakeshare.identity.view import RootKey
from lakeshare.server.catalog import OpenedCatalog
from lakeshare.settings import Settings
from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.inspector import OwnStore
from lakeshare.sharing.remotes import Remotes
from lakeshare.sharing.tables import Tables
from lakeshare.sharing.usage import Counts, Ledger, Subject
from lakeshare.state.sqlite import SqliteState
from lakeshare.storage.local.store import LocalStore
from lakeshare.telemetry import metrics
from lakeshare.telemetry.audit import AuditEvent, AuditLog
from lakeshare.telemetry.board import Board, Meter, Sample
from lakeshare.telemetry.metrics import Series, exposed
from lakeshare.telemetry.webhook import Webhook

NO_AUDIT = "-"


@dataclass(frozen=True, slots=True)
class Opened:
    """The open things of one worker."""

    store: LocalStore
    state: SqliteState
    directory: Directory
    audit: AuditLog | None
    webhook: Webhook | None
    meter: Meter
    shares: ShareDirectory
    ledger: Ledger
    tables: Tables
    remotes: Remotes
    lake: OpenedCatalog

    @property
    def write(self) -> Callable[[AuditEvent], None]:
        """Return what takes an audit event: the files, the webhook, both or neither."""
        takers = [each.write for each in (self.audit, self.webhook) if each is not None]
        if len(takers) == 1:
            return takers[0]

        def write_all(event: AuditEvent) -> None:
            for take in takers:
                take(event)

        return write_all

    def count_read(self, subject: Subject, counts: Counts) -> None:
        """Count what a recipient read: for the ledger, which is kept, and for the metrics."""
        self.ledger.count(subject, counts)
        names = (counts.recipient, counts.share, counts.table)
        self.meter.add(metrics.SHARED_QUERIES, *names, amount=counts.queries)
        self.meter.add(metrics.SHARED_FILES, *names, amount=counts.files)
        self.meter.add(metrics.SHARED_BYTES, *names, amount=counts.bytes)

    def numbers(self) -> Iterator[Sample]:
        """Yield the numbers that the open things keep of themselves."""
        for name, (batches, commits) in (("index", self.store.batches), ("state", self.state.batches)):
            yield metrics.BATCHES, (name,), batches
            yield metrics.COMMITS, (name,), commits
        reused, made = self.directory.reuse
        yield metrics.CACHE, ("identity", "hit"), reused
        yield metrics.CACHE, ("identity", "miss"), made
        if self.audit is not None:
            yield metrics.AUDIT_LOST, (), self.audit.lost
            yield metrics.AUDIT_WAITING, (), self.audit.waiting
        if self.webhook is not None:
            yield metrics.WEBHOOK_SENT, (), self.webhook.sent
            yield metrics.WEBHOOK_DROPPED, (), self.webhook.dropped
            yield metrics.WEBHOOK_FAILURES, (), self.webhook.failures
            yield metrics.WEBHOOK_WAITING, (), self.webhook.waiting

    async def close(self) -> None:
        """Finish what is under way and let go."""
        await self.tables.close()
        self.remotes.close()
        await self.store.close()
        await self.state.close()
        for each in (self.audit, self.webhook):
            if each is not None:
                each.close()


def open_all(root: Path, settings: Settings, credentials: RootCredentials, worker: int, board: Board) -> Opened:
    """Open a data directory for one worker."""
    state = open_state(root)
    store = LocalStore.open_root(root, settings.free_space_watermark)
    secrets = vault.Vault.load(root / vault.FILE_NAME)
    root_key = RootKey(credentials.access_key, credentials.secret)
    shares = ShareDirectory(state, secrets)
    remotes = Remotes(shares.current, root / "cache" / "remote-files")
    engine = Engine(root / "cache" / "tables")
    directory = Directory(state, secrets, root_key)
    opened = Opened(
        store,
        state,
        directory,
        open_audit(root, settings, worker),
        Webhook(settings.audit_webhook, settings.audit_webhook_token) if settings.audit_webhook else None,
        board.meter(worker),
        shares,
        Ledger(state, worker, shares.current),
        Tables(OwnStore(store), engine, Tables(remotes, engine)),
        remotes,
        OpenedCatalog.of(state, store, directory),
    )
    opened.meter.watch(opened.numbers)
    return opened


def open_state(root: Path) -> SqliteState:
    """Open the small facts of a data directory."""
    folder = root / "state"
    folder.mkdir(mode=0o700, exist_ok=True)
    return SqliteState(folder / "state.db")


def open_audit(root: Path, settings: Settings, worker: int) -> AuditLog | None:
    """Open one worker's audit log, unless there is to be none."""
    if settings.audit_file == NO_AUDIT:
        return None
    folder = Path(settings.audit_file) if settings.audit_file else root / "audit"
    return AuditLog(folder, worker, settings.audit_rotate, settings.audit_keep)


def disk_of(root: Path) -> Disk:
    """Return the room on the disk of a data directory."""
    found = os.statvfs(root)
    return Disk(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


@dataclass(frozen=True, slots=True)
class Scraper:
    """Reads the metrics of all workers, and what is true of the server as a whole."""

    board: Board
    meter: Meter
    root: Path
    workers: int
    started_at: float

    def __call__(self) -> bytes:
        """Return the metrics as Prometheus reads them."""
        self.meter.sample()
        disk = disk_of(self.root)
        whole = (
            Series(metrics.WORKERS, (), (self.workers,)),
            Series(metrics.STARTED, (), (self.started_at,)),
            Series(metrics.DISK_FREE, (), (disk.free_bytes,)),
            Series(metrics.DISK_TOTAL, (), (disk.total_bytes,)),
            Series(metrics.BUILD, (__version__,), (1,)),
        )
        return exposed((*self.board.read(), *whole))
