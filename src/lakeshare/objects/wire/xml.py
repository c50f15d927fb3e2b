"""S3's XML: reading bounded documents, and writing them as text."""

import re
import string
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from lakeshare.objects.errors import MalformedXml

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SPECIAL = re.compile("[&<>\"'\x00-\x1f\x7f\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
_SECOND_NS = 1_000_000_000
_MILLISECONDS = tuple(f".{number:03d}Z" for number in range(1000))
_SAFE = "/-_.~*"
_PLAIN = bytes(set(range(0x20, 0x7F)) - set(b"&<>\"'"))
_ENCODABLE = string.ascii_letters.encode() + string.digits.encode() + _SAFE.encode()
_SEPARATOR = "\0"
_OWN_ESCAPES = bytes(sorted(range(1, 0x80), key=lambda byte: (byte != ord("%"), byte != ord("&"))))
"""The order of replacing: `%` and `&` first, since what stands for other characters holds them."""

_REMEMBERED = 4096


def parse(document: bytes, root: str) -> Element:
    """Read a document whose root has that name, with or without S3's namespace; a DTD is refused."""
    try:
        element: Element = fromstring(document, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        raise MalformedXml("it is not well-formed") from None
    if local_name(element) != root:
        raise MalformedXml(f"its root is not {root}")
    return element


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def children(element: Element, name: str) -> list[Element]:
    """Return the children of that name, in any namespace."""
    return [child for child in element if local_name(child) == name]


def child_text(element: Element, name: str) -> str | None:
    """Return the text of the one child of that name; None where there is none."""
    found = children(element, name)
    if len(found) > 1:
        raise MalformedXml(f"{name} stands more than once in {local_name(element)}")
    return (found[0].text or "") if found else None


def escape(text: str) -> str:
    """Write text into XML; characters that XML cannot carry become references, as S3 writes them."""
    return _SPECIAL.sub(_reference, text) if _SPECIAL.search(text) else text


def _reference(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"&#x{ord(match[0]):X};"


def element(name: str, text: str | float | None) -> str:
    """Write one element with text; None writes nothing."""
    return "" if text is None else f"<{name}>{escape(str(text))}</{name}>"


def group(name: str, *inner: str) -> str:
    """Write one element around others."""
    return f"<{name}>{''.join(inner)}</{name}>"


def document(root: str, inner: Iterable[str]) -> bytes:
    """Write a whole document in S3's namespace."""
    parts = (f'{_DECLARATION}<{root} xmlns="{NAMESPACE}">', *inner, f"</{root}>")
    return "".join(parts).encode("utf-8", "surrogatepass")


def bare_document(root: str, inner: Iterable[str]) -> bytes:
    """Write a whole document in no namespace, as S3's errors are."""
    return f"{_DECLARATION}<{root}>{''.join(inner)}</{root}>".encode("utf-8", "surrogatepass")


def escape_all(texts: Sequence[str]) -> Sequence[str]:
    """Write many texts into XML. Most hold nothing special, and one look at all of them tells."""
    return _each(texts, _PLAIN, escape)


def url_encoded_all(texts: Sequence[str]) -> Sequence[str]:
    """Write many keys as `encoding-type=url` asks."""
    return _each(texts, _ENCODABLE, url_encoded)


def _each(texts: Sequence[str], plain: bytes, write: Callable[[str], str]) -> Sequence[str]:
    """Write each text. What is not plain is mostly the same few characters, such as `=`: replaced in all at once."""
    joined = _SEPARATOR.join(texts)
    if not joined.isascii() or joined.count(_SEPARATOR) >= len(texts) > 0:
        return [write(text) for text in texts]
    odd = set(joined.encode().translate(None, plain)) - {0}
    for character in sorted(odd, key=_OWN_ESCAPES.find):
        joined = joined.replace(chr(character), write(chr(character)))
    return joined.split(_SEPARATOR) if odd else texts


def timestamp(at_ns: int) -> str:
    """Write a time as S3's XML has it."""
    return _second(at_ns // _SECOND_NS) + _MILLISECONDS[at_ns % _SECOND_NS // 1_000_000]


@lru_cache(_REMEMBERED)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def url_encoded(text: str) -> str:
    """Write a key as `encoding-type=url` asks."""
    return quote(text, safe=_SAFE)
