"""The routes that say whether the server is up, to anyone."""

import pytest

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.server.app import open_routes
from lakeshare.storage.errors import StorageError
from lakeshare.storage.memory import MemoryStore

READY = ("/_health/ready", "/minio/health/ready", "/minio/health/cluster", "/minio/health/cluster/read")
LIVE = ("/_health/live", "/minio/health/live")


class BrokenStore(MemoryStore):
    """A store whose disk is gone."""

    async def buckets(self, prefix: str = "", after: str = "", limit: int = 1000):
        raise StorageError("the disk is gone")


def asked(path: str) -> Request:
    return Request("1", "GET", path, "", {}, "http", "192.0.2.1", None)


@pytest.mark.parametrize("path", [*READY, *LIVE])
async def test_a_server_that_can_serve_says_so(path: str):
    """Every name of the health routes, ours and MinIO's, is answered 200 without a signature."""
    answer = await open_routes(MemoryStore())[path](asked(path))
    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize("path", READY)
async def test_a_server_without_its_store_is_not_ready(path: str):
    """A store that does not answer makes the server not ready; that it lives is another question."""
    routes = open_routes(BrokenStore())
    with pytest.raises(LakeshareError):
        await routes[path](asked(path))
    for live in LIVE:
        answer = await routes[live](asked(live))
        assert answer is not None
        assert answer.status == 200
