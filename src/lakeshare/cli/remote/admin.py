"""The admin API of one server: JSON in, JSON out."""

from collections.abc import Iterator

from lakeshare.cli.errors import Refused
from lakeshare.cli.remote.api import Api, Json, another_server
from lakeshare.cli.remote.body import Body
from lakeshare.cli.remote.server import Pairs

ROOT = "/_admin/v1"
PAGES_LIMIT = 10_000
"""Most pages of one list: ten million names."""

_NO_ADMIN_API = frozenset({"NoSuchBucket", "InvalidBucketName", "404", "NoSuchKey"})
"""What a server says that takes the path for a bucket's."""


class Admin(Api):
    """Asks one server's admin API."""

    root = ROOT
    title = "Lakeshare's admin API"

    def told(self, error: Refused) -> Refused:
        """Say whether there is no such API; its refusals speak for themselves."""
        if error.code in _NO_ADMIN_API:
            return another_server(error, "NoAdminApi", f"{self.name} has no Lakeshare admin API")
        return error

    def pages(self, *path: str, items: str, query: Pairs = ()) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        more: Pairs = ()
        for _ in range(PAGES_LIMIT):
            page = self.get(*path, query=(*query, *more))
            yield from page[items]
            if not page.get("next"):
                return
            more = (("after", page["next"]),)

    def send_body(self, method: str, path: tuple[str, ...], body: Body, query: Pairs = ()) -> Json:
        """Send lines of JSON."""
        return self.json(self.call(method, path, query, body, "application/x-ndjson"))
