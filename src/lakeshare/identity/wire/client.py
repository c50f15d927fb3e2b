"""Who asks a token endpoint: a client's id and secret (RFC 6749, section 2.3.1)."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from urllib.parse import unquote

_BASIC = "basic "


def client_of(header: str, form: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the client's id and secret, from the header or the form, never from the query; None if garbled."""
    if header[: len(_BASIC)].lower() != _BASIC:
        return form.get("client_id", ""), form.get("client_secret", "")
    try:
        given = b64decode(header[len(_BASIC) :].strip(), validate=True).decode()
    except (Base64Error, UnicodeDecodeError, ValueError):
        return None
    client_id, _, secret = given.partition(":")
    return unquote(client_id), unquote(secret)
