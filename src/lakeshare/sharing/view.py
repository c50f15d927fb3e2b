"""All of sharing at one moment: what there is, whom a credential stands for, and what it may see. No I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hmac import digest as hmac_digest
from typing import TypeVar

from lakeshare.identity.vault import Vault
from lakeshare.sharing.credentials import id_of, same
from lakeshare.sharing.errors import (
    AddressRefused,
    CredentialExpired,
    NoSuchResource,
    OAuthRequired,
    RecipientSuspended,
    Unrecognised,
)
from lakeshare.sharing.model.names import folded
from lakeshare.sharing.model.recipients import Activation, Credential, OAuthClient, Recipient, Token
from lakeshare.sharing.model.shares import Schema, Share, SharedTable
from lakeshare.sharing.model.sources import RemoteSource
from lakeshare.sharing.records import (
    ACTIVATIONS,
    CLIENTS,
    EPOCH,
    KEYS,
    PLACE_OF_KEYS,
    RECIPIENTS,
    SCHEMAS,
    SHARES,
    SOURCES,
    TOKENS,
    Keys,
)
from lakeshare.state.keys import Key
from lakeshare.state.keyspace import Keyspace
from lakeshare.state.port import Absent, At, Record

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """A recipient that was let in, and by what. `shares` is all that it sees now, in order of names.

    `withheld` are shares that it has, and that take OAuth where it came with a bearer token.
    """

    recipient: Recipient
    credential: Credential
    shares: tuple[Share, ...]
    withheld: tuple[Share, ...] = ()


class View:
    """Shares and recipients, decoded as they are asked for. Two spellings of a name that differ in case are one."""

    def __init__(
        self, records: Mapping[Key, Record], epoch: Record | None, vault: Vault, before: "View | None" = None
    ) -> None:
        """Take the records of one moment; what has not changed since an earlier view is not decoded again."""
        self._records = records
        self._epoch = epoch
        self._decoded: dict[Key, object] = {} if before is None else before.still_true(records)
        self._schemas: dict[str, tuple[Schema, ...]] = {}
        self.vault = vault

    @property
    def unchanged(self) -> At | Absent:
        """Expect that nothing of sharing has changed since."""
        return EPOCH.unchanged(self._epoch)

    def still_true(self, records: Mapping[Key, Record]) -> dict[Key, object]:
        """Return what was decoded of records that are the same now."""
        ours = self._records
        return {
            key: value
            for key, value in self._decoded.items()
            if (record := records.get(key)) is not None and record.value == ours[key].value
        }

    # What there is.

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """Every share, in order of folded names."""
        return tuple(sorted(self._all(SHARES), key=lambda share: folded(share.name)))

    def share(self, name: str) -> Share | None:
        """Return a share by its name."""
        return self._shares_by_name.get(folded(name))

    def share_by_id(self, share_id: str) -> Share | None:
        """Return a share by its id."""
        return self._one(SHARES, share_id)

    def schemas(self, share: Share) -> tuple[Schema, ...]:
        """Return the schemas of a share, in order of folded names."""
        found = self._schemas.get(share.id)
        if found is None:
            keys = sorted(self._schema_keys.get(share.id, ()))
            found = tuple(schema for key in keys if (schema := self._at(SCHEMAS, key)) is not None)
            self._schemas[share.id] = found
        return found

    def schema(self, share: Share, name: str) -> Schema | None:
        """Return a schema of a share."""
        return self._one(SCHEMAS, share.id, folded(name))

    @cached_property
    def recipients(self) -> tuple[Recipient, ...]:
        """Every recipient, in order of folded names."""
        return tuple(sorted(self._all(RECIPIENTS), key=lambda recipient: folded(recipient.name)))

    @property
    def recipient_count(self) -> int:
        """How many recipients there are."""
        depth = len(RECIPIENTS.prefix)
        return sum(key[:depth] == RECIPIENTS.prefix for key in self._records)

    def recipient(self, name: str) -> Recipient | None:
        """Return a recipient by its name."""
        return self._recipients_by_name.get(folded(name))

    def recipient_by_id(self, recipient_id: str) -> Recipient | None:
        """Return a recipient by its id."""
        return self._one(RECIPIENTS, recipient_id)

    def token(self, token_id: str) -> Token | None:
        """Return a token by its id."""
        return self._one(TOKENS, token_id)

    def client(self, client_id: str) -> OAuthClient | None:
        """Return an OAuth client by its id."""
        return self._one(CLIENTS, client_id)

    def activation(self, activation_id: str) -> Activation | None:
        """Return an activation link by its id."""
        return self._one(ACTIVATIONS, activation_id)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Every token, the oldest first."""
        return tuple(sorted(self._all(TOKENS), key=lambda token: (token.created_at, token.id)))

    @cached_property
    def clients(self) -> tuple[OAuthClient, ...]:
        """Every OAuth client, the oldest first."""
        return tuple(sorted(self._all(CLIENTS), key=lambda client: (client.created_at, client.id)))

    @cached_property
    def activations(self) -> tuple[Activation, ...]:
        """Every activation link, the oldest first."""
        return tuple(sorted(self._all(ACTIVATIONS), key=lambda link: (link.created_at, link.id)))

    def source(self, name: str) -> RemoteSource | None:
        """Return a remote source."""
        return self._one(SOURCES, name)

    @cached_property
    def sources(self) -> tuple[RemoteSource, ...]:
        """Every remote source, by name."""
        return tuple(sorted(self._all(SOURCES), key=lambda source: source.name))

    @property
    def keys(self) -> Keys | None:
        """The sealed key that all others are derived from."""
        return self._one(KEYS, "root")

    def key(self, purpose: str) -> bytes | None:
        """Return the key for one purpose, the same in every worker; None before anything is shared."""
        root = self._root_key
        return None if root is None else hmac_digest(root, purpose.encode(), "sha256")

    # Who asks, and what they see.

    def recipient_of(self, sha256: bytes, now: float, peer: str) -> Access:
        """Let in who has a bearer token, known by its hash.

        Raises Unrecognised, CredentialExpired, RecipientSuspended, AddressRefused, OAuthRequired.
        """
        token = self.token(id_of(sha256))
        if token is None or not same(token.sha256, sha256):
            raise Unrecognised
        return self.admit(token, now, peer)

    def admit(self, credential: Credential, now: float, peer: str) -> Access:
        """Let in who has a credential. Raises as recipient_of does."""
        if credential.is_expired(now):
            raise CredentialExpired
        recipient = self.recipient_by_id(credential.recipient_id)
        if recipient is None:
            raise Unrecognised
        if not recipient.admits(peer):
            raise AddressRefused(peer)
        if recipient.suspended:
            raise RecipientSuspended
        return self._access(recipient, credential)

    def share_for(self, access: Access, share: str) -> Share:
        """Return a share that a recipient sees. Raises NoSuchResource, OAuthRequired."""
        wanted = folded(share)
        for found in access.shares:
            if folded(found.name) == wanted:
                return found
        if any(folded(found.name) == wanted for found in access.withheld):
            raise OAuthRequired
        raise NoSuchResource(share)

    def schema_for(self, access: Access, share: str, schema: str) -> tuple[Share, Schema]:
        """Return a schema that a recipient sees. Raises NoSuchResource, OAuthRequired."""
        found = self.share_for(access, share)
        inner = self.schema(found, schema)
        if inner is None:
            raise NoSuchResource(share, schema)
        return found, inner

    def table(self, access: Access, share: str, schema: str, table: str) -> SharedTable | None:
        """Return a table that a recipient sees; None where only a look into a place that is shared whole can tell.

        Raises NoSuchResource, OAuthRequired.
        """
        _, inner = self.schema_for(access, share, schema)
        found = inner.table(table)
        if found is None and not inner.wholes:
            raise NoSuchResource(share, schema, table)
        return found

    def reach(self, credential: Credential) -> tuple[Share, ...]:
        """Return the shares that a credential was given, by folded name, those that withhold themselves too."""
        recipient = self.recipient_by_id(credential.recipient_id)
        if recipient is None:
            return ()
        held = (credential.share_id,) if credential.share_id else recipient.grants
        found = (share for share_id in held if (share := self.share_by_id(share_id)) is not None)
        return tuple(sorted(found, key=lambda share: folded(share.name)))

    def _access(self, recipient: Recipient, credential: Credential) -> Access:
        found = self.reach(credential)
        if credential.share_id and not found:
            raise Unrecognised
        if isinstance(credential, OAuthClient):
            return Access(recipient, credential, found)
        seen = tuple(share for share in found if not share.oauth_only)
        if recipient.oauth_only or (found and not seen):
            raise OAuthRequired
        return Access(recipient, credential, seen, tuple(share for share in found if share.oauth_only))

    # How it is kept.

    @cached_property
    def _root_key(self) -> bytes | None:
        keys = self.keys
        return None if keys is None else self.vault.open(keys.sealed, PLACE_OF_KEYS)

    @cached_property
    def _shares_by_name(self) -> dict[str, Share]:
        return {folded(share.name): share for share in self.shares}

    @cached_property
    def _recipients_by_name(self) -> dict[str, Recipient]:
        return {folded(recipient.name): recipient for recipient in self.recipients}

    @cached_property
    def _schema_keys(self) -> dict[str, list[Key]]:
        depth = len(SCHEMAS.prefix)
        found: dict[str, list[Key]] = {}
        for key in self._records:
            if key[:depth] == SCHEMAS.prefix:
                found.setdefault(str(key[depth]), []).append(key)
        return found

    def _one(self, space: Keyspace[T], *parts: str) -> T | None:
        return self._at(space, (*space.prefix, *parts))

    def _at(self, space: Keyspace[T], key: Key) -> T | None:
        found = self._decoded.get(key)
        if found is None and (record := self._records.get(key)) is not None:
            found = self._decoded[key] = space.read(record).value
        return found  # type: ignore[return-value]

    def _all(self, space: Keyspace[T]) -> Iterator[T]:
        depth = len(space.prefix)
        for key in self._records:
            if key[:depth] == space.prefix and (found := self._at(space, key)) is not None:
                yield found
