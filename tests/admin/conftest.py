"""What the tests of the admin API share."""

import itertools
import os
from collections.abc import Callable

import pytest

from tests.admin.client import Client
from tests.live import LiveServer

_numbers = itertools.count(1)


@pytest.fixture
def root(live_server: LiveServer) -> Client:
    """Root, on the plain server."""
    return Client.root(live_server)


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """Make names that no other test has."""
    return lambda stem: f"{stem}-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def new_user(root: Client, fresh: Callable[[str], str]) -> Callable[..., Client]:
    """Make a user with policies, and return its client."""

    def make(*policies: str) -> Client:
        made = root.ok("POST", "/users", {"name": fresh("user"), "policies": list(policies)})
        return Client(root.server, made["name"], made["secret_key"])

    return make
