"""The sharing protocol as a recipient speaks it: a profile, a query, and the files behind its links."""

import base64
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from lakeshare.cli.aliases import Alias
from lakeshare.cli.errors import ClientError, Corrupted, Misused
from lakeshare.cli.remote.body import Bytes
from lakeshare.cli.remote.server import Call, Server
from lakeshare.cli.session import Session
from lakeshare.settings import Secret

READER_FEATURES = "deletionvectors,columnmapping,timestampntz,typewidening,typewidening-preview"
CAPABILITIES = f"responseformat=delta;readerfeatures={READER_FEATURES};includeendstreamaction=true"
LINE_LIMIT_BYTES = 64 * 1024**2
AHEAD_BYTES = 1024**2
"""What is read of a file at a time, at least."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a recipient was handed: where to ask, and a bearer token or OAuth client credentials."""

    endpoint: str
    bearer: Secret | None = None
    token_endpoint: str = ""
    client_id: str = ""
    client_secret: Secret = field(default_factory=lambda: Secret(""))

    @classmethod
    def read(cls, text: str, named: str) -> "Profile":
        """Read a profile of either version. Raises Misused."""
        try:
            said = json.loads(text)
            endpoint = str(said["endpoint"]).rstrip("/")
            if "bearerToken" in said:
                return cls(endpoint, Secret(said["bearerToken"]))
            return cls(endpoint, None, said["tokenEndpoint"], said["clientId"], Secret(said["clientSecret"]))
        except (ValueError, KeyError, TypeError):
            raise Misused(f"{named} is no profile of Delta Sharing") from None


@dataclass(frozen=True, slots=True)
class Named:
    """A table by its three names."""

    share: str
    schema: str
    table: str

    @property
    def path(self) -> str:
        """Return its path below the endpoint."""
        share, schema, table = (quote(each, safe="") for each in (self.share, self.schema, self.table))
        return f"/shares/{share}/schemas/{schema}/tables/{table}"


class Recipient:
    """Asks as whoever has a profile. Close it."""

    def __init__(self, session: Session, profile: Profile) -> None:
        self._session = session
        self._profile = profile
        self._servers: dict[str, Server] = {}
        self._bearer = profile.bearer or self._granted()

    def close(self) -> None:
        """Close every connection."""
        for server in self._servers.values():
            server.connections.close()

    def lines(self, table: Named, body: Mapping[str, Any]) -> Iterator[Json]:
        """Yield the lines of a query. Raises Refused, and Corrupted where the answer is not whole."""
        url = self._profile.endpoint + table.path + "/query"
        headers = {
            "authorization": f"Bearer {self._bearer.reveal()}",
            "content-type": "application/json",
            "delta-sharing-capabilities": CAPABILITIES,
        }
        with self._open("POST", url, headers, json.dumps(body).encode(), table.path) as response:
            last: Json = {}
            while line := response.readline(LINE_LIMIT_BYTES):
                last = json.loads(line)
                yield last
        if "endStreamAction" not in last:
            raise Corrupted("the answer was cut off", "Try again.")
        if error := last["endStreamAction"].get("errorMessage"):
            raise ClientError(f"the answer broke off: {error}")

    def file(self, url: str, size: int) -> "LinkedFile":
        """Return a file behind a link."""
        return LinkedFile(self, url, size)

    def stretch(self, url: str, start: int, length: int) -> bytes:
        """Read a stretch of a file behind a link. Raises Refused, Corrupted."""
        headers = {"range": f"bytes={start}-{start + length - 1}"}
        with self._open("GET", url, headers, b"", urlsplit(url).path) as response:
            data: bytes = response.read(length + 1)
        if response.status != 206 or len(data) != length:
            raise Corrupted("a link gave other bytes than were asked for", "A proxy between may not pass ranges on.")
        return data

    def _open(self, method: str, url: str, headers: Mapping[str, str], body: bytes, named: str) -> Any:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._servers:
            self._servers[origin] = self._session.connect(Alias(f"at {parts.netloc}", origin))
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return self._servers[origin].open(Call(method, path, (), headers, Bytes(body), named=named))

    def _granted(self) -> Secret:
        """Change client credentials for an access token."""
        profile = self._profile
        pair = f"{profile.client_id}:{profile.client_secret.reveal()}".encode()
        headers = {
            "authorization": "Basic " + base64.b64encode(pair).decode(),
            "content-type": "application/x-www-form-urlencoded",
        }
        form = urlencode({"grant_type": "client_credentials"}).encode()
        with self._open("POST", profile.token_endpoint, headers, form, "token endpoint") as response:
            return Secret(json.loads(response.read(LINE_LIMIT_BYTES))["access_token"])


class LinkedFile(io.RawIOBase):
    """A file behind a link, read by ranges as a client reads it."""

    def __init__(self, recipient: Recipient, url: str, size: int) -> None:
        super().__init__()
        self._recipient = recipient
        self._url = url
        self._size = size
        self._at = 0
        self._held = (0, b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read anywhere."""
        return True

    def tell(self) -> int:
        """Return where the next bytes come from."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go somewhere."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        start, data = self._held
        if not start <= self._at or self._at + length > start + len(data):
            start = min(self._at, max(0, self._size - AHEAD_BYTES))
            wanted = min(max(self._at - start + length, AHEAD_BYTES), self._size - start)
            data = self._recipient.stretch(self._url, start, wanted)
            self._held = (start, data)
        buffer[:length] = data[self._at - start : self._at - start + length]
        self._at += length
        return length
