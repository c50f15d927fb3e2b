"""Profiles: the files by which a client knows where to ask, and as whom (PROTOCOL.md, profile file format)."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lakeshare.settings import Secret
from lakeshare.sharing.model.endpoints import Endpoint

SCOPE = "delta-sharing:read"
"""The one scope of access tokens."""


@dataclass(frozen=True, slots=True)
class BearerProfile:
    """A profile of version 1. Without a token it is shown to who may not have that."""

    endpoint: Endpoint
    token: Secret | None = field(default=None, repr=False)
    expires_at: int | None = None

    def document(self) -> dict[str, Any]:
        """Return the profile as it is written into a file."""
        secret = {} if self.token is None else {"bearerToken": self.token.reveal()}
        return {"shareCredentialsVersion": 1, "endpoint": self.endpoint.sharing} | secret | _end(self.expires_at)


@dataclass(frozen=True, slots=True)
class OAuthProfile:
    """A profile of version 2 for OAuth client credentials."""

    endpoint: Endpoint
    client_id: str
    client_secret: Secret | None = field(default=None, repr=False)
    expires_at: int | None = None

    def document(self) -> dict[str, Any]:
        """Return the profile as it is written into a file."""
        secret = {} if self.client_secret is None else {"clientSecret": self.client_secret.reveal()}
        return (
            {
                "shareCredentialsVersion": 2,
                "type": "oauth_client_credentials",
                "endpoint": self.endpoint.sharing,
                "tokenEndpoint": self.endpoint.tokens,
                "clientId": self.client_id,
            }
            | secret
            | {"scope": SCOPE}
            | _end(self.expires_at)
        )


Profile = BearerProfile | OAuthProfile


def _end(expires_at: int | None) -> dict[str, str]:
    if expires_at is None:
        return {}
    return {"expirationTime": datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")}
