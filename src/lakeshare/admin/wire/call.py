"""One admin request as its parts: who asks, the names in its path, its query and its body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from lakeshare.admin.errors import BadField
from lakeshare.admin.model.paging import PAGE_LIMIT, Page
from lakeshare.admin.wire.shapes import Field, Flag, Text, Whole, read_fields
from lakeshare.identity.caller import Caller
from lakeshare.identity.view import View

QUERY_LIMIT = 32
"""Most parameters of a query; no route takes so many."""

NAME_LIMIT = 128
PAGING = (
    Field("limit", Whole(1, PAGE_LIMIT), f"Most items of the page; {PAGE_LIMIT} if it is not given."),
    Field("after", Text(NAME_LIMIT), "The last name of the page before."),
)
_FLAGS = {"true": True, "false": False}
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Call:
    """What a decoder may look at. `text` is the body as it came, `view` the identities when the request came.

    `origin` is the server's URL as the caller wrote it.
    """

    caller: Caller
    view: View
    names: Mapping[str, str]
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    text: bytes = b""
    origin: str = ""

    @property
    def page(self) -> Page:
        """Return the page that is asked for."""
        return Page(self.query.get("limit", PAGE_LIMIT), self.query.get("after", ""))


def read_query(fields: Sequence[Field], raw_query: str) -> dict[str, Any]:
    """Read the parameters of a query, each once. Raises BadField."""
    pairs = [pair for pair in raw_query.split("&", QUERY_LIMIT) if pair]
    if len(pairs) > QUERY_LIMIT:
        raise BadField("", f"the query has more than {QUERY_LIMIT} parameters")
    given: dict[str, Any] = {}
    shapes = {field.name: field.shape for field in fields}
    for pair in pairs:
        name, _, text = pair.partition("=")
        name = _decoded(name, name)
        if name in given:
            raise BadField(name, "it stands more than once")
        given[name] = _value(shapes.get(name), _decoded(name, text))
    return read_fields(fields, given)


def _value(shape: object, text: str) -> Any:
    """Return what a text of a query stands for, as JSON would have it."""
    if isinstance(shape, Whole) and text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    if isinstance(shape, Flag):
        return _FLAGS.get(text, text)
    return text


def _decoded(name: str, text: str) -> str:
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise BadField(name[:NAME_LIMIT], "it is not UTF-8") from None
