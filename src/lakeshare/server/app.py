"""The composition root: chooses the implementations and puts the rooms together."""

import hashlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from lakeshare import __version__
from lakeshare.admin.book import Book
from lakeshare.admin.room import Disk, Server
from lakeshare.admin.room import Room as AdminRoom
from lakeshare.admin.wire import openapi
from lakeshare.admin.wire.family import AdminFamily
from lakeshare.http.asgi import Handler
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity import vault
from lakeshare.identity.directory import Directory
from lakeshare.identity.gate import BucketPolicy, Gate
from lakeshare.identity.policy.bucket import compile_bucket_policy
from lakeshare.identity.policy.compiled import CompiledPolicy
from lakeshare.identity.root import RootCredentials
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.view import RootKey
from lakeshare.identity.wire.family import StsFamily
from lakeshare.objects.operations.policy import POLICY_DOCUMENT
from lakeshare.objects.room import Owner, Room
from lakeshare.objects.wire.family import S3Family
from lakeshare.server.bell import Bell
from lakeshare.server.dispatch import STS, Dispatcher, Family, Open
from lakeshare.server.live import LiveHandler
from lakeshare.settings import Settings
from lakeshare.state.sqlite import SqliteState
from lakeshare.storage.errors import NoSuchBucket, NoSuchDocument
from lakeshare.storage.local.layout import existing
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import ObjectStore
from lakeshare.telemetry.audit import AuditLog
from lakeshare.telemetry.log import set_level

OWNER_NAME = "lakeshare"
NO_AUDIT = "-"
ADMIN = "_admin"


@dataclass(frozen=True, slots=True)
class App:
    """What a worker needs to make its handler: values, and the tables that workers share through the fork."""

    root: Path
    settings: Settings
    credentials: RootCredentials
    throttle: Throttle
    sources: Mapping[str, str] = field(default_factory=dict)
    bell: Bell = field(default_factory=Bell)
    started_at: float = field(default_factory=time.time)

    def __call__(self, worker: int) -> AbstractAsyncContextManager[Handler]:
        """Open the rooms for one worker, and close them behind it."""
        return self._handler(worker)

    @asynccontextmanager
    async def _handler(self, worker: int) -> AsyncIterator[Handler]:
        store = LocalStore.open_root(self.root, self.settings.free_space_watermark)
        state = open_state(self.root)
        audit = open_audit(self.root, self.settings, worker)
        root_key = RootKey(self.credentials.access_key, self.credentials.secret)
        directory = Directory(state, vault.Vault.load(self.root / vault.FILE_NAME), root_key)
        book = Book(state, self.settings, self.sources, self.bell.ring)
        admin = AdminRoom(directory, store, state, book, self._server(), lambda: disk_of(self.root), audit, time.time)
        try:
            yield LiveHandler(book, self.bell, self.settings, lambda settings: self._compose(settings, store, admin))
        finally:
            await store.close()
            await state.close()
            if audit is not None:
                audit.close()

    def _compose(self, settings: Settings, store: LocalStore, admin: AdminRoom) -> Dispatcher:
        """Put the rooms together by the settings; what is open stays open."""
        store.set_watermark(settings.free_space_watermark)
        self.throttle.set_limit(settings.auth_failure_rate)
        set_level(settings)
        gate = Gate(admin.directory, bucket_policies(store), self.throttle, time.time, allow_v2=settings.allow_sigv2)
        room = Room(store, owner_of(self.credentials), settings.region, settings.delta_commit_guard)
        families: dict[str, Family] = {STS: StsFamily(admin.directory, time.time), ADMIN: AdminFamily(admin)}
        write = (lambda _event: None) if admin.audit is None else admin.audit.write
        return Dispatcher(gate, S3Family(room, settings.domains), families, open_routes(store), write)

    def _server(self) -> Server:
        return Server(__version__, deployment_of(self.root), self.started_at, self.settings.workers)


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


def bucket_policies(store: ObjectStore) -> BucketPolicy:
    """Return what finds a bucket's policy as it stands now."""

    async def find(bucket: str) -> CompiledPolicy | None:
        try:
            text = await store.document(bucket, POLICY_DOCUMENT)
        except (NoSuchDocument, NoSuchBucket):
            return None
        return compile_bucket_policy(text.decode(), bucket)

    return find


def owner_of(credentials: RootCredentials) -> Owner:
    """Return the owner of everything: an id that says nothing of the key it comes from."""
    return Owner(hashlib.sha256(f"owner:{credentials.access_key}".encode()).hexdigest(), OWNER_NAME)


def deployment_of(root: Path) -> str:
    """Return the id that a data directory has had since it was made."""
    described = orjson.loads(existing(root).format_file.read_bytes())
    return str(described.get("deployment", ""))


def disk_of(root: Path) -> Disk:
    """Return the room on the disk of a data directory."""
    found = os.statvfs(root)
    return Disk(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def open_routes(store: ObjectStore) -> dict[str, Open]:
    """Return the routes that need no signature: health, under our names and MinIO's, and the admin API's document."""

    async def live(_request: Request) -> Response:
        return Response(200)

    async def ready(_request: Request) -> Response:
        await store.buckets(limit=1)
        return Response(200)

    async def describe(_request: Request) -> Response:
        return Response(200, [("content-type", "application/json")], document)

    document = openapi.document_bytes()

    return {
        "/_health/live": live,
        "/_health/ready": ready,
        "/minio/health/live": live,
        "/minio/health/ready": ready,
        openapi.PATH: describe,
    }
