"""The Iceberg catalog of one server: its REST API, and the warehouses and maintenance around it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lakeshare.cli.errors import ClientError, Refused, Unreachable
from lakeshare.cli.remote.body import EMPTY, Body, Bytes
from lakeshare.cli.remote.server import Answer, Call, Pairs, Server
from lakeshare.identity.sigv4.canonical import encode

ROOT = "/_iceberg/v1"
SEPARATOR = "\x1f"
"""Between the levels of a namespace."""
PAGES_LIMIT = 100_000
"""Most pages of one list: a hundred million names."""
PAGE_NAMES = "1000"

Json = dict[str, Any]
Namespace = tuple[str, ...]

_NO_CATALOG = frozenset({"NoSuchBucket", "InvalidBucketName", "NoSuchKey", "MethodNotAllowed", "AccessDenied"})
"""What a server says that takes the path for a bucket's."""

_STEPS = {
    "NoSuchWarehouseException": "`lakeshare table warehouse list ALIAS` lists the warehouses, "
    "`lakeshare table warehouse create ALIAS NAME` makes one.",
    "NoSuchNamespaceException": "`lakeshare table namespace list ALIAS WAREHOUSE` lists the namespaces; levels have a "
    "slash between them. `lakeshare table namespace create` makes one.",
    "NoSuchTableException": "`lakeshare table list ALIAS WAREHOUSE NAMESPACE` lists the tables.",
    "NoSuchViewException": "`lakeshare table view list ALIAS WAREHOUSE NAMESPACE` lists the views.",
    "NamespaceNotEmptyException": "`lakeshare table list` and `lakeshare table namespace list` say what it holds. "
    "Remove that first.",
    "WarehouseNotEmptyException": "Remove its tables, views and namespaces first, or everything with --purge --force.",
    "AlreadyExistsException": "Say --ignore-existing if that is all right.",
    "ForbiddenException": "`lakeshare admin whoami ALIAS` says whose key this is. A policy with s3tables actions gives "
    "it rights: `lakeshare admin policy attach`.",
    "NotAuthorizedException": "See `lakeshare alias list`, and set the alias again with a key that the server knows.",
    "CommitFailedException": "Somebody changed the table meanwhile: try again.",
    "ServiceUnavailableException": "The server is busy: wait a little and try again.",
}


class Catalog:
    """Asks one server's Iceberg catalog."""

    def __init__(self, server: Server) -> None:
        self.server = server

    @property
    def name(self) -> str:
        """The alias that it goes by."""
        return self.server.alias.name

    def get(self, *path: str, query: Pairs = ()) -> Json:
        """Ask for something."""
        return self._json(self._ask("GET", path, query=query))

    def exists(self, *path: str) -> bool:
        """Say whether something is there."""
        try:
            self._ask("HEAD", path)
        except Refused as error:
            if error.status == 404:
                return False
            raise
        return True

    def pages(self, *path: str, items: str, query: Pairs = ()) -> Iterator[Any]:
        """Yield the items of a list, page by page."""
        token = ""
        for _ in range(PAGES_LIMIT):
            page = self.get(*path, query=(*query, ("pageToken", token), ("pageSize", PAGE_NAMES)))
            yield from page[items]
            token = page.get("next-page-token") or ""
            if not token:
                return

    def send(self, method: str, *path: str, body: Mapping[str, Any] | None = None, query: Pairs = ()) -> Json:
        """Change something. A request that makes something new is sent once."""
        content: Body = Bytes(json.dumps(body).encode()) if body is not None else EMPTY
        return self._json(self._ask(method, path, content, query))

    def _ask(self, method: str, path: tuple[str, ...], body: Body = EMPTY, query: Pairs = ()) -> Answer:
        headers = {"content-type": "application/json"} if body.size else {}
        where = "/".join([ROOT, *(encode(part) for part in path)])
        named = f"{self.name} {method} {where}"
        call = Call(method, where, query, headers, body, repeatable=method != "POST", named=named)
        try:
            return self.server.ask(call)
        except Refused as error:
            raise self._told(error) from None

    def _told(self, error: Refused) -> ClientError:
        """Say what to do about a refusal in the catalog's words, or that there is no catalog."""
        if error.code in _NO_CATALOG:
            return Refused(
                error.status, "NoCatalog", f"{self.name} has no Iceberg catalog", "", "Is it another S3 server?"
            )
        step = _STEPS.get(error.code, "").replace("ALIAS", self.name)
        return Refused(error.status, error.code, error.said, "", step or error.next_step)

    def _json(self, answer: Answer) -> Json:
        if not answer.body:
            return {}
        try:
            content = json.loads(answer.body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Unreachable(f"{self.name} does not answer as an Iceberg catalog does")
        return content


def joined(namespace: Namespace) -> str:
    """Write a namespace as a path has it."""
    return SEPARATOR.join(namespace)
