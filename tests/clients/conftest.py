"""What the tests with real clients share: a clean environment, and buckets of their own on a live server."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.boto import boto_client
from tests.live import LiveServer


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Clients read neither the user's settings nor the user's keys."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "MC_"))]:
            patch.delenv(name)
        nothing = str(tmp_path_factory.mktemp("aws") / "nothing")
        patch.setenv("AWS_CONFIG_FILE", nothing)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", nothing)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture
def connect() -> Iterator[Callable[..., Any]]:
    """Make boto3 clients, and close them."""
    clients: list[Any] = []

    def make(server: LiveServer, **options: Any) -> Any:
        client = boto_client(server, **options)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def new_bucket(connect: Callable[..., Any], bucket_names: Callable[[str], str]) -> Callable[..., str]:
    """Make a bucket with a name that no other test has."""

    def make(server: LiveServer, stem: str = "bucket") -> str:
        name = bucket_names(stem)
        connect(server).create_bucket(Bucket=name)
        return name

    return make


@pytest.fixture
def bucket(live_server: LiveServer, new_bucket: Callable[..., str]) -> str:
    """A bucket on the plain server."""
    return new_bucket(live_server)


@pytest.fixture
def any_bucket(any_server: LiveServer, new_bucket: Callable[..., str]) -> str:
    """A bucket on each of the two servers in turn."""
    return new_bucket(any_server)
