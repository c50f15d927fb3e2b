"""A small client of the admin API, and of anything else that is signed, for tests."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret
from tests.live import LiveServer

PREFIX = "/_admin/v1"
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["error"]["code"]


@dataclass(frozen=True, slots=True)
class Client:
    """Signs as one key, or as nobody."""

    server: LiveServer
    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""

    @classmethod
    def root(cls, server: LiveServer) -> "Client":
        return cls(server, server.access_key, server.secret_key)

    def signed(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        service: str = "s3",
        region: str = "us-east-1",
        at: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        if not self.access_key:
            return dict(headers or {})
        token = Secret(self.session_token) if self.session_token else None
        credentials = Credentials(self.access_key, Secret(self.secret_key), token)
        digest = hashlib.sha256(body).hexdigest()
        url = self.server.endpoint + path
        now = time.time() if at is None else at
        return Signer(credentials, region, service).headers(method, url, now, headers or {}, digest)

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """Send a request as it is."""
        connection = HTTPConnection(self.server.host, self.server.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body or None, dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def raw(self, method: str, path: str, body: bytes = b"", **how: Any) -> Answer:
        """Sign a request and send it."""
        return self.send(method, path, body, self.signed(method, path, body, **how))

    def call(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        """Ask the admin API."""
        return self.raw(method, PREFIX + path, b"" if body is None else json.dumps(body).encode(), **how)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the admin API, and expect success."""
        answer = self.call(method, path, body)
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {answer.body!r}"
        return answer.json if answer.body else None
