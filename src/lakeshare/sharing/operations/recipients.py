"""Recipients: made, shown, changed, suspended and removed, and what is shared with them."""

from dataclasses import dataclass, replace
from uuid import uuid4

from lakeshare.identity.arns import EVERYTHING, recipient_arn, share_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import NameTaken, NotImplicit, TooMany
from lakeshare.sharing.model.names import check_description, check_recipient
from lakeshare.sharing.model.recipients import MAX_GRANTS, MAX_RECIPIENTS, Credential, Recipient, check_networks
from lakeshare.sharing.operations import shown
from lakeshare.sharing.operations.issuing import credentials_of
from lakeshare.sharing.operations.tokens import CREATE, LIST, existing_recipient
from lakeshare.sharing.records import ACTIVATIONS, CLIENTS, RECIPIENTS, TOKENS
from lakeshare.sharing.room import Room
from lakeshare.sharing.usage import last_used
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Change


@dataclass(frozen=True, slots=True)
class ShownRecipient:
    """A recipient, the names of what is shared with it, and how many credentials it has."""

    recipient: Recipient
    shares: tuple[str, ...]
    credentials: int
    last_used_at: int | None = None


@dataclass(frozen=True, slots=True)
class ListRecipients:
    """All recipients; `implicit` ones stand for tokens that were made for one share."""

    implicit: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, EVERYTHING),)


async def list_recipients(room: Room, call: ListRecipients) -> tuple[ShownRecipient, ...]:
    """Return recipients by folded name."""
    view = await room.directory.current()
    counts: dict[str, int] = {}
    credentials: list[Credential] = [*view.tokens, *view.clients]
    for each in credentials:
        counts[each.recipient_id] = counts.get(each.recipient_id, 0) + 1
    wanted = [each for each in view.recipients if call.implicit or not each.is_implicit]
    return tuple(ShownRecipient(each, _shares(view, each), counts.get(each.id, 0)) for each in wanted)


@dataclass(frozen=True, slots=True)
class RecipientCall:
    """Anything that is asked of one recipient; `action` is what it needs."""

    recipient: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, recipient_arn(self.recipient)),)


async def get_recipient(room: Room, call: RecipientCall) -> ShownRecipient:
    """Return a recipient. Raises RecipientMissing."""
    view = await room.directory.current()
    found = _shown(view, existing_recipient(view, call.recipient))
    used = await last_used(room.state, [each.id for each in credentials_of(view, found.recipient.id)])
    return replace(found, last_used_at=max(used.values(), default=None))


@dataclass(frozen=True, slots=True)
class CreateRecipient:
    """A new recipient, with the shares that it shall have at once."""

    by: str
    name: str
    description: str = ""
    shares: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    oauth_only: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: of each share, too."""
        return (Need(CREATE, recipient_arn(self.name)), *(Need(CREATE, share_arn(share)) for share in self.shares))


async def create_recipient(room: Room, call: CreateRecipient) -> ShownRecipient:
    """Make a recipient. Raises NameTaken, ShareMissing, BadName, TooMany."""
    now = int(room.clock())
    check_recipient(call.name)
    check_description(call.description)
    networks = check_networks(call.networks)

    def plan(view: View) -> Plan[ShownRecipient]:
        if (held := view.recipient(call.name)) is not None:
            raise NameTaken("recipient", held.name)
        if view.recipient_count >= MAX_RECIPIENTS:
            raise TooMany("recipients", MAX_RECIPIENTS)
        grants = tuple(dict.fromkeys(shown.existing(view, share).id for share in call.shares))
        made = Recipient(
            str(uuid4()),
            call.name,
            call.description,
            _checked(grants),
            networks,
            oauth_only=call.oauth_only,
            created_at=now,
            created_by=call.by,
            updated_at=now,
        )
        return _put(view, made)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class UpdateRecipient:
    """Changes of a recipient; None leaves as it is. An empty list of networks lets it come from anywhere."""

    recipient: str
    name: str | None = None
    description: str | None = None
    networks: tuple[str, ...] | None = None
    oauth_only: bool | None = None
    suspended: bool | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(CREATE, recipient_arn(self.recipient)),)


async def update_recipient(room: Room, call: UpdateRecipient) -> ShownRecipient:
    """Change a recipient, for all its credentials at once. Raises RecipientMissing, NameTaken, NotImplicit, BadName."""
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownRecipient]:
        held = existing_recipient(view, call.recipient)
        return _put(view, replace(_updated(view, held, call), updated_at=now))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class Grant:
    """A share and the recipient that shall have it, or not."""

    recipient: str
    share: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed, of both."""
        return Need(CREATE, recipient_arn(self.recipient)), Need(CREATE, share_arn(self.share))


