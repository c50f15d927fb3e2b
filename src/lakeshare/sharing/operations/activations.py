"""Activation links: made for a recipient, used once by whoever has one, who then has a profile."""

from dataclasses import dataclass, field

from lakeshare.identity.arns import recipient_arn
from lakeshare.identity.caller import Need
from lakeshare.settings import Secret
from lakeshare.sharing.credentials import digest_of, id_of, is_code, new_secret, same
from lakeshare.sharing.errors import CredentialMissing, LinkUsed, RecipientSuspended, TooMany
from lakeshare.sharing.model.endpoints import Endpoint, check_endpoint, choose
from lakeshare.sharing.model.names import check_description
from lakeshare.sharing.model.recipients import MAX_CREDENTIALS, Activation, Recipient
from lakeshare.sharing.operations.issuing import KEPT_SECONDS, Issued, Wish, issue
from lakeshare.sharing.operations.tokens import CREATE, DELETE, LIST, NewCredential, existing_recipient
from lakeshare.sharing.records import ACTIVATIONS
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Change

DEFAULT_LINK_SECONDS = 72 * 3_600


@dataclass(frozen=True, slots=True)
class Link:
    """A new activation link; its URL holds the secret, and is told this once."""

    activation: Activation
    recipient: Recipient
    endpoint: Endpoint
    code: Secret = field(repr=False)

    @property
    def url(self) -> str:
        """The URL to hand to the recipient."""
        return self.endpoint.activation(self.code.reveal())


@dataclass(frozen=True, slots=True)
class CreateActivation:
    """A link for a recipient; `new` says what it gives, `link_seconds` how long it waits to be used."""

    recipient: str
    new: NewCredential
    link_seconds: int = DEFAULT_LINK_SECONDS

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(CREATE, recipient_arn(self.recipient)),)


async def create_activation(room: Room, call: CreateActivation) -> Link:
    """Make an activation link. Raises RecipientMissing, TooMany, BadEndpoint, BadName."""
    now, made = room.clock(), new_secret()
    endpoint = choose(call.new.endpoint, room.endpoint, call.new.origin)
    check_description(call.new.description)

    def plan(view: View) -> Plan[Link]:
        recipient = existing_recipient(view, call.recipient)
        held = [each for each in view.activations if each.recipient_id == recipient.id]
        stale = [each for each in held if each.expires_at + KEPT_SECONDS < now]
        if len(held) - len(stale) >= MAX_CREDENTIALS:
            raise TooMany("activation links of one recipient", MAX_CREDENTIALS)
        activation = Activation(
            id=made.id,
            recipient_id=recipient.id,
            sha256=made.sha256,
            expires_at=int(now) + call.link_seconds,
            kind=call.new.kind,
            share_id=recipient.share_id,
            description=call.new.description,
            lifetime=call.new.lifetime,
            endpoint=check_endpoint(call.new.endpoint) if call.new.endpoint else "",
            origin=check_endpoint(call.new.origin),
            created_at=int(now),
            created_by=call.new.by,
        )
        changes: list[Change] = [ACTIVATIONS.delete(each.id) for each in stale]
        changes.append(ACTIVATIONS.put(activation, activation.id))
        return Plan(tuple(changes), Link(activation, recipient, endpoint, made.secret))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class ListActivations:
    """The links of a recipient that wait to be used."""

    recipient: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, recipient_arn(self.recipient)),)


async def list_activations(room: Room, call: ListActivations) -> tuple[Activation, ...]:
    """Return links, the oldest first; never their codes. Raises RecipientMissing."""
    view = await room.directory.current()
    recipient = existing_recipient(view, call.recipient)
    return tuple(each for each in view.activations if each.recipient_id == recipient.id)


@dataclass(frozen=True, slots=True)
class RemoveActivation:
    """A link that shall not be used."""

    recipient: str
    activation: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(DELETE, recipient_arn(self.recipient)),)


async def remove_activation(room: Room, call: RemoveActivation) -> None:
    """Remove a link. Raises RecipientMissing, CredentialMissing."""

    def plan(view: View) -> Plan[None]:
        recipient = existing_recipient(view, call.recipient)
        held = view.activation(call.activation)
        if held is None or held.recipient_id != recipient.id:
            raise CredentialMissing("activation link", call.activation)
        return Plan((ACTIVATIONS.delete(held.id),), None)

    await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class UseLink:
    """A link in the hands of whoever has it."""

    code: Secret = field(repr=False)

    def requires(self) -> tuple[Need, ...]:
        """Need nothing but the code."""
        return ()


async def waiting_link(room: Room, call: UseLink) -> tuple[Activation, Recipient]:
    """Return the link without using it. Raises LinkUsed, RecipientSuspended."""
    return _waiting(await room.directory.current(), call.code, room.clock())


async def use_link(room: Room, call: UseLink) -> Issued:
    """Use a link up and make what it gives: of any number who try at once, one has it. Raises LinkUsed."""
    now = room.clock()

    def plan(view: View) -> Plan[Issued]:
        activation, recipient = _waiting(view, call.code, now)
        endpoint = choose(activation.endpoint, room.endpoint, activation.origin)
        end = None if activation.lifetime is None else int(now) + activation.lifetime
        wish = Wish(activation.kind, activation.share_id, activation.description, end, activation.created_by)
        changes, issued = issue(view, recipient, wish, endpoint, now)
        return Plan((ACTIVATIONS.delete(activation.id), *changes), issued)

    return await room.directory.change(plan)


def _waiting(view: View, code: Secret, now: float) -> tuple[Activation, Recipient]:
    text = code.reveal()
    digest = digest_of(text)
    activation = view.activation(id_of(digest)) if is_code(text) else None
    if activation is None or not same(activation.sha256, digest) or now >= activation.expires_at:
        raise LinkUsed
    recipient = view.recipient_by_id(activation.recipient_id)
    if recipient is None or (activation.share_id and view.share_by_id(activation.share_id) is None):
        raise LinkUsed
    if recipient.suspended:
        raise RecipientSuspended
    return activation, recipient
