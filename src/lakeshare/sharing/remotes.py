"""Remote sources as stores: named by operators, read with the key that each was given, and never written to.

Nothing but the name of a source comes from a share: where it is, and with what key it is read, its operator said.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.presigner import Presigner
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.sharing.errors import SourceUnreachable
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.sources import RemoteSource
from lakeshare.sharing.operations.sources import secret_of
from lakeshare.sharing.view import View
from lakeshare.storage.port import Listing, Opened, Page
from lakeshare.storage.remote.errors import RemoteFailed
from lakeshare.storage.remote.kept import Kept
from lakeshare.storage.remote.store import Address, RemoteStore
from lakeshare.storage.table_store import TableStore

PINNED_FILES = 1_000
"""Files of one answer whose versions are asked for, one by one; what was asked once is remembered."""


class Remotes:
    """The remote sources of one worker. Close it."""

    def __init__(self, current: Callable[[], Awaitable[View]], folder: Path) -> None:
        """Take what tells of sources as of now, and a folder for large files."""
        self._current = current
        self._kept = Kept(folder)
        self._open: dict[str, tuple[RemoteSource, RemoteStore]] = {}

    def store_of(self, place: DeltaPlace) -> TableStore:
        """Return the store of the source that a place names, for one answer."""
        return _SourceStore(self, place.source)

    async def remote(self, name: str) -> RemoteStore:
        """Return a source's store as it is set now. Raises SourceUnreachable."""
        view = await self._current()
        source = view.source(name)
        if source is None:
            raise SourceUnreachable(name, "it was removed")
        held = self._open.get(name)
        if held is not None and held[0] == source:
            return held[1]
        made = RemoteStore(
            Address(source.endpoint, source.path_style), signer_of(view, source).headers, self._kept, source.uid
        )
        self._open[name] = (source, made)
        if held is not None:
            held[1].close()
        return made

    def close(self) -> None:
        """Let go of all connections."""
        for _, store in self._open.values():
            store.close()
        self._open.clear()


class _SourceStore:
    """A TableStore that looks its source up for each call, and says of failures whose they are."""

    def __init__(self, remotes: Remotes, name: str) -> None:
        self._remotes = remotes
        self._name = name
        self._pins_left = PINNED_FILES

    async def list(self, listing: Listing) -> Page:
        """List the latest objects. Raises NoSuchBucket, SourceUnreachable."""
        with _named(self._name):
            return await (await self._remotes.remote(self._name)).list(listing)

    async def open(self, bucket: str, key: str) -> Opened:
        """Return an object. Raises NoSuchBucket, NoSuchKey, SourceUnreachable."""
        with _named(self._name):
            return await (await self._remotes.remote(self._name)).open(bucket, key)

    async def pins(self, bucket: str, keys: Sequence[str]) -> Sequence[str | None]:
        """Return the versions of keys, as far as they are known. Raises NoSuchBucket, SourceUnreachable."""
        left, self._pins_left = self._pins_left, max(0, self._pins_left - len(keys))
        with _named(self._name):
            return await (await self._remotes.remote(self._name)).pins(bucket, keys, left)


class SourcePresigner:
    """Signs URLs that go straight to a source, each with the version that it pins, if there is one."""

    def __init__(self, view: View, source: RemoteSource, bucket: str, now: float, seconds: int) -> None:
        signer = signer_of(view, source)
        address = Address(source.public_endpoint or source.endpoint, source.path_style)
        prefix = address.origin(bucket) + address.path(bucket)
        self._plain = Presigner(signer, prefix, now, seconds)
        self._pinned = Presigner(signer, prefix, now, seconds, "versionId")

    @property
    def expires_at(self) -> int:
        """When the URLs end, in seconds."""
        return self._plain.expires_at

    def urls(self, paths: Sequence[str], pins: Sequence[str]) -> list[str]:
        """Return a URL for each path, already encoded."""
        if not any(pins):
            return self._plain.urls(paths)
        pairs = zip(paths, pins, strict=True)
        return [self._pinned.url(path, pin) if pin else self._plain.url(path) for path, pin in pairs]


def signer_of(view: View, source: RemoteSource) -> Signer:
    """Return what signs requests to a source."""
    return Signer(Credentials(source.access_key, secret_of(view, source)), source.region)


@contextmanager
def _named(source: str) -> Iterator[None]:
    try:
        yield
    except RemoteFailed as failure:
        raise SourceUnreachable(source, failure.reason) from None
