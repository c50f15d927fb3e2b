"""Pages of a listing: tokens that name the last item shown, and hold for the listing they were made for alone."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass

from lakeshare.tables.errors import BadRequest

PAGE_LIMIT = 1_000
"""Most items of a page, and as many as a page has that names no size."""
MAX_TOKEN_CHARACTERS = 2_048
_CONTEXT_BYTES = 6


@dataclass(frozen=True, slots=True)
class Paging:
    """What a client asks for: everything, or one page after the item a token names."""

    whole: bool = True
    token: str = ""
    size: int = PAGE_LIMIT

    def after(self, context: str) -> str:
        """Return the last item of the page before; nothing for the first. Raises BadRequest."""
        return "" if not self.token else _item(self.token, context)


def token_for(context: str, last: str) -> str:
    """Make the token that goes on after an item."""
    return urlsafe_b64encode(_mark(context) + last.encode()).decode().rstrip("=")


def _item(token: str, context: str) -> str:
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise BadRequest("the pageToken is not one of this listing's")
    try:
        raw = urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        last = raw[_CONTEXT_BYTES:].decode()
    except (Base64Error, ValueError):
        raise BadRequest("the pageToken is not one of this listing's") from None
    if raw[:_CONTEXT_BYTES] != _mark(context):
        raise BadRequest("the pageToken is of another listing")
    return last


def _mark(context: str) -> bytes:
    return hashlib.sha256(context.encode()).digest()[:_CONTEXT_BYTES]
