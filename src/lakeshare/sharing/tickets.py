"""Page tokens and refresh tokens: what the server will want to know again, signed, so that nobody makes one up."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import TypeVar

from lakeshare.sharing.errors import InvalidParameter
from lakeshare.sharing.view import View
from lakeshare.state.codec import decode, encode

T = TypeVar("T")
PURPOSE = "ticket"
MAX_CHARACTERS = 4_096
PAGE_SECONDS = 3 * 86_400
"""How long a query may be paged through, as on the reference server."""
REFRESH_SECONDS = 86_400
_MAC_BYTES = 16


class BadTicket(InvalidParameter):
    """A token that was not made here, or for something else."""

    def __init__(self) -> None:
        super().__init__("it was not made by this server for this request")


@dataclass(frozen=True, slots=True)
class PageTicket:
    """Where a query goes on. `query` is a digest of all that was asked; `after` is the order, or the files to skip."""

    table: str
    log: str
    version: int
    query: str
    after: int
    expires_at: int
    expiration_ms: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class RefreshTicket:
    """Which version fresh URLs are wanted of. `log` is the table's own id: a table made again is another."""

    table: str
    log: str
    version: int
    expires_at: int


def seal(view: View, value: object, about: str = "") -> str:
    """Write a ticket; `about` is what it belongs to."""
    payload = encode(value)
    return urlsafe_b64encode(_mac(view, type(value), about, payload) + payload).decode().rstrip("=")


def unseal(view: View, kind: type[T], text: str, about: str = "") -> T:
    """Read a ticket. Raises BadTicket."""
    if len(text) > MAX_CHARACTERS:
        raise BadTicket
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mac, _mac(view, kind, about, payload)):
            raise BadTicket
        return decode(kind, payload)
    except (ValueError, Base64Error):
        raise BadTicket from None


def _mac(view: View, kind: type, about: str, payload: bytes) -> bytes:
    key = view.key(PURPOSE)
    if key is None:
        raise BadTicket
    head = f"{kind.__name__}\n{about}\n".encode("utf-8", "replace")
    return hmac.digest(key, head + payload, "sha256")[:_MAC_BYTES]
