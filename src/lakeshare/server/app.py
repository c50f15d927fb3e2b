"""The composition root: chooses the implementations and puts the rooms together."""

import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from lakeshare import __version__
from lakeshare.admin.book import Book
from lakeshare.admin.room import Room as AdminRoom
from lakeshare.admin.room import Server
from lakeshare.admin.wire import metrics, openapi
from lakeshare.admin.wire.aistor import AistorFamily
from lakeshare.admin.wire.family import AdminFamily
from lakeshare.admin.wire.metrics import MetricsDoor, MetricsFamily
from lakeshare.http.asgi import Handler
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.gate import Gate
from lakeshare.identity.policy.bucket import compile_bucket_policy
from lakeshare.identity.policy.compiled import CompiledPolicy
from lakeshare.identity.root import RootCredentials
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.wire.family import StsFamily
from lakeshare.objects.operations.buckets import OWNER_DOCUMENT
from lakeshare.objects.operations.policy import POLICY_DOCUMENT
from lakeshare.objects.room import Owner, Room
from lakeshare.objects.wire.family import S3Family
from lakeshare.server.bell import Bell
from lakeshare.server.catalog import LABEL as ICEBERG
from lakeshare.server.dispatch import METRICS, S3, STS, Dispatcher, Doorkeeper, Family, Open, Witnesses
from lakeshare.server.live import LiveHandler
from lakeshare.server.opened import Opened, Scraper, disk_of, open_all
from lakeshare.settings import Settings
from lakeshare.sharing.data_keys import DataKeys
from lakeshare.sharing.gate import RecipientGate
from lakeshare.sharing.inspection import OpenedTables
from lakeshare.sharing.rates import Limits, Rates
from lakeshare.sharing.room import Room as SharingRoom
from lakeshare.sharing.wire.family import SharingFamily
from lakeshare.storage.errors import NoSuchBucket, NoSuchDocument, NoSuchKey
from lakeshare.storage.local.layout import existing
from lakeshare.storage.port import ObjectStore, Tags
from lakeshare.tables.gate import CatalogGate
from lakeshare.tables.wire.family import CatalogFamily
from lakeshare.telemetry.board import Board
from lakeshare.telemetry.log import set_level
from lakeshare.telemetry.requests import RequestMeter

OWNER_NAME = "lakeshare"
ADMIN = "_admin"
MINIO = "minio"
SHARING = "delta-sharing"


@dataclass(frozen=True, slots=True)
class Shared:
    """The tables that workers share through the fork."""

    throttle: Throttle
    bell: Bell
    board: Board
    rates: Rates

    @classmethod
    def of(cls, settings: Settings) -> "Shared":
        """Make the tables; the keeper of the jobs counts beside the workers."""
        board = Board(settings.workers + 1)
        return cls(Throttle.in_memory(settings.auth_failure_rate), Bell(), board, Rates.in_memory())


@dataclass(frozen=True, slots=True)
class App:
    """What a worker needs to make its handler; `sources` names the flag or variable of each setting that has one."""

    root: Path
    settings: Settings
    credentials: RootCredentials
    sources: Mapping[str, str]
    shared: Shared
    started_at: float = field(default_factory=time.time)

    def __call__(self, worker: int) -> AbstractAsyncContextManager[Handler]:
        """Open the rooms for one worker, and close them behind it."""
        return self._handler(worker)

    @asynccontextmanager
    async def _handler(self, worker: int) -> AsyncIterator[Handler]:
        opened = open_all(self.root, self.settings, self.credentials, worker, self.shared.board)
        rooms = Rooms(self, opened, self._book(opened), RequestMeter(opened.meter))
        try:
            async with opened.ledger.kept():
                yield LiveHandler(rooms.book, self.shared.bell, self.settings, rooms.compose)
        finally:
            await opened.close()

    def _book(self, opened: Opened) -> Book:
        return Book(opened.state, self.settings, self.sources, self.shared.bell.ring)


