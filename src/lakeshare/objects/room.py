"""What every operation on buckets and keys works with."""

from dataclasses import dataclass

from lakeshare.formats.delta.paths import is_commit
from lakeshare.storage.port import ObjectStore


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns every bucket and object of a server: the canonical id and the name that S3 shows."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Room:
    """The store, and the choices that S3's answers depend on."""

    store: ObjectStore
    owner: Owner
    region: str
    guards_commits: bool = True

    def write_once(self, key: str) -> bool:
        """Say whether a key may be written only once: a Delta commit may."""
        return self.guards_commits and is_commit(key)
