"""A form, from the query and the body of a request. Pure."""

from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from lakeshare.identity.wire.errors import BadParameter, NotAForm

FORM_LIMIT_BYTES = 64 * 1024
"""The largest form that is read: a session policy of 2 KiB, percent-encoded, fits many times."""

PARAMETER_LIMIT = 64
CONTENT_TYPE = "application/x-www-form-urlencoded"

_SIGNATURE = "x-amz-"


def read_form(raw_query: str, body: bytes) -> Mapping[str, str]:
    """Return the parameters of a request; each may stand once, and those of a signature are left out."""
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError:
        raise NotAForm("a form is percent-encoded ASCII") from None
    found: dict[str, str] = {}
    for name, value in (*_pairs(raw_query), *_pairs(text)):
        if name.lower().startswith(_SIGNATURE):
            continue
        if name in found:
            raise BadParameter(name, "it stands more than once")
        found[name] = value
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    if not text:
        return []
    parts = text.split("&", PARAMETER_LIMIT)
    if len(parts) > PARAMETER_LIMIT:
        raise NotAForm(f"it has more than {PARAMETER_LIMIT} parameters")
    return [(_decoded(name), _decoded(value)) for name, _, value in (part.partition("=") for part in parts if part)]


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise NotAForm("a parameter is not UTF-8") from None
