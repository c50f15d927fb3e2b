"""What every operation of administration works with."""

from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.admin.book import Book
from lakeshare.identity.directory import Directory
from lakeshare.sharing.room import Room as SharingRoom
from lakeshare.state.port import Archive
from lakeshare.storage.port import ObjectStore
from lakeshare.telemetry.audit import AuditLog


@dataclass(frozen=True, slots=True)
class Disk:
    """The room on the data disk."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of the server since its start."""

    version: str
    deployment_id: str
    started_at: float
    workers: int


@dataclass(frozen=True, slots=True)
class Room:
    """The rooms below, and what the server knows of itself."""

    directory: Directory
    store: ObjectStore
    state: Archive
    book: Book
    server: Server
    disk: Callable[[], Disk]
    audit: AuditLog | None
    clock: Callable[[], float]
    sharing: SharingRoom
