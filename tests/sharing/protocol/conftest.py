"""A provider on the live server, and a share that most tests of the protocol read."""

from collections.abc import Callable

import pandas as pd
import pytest

from tests.live import LiveServer
from tests.sharing.protocol.provider import Provider, Recipient


@pytest.fixture(scope="session")
def provider(live_server: LiveServer, bucket_names: Callable[[str], str]) -> Provider:
    """Who shares."""
    return Provider(live_server, bucket_names("lake"))


@pytest.fixture(scope="session")
def reader(provider: Provider) -> Recipient:
    """A recipient of `main`: `people` has three versions and records changes, `days` has a partition for each day."""
    people = pd.DataFrame({"id": [1, 2, 3, 4, 5], "name": list("abcde")})
    provider.write("people", people, configuration={"delta.enableChangeDataFeed": "true"}, name="people")
    provider.write("people", pd.DataFrame({"id": [6, 7], "name": ["f", "g"]}), mode="append")
    provider.table("people").delete("id = 2")
    for day in range(1, 5):
        rows = pd.DataFrame({"day": [f"2024-01-0{day}"] * 10, "n": range(day * 100, day * 100 + 10)})
        provider.write("days", rows, mode="append", partition_by=["day"])
    provider.share("main", people="people", days="days")
    return provider.token("main")
