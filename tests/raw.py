"""A bare signing HTTP client, for requests that no library would send."""

import base64
import hashlib
import hmac
import http.client
import time
from collections.abc import Mapping
from dataclasses import dataclass

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret
from tests.live import LiveServer

SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """S3's error code."""
        return self.between("<Code>", "<")

    def between(self, before: str, after: str) -> str:
        """Return the first text between two others."""
        return self.body.decode(errors="replace").partition(before)[2].partition(after)[0]


@dataclass(slots=True)
class RawClient:
    """Signs and sends, on one connection that is opened anew when it breaks."""

    port: int
    signer: Signer
    connection: http.client.HTTPConnection | None = None

    @classmethod
    def of(cls, server: LiveServer, access_key: str = "", secret: str = "") -> "RawClient":
        """Make a client of a server: root's, or another's."""
        pair = (access_key, secret) if access_key else (server.access_key, server.secret_key)
        return cls(server.port, Signer(Credentials(pair[0], Secret(pair[1]))))

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        payload: str | None = None,
        unsigned: Mapping[str, str] | None = None,
    ) -> Answer:
        """Sign and send; `payload` is another x-amz-content-sha256, `unsigned` are headers added after signing."""
        digest = payload or hashlib.sha256(body).hexdigest()
        signed = self.signer.headers(method, self.url(path), time.time(), headers or {}, digest)
        return self.send_as_is(method, path, body, {**signed, **(unsigned or {})})

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return f"http://127.0.0.1:{self.port}{path}"

    def send_as_is(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send without signing."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            self.connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                self.connection.putheader(name, value)
            if "transfer-encoding" in headers:
                self.connection.endheaders(
                    [body[at : at + 1000] for at in range(0, len(body), 1000)], encode_chunked=True
                )
            else:
                if "content-length" not in headers and (body or method in {"PUT", "POST"}):
                    self.connection.putheader("content-length", str(len(body)))
                self.connection.endheaders(body or None)
            answer = self.connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def send_chunks(
        self, path: str, chunks: list[bytes], trailer: tuple[str, str] | None = None, **wrong: str
    ) -> Answer:
        """Put signed chunks, with a signed trailer if one is given; `wrong` may name a chunk's `signature`."""
        mode = SIGNED_CHUNKS_TRAILER if trailer else SIGNED_CHUNKS
        given = {"x-amz-decoded-content-length": wrong.get("length") or str(sum(map(len, chunks)))}
        if trailer:
            given["x-amz-trailer"] = trailer[0]
        headers = self.signer.headers("PUT", self.url(path), time.time(), given, mode)
        body = _Chunked(self.signer, headers).encode(chunks, trailer, wrong.get("signature"))
        return self.send_as_is("PUT", path, body, headers)

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class _Chunked:
    """Encodes a body as signed chunks, as AWS documents it; written apart from the server's decoder."""

    def __init__(self, signer: Signer, headers: Mapping[str, str]) -> None:
        self.date = headers["x-amz-date"]
        credential = headers["authorization"].partition("Credential=")[2].partition(",")[0]
        self.scope = credential.partition("/")[2]
        self.last = headers["authorization"].rpartition("Signature=")[2]
        key = ("AWS4" + signer.credentials.secret.reveal()).encode()
        for part in self.scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        self.key = key

    def encode(self, chunks: list[bytes], trailer: tuple[str, str] | None, wrong: str | None) -> bytes:
        out = [self._chunk(data, wrong) for data in [*chunks, b""]]
        if trailer is None:
            return b"".join(out) + b"\r\n"
        line = f"{trailer[0]}:{trailer[1]}\n".encode()
        signature = self._sign("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(line).hexdigest())
        return b"".join(out) + line.strip() + b"\r\n" + f"x-amz-trailer-signature:{signature}\r\n\r\n".encode()

    def _chunk(self, data: bytes, wrong: str | None) -> bytes:
        signature = self._sign("AWS4-HMAC-SHA256-PAYLOAD", f"{EMPTY}\n{hashlib.sha256(data).hexdigest()}")
        head = f"{len(data):x};chunk-signature={wrong if wrong and data else signature}\r\n".encode()
        return head + data + (b"\r\n" if data else b"")

    def _sign(self, algorithm: str, rest: str) -> str:
        text = f"{algorithm}\n{self.date}\n{self.scope}\n{self.last}\n{rest}"
        self.last = hmac.digest(self.key, text.encode(), "sha256").hex()
        return self.last


def unsigned_trailer(data: bytes, name: str, value: str) -> bytes:
    """Encode a body as unsigned chunks with a trailer, in two chunks."""
    half = len(data) // 2
    chunks = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (data[:half], data[half:]) if part)
    return chunks + f"0\r\n{name}:{value}\r\n\r\n".encode()


def base64_digest(raw: bytes) -> str:
    """Write a digest as S3's headers have it."""
    return base64.b64encode(raw).decode()
