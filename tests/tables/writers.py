"""Writers that commit to tables at the same time, and know what was acknowledged to them."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from tests.admin.client import Client
from tests.live import LiveServer
from tests.tables.lake import PREFIX

TIMEOUT_SECONDS = 60


class Lost(Exception):
    """No answer came: what was asked for may have been done, or not."""


@dataclass(slots=True)
class Writer:
    """One client on a connection of its own."""

    server: LiveServer
    warehouse: str
    connection: HTTPConnection | None = field(default=None)

    def send(self, method: str, path: str, body: Any = None, **more: str) -> tuple[int, Any]:
        """Ask for a path below the warehouse. Raises Lost."""
        client = Client.root(self.server)
        data = b"" if body is None else json.dumps(body).encode()
        where = f"{PREFIX}/{self.warehouse}{path}"
        headers = client.signed(method, where, data, service="s3tables")
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        if self.connection is None:
            self.connection = HTTPConnection(self.server.host, self.server.port, timeout=TIMEOUT_SECONDS)
        try:
            self.connection.request(method, where, data or None, headers)
            answer = self.connection.getresponse()
            found = answer.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise Lost from error
        return answer.status, json.loads(found) if found else None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def all_at_once(works: list[Callable[[], None]]) -> None:
    """Run works on threads that begin together; the first failure is raised."""
    failures: list[BaseException] = []
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        gate.wait()
        try:
            work()
        except BaseException as failure:  # noqa: BLE001 - it is raised again where it is seen
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
