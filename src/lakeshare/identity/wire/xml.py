"""STS's XML: small documents in its namespace, as text. Pure."""

import re
from datetime import UTC, datetime

NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
CONTENT_TYPE = "text/xml"

_SPECIAL = re.compile("[&<>\"'\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


def element(name: str, text: str) -> str:
    """Write one element with text; what XML cannot carry becomes a question mark."""
    return f"<{name}>{_SPECIAL.sub(lambda found: _NAMED.get(found[0], '?'), text)}</{name}>"


def group(name: str, *inner: str) -> str:
    """Write one element around others."""
    return f"<{name}>{''.join(inner)}</{name}>"


def document(root: str, *inner: str) -> bytes:
    """Write a whole document."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}">{"".join(inner)}</{root}>\n'.encode()


def timestamp(at: int) -> str:
    """Write a time as STS does."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
