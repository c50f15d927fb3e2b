"""Tokens and OAuth clients: made for a share or a recipient, listed, rotated, revoked."""

from dataclasses import dataclass, replace

from lakeshare.identity.arns import EVERYTHING, recipient_arn, share_arn
from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import CredentialMissing, NotImplicit, RecipientMissing
from lakeshare.sharing.model.endpoints import choose
from lakeshare.sharing.model.profiles import Profile
from lakeshare.sharing.model.recipients import Credential, CredentialKind, Recipient
from lakeshare.sharing.model.shares import Share
from lakeshare.sharing.operations import shown
from lakeshare.sharing.operations.issuing import (
    Issued,
    Wish,
    credentials_of,
    ended_at,
    implicit,
    issue,
    profile_of,
    remove,
)
from lakeshare.sharing.records import RECIPIENTS
from lakeshare.sharing.room import Room
from lakeshare.sharing.usage import last_used
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Change

CREATE, LIST, DELETE = "admin:DeltaSharingCreateToken", "admin:DeltaSharingListTokens", "admin:DeltaSharingDeleteToken"


@dataclass(frozen=True, slots=True)
class ShownCredential:
    """A token or an OAuth client, never its secret."""

    credential: Credential
    recipient: Recipient
    share: Share | None
    last_used_at: int | None = None

    @property
    def kind(self) -> CredentialKind:
        """What sort of credential it is."""
        return self.credential.kind


@dataclass(frozen=True, slots=True)
class NewCredential:
    """What is asked for: `lifetime` in seconds or a moment, neither for ever. `origin` is how the operator came."""

    by: str
    origin: str
    kind: CredentialKind = CredentialKind.BEARER
    description: str = ""
    lifetime: int | None = None
    expires_at: int | None = None
    endpoint: str = ""

    def wish(self, now: float, share_id: str = "") -> Wish:
        """Return what the credential shall be, if it is made now."""
        end = int(now) + self.lifetime if self.lifetime is not None else self.expires_at
        return Wish(self.kind, share_id, self.description, end, self.by)


@dataclass(frozen=True, slots=True)
class CreateShareToken:
    """A credential for one share, of a named recipient or of one that is made along with it."""

    share: str
    new: NewCredential
    recipient: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(CREATE, share_arn(self.share)),)


async def create_share_token(room: Room, call: CreateShareToken) -> Issued:
    """Make a credential for one share. Raises ShareMissing, RecipientMissing, TooMany, BadSpan, BadEndpoint."""
    now = room.clock()
    endpoint = choose(call.new.endpoint, room.endpoint, call.new.origin)

    def plan(view: View) -> Plan[Issued]:
        share = shown.existing(view, call.share)
        first: tuple[Change, ...] = ()
        if call.recipient:
            recipient = existing_recipient(view, call.recipient)
        else:
            recipient = implicit(view, share, call.new.description, now, call.new.by)
            first = (RECIPIENTS.put(recipient, recipient.id),)
        changes, issued = issue(view, recipient, call.new.wish(now, share.id), endpoint, now)
        return Plan((*first, *changes), issued)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class CreateRecipientToken:
    """A credential for all that is shared with a recipient, now and later."""

    recipient: str
    new: NewCredential

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(CREATE, recipient_arn(self.recipient)),)


async def create_recipient_token(room: Room, call: CreateRecipientToken) -> Issued:
    """Make a credential of a recipient. Raises RecipientMissing, NotImplicit, TooMany, BadSpan, BadEndpoint."""
    now = room.clock()
    endpoint = choose(call.new.endpoint, room.endpoint, call.new.origin)

    def plan(view: View) -> Plan[Issued]:
        recipient = existing_recipient(view, call.recipient)
        if recipient.is_implicit:
            raise NotImplicit
        return Plan(*issue(view, recipient, call.new.wish(now), endpoint, now))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class ListTokens:
    """The credentials of a share, of a recipient, or with neither of all."""

    share: str = ""
    recipient: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        if self.share:
            return (Need(LIST, share_arn(self.share)),)
        return (Need(LIST, recipient_arn(self.recipient) if self.recipient else EVERYTHING),)


