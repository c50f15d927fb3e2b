"""A small client of the catalog on a live server, for tests."""

import itertools
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.admin.client import Answer, Client
from tests.live import LiveServer

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

PREFIX = "/_iceberg/v1"
SCHEMA = {
    "type": "struct",
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": False},
        {"id": 2, "name": "name", "type": "string", "required": False},
    ],
}
VIEW = {
    "name": "v",
    "schema": SCHEMA,
    "view-version": {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1,
        "summary": {},
        "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
    },
    "properties": {},
}
_numbers = itertools.count(1)


def warehouse_name(stem: str = "lake") -> str:
    """Make a name that no other test has."""
    return f"{stem}-{os.getpid()}-{next(_numbers)}"


@dataclass(frozen=True, slots=True)
class Lake:
    """One warehouse, as one identity sees it."""

    client: Client
    warehouse: str

    @classmethod
    def made(cls, server: LiveServer, stem: str = "lake") -> "Lake":
        """Make a warehouse, as root."""
        lake = cls(Client.root(server), warehouse_name(stem))
        lake.ok("POST", "/warehouses", {"name": lake.warehouse})
        return lake

    def seen_by(self, client: Client) -> "Lake":
        return Lake(client, self.warehouse)

    def by_oauth(self) -> "Catalog":
        """Connect PyIceberg with the access key as OAuth's client, and no key for S3 at all: credentials are vended."""
        from pyiceberg.catalog import load_catalog

        server = self.client.server
        return load_catalog(
            "lakeshare",
            **{
                "uri": f"{server.endpoint}/_iceberg",
                "warehouse": self.warehouse,
                "credential": f"{self.client.access_key}:{self.client.secret_key}",
                "oauth2-server-uri": f"{server.endpoint}{PREFIX}/oauth/tokens",
            },
        )

    def call(self, method: str, path: str, body: Any = None, *, service: str = "s3tables", **headers: str) -> Answer:
        """Ask for a path below the API's prefix; `{w}` is the warehouse."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        where = PREFIX + path.replace("{w}", self.warehouse)
        return self.client.raw(method, where, data, service=service, headers=sent)

    def ok(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        answer = self.call(method, path, body, **how)
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {answer.body!r}"
        return answer.json if answer.body else None

    def refused(self, method: str, path: str, body: Any = None, **how: Any) -> tuple[int, str, str]:
        """Ask, expect an error of the specification's form, and return its status, type and message."""
        answer = self.call(method, path, body, **how)
        error = answer.json["error"]
        assert error["code"] == answer.status
        return answer.status, error["type"], error["message"]

    def namespace(self, *levels: str) -> str:
        """Make a namespace, and return its path."""
        self.ok("POST", "/{w}/namespaces", {"namespace": levels})
        return namespace_path(*levels)

    def table(self, where: str, name: str, **more: Any) -> dict[str, Any]:
        """Make a table in a namespace's path."""
        made: dict[str, Any] = self.ok("POST", f"{where}/tables", {"name": name, "schema": SCHEMA} | more)
        return made


def namespace_path(*levels: str) -> str:
    """Return the path of a namespace."""
    return "/{w}/namespaces/" + quote("\x1f".join(levels), safe="")


def set_property(key: str, value: str) -> dict[str, Any]:
    """Make the body of a commit that sets a property."""
    return {"requirements": [], "updates": [{"action": "set-properties", "updates": {key: value}}]}
