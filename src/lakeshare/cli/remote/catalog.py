"""The Iceberg catalog of one server: its REST API, and the warehouses and maintenance around it."""

from collections.abc import Iterator
from typing import Any

from lakeshare.cli.errors import Refused
from lakeshare.cli.remote.api import Api, another_server
from lakeshare.cli.remote.server import Pairs

ROOT = "/_iceberg/v1"
SEPARATOR = "\x1f"
"""Between the levels of a namespace."""
PAGES_LIMIT = 100_000
"""Most pages of one list: a hundred million names."""
PAGE_NAMES = "1000"

Namespace = tuple[str, ...]

_NO_CATALOG = frozenset({"NoSuchBucket", "InvalidBucketName", "NoSuchKey", "MethodNotAllowed", "AccessDenied"})
"""What a server says that takes the path for a bucket's."""

_EXISTS = "AlreadyExistsException"
_SAME = ("Warehouse already exists", "Namespace already exists", "Table already exists", "View already exists")
"""How the refusal begins where what is there is what was to be made: not a view in a table's place, nor a table that
has another name already."""

_STEPS = {
    "NoSuchWarehouseException": "`lakeshare table warehouse list ALIAS` lists the warehouses, "
    "`lakeshare table warehouse create ALIAS NAME` makes one.",
    "NoSuchNamespaceException": "`lakeshare table namespace list ALIAS WAREHOUSE` lists the namespaces; levels have a "
    "slash between them. `lakeshare table namespace create` makes one.",
    "NoSuchTableException": "`lakeshare table list ALIAS WAREHOUSE NAMESPACE` lists the tables.",
    "NoSuchViewException": "`lakeshare table view list ALIAS WAREHOUSE NAMESPACE` lists the views.",
    "NamespaceNotEmptyException": "`lakeshare table list` and `lakeshare table namespace list` say what it holds. "
    "Remove that first.",
    "WarehouseNotEmptyException": "Remove its tables, views and namespaces first, or everything with --purge --force.",
    _EXISTS: "Say --ignore-existing if that is all right.",
    "ForbiddenException": "`lakeshare admin whoami ALIAS` says whose key this is. A policy with s3tables actions gives "
    "it rights: `lakeshare admin policy attach`.",
    "NotAuthorizedException": "See `lakeshare alias list`, and set the alias again with a key that the server knows.",
    "CommitFailedException": "Somebody changed the table meanwhile: try again.",
    "ServiceUnavailableException": "The server is busy: wait a little and try again.",
}


class Catalog(Api):
    """Asks one server's Iceberg catalog."""

    root = ROOT
    title = "an Iceberg catalog"

    def told(self, error: Refused) -> Refused:
        """Say what to do about a refusal in the catalog's words, or that there is no catalog."""
        if error.code in _NO_CATALOG:
            return another_server(error, "NoCatalog", f"{self.name} has no Iceberg catalog")
        step = _STEPS.get(error.code, "").replace("ALIAS", self.name)
        if error.code == _EXISTS and not error.said.startswith(_SAME):
            step = "Choose another name, or remove what is there first."
        return Refused(error.status, error.code, error.said, "", step or error.next_step)

    def exists(self, *path: str) -> bool:
        """Say whether something is there."""
        try:
            self.ask(self.call("HEAD", path))
        except Refused as error:
            if error.status == 404:
                return False
            raise
        return True

    def found_instead(self, error: Refused, *path: str, wanted: bool) -> Any:
        """Return what is there instead of what was to be made; raise the refusal if that is not wanted, or not so."""
        if not wanted or error.status != 409:
            raise error from None
        try:
            return self.get(*path)
        except Refused as second:
            raise (error if second.status == 404 else second) from None

    def pages(self, *path: str, items: str, query: Pairs = ()) -> Iterator[Any]:
        """Yield the items of a list, page by page."""
        token = ""
        for _ in range(PAGES_LIMIT):
            page = self.get(*path, query=(*query, ("pageToken", token), ("pageSize", PAGE_NAMES)))
            yield from page[items]
            token = page.get("next-page-token") or ""
            if not token:
                return


def joined(namespace: Namespace) -> str:
    """Write a namespace as a path has it."""
    return SEPARATOR.join(namespace)
