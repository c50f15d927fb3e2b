"""Making a credential for a recipient: a bearer token or an OAuth client, with the profile that hands it over.

Everything here is a plan on a view: the caller commits it, alone or along with what must change at the same moment.
"""

from dataclasses import dataclass, field, replace
from uuid import uuid4

from lakeshare.settings import Secret
from lakeshare.sharing.credentials import new_secret, new_token
from lakeshare.sharing.errors import BadSpan, TooMany
from lakeshare.sharing.model.endpoints import Endpoint
from lakeshare.sharing.model.names import check_description
from lakeshare.sharing.model.profiles import BearerProfile, OAuthProfile, Profile
from lakeshare.sharing.model.recipients import (
    IMPLICIT_PREFIX,
    MAX_CREDENTIALS,
    MAX_RECIPIENTS,
    Credential,
    CredentialKind,
    OAuthClient,
    Recipient,
    Token,
)
from lakeshare.sharing.model.shares import Share
from lakeshare.sharing.model.spans import MAX_SECONDS
from lakeshare.sharing.records import CLIENTS, RECIPIENTS, TOKENS
from lakeshare.sharing.view import View
from lakeshare.state.port import Change

KEPT_SECONDS = 30 * 86_400
"""How long an expired credential is still listed before the next one made for its recipient clears it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a credential shall be. `share_id` binds it to one share."""

    kind: CredentialKind = CredentialKind.BEARER
    share_id: str = ""
    description: str = ""
    expires_at: int | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new credential. Its secret is told this once, and in its profile."""

    credential: Credential
    recipient: Recipient
    share: Share | None
    endpoint: Endpoint
    secret: Secret = field(repr=False)

    @property
    def kind(self) -> CredentialKind:
        """What sort of credential it is."""
        return self.credential.kind

    @property
    def profile(self) -> Profile:
        """The profile with the secret in it."""
        return profile_of(self.credential, self.endpoint, self.secret)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what the operator should know."""
        found = list(self.endpoint.warnings)
        oauth_only = self.recipient.oauth_only or (self.share is not None and self.share.oauth_only)
        if oauth_only and isinstance(self.credential, Token):
            found.append("bearer tokens are not accepted here: OAuth is required, make an OAuth client")
        return tuple(found)


def issue(
    view: View, recipient: Recipient, wish: Wish, endpoint: Endpoint, now: float
) -> tuple[tuple[Change, ...], Issued]:
    """Plan a credential for a recipient. Raises TooMany, BadName, BadSpan."""
    check_end(wish.expires_at, now)
    check_description(wish.description)
    stale, held = _held(view, recipient, now)
    if held >= MAX_CREDENTIALS:
        raise TooMany("credentials of one recipient", MAX_CREDENTIALS)
    made = new_token() if wish.kind is CredentialKind.BEARER else new_secret()
    given = (made.id, recipient.id, made.sha256, wish.share_id, wish.description, int(now), wish.by, wish.expires_at)
    share = view.share_by_id(wish.share_id) if wish.share_id else None
    if wish.kind is CredentialKind.BEARER:
        token = Token(*given)
        return (*stale, TOKENS.put(token, token.id)), Issued(token, recipient, share, endpoint, made.secret)
    client = OAuthClient(*given)
    return (*stale, CLIENTS.put(client, client.id)), Issued(client, recipient, share, endpoint, made.secret)


def implicit(view: View, share: Share, description: str, now: float, by: str) -> Recipient:
    """Make the recipient that a token of one share stands for. Raises TooMany."""
    if view.recipient_count >= MAX_RECIPIENTS:
        raise TooMany("recipients", MAX_RECIPIENTS)
    made, at = str(uuid4()), int(now)
    recipient = Recipient(made, IMPLICIT_PREFIX + made, check_description(description), (share.id,), share_id=share.id)
    return replace(recipient, created_at=at, created_by=by, updated_at=at)


def profile_of(credential: Credential, endpoint: Endpoint, secret: Secret | None = None) -> Profile:
    """Return the profile of a credential; without its secret it is for showing only."""
    if isinstance(credential, Token):
        return BearerProfile(endpoint, secret, credential.expires_at)
    return OAuthProfile(endpoint, credential.id, secret, credential.expires_at)


def remove(view: View, credential: Credential) -> tuple[Change, ...]:
    """Plan to end a credential; a recipient that stood for it alone goes too."""
    space = TOKENS if isinstance(credential, Token) else CLIENTS
    gone: list[Change] = [space.delete(credential.id)]
    recipient = view.recipient_by_id(credential.recipient_id)
    others = [each for each in credentials_of(view, credential.recipient_id) if each.id != credential.id]
    if recipient is not None and recipient.is_implicit and not others:
        gone.append(RECIPIENTS.delete(recipient.id))
    return tuple(gone)


def ended_at(credential: Credential, at: int) -> Change:
    """Plan to let a credential end no later than a moment."""
    end = at if credential.expires_at is None else min(at, credential.expires_at)
    if isinstance(credential, Token):
        return TOKENS.put(replace(credential, expires_at=end), credential.id)
    return CLIENTS.put(replace(credential, expires_at=end), credential.id)


def credentials_of(view: View, recipient_id: str) -> list[Credential]:
    """Return the tokens and OAuth clients of a recipient, the oldest first."""
    found: list[Credential] = [each for each in view.tokens if each.recipient_id == recipient_id]
    found += [each for each in view.clients if each.recipient_id == recipient_id]
    return sorted(found, key=lambda each: (each.created_at, each.id))


def check_end(expires_at: int | None, now: float) -> None:
    """Refuse an end that has passed, or is too far away. Raises BadSpan."""
    if expires_at is not None and not now < expires_at <= now + MAX_SECONDS:
        raise BadSpan(str(expires_at), "it must end in the future, and within 3650 days")


def _held(view: View, recipient: Recipient, now: float) -> tuple[list[Change], int]:
    """List the removals of credentials that expired long ago, and count the others."""
    stale: list[Change] = []
    held = 0
    for each in credentials_of(view, recipient.id):
        if each.expires_at is not None and each.expires_at + KEPT_SECONDS < now:
            stale.append((TOKENS if isinstance(each, Token) else CLIENTS).delete(each.id))
        else:
            held += 1
    return stale, held
