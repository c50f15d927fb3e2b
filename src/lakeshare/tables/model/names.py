"""The names of namespaces, tables and views (iceberg.md 1.4): any UTF-8 but controls and nothing, and bounded."""

import re
from dataclasses import dataclass

from lakeshare.tables.errors import BadRequest

SEPARATOR = "\x1f"
"""Between the levels of a namespace in a path or a parameter; sent as %1F."""

MAX_NAME_BYTES = 255
MAX_LEVELS = 16
MAX_NAMESPACE_BYTES = 768
"""Of all levels together: a key of state has room for it, with a name of a table behind it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WAREHOUSE = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\Z")
RESERVED_WAREHOUSES = frozenset({"config", "maintenance", "oauth", "warehouses", "delta-sharing", "metrics", "minio"})
"""Names that the server's own paths have."""

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identifier:
    """A table or a view by name."""

    namespace: Namespace
    name: str

    def __str__(self) -> str:
        """Write it as messages do, with dots."""
        return ".".join((*self.namespace, self.name))


def shown(namespace: Namespace) -> str:
    """Write a namespace as messages do, with dots."""
    return ".".join(namespace)


def joined(namespace: Namespace) -> str:
    """Write a namespace as one text that keeps its levels apart."""
    return SEPARATOR.join(namespace)


def split(text: str) -> Namespace:
    """Read a namespace from its joined form. Raises BadRequest."""
    return check_namespace(tuple(text.split(SEPARATOR)))


def check_namespace(namespace: Namespace) -> Namespace:
    """Return a namespace that may be. Raises BadRequest."""
    if not 1 <= len(namespace) <= MAX_LEVELS:
        raise BadRequest(f"a namespace has 1 to {MAX_LEVELS} levels")
    for level in namespace:
        check_name(level, "level of a namespace")
    if len(joined(namespace).encode()) > MAX_NAMESPACE_BYTES:
        raise BadRequest(f"a namespace has at most {MAX_NAMESPACE_BYTES} bytes")
    return namespace


def check_name(name: str, what: str = "name") -> str:
    """Return a name that may be. Raises BadRequest."""
    if not name:
        raise BadRequest(f"a {what} cannot be empty")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise BadRequest(f"a {what} holds half a surrogate pair") from None
    if size > MAX_NAME_BYTES:
        raise BadRequest(f"a {what} has at most {MAX_NAME_BYTES} bytes")
    if _CONTROL.search(name):
        raise BadRequest(f"a {what} cannot hold control characters")
    return name


def check_warehouse(name: str) -> str:
    """Return a name that a new warehouse may have; it is its bucket's too. Raises BadRequest."""
    if not _WAREHOUSE.match(name):
        raise BadRequest(
            f"{name[:64]!r} cannot be a warehouse: use 3 to 63 lower-case letters, digits and hyphens,"
            " with a letter or digit at both ends"
        )
    if name in RESERVED_WAREHOUSES or name.startswith(("xn--", "sthree-")) or name.endswith(("-s3alias", "--ol-s3")):
        raise BadRequest(f"{name!r} cannot be a warehouse: the name is reserved")
    return name


def warehouse_of(text: str) -> str:
    """Read the warehouse that a client names: by name, as s3://bucket, or by ARN (iceberg.md 1.2)."""
    if text.startswith("arn:"):
        return text.rpartition(":bucket/")[2].partition("/")[0]
    for scheme in ("s3://", "s3a://"):
        if text.startswith(scheme):
            return text[len(scheme) :].strip("/")
    return text.strip("/")
