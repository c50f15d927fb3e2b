"""Shares: made, shown, changed and removed."""

from dataclasses import dataclass, replace
from uuid import uuid4

from lakeshare.identity.arns import EVERYTHING, share_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import NameTaken, TooMany
from lakeshare.sharing.model.names import (
    check_description,
    check_share,
    folded,
)
from lakeshare.sharing.model.shares import MAX_SHARES, Offer, Share
from lakeshare.sharing.operations.contents import empty_schemas
from lakeshare.sharing.operations.offers import look, needs_of, with_offers
from lakeshare.sharing.operations.shown import CREATE, LIST, UPDATE, ShownShare, existing, shown
from lakeshare.sharing.records import (
    ACTIVATIONS,
    CLIENTS,
    RECIPIENTS,
    SCHEMAS,
    SHARES,
    TOKENS,
)
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Change

CHANGES_AT_ONCE = 900
"""Of a removal: what is left of a share after it is gone lets nobody in, and is cleared in further commits."""
MAX_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class ListShares:
    """All shares."""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, EVERYTHING),)


async def list_shares(room: Room, _call: ListShares) -> tuple[ShownShare, ...]:
    """Return every share, by folded name."""
    view = await room.directory.current()
    return tuple(ShownShare(share, view.schemas(share)) for share in view.shares)


@dataclass(frozen=True, slots=True)
class ShareCall:
    """Anything that is asked of one share; `action` is what it needs."""

    share: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, share_arn(self.share)),)


async def get_share(room: Room, call: ShareCall) -> ShownShare:
    """Return a share. Raises ShareMissing."""
    view = await room.directory.current()
    return shown(view, existing(view, call.share))


@dataclass(frozen=True, slots=True)
class CreateShare:
    """A new share, with what is in it; `schemas` are further schemas, (name, description), that may stay empty."""

    by: str
    name: str
    description: str = ""
    offers: tuple[Offer, ...] = ()
    schemas: tuple[tuple[str, str], ...] = ()
    oauth_only: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to read what is shared, too."""
        return (Need(CREATE, share_arn(self.name)), *needs_of(self.offers))


async def create_share(room: Room, call: CreateShare) -> ShownShare:
    """Make a share, once everything in it has been looked at. Raises NameTaken, BadName and what `look` raises."""
    check_share(call.name)
    check_description(call.description)
    view = await room.directory.current()
    if (held := view.share(call.name)) is not None:
        raise NameTaken("share", held.name)
    looked = await look(room.inspector, view, call.offers)
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        if (held := view.share(call.name)) is not None:
            raise NameTaken("share", held.name)
        if len(view.shares) >= MAX_SHARES:
            raise TooMany("shares", MAX_SHARES)
        share = Share(str(uuid4()), call.name, call.description, call.oauth_only, now, call.by, now)
        schemas = with_offers(share, empty_schemas(share, call.schemas, now), call.offers, now)
        changes: list[Change] = [SHARES.put(share, share.id)]
        changes += [SCHEMAS.put(schema, share.id, key) for key, schema in schemas.items()]
        return Plan(tuple(changes), ShownShare(share, tuple(schemas[key] for key in sorted(schemas)), (), looked))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class UpdateShare:
    """Changes of a share itself; None leaves as it is."""

    share: str
    name: str | None = None
    description: str | None = None
    oauth_only: bool | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(UPDATE, share_arn(self.share)),)


async def update_share(room: Room, call: UpdateShare) -> ShownShare:
    """Change a share. Raises ShareMissing, NameTaken, BadName."""
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownShare]:
        share = existing(view, call.share)
        name = share.name if call.name is None else check_share(call.name)
        other = view.share(name)
        if other is not None and other.id != share.id:
            raise NameTaken("share", other.name)
        changed = replace(
            share,
            name=name,
            description=share.description if call.description is None else check_description(call.description),
            oauth_only=share.oauth_only if call.oauth_only is None else call.oauth_only,
            updated_at=now,
        )
        return Plan((SHARES.put(changed, share.id),), shown(view, changed))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class Removed:
    """What went with a share."""

    share: Share
    tokens: int


async def remove_share(room: Room, call: ShareCall) -> Removed:
    """Remove a share; its tokens end at the same moment, a recipient's other shares do not. Raises ShareMissing."""

    def plan(view: View) -> Plan[Removed]:
        share = existing(view, call.share)
        gone: list[Change] = [SHARES.delete(share.id)]
        gone += [SCHEMAS.delete(share.id, folded(schema.name)) for schema in view.schemas(share)]
        tokens = sum(token.share_id == share.id for token in view.tokens)
        tokens += sum(client.share_id == share.id for client in view.clients)
        return Plan((*gone, *_belongings(view, share.id)[: CHANGES_AT_ONCE - len(gone)]), Removed(share, tokens))

    removed = await room.directory.change(plan)
    for _ in range(MAX_ROUNDS):
        if not _belongings(await room.directory.current(), removed.share.id):
            break
        await room.directory.change(
            lambda view: Plan(tuple(_belongings(view, removed.share.id)[:CHANGES_AT_ONCE]), None)
        )
    return removed


def _belongings(view: View, share_id: str) -> list[Change]:
    """List what is left of a share in credentials, and in the recipients that stand for its tokens."""
    found: list[Change] = [TOKENS.delete(each.id) for each in view.tokens if each.share_id == share_id]
    found += [CLIENTS.delete(each.id) for each in view.clients if each.share_id == share_id]
    found += [ACTIVATIONS.delete(each.id) for each in view.activations if each.share_id == share_id]
    for each in view.recipients:
        if each.share_id == share_id:
            found.append(RECIPIENTS.delete(each.id))
        elif share_id in each.grants:
            left = tuple(grant for grant in each.grants if grant != share_id)
            found.append(RECIPIENTS.put(replace(each, grants=left), each.id))
    return found