async def grant_share(room: Room, call: Grant) -> ShownRecipient:
    """Share with a recipient what is in a share. Raises RecipientMissing, ShareMissing, NotImplicit, TooMany."""
    return await _regrant(room, call, grants=True)


async def take_share(room: Room, call: Grant) -> ShownRecipient:
    """Take a share from a recipient. Raises RecipientMissing, ShareMissing, NotImplicit."""
    return await _regrant(room, call, grants=False)


async def remove_recipient(room: Room, call: RecipientCall) -> None:
    """Remove a recipient with all its credentials and links. Raises RecipientMissing."""

    def plan(view: View) -> Plan[None]:
        held = existing_recipient(view, call.recipient)
        gone: list[Change] = [RECIPIENTS.delete(held.id)]
        gone += [TOKENS.delete(each.id) for each in view.tokens if each.recipient_id == held.id]
        gone += [CLIENTS.delete(each.id) for each in view.clients if each.recipient_id == held.id]
        gone += [ACTIVATIONS.delete(each.id) for each in view.activations if each.recipient_id == held.id]
        return Plan(tuple(gone), None)

    await room.directory.change(plan)


async def _regrant(room: Room, call: Grant, *, grants: bool) -> ShownRecipient:
    now = int(room.clock())

    def plan(view: View) -> Plan[ShownRecipient]:
        held = existing_recipient(view, call.recipient)
        share = shown.existing(view, call.share)
        if held.is_implicit:
            raise NotImplicit
        others = tuple(each for each in held.grants if each != share.id and view.share_by_id(each) is not None)
        return _put(view, replace(held, grants=_checked((*others, share.id) if grants else others), updated_at=now))

    return await room.directory.change(plan)


def _updated(view: View, held: Recipient, call: UpdateRecipient) -> Recipient:
    if call.name is not None and held.is_implicit:
        raise NotImplicit
    name = held.name if call.name is None else check_recipient(call.name)
    other = view.recipient(name)
    if other is not None and other.id != held.id:
        raise NameTaken("recipient", other.name)
    return replace(
        held,
        name=name,
        description=held.description if call.description is None else check_description(call.description),
        networks=held.networks if call.networks is None else check_networks(call.networks),
        oauth_only=held.oauth_only if call.oauth_only is None else call.oauth_only,
        suspended=held.suspended if call.suspended is None else call.suspended,
    )


def _checked(grants: tuple[str, ...]) -> tuple[str, ...]:
    if len(grants) > MAX_GRANTS:
        raise TooMany("shares of one recipient", MAX_GRANTS)
    return grants


def _put(view: View, recipient: Recipient) -> Plan[ShownRecipient]:
    return Plan((RECIPIENTS.put(recipient, recipient.id),), _shown(view, recipient))


def _shown(view: View, recipient: Recipient) -> ShownRecipient:
    return ShownRecipient(recipient, _shares(view, recipient), len(credentials_of(view, recipient.id)))


def _shares(view: View, recipient: Recipient) -> tuple[str, ...]:
    found = (view.share_by_id(share_id) for share_id in recipient.grants)
    return tuple(sorted((share.name for share in found if share is not None), key=str.casefold))
