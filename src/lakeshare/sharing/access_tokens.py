"""OAuth access tokens: signed by the server, short-lived, and stored nowhere.

A token names its client and its end, under a MAC whose key every worker derives. Whoever revokes the client, or its
recipient, ends the tokens at once: each use looks the client up.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass

from lakeshare.settings import Secret
from lakeshare.sharing.errors import CredentialExpired, Unrecognised
from lakeshare.sharing.model.recipients import OAuthClient
from lakeshare.sharing.view import View
from lakeshare.state.codec import decode, encode

PREFIX = "lsat."
PURPOSE = "oauth access token"
MAX_CHARACTERS = 1_024
MIN_SECONDS, MAX_SECONDS = 60, 86_400


@dataclass(frozen=True, slots=True)
class Claim:
    """What a token says."""

    client: str
    issued_at: int
    expires_at: int


def issue(view: View, client: OAuthClient, now: float, lifetime_seconds: int) -> Secret:
    """Make a token for a client whose secret was right. Raises Unrecognised before anything is shared."""
    claim = Claim(client.id, int(now), int(now) + lifetime_seconds)
    payload = _text(encode(claim))
    return Secret(f"{PREFIX}{payload}.{_text(_mac(view, payload))}")


def client_of(view: View, token: str, now: float) -> OAuthClient:
    """Return the client that a token was made for. Raises Unrecognised, CredentialExpired."""
    if len(token) > MAX_CHARACTERS or not token.startswith(PREFIX):
        raise Unrecognised
    payload, _, signature = token[len(PREFIX) :].partition(".")
    if not hmac.compare_digest(_text(_mac(view, payload)).encode(), signature.encode("utf-8", "replace")):
        raise Unrecognised
    try:
        claim = decode(Claim, urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, Base64Error):
        raise Unrecognised from None
    if now >= claim.expires_at:
        raise CredentialExpired
    client = view.client(claim.client)
    if client is None:
        raise Unrecognised
    return client


def _mac(view: View, payload: str) -> bytes:
    if (key := view.key(PURPOSE)) is None:
        raise Unrecognised
    return hmac.digest(key, payload.encode("utf-8", "replace"), "sha256")


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
