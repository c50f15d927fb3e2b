"""Answers of the catalog: JSON, and metadata that is put into it as the bytes that it is."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from lakeshare.errors import LakeshareError
from lakeshare.http.response import Response, Spans
from lakeshare.identity.arns import table_arn, view_arn
from lakeshare.identity.caller import Need
from lakeshare.identity.directory_errors import TooMany
from lakeshare.identity.session_tokens import TemporaryCredentials
from lakeshare.tables.catalog import Listed
from lakeshare.tables.model.entries import EntryKind, Pointer, Warehouse
from lakeshare.tables.model.names import Identifier, Namespace, joined
from lakeshare.tables.model.places import Place, table_place
from lakeshare.tables.model.targets import entry_facts
from lakeshare.tables.territory import belongs_to
from lakeshare.tables.wire.asking import wants_credentials
from lakeshare.tables.wire.call import Call

JSON = ("content-type", "application/json")
NO_STORE = ("cache-control", "no-store")
_MILLISECONDS = 1000
_SPELL_SECONDS = 900
"""How long an ETag that stands for credentials holds: a quarter of their life."""


def json_answer(value: Any, *headers: tuple[str, str], status: int = 200) -> Response:
    """Answer a value."""
    return Response(status, [JSON, *headers], orjson.dumps(value))


def nothing() -> Response:
    """Answer that it is done, or that it is there."""
    return Response(204)


def identifiers(namespace: Namespace, listed: Listed, token: str | None) -> Response:
    """Answer a listing of tables or views; the form of one that is remembered is written once."""
    if listed.encoded is None:
        head = b'{"namespace":' + orjson.dumps(list(namespace)) + b',"name":'
        rows = b",".join([head + orjson.dumps(name) + b"}" for name in listed.names])
        listed.encoded = b'{"identifiers":[' + rows + b'],"next-page-token":' + orjson.dumps(token) + b"}"
    return Response(200, [JSON], listed.encoded)


def storage_mark(call: Call) -> str:
    """Return what an ETag says of how S3 is reached."""
    return f"{call.room.endpoint or call.origin}\n{call.room.region}"


def storage_config(call: Call) -> dict[str, str]:
    """Return what a client needs to reach S3, apart from keys (iceberg.md 1.6)."""
    room = call.room
    return {
        "s3.endpoint": room.endpoint or call.origin,
        "s3.path-style-access": "true",
        "client.region": room.region,
        "s3.region": room.region,
    }


class Delegation:
    """Whether an answer carries credentials, which ones, and what an ETag must know of that."""

    __slots__ = ("_folders", "_uuid", "call", "place", "reached", "writable")

    def __init__(  # noqa: PLR0913 - whose, what and where
        self,
        call: Call,
        warehouse: Warehouse,
        uuid: str,
        kind: EntryKind,
        where: tuple[str, Identifier],
        *,
        folders: Sequence[str] = (),
        always: bool = False,
    ) -> None:
        """Find out what a caller may have: `where` is the location, and the name of the table or view."""
        self.call = call
        self.place: Place | None = None
        self.writable = False
        self.reached: tuple[Place, ...] = ()
        self._uuid, self._folders = uuid, folders
        if not always and not wants_credentials(call):
            return
        location, identifier = where
        facts = entry_facts(kind, identifier)
        arn = (table_arn if kind is EntryKind.TABLE else view_arn)(warehouse.name, uuid)
        self.writable = call.may(Need("s3tables:PutTableData", arn, facts))
        if self.writable or call.may(Need("s3tables:GetTableData", arn, facts)):
            self.place = table_place(location, warehouse.bucket)

    @property
    def mark(self) -> str:
        """What an ETag says of it: whose credentials they are, and for which spell of time they are good."""
        if self.place is None:
            return ""
        spell = int(self.call.room.clock()) // _SPELL_SECONDS
        caller, vendor = self.call.caller, self.call.room.vendor
        return f"{caller.name}\n{self.writable}\n{spell}\n{vendor.mark(caller)}"

    async def credentials(self, *, may_fail: bool = False) -> TemporaryCredentials | None:
        """Return the credentials, where there are to be any. They are a wish: a session too deep to have any has none.

        Where they `may_fail`, whatever else goes wrong with them is no error either.
        """
        if self.place is None:
            return None
        try:
            self.reached = (self.place, *await self._beside(self.place))
            return await self.call.room.vendor.credentials(self.call.caller, self.reached, writable=self.writable)
        except LakeshareError as error:
            if not may_fail and not isinstance(error, TooMany):
                raise
            return None

    async def _beside(self, place: Place) -> list[Place]:
        """Return the folders outside of the location that credentials may reach: none that is another table's."""
        places = [Place(place.bucket, key) for key in self._folders]
        return [each for each in places if await belongs_to(self.call.room.state, each, self._uuid)]

    def entries(self, config: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the one entry of storage-credentials: for the location, slash and all, or for what is around all."""
        if self.place is None:
            return []
        prefix = f"{self.place.uri}/" if len(self.reached) == 1 else f"s3://{self.place.bucket}/"
        return [{"prefix": prefix, "config": config}]


def etag_of(uuid: str, pointer: Pointer, mode: str, *marks: str) -> str:
    """Return a load's ETag: it knows everything that the answer depends on, and not the table's name.

    `marks` are what it knows of the credentials and of the way to S3 in the answer.
    """
    parts = (uuid, pointer.metadata_location, pointer.metadata_etag, mode, *marks)
    return '"' + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32] + '"'


def loaded(
    location: str | None,
    metadata: Spans,
    config: Mapping[str, str],
    vended: Sequence[Mapping[str, Any]],
    etag: str = "",
) -> Response:
    """Answer a LoadTableResult or LoadViewResult around metadata that is written already."""
    head = b'{"metadata-location":' + orjson.dumps(location) + b',"metadata":'
    tail = b',"config":' + orjson.dumps(config)
    if vended:
        tail += b',"storage-credentials":' + orjson.dumps(vended)
    tail += b"}"
    headers = [JSON, ("etag", etag)] if etag else [JSON]
    if vended:
        headers.append(NO_STORE)
    if len(metadata) == 1 and isinstance(metadata[0], bytes):
        return Response(200, headers, head + metadata[0] + tail)
    return Response(200, headers, (head, *metadata, tail))


def vended_config(credentials: TemporaryCredentials) -> dict[str, str]:
    """Write credentials as the properties that clients read."""
    return {
        "s3.access-key-id": credentials.access_key,
        "s3.secret-access-key": credentials.secret.reveal(),
        "s3.session-token": credentials.session_token.reveal(),
        "s3.session-token-expires-at-ms": str(credentials.expires_at * _MILLISECONDS),
    }


def refresh_path(warehouse: str, identifier: Identifier) -> str:
    """Return the path at which a client asks for new credentials, below its `uri`."""
    namespace, name = quote(joined(identifier.namespace), safe=""), quote(identifier.name, safe="")
    return f"v1/{warehouse}/namespaces/{namespace}/tables/{name}/credentials"