async def list_tokens(room: Room, call: ListTokens) -> tuple[ShownCredential, ...]:
    """Return credentials, the oldest first. Raises ShareMissing, RecipientMissing."""
    view = await room.directory.current()
    if call.recipient:
        found = credentials_of(view, existing_recipient(view, call.recipient).id)
    else:
        found = sorted((*view.tokens, *view.clients), key=lambda each: (each.created_at, each.id))
    if call.share:
        share = shown.existing(view, call.share)
        found = [each for each in found if each.share_id == share.id]
    used = await last_used(room.state, [each.id for each in found])
    listed = (_shown(view, each, used.get(each.id)) for each in found)
    return tuple(each for each in listed if each is not None)


@dataclass(frozen=True, slots=True)
class TokenCall:
    """Anything that is asked of one credential; `action` is what it needs."""

    token: str
    action: str
    origin: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, EVERYTHING),)


async def get_token(room: Room, call: TokenCall) -> ShownCredential:
    """Return a credential. Raises CredentialMissing."""
    view = await room.directory.current()
    used = await last_used(room.state, [call.token])
    return _existing(view, call.token, used.get(call.token))


async def get_profile(room: Room, call: TokenCall) -> Profile:
    """Return the profile of a credential without its secret, which nobody has but its recipient."""
    found = _existing(await room.directory.current(), call.token)
    return profile_of(found.credential, choose("", room.endpoint, call.origin))


async def remove_token(room: Room, call: TokenCall) -> None:
    """End a credential, its access tokens and its data URLs. Raises CredentialMissing."""
    await room.directory.change(lambda view: Plan(remove(view, _existing(view, call.token).credential), None))


@dataclass(frozen=True, slots=True)
class RotateToken:
    """Another credential in place of one, which goes on for `overlap` seconds.

    Without a lifetime or an end of its own the new one lives as long as the old one was given.
    """

    token: str
    overlap: int
    new: NewCredential
    keeps_lifetime: bool = True

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to make one, and to end one."""
        return Need(CREATE, EVERYTHING), Need(DELETE, EVERYTHING)


async def rotate_token(room: Room, call: RotateToken) -> Issued:
    """Make a credential like another, and let that one end. Raises CredentialMissing, TooMany, BadSpan."""
    now = room.clock()
    endpoint = choose(call.new.endpoint, room.endpoint, call.new.origin)

    def plan(view: View) -> Plan[Issued]:
        old = _existing(view, call.token)
        wish = replace(
            call.new.wish(now, old.credential.share_id),
            kind=old.kind,
            description=call.new.description or old.credential.description,
        )
        if call.keeps_lifetime and old.credential.expires_at is not None:
            wish = replace(wish, expires_at=int(now) + old.credential.expires_at - old.credential.created_at)
        changes, issued = issue(view, old.recipient, wish, endpoint, now)
        if call.overlap:
            last: tuple[Change, ...] = (ended_at(old.credential, int(now) + call.overlap),)
        else:
            last = remove(view, old.credential)[:1]
        return Plan((*changes, *last), issued)

    return await room.directory.change(plan)


def existing_recipient(view: View, name: str) -> Recipient:
    """Return a recipient. Raises RecipientMissing."""
    recipient = view.recipient(name)
    if recipient is None:
        raise RecipientMissing(name)
    return recipient


def _existing(view: View, credential_id: str, used: int | None = None) -> ShownCredential:
    credential = view.token(credential_id) or view.client(credential_id)
    found = None if credential is None else _shown(view, credential, used)
    if found is None:
        raise CredentialMissing("token", credential_id)
    return found


def _shown(view: View, credential: Credential, used: int | None) -> ShownCredential | None:
    recipient = view.recipient_by_id(credential.recipient_id)
    if recipient is None:
        return None
    share = view.share_by_id(credential.share_id) if credential.share_id else None
    return ShownCredential(credential, recipient, share, used)
