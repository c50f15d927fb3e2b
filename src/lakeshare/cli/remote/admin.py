"""The admin API of one server: JSON in, JSON out."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lakeshare.cli.errors import Refused, Unreachable
from lakeshare.cli.remote.body import EMPTY, Body, Bytes
from lakeshare.cli.remote.server import Call, Pairs, Server
from lakeshare.identity.sigv4.canonical import encode

ROOT = "/_admin/v1"
PAGES_LIMIT = 10_000
"""Most pages of one list: ten million names."""

Json = dict[str, Any]


class Admin:
    """Asks one server's admin API."""

    def __init__(self, server: Server) -> None:
        self.server = server

    @property
    def name(self) -> str:
        """The alias that it goes by."""
        return self.server.alias.name

    def get(self, *path: str, query: Pairs = ()) -> Json:
        """Ask for something."""
        return self._json(self.call("GET", path, query))

    def pages(self, *path: str, items: str, query: Pairs = ()) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        more: Pairs = ()
        for _ in range(PAGES_LIMIT):
            page = self.get(*path, query=(*query, *more))
            yield from page[items]
            if not page.get("next"):
                return
            more = (("after", page["next"]),)

    def send(self, method: str, *path: str, body: Mapping[str, Any] | None = None, query: Pairs = ()) -> Json:
        """Change something. A request that makes something new is sent once."""
        content: Body = Bytes(json.dumps(body).encode()) if body is not None else EMPTY
        return self._json(self.call(method, path, query, content))

    def send_body(self, method: str, path: tuple[str, ...], body: Body, query: Pairs = ()) -> Json:
        """Send lines of JSON."""
        return self._json(self.call(method, path, query, body, "application/x-ndjson"))

    def call(
        self,
        method: str,
        path: tuple[str, ...],
        query: Pairs = (),
        body: Body = EMPTY,
        content_type: str = "application/json",
    ) -> Call:
        """Return a request."""
        headers = {"content-type": content_type} if body.size else {}
        where = "/".join([ROOT, *(encode(part) for part in path)])
        named = f"{self.name} {method} {where}"
        return Call(method, where, query, headers, body, repeatable=method != "POST", named=named)

    def _json(self, call: Call) -> Json:
        try:
            answer = self.server.ask(call)
        except Refused as error:
            if error.code in ("NoSuchBucket", "InvalidBucketName", "404", "NoSuchKey"):
                raise Refused(
                    error.status,
                    "NoAdminApi",
                    f"{self.name} has no Lakeshare admin API",
                    "",
                    "Is it another S3 server?",
                ) from None
            raise
        if not answer.body:
            return {}
        try:
            content = json.loads(answer.body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Unreachable(f"{self.name} does not answer as Lakeshare's admin API does")
        return content
