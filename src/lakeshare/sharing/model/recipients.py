"""Whom tables are shared with, and by what they are known: bearer tokens, OAuth clients, activation links.

No secret is stored: of each, its SHA-256. All of them are random and as long as the hash, so that no salt is needed.
"""

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar

from lakeshare.sharing.errors import BadName

MAX_RECIPIENTS = 20_000
MAX_GRANTS = 500
"""Shares of one recipient."""
MAX_CREDENTIALS = 100
"""Tokens, and clients, and links, of one recipient: it is removed with all of them in one commit."""
MAX_NETWORKS = 100
IMPLICIT_PREFIX = "~"
"""Begins the name of a recipient that was made for a token of one share, which nobody named."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom tables are shared with. `grants` are ids of shares; `networks` are the addresses it may come from.

    `share_id` is set where the recipient stands for a token that was made for one share: it goes with that share.
    """

    id: str
    name: str
    description: str = ""
    grants: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    suspended: bool = False
    oauth_only: bool = False
    share_id: str = ""
    created_at: int = 0
    created_by: str = ""
    updated_at: int = 0

    @property
    def is_implicit(self) -> bool:
        """Whether it was made along with a token."""
        return bool(self.share_id)

    def admits(self, peer: str) -> bool:
        """Say whether it may come from an address; without a list it may come from anywhere."""
        if not self.networks:
            return True
        try:
            address = ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network_of(text) for text in self.networks)


class CredentialKind(Enum):
    """What a profile holds."""

    BEARER = "bearer"
    OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class KeptCredential:
    """What is kept of what lets a recipient in. With a `share_id` it reaches that share only, and ends with it."""

    kind: ClassVar[CredentialKind]

    id: str
    recipient_id: str
    sha256: bytes
    share_id: str = ""
    description: str = ""
    created_at: int = 0
    created_by: str = ""
    expires_at: int | None = None

    def is_expired(self, now: float) -> bool:
        """Say whether its time is over."""
        return self.expires_at is not None and now >= self.expires_at


@dataclass(frozen=True, slots=True)
class Token(KeptCredential):
    """A bearer token, and its hash."""

    kind: ClassVar[CredentialKind] = CredentialKind.BEARER


@dataclass(frozen=True, slots=True)
class OAuthClient(KeptCredential):
    """A client id and the hash of its secret, with which access tokens are had."""

    kind: ClassVar[CredentialKind] = CredentialKind.OAUTH


Credential = Token | OAuthClient


@dataclass(frozen=True, slots=True)
class Activation:
    """A link that hands out one profile, once. The token is made when the link is used: none waits here.

    `lifetime` is the seconds that the credential then lives, None for ever. `endpoint` overrides the setting;
    `origin` is the fallback, as the operator reached the server.
    """

    id: str
    recipient_id: str
    sha256: bytes
    expires_at: int
    kind: CredentialKind = CredentialKind.BEARER
    share_id: str = ""
    description: str = ""
    lifetime: int | None = None
    endpoint: str = ""
    origin: str = ""
    created_at: int = 0
    created_by: str = ""


def network_of(text: str) -> IPv4Network | IPv6Network:
    """Read an address or a network."""
    return ip_network(text, strict=False)


def check_networks(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return networks as they are kept. Raises BadName."""
    if len(texts) > MAX_NETWORKS:
        raise BadName("IP list", "", f"at most {MAX_NETWORKS} addresses or networks")
    try:
        return tuple(dict.fromkeys(str(network_of(text.strip())) for text in texts))
    except ValueError:
        bad = next((text for text in texts if not _is_network(text)), "")
        raise BadName("IP list entry", bad, "an address or a network, such as 192.0.2.0/24 or 2001:db8::/32") from None


def _is_network(text: str) -> bool:
    try:
        network_of(text.strip())
    except ValueError:
        return False
    return True
