"""A small estate for the tests of sharing: state, buckets with tables in them, and a clock that tests turn."""

from contextlib import suppress

from lakeshare.identity.vault import Vault
from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.inspector import LogNames, OwnStore
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.shares import Offer
from lakeshare.sharing.operations import recipients, shares, tokens
from lakeshare.sharing.operations.issuing import Issued
from lakeshare.sharing.operations.recipients import CreateRecipient
from lakeshare.sharing.operations.shares import CreateShare
from lakeshare.sharing.operations.shown import ShownShare
from lakeshare.sharing.operations.tokens import CreateRecipientToken, CreateShareToken, NewCredential
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import Access, View
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import State
from lakeshare.storage.errors import BucketExists
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import Put

NOW = 1_700_000_000.0
DAY = 86_400
ORIGIN = "http://127.0.0.1:9000"
PEER = "192.0.2.7"


class Estate:
    """Sharing of one server, as one of its workers has it."""

    def __init__(
        self, state: State | None = None, vault: Vault | None = None, store: MemoryStore | None = None
    ) -> None:
        self.now = NOW
        self.state = state or MemoryState()
        self.vault = vault or Vault((b"k" * 32,))
        self.store = store or MemoryStore()
        self.directory = ShareDirectory(self.state, self.vault)

    @property
    def room(self) -> Room:
        return Room(self.directory, LogNames(OwnStore(self.store)), self.state, lambda: self.now)

    async def table(self, bucket: str, path: str, versions: int = 1) -> DeltaPlace:
        """Put the log of a table into a bucket."""
        with suppress(BucketExists):
            await self.store.create_bucket(bucket)
        for version in range(versions):
            await self.file(bucket, f"{path}/_delta_log/{version:020d}.json")
        return DeltaPlace(bucket, path)

    async def file(self, bucket: str, key: str) -> None:
        async with self.store.stage(frozenset()) as staging:
            await staging.write(b"{}")
            await self.store.put(Put(bucket, key), staging)

    async def share(self, name: str, *tables: str, **more: object) -> ShownShare:
        """Make a share of tables given as `schema/table`, each of which is there."""
        offers = []
        for text in tables:
            schema, _, table = text.partition("/")
            offers.append(Offer(schema, table, await self.table("lake", f"{name}/{schema}/{table}".lower())))
        return await shares.create_share(self.room, CreateShare("root", name, offers=tuple(offers), **more))

    async def recipient(self, name: str, *granted: str, **more: object) -> None:
        await recipients.create_recipient(self.room, CreateRecipient("root", name, shares=granted, **more))

    async def share_token(self, share: str, recipient: str = "", **more: object) -> Issued:
        new = NewCredential("root", ORIGIN, **more)
        return await tokens.create_share_token(self.room, CreateShareToken(share, new, recipient))

    async def recipient_token(self, recipient: str, **more: object) -> Issued:
        new = NewCredential("root", ORIGIN, **more)
        return await tokens.create_recipient_token(self.room, CreateRecipientToken(recipient, new))

    async def view(self) -> View:
        return await self.directory.current()

    async def admit(self, issued: Issued, peer: str = PEER) -> Access:
        view = await self.view()
        return view.recipient_of(issued.credential.sha256, self.now, peer)

    def beside(self) -> "Estate":
        """Return the same estate as another worker has it."""
        other = Estate(self.state, self.vault, self.store)
        other.now = self.now
        return other
