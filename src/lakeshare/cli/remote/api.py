"""A JSON API of one server: requests under its root, answers as values, refusals in its own words."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from lakeshare.cli.errors import Refused, Unreachable
from lakeshare.cli.remote.body import EMPTY, Body, Bytes
from lakeshare.cli.remote.server import Answer, Call, Pairs, Server
from lakeshare.identity.sigv4.canonical import encode

Json = dict[str, Any]


class Api(ABC):
    """Asks one JSON API of one server. A kind of it says where it lies and what its refusals mean."""

    root: ClassVar[str]
    title: ClassVar[str]
    """What answers as it should, in the words of an error."""

    def __init__(self, server: Server) -> None:
        self.server = server

    @abstractmethod
    def told(self, error: Refused) -> Refused:
        """Say what a refusal means here, and what to do about it."""

    @property
    def name(self) -> str:
        """The alias that it goes by."""
        return self.server.alias.name

    def get(self, *path: str, query: Pairs = ()) -> Json:
        """Ask for something."""
        return self.json(self.call("GET", path, query))

    def send(self, method: str, *path: str, body: Mapping[str, Any] | None = None, query: Pairs = ()) -> Json:
        """Change something. A request that makes something new is sent once."""
        content: Body = Bytes(json.dumps(body).encode()) if body is not None else EMPTY
        return self.json(self.call(method, path, query, content))

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
        where = "/".join([self.root, *(encode(part) for part in path)])
        named = f"{self.name} {method} {where}"
        return Call(method, where, query, headers, body, repeatable=method != "POST", named=named)

    def ask(self, call: Call) -> Answer:
        """Send a request."""
        try:
            return self.server.ask(call)
        except Refused as error:
            raise self.told(error) from None

    def json(self, call: Call) -> Json:
        """Send a request whose answer is an object, or nothing."""
        answer = self.ask(call)
        if not answer.body:
            return {}
        try:
            content = json.loads(answer.body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Unreachable(f"{self.name} does not answer as {self.title} does")
        return content


def another_server(error: Refused, code: str, said: str) -> Refused:
    """Say that a server has no such API."""
    return Refused(error.status, code, said, "", "Is it another S3 server?")
