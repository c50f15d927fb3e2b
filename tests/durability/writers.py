"""Writers that know what they were told: a key is as its last answer said, or as the request in flight would."""

import hashlib
import http.client
import random
import threading
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.raw import RawClient

PART = 5 * 1024 * 1024
GONE = None


@dataclass(slots=True)
class Writer:
    """One writer over keys of its own. `known` is what the store must hold; `pending` what it may hold besides."""

    name: str
    bucket: str
    seed: int
    known: dict[str, str | None] = field(default_factory=dict)
    pending: dict[str, str | None] = field(default_factory=dict)
    acknowledged: int = 0
    refused: list[str] = field(default_factory=list)

    def run(self, server, stop: threading.Event) -> None:
        """Write until told to stop, or until the server is gone."""
        chance = random.Random(self.seed)
        self.seed += 1
        sender = RawClient.of(server)
        try:
            while not stop.is_set():
                self._step(sender, chance)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            sender.close()

    def _step(self, sender, chance) -> None:
        key = f"{self.name}/{chance.randrange(12)}"
        verb = chance.choices(["small", "large", "absent", "copy", "delete", "multipart"], [40, 15, 15, 15, 10, 5])[0]
        getattr(self, f"_{verb}")(sender, chance, key)

    def _path(self, key):
        return f"/{self.bucket}/{quote(key)}"

    def _settle(self, key, status, value, *, good=(200, 204)):
        if status in good:
            self.known[key] = value
            self.acknowledged += 1
        elif status not in (404, 412):
            self.refused.append(f"{key}: {status}")
        self.pending.pop(key, None)

    def _put(self, sender, key, body, headers=None):
        digest = hashlib.sha256(body).hexdigest()
        self.pending[key] = digest
        status = sender.send("PUT", self._path(key), body, headers).status
        if headers and status == 200 and self.known.get(key, GONE) is not GONE:
            self.refused.append(f"{key}: a second winner")
        self._settle(key, status, digest)

    def _small(self, sender, chance, key):
        self._put(sender, key, chance.randbytes(chance.randrange(1, 8000)))

    def _large(self, sender, chance, key):
        self._put(sender, key, chance.randbytes(chance.randrange(100_000, 1_500_000)))

    def _absent(self, sender, chance, key):
        self._put(sender, key, chance.randbytes(500), {"if-none-match": "*"})

    def _delete(self, sender, _chance, key):
        self.pending[key] = GONE
        status = sender.send("DELETE", self._path(key)).status
        self._settle(key, status, GONE)

    def _copy(self, sender, chance, key):
        source = f"{self.name}/{chance.randrange(12)}"
        value = self.known.get(source, GONE)
        if value is GONE or source == key:
            return
        self.pending[key] = value
        status = sender.send("PUT", self._path(key), headers={"x-amz-copy-source": self._path(source)}).status
        self._settle(key, status, value)

    def _multipart(self, sender, chance, key):
        parts = [chance.randbytes(PART), chance.randbytes(1000)]
        upload = sender.send("POST", self._path(key) + "?uploads=").between("<UploadId>", "<")
        listed = ""
        for number, part in enumerate(parts, start=1):
            etag = sender.send("PUT", f"{self._path(key)}?partNumber={number}&uploadId={upload}", part).headers["etag"]
            listed += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
        digest = hashlib.sha256(b"".join(parts)).hexdigest()
        self.pending[key] = digest
        document = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        status = sender.send("POST", f"{self._path(key)}?uploadId={upload}", document).status
        self._settle(key, status, digest)

    def check(self, server) -> list[str]:
        """Read every key, and say where the store is not as it must be; then know what is there."""
        wrong, sender = list(self.refused), RawClient.of(server)
        for key in {*self.known, *self.pending}:
            answer = sender.send("GET", self._path(key))
            status = answer.status
            found = hashlib.sha256(answer.body).hexdigest() if status == 200 else GONE
            allowed = {self.known.get(key, GONE)} | ({self.pending[key]} if key in self.pending else set())
            if status not in (200, 404) or found not in allowed:
                wrong.append(f"{key}: {status}, found {found}, expected one of {allowed}")
            self.known[key] = found
        self.pending.clear()
        sender.close()
        return wrong