@dataclass(frozen=True, slots=True)
class Rooms:
    """The rooms of one worker, put together by the settings as often as they change; what is open stays open."""

    app: App
    opened: Opened
    book: Book
    meter: RequestMeter

    def compose(self, settings: Settings) -> Dispatcher:
        """Put the rooms together."""
        opened = self.opened
        self._tune(settings)
        gates = self._gates(settings)
        room = Room(opened.store, owner_of(self.app.credentials), settings.region, settings.delta_commit_guard)
        lake = opened.lake.room(opened.store, opened.directory, self.app.shared.throttle, settings)
        sharing = self._sharing(settings)
        admin = self._admin(sharing)
        scraper = self._scraper()
        door = MetricsDoor(settings.metrics_token, settings.metrics_public, self.app.shared.throttle, time.time)
        families: dict[str, Family] = {
            STS: StsFamily(opened.directory, time.time),
            ADMIN: AdminFamily(admin),
            MINIO: AistorFamily(admin),
            SHARING: SharingFamily(sharing),
            f"_{SHARING}": SharingFamily(sharing),
            f"_{ICEBERG}": CatalogFamily(lake),
            METRICS: MetricsFamily(scraper, door),
        }
        objects = S3Family(room, settings.domains, gates[S3].authorise)
        witnesses = Witnesses(opened.write, self.meter)
        return Dispatcher(gates, objects, families, self._open_routes(scraper, door), witnesses)

    def _tune(self, settings: Settings) -> None:
        """Tell what stays open how the settings want it now."""
        opened, shared = self.opened, self.app.shared
        opened.store.set_watermark(settings.free_space_watermark)
        shared.throttle.set_limit(settings.auth_failure_rate)
        shared.rates.limits = Limits(settings.delta_sharing_token_rate, settings.delta_sharing_total_rate)
        if opened.audit is not None:
            opened.audit.set_rotation(settings.audit_rotate, settings.audit_keep)
        set_level(settings)

    def _gates(self, settings: Settings) -> dict[str, Doorkeeper]:
        opened, shared = self.opened, self.app.shared
        gate = Gate(
            opened.directory,
            StoreHoldings(opened.store),
            shared.throttle,
            time.time,
            allow_v2=settings.allow_sigv2,
            guests=DataKeys(opened.shares.current),
            territory=opened.lake.territory,
        )
        return {
            S3: gate,
            ICEBERG: CatalogGate(gate, opened.directory, shared.throttle, time.time),
            SHARING: RecipientGate(opened.shares, shared.throttle, shared.rates, time.time, opened.ledger.used),
        }

    def _sharing(self, settings: Settings) -> SharingRoom:
        opened = self.opened
        return SharingRoom(
            opened.shares,
            OpenedTables(opened.tables),
            opened.state,
            time.time,
            settings.delta_sharing_endpoint,
            settings.delta_sharing_oauth_expiry,
            settings.delta_sharing_url_expiry,
            opened.tables,
            opened.count_read,
        )

    def _admin(self, sharing: SharingRoom) -> AdminRoom:
        app, opened = self.app, self.opened
        server = Server(__version__, deployment_of(app.root), app.started_at, app.settings.workers)
        return AdminRoom(
            opened.directory,
            opened.store,
            opened.state,
            self.book,
            server,
            lambda: disk_of(app.root),
            opened.audit,
            time.time,
            sharing,
        )

    def _scraper(self) -> Scraper:
        app = self.app
        return Scraper(app.shared.board, self.opened.meter, app.root, app.settings.workers, app.started_at)

    def _open_routes(self, scraper: Scraper, door: MetricsDoor) -> dict[str, Open]:
        async def scrape(request: Request) -> Response | None:
            return metrics.answer(scraper) if door.admits(request) else None

        return {**open_routes(self.opened.store), metrics.PATH: scrape}


@dataclass(frozen=True, slots=True)
class StoreHoldings:
    """What authorisation must know of buckets and objects, from the store."""

    store: ObjectStore

    async def policy_of(self, bucket: str) -> CompiledPolicy | None:
        """Return a bucket's policy, if it has one."""
        try:
            text = await self.store.document(bucket, POLICY_DOCUMENT)
        except (NoSuchDocument, NoSuchBucket):
            return None
        return compile_bucket_policy(text.decode(), bucket)

    async def tags_of(self, bucket: str, key: str) -> Tags:
        """Return an object's tags, for policies that ask for them."""
        try:
            return (await self.store.head(bucket, key)).tags
        except (NoSuchKey, NoSuchBucket):
            return ()

    async def owner_of(self, bucket: str) -> str:
        """Return who made a bucket, for policies that ask for it; empty where nobody is known."""
        try:
            return (await self.store.document(bucket, OWNER_DOCUMENT)).decode()
        except (NoSuchDocument, NoSuchBucket):
            return ""

    async def look(self, bucket: str, key: str) -> None:
        """Raise what the store says of a bucket or a key that is not there."""
        await self.store.head(bucket, key)


def owner_of(credentials: RootCredentials) -> Owner:
    """Return the owner of everything: an id that says nothing of the key it comes from."""
    return Owner(hashlib.sha256(f"owner:{credentials.access_key}".encode()).hexdigest(), OWNER_NAME)


def deployment_of(root: Path) -> str:
    """Return the id that a data directory has had since it was made."""
    described = orjson.loads(existing(root).format_file.read_bytes())
    return str(described.get("deployment", ""))


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
        "/minio/health/cluster": ready,
        "/minio/health/cluster/read": ready,
        openapi.PATH: describe,
    }
