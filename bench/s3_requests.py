"""Requests as they cross the wire, signed beforehand: what boto3 sends over plain HTTP, and presigned GETs."""

import time
from collections.abc import Mapping
from urllib.parse import quote

from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret

LIFE_SECONDS = 7200


class Requests:
    """Signs for one bucket of one server."""

    def __init__(self, port: int, bucket: str, access_key: str, secret: str) -> None:
        self._signer = Signer(Credentials(access_key, Secret(secret)))
        self._origin = f"http://127.0.0.1:{port}"
        self._bucket = bucket

    def url(self, key: str = "") -> str:
        """Return where a key is."""
        return f"{self._origin}/{self._bucket}" + (f"/{key}" if key else "")

    def presigned_target(self, key: str) -> str:
        """Return a presigned path and query."""
        url = self._signer.presign("GET", self.url(key), time.time(), LIFE_SECONDS)
        return url.removeprefix(self._origin)

    def signed_target(self, key: str) -> str:
        """Return a path, and behind tabs the headers that sign a GET of it, as boto3 sends them."""
        given = {"x-amz-checksum-mode": "ENABLED", "user-agent": "Boto3/1.44.0"}
        headers = self._signer.headers("GET", self.url(key), time.time(), given)
        fields = "".join(f"\t{name}: {value}" for name, value in headers.items() if name.lower() != "host")
        return self.url(key).removeprefix(self._origin) + fields

    def presigned_get(self, key: str, headers: Mapping[str, str]) -> bytes:
        """Return a GET by a presigned URL; headers such as Range are not signed."""
        sent = {"host": self._origin.removeprefix("http://"), **headers}
        return _head("GET", self.presigned_target(key), sent)

    def put(self, key: str, digests: Mapping[str, str], size: int) -> bytes:
        """Return the head of a PUT as boto3 sends it: the SHA-256 in the signature, a CRC32 beside it."""
        headers = {
            "x-amz-checksum-crc32": digests["crc32"],
            "x-amz-sdk-checksum-algorithm": "CRC32",
            "user-agent": "Boto3/1.44.0",
            "content-length": str(size),
        }
        return self._signed("PUT", self.url(key), headers, digests["sha256"])

    def make_bucket(self) -> bytes:
        """Return a request for the bucket to be."""
        return self._signed("PUT", self.url(), {"content-length": "0"})

    def list(self, token: str = "", start_after: str = "") -> bytes:
        """Return a request for a page of keys."""
        query = "?list-type=2&max-keys=1000&encoding-type=url"
        query += f"&continuation-token={quote(token, safe='')}" if token else ""
        query += f"&start-after={quote(start_after, safe='')}" if start_after else ""
        return self._signed("GET", self.url() + query, {})

    def _signed(self, method: str, url: str, headers: Mapping[str, str], sha256: str | None = None) -> bytes:
        given = () if sha256 is None else (sha256,)
        return _head(
            method, url.removeprefix(self._origin), self._signer.headers(method, url, time.time(), headers, *given)
        )


def _head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
