"""What decoders of several routes read of a request: its warehouse, its names, its page, its idempotency key."""

import hashlib
import re

from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.entries import EntryKind, Warehouse
from lakeshare.tables.model.names import Identifier, Namespace, check_name, split
from lakeshare.tables.model.paging import PAGE_LIMIT, Paging
from lakeshare.tables.model.targets import Target
from lakeshare.tables.operations.receipts import Once
from lakeshare.tables.wire.call import Call

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SIZE_DIGITS = 9
DELEGATION = "x-iceberg-access-delegation"
VENDED = "vended-credentials"


async def warehouse_of(call: Call) -> Warehouse:
    """Return the warehouse of a path, whether or not it is there: that is told to whom it may be told, later."""
    return await call.room.catalog.asked(call.names["warehouse"])


def namespace_of(call: Call) -> Namespace:
    """Return the namespace of a path. Raises BadRequest."""
    return split(call.names["namespace"])


async def table_of(call: Call) -> Target:
    """Look up the table of a path. Raises BadRequest."""
    identifier = Identifier(namespace_of(call), check_name(call.names["table"]))
    return await call.room.catalog.target(await warehouse_of(call), identifier, EntryKind.TABLE)


async def view_of(call: Call) -> Target:
    """Look up the view of a path. Raises BadRequest."""
    identifier = Identifier(namespace_of(call), check_name(call.names["view"]))
    return await call.room.catalog.target(await warehouse_of(call), identifier, EntryKind.VIEW)


def paging_of(call: Call) -> Paging:
    """Read pageToken and pageSize: with neither, everything is asked for. Raises BadRequest.

    A size of 0 leaves it to the server: warp and iceberg-go send it so.
    """
    size = call.query.get("pageSize", "")
    if size and (not size.isascii() or not size.isdigit() or len(size) > _SIZE_DIGITS):
        raise BadRequest("pageSize must be a whole number")
    token = call.query.get("pageToken", "")
    if not size and not token:
        # Java sends an empty token and no size, and goes on with the token that it is given.
        return Paging(whole="pageToken" not in call.query)
    return Paging(whole=False, token=token, size=min(int(size or 0) or PAGE_LIMIT, PAGE_LIMIT))


def once_of(call: Call) -> Once | None:
    """Read the Idempotency-Key. Raises BadRequest."""
    key = call.header("idempotency-key")
    if not key:
        return None
    if not _UUID.fullmatch(key):
        raise BadRequest("the Idempotency-Key must be a UUID")
    digest = hashlib.sha256()
    request = call.request
    for part in (request.method.encode(), request.raw_path.encode("latin-1", "replace"), request.raw_query.encode()):
        digest.update(part + b"\n")
    digest.update(call.body)
    return Once(f"iceberg/{by(call)}", key.lower(), digest.digest())


def by(call: Call) -> str:
    """Name the user that asks, for the records."""
    return call.caller.user or call.caller.name


def wants_credentials(call: Call) -> bool:
    """Say whether a client asks for credentials beside the metadata."""
    header = call.header(DELEGATION)
    return bool(header) and VENDED in [each.strip() for each in header.split(",")]
