"""Downloading an object: into a file of another name beside the target, which takes its place when it is whole.

Whatever ends a download early, no half file stands under the target's name, and none is left beside it.
"""

import http.client
import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakeshare.cli.errors import Unreachable
from lakeshare.cli.places import Local, Remote
from lakeshare.cli.remote.body import CHUNK_BYTES, Slice
from lakeshare.cli.remote.model import ObjectFacts
from lakeshare.cli.remote.multipart import PART_BYTES, Stretch, stretches
from lakeshare.cli.remote.server import ATTEMPTS
from lakeshare.cli.remote.store import Store
from lakeshare.cli.transfer import checks
from lakeshare.cli.transfer.items import Item

if TYPE_CHECKING:
    from lakeshare.cli.transfer.crew import Crew

CHECKED: Mapping[str, str] = {"x-amz-checksum-mode": "ENABLED"}


def download(crew: "Crew", item: Item, source: Remote, target: Local) -> None:
    """Write an object to a file."""
    if target.path.endswith("/"):
        os.makedirs(target.path, exist_ok=True)  # noqa: PTH103 - as typed
        return
    folder = os.path.dirname(target.path) or "."  # noqa: PTH120
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    if os.path.isdir(target.path):  # noqa: PTH112
        raise IsADirectoryError(21, "is a folder", target.path)
    partial = os.path.join(folder, f".lakeshare-{secrets.token_hex(8)}.part")  # noqa: PTH118
    fd = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            _Download(crew, crew.session.store(source.alias), source, fd, partial).run(item.size)
        finally:
            os.close(fd)
        os.replace(partial, target.path)  # noqa: PTH105
    except BaseException:
        os.unlink(partial)  # noqa: PTH108
        raise


class _Download:
    def __init__(self, crew: "Crew", store: Store, source: Remote, fd: int, path: str) -> None:
        self._crew, self._store, self._source = crew, store, source
        self._fd, self._path = fd, path

    def run(self, size: int) -> None:
        if size <= PART_BYTES:
            self._whole()
        else:
            self._in_parts(self._store.head(self._source.bucket, self._source.key, self._crew.manner.version))

    def _whole(self) -> None:
        """Read it in one request, again from its start where that breaks off."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._once()
            except Unreachable:
                self._crew.check()
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    def _once(self) -> None:
        """Read it in one request, and check it by the headers of that answer."""
        source, version = self._source, self._crew.manner.version
        with self._store.server.open(self._store.get(source.bucket, source.key, CHECKED, version)) as response:
            facts = ObjectFacts.of({name.lower(): value for name, value in response.getheaders()})
            wanted = checks.expected(facts)
            running = checks.Running(wanted[0]) if wanted else None
            count = self._take(response, 0, facts.size, running)
        if count != facts.size:
            self._crew.bar.moved(-count)
            raise Unreachable(f"{source.text} broke off after {count} of {facts.size} bytes", "Try again.")
        os.truncate(self._fd, facts.size)
        checks.require(source.text, wanted, running.digest() if running else None)

    def _in_parts(self, facts: ObjectFacts) -> None:
        """Read stretches side by side, all of one ETag, and check the whole."""
        wanted = checks.expected(facts)
        algorithm = wanted[0] if wanted and checks.can_combine(wanted[0]) else ""
        os.truncate(self._fd, facts.size)
        parts = stretches(facts.size)
        sums = self._crew.each_part(lambda part: self._stretch(part, facts.etag, algorithm), parts)
        found: bytes | None = None
        if algorithm:
            found = checks.combined(algorithm, [(value, part.size) for value, part in zip(sums, parts, strict=True)])
        elif wanted:
            found = checks.digest_of(wanted[0], Slice(self._path, 0, facts.size).chunks())
        checks.require(self._source.text, wanted, found)

    def _stretch(self, part: Stretch, etag: str, algorithm: str) -> int:
        """Read one stretch, going on where an attempt broke off; return its checksum."""
        running = checks.Running(algorithm) if algorithm else None
        offset, end = part.offset, part.offset + part.size
        for _ in range(ATTEMPTS):
            headers = {"range": f"bytes={offset}-{end - 1}", "if-match": f'"{etag}"'}
            call = self._store.get(self._source.bucket, self._source.key, headers, self._crew.manner.version)
            with self._store.server.open(call) as response:
                offset += self._take(response, offset, end - offset, running)
            if offset >= end:
                return running.value if running else 0
            self._crew.check()
        raise Unreachable(f"{self._source.text} broke off {ATTEMPTS} times", "Try again.")

    def _take(self, response: http.client.HTTPResponse, offset: int, size: int, running: checks.Running | None) -> int:
        """Write an answer's bytes to their place in the file; return how many came before it ended or broke off."""
        buffer = memoryview(bytearray(min(CHUNK_BYTES, max(size, 1))))
        count = 0
        while count < size:
            try:
                got = response.readinto(buffer[: size - count])
            except (OSError, http.client.HTTPException):
                got = 0
            self._crew.check()
            if not got:
                break
            chunk = buffer[:got]
            if running:
                running.update(chunk)
            _write(self._fd, chunk, offset + count)
            count += got
            self._crew.bar.moved(got)
        return count


def _write(fd: int, chunk: memoryview, offset: int) -> None:
    while chunk:
        written = os.pwrite(fd, chunk, offset)
        offset += written
        chunk = chunk[written:]
