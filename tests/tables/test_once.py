"""Idempotency keys: whatever was answered for good is answered again, and never done again."""

import uuid
from functools import partial
from typing import Any

import pytest

from tests.admin.client import Client
from tests.live import LiveServer
from tests.tables.lake import SCHEMA, VIEW, Lake, set_property
from tests.tables.writers import Writer, all_at_once

WRITERS = 8


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    return Lake.made(live_server, "once")


@pytest.fixture
def where(lake: Lake) -> str:
    """A namespace of a test's own."""
    return lake.namespace(f"ns-{uuid.uuid4().hex[:8]}")


def key() -> str:
    return str(uuid.uuid4())


def stale(name: str) -> dict[str, Any]:
    """Make a commit that a table without snapshots refuses."""
    commit = set_property(name, "x")
    return commit | {"requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}]}


def test_a_refusal_that_is_final_is_repeated(lake: Lake, where: str):
    """409, 404, 400 and 422 are told again for their key, though the request could have its effect by now."""
    body = {"name": "t", "schema": SCHEMA}
    lake.table(where, "t")
    taken, gone, wrong, both, failed = (key() for _ in range(5))
    elsewhere, opposite = body | {"name": "u", "location": "s3://else/x"}, {"updates": {"a": "b"}, "removals": ["a"]}
    namespace = where.rpartition("/")[2]
    asked: list[tuple[tuple[str, str, Any, str], tuple[int, str]]] = [
        (("POST", f"{where}/tables", body, taken), (409, "AlreadyExistsException")),
        (("DELETE", f"{where}/tables/later", None, gone), (404, "NoSuchTableException")),
        (("POST", f"{where}/tables", elsewhere, wrong), (400, "BadRequestException")),
        (("POST", f"{where}/properties", opposite, both), (422, "UnprocessableEntityException")),
        (("POST", f"{where}/tables/t", stale("never"), failed), (409, "CommitFailedException")),
    ]
    first = [lake.refused(*request[:3], idempotency_key=request[3]) for request, _ in asked]
    assert [each[:2] for each in first] == [outcome for _, outcome in asked]
    lake.ok("DELETE", f"{where}/tables/t")
    lake.table(where, "later")
    again = [lake.refused(*request[:3], idempotency_key=request[3]) for request, _ in asked]
    assert again == first
    assert lake.call("HEAD", f"{where}/tables/later").status == 204
    other = lake.refused("POST", f"/{{w}}/namespaces/{namespace}/tables", body | {"name": "v"}, idempotency_key=taken)
    assert other[0] == 400
    assert "was used before" in other[2]
    lake.ok("POST", f"{where}/tables", body, idempotency_key=key())


def test_what_depends_on_who_asks_is_not_final(live_server: LiveServer, lake: Lake, where: str):
    """A request that was not allowed is tried again once it is."""
    root, policy = Client.root(live_server), f"once-{uuid.uuid4().hex[:8]}"
    denied = {"Effect": "Deny", "Action": "s3tables:*", "Resource": "*"}
    root.ok("PUT", f"/policies/{policy}", {"Version": "2012-10-17", "Statement": [denied]})
    made = root.ok("POST", "/users", {"name": policy, "policies": [policy]})
    user = lake.seen_by(Client(live_server, made["name"], made["secret_key"]))
    name = key()
    body = {"name": "t", "schema": SCHEMA}
    assert user.refused("POST", f"{where}/tables", body, idempotency_key=name)[0] == 403
    root.ok("PUT", f"/policies/{policy}", {"Version": "2012-10-17", "Statement": [denied | {"Effect": "Allow"}]})
    assert user.ok("POST", f"{where}/tables", body, idempotency_key=name)["metadata-location"]


def test_a_repeat_among_rivals_is_answered_alike(live_server: LiveServer, lake: Lake, where: str):
    """Many requests of one key at once have one effect, and all of them are told of it."""
    name, found = key(), []
    path = where.removeprefix("/{w}")

    def work(writer: Writer) -> None:
        found.append(writer.send("POST", f"{path}/tables", {"name": "t", "schema": SCHEMA}, idempotency_key=name))
        writer.close()

    all_at_once([partial(work, Writer(live_server, lake.warehouse)) for _ in range(WRITERS)])
    assert {status for status, _ in found} == {200}
    assert len({answer["metadata"]["table-uuid"] for _, answer in found}) == 1


def test_properties_are_told_as_they_were_changed(lake: Lake, where: str):
    """A repeated change of properties says again what it removed, though that is missing now."""
    lake.ok("POST", f"{where}/properties", {"updates": {"a": "1", "b": "2"}})
    body, name = {"removals": ["a", "z"], "updates": {"c": "3"}}, key()
    first = lake.ok("POST", f"{where}/properties", body, idempotency_key=name)
    assert first == {"updated": ["c"], "removed": ["a"], "missing": ["z"]}
    assert lake.ok("POST", f"{where}/properties", body, idempotency_key=name) == first


def test_nothing_to_do_is_an_answer_too(lake: Lake, where: str):
    """A commit that changed nothing changes nothing when it is sent again, whatever was changed meanwhile."""
    lake.table(where, "t", properties={"a": "x"})
    name, path = key(), f"{where}/tables/t"
    lake.ok("POST", path, set_property("a", "x"), idempotency_key=name)
    lake.ok("POST", path, set_property("a", "y"))
    again = lake.ok("POST", path, set_property("a", "x"), idempotency_key=name)
    assert again["metadata"]["properties"]["a"] == "y"


def test_a_view_without_a_change_is_an_answer_too(lake: Lake, where: str):
    """A commit on a view that changed nothing changes nothing when it is sent again."""
    lake.ok("POST", f"{where}/views", VIEW | {"properties": {"a": "x"}})
    name, path = key(), f"{where}/views/v"
    lake.ok("POST", path, set_property("a", "x"), idempotency_key=name)
    lake.ok("POST", path, set_property("a", "y"))
    again = lake.ok("POST", path, set_property("a", "x"), idempotency_key=name)
    assert again["metadata"]["properties"]["a"] == "y"


def test_what_was_done_is_never_denied(lake: Lake, where: str):
    """A commit whose table was renamed or replaced since is unknown to whom repeats it, and never said to be undone."""
    lake.table(where, "t")
    name, path = key(), f"{where}/tables/t"
    lake.ok("POST", path, set_property("a", "x"), idempotency_key=name)
    namespace = where.rpartition("/")[2]
    rename = {"source": {"namespace": [namespace], "name": "t"}, "destination": {"namespace": [namespace], "name": "u"}}
    lake.ok("POST", "/{w}/tables/rename", rename)
    unknown = (500, "CommitStateUnknownException")
    assert lake.refused("POST", path, set_property("a", "x"), idempotency_key=name)[:2] == unknown
    lake.table(where, "t")
    assert lake.refused("POST", path, set_property("a", "x"), idempotency_key=name)[:2] == unknown
    assert "a" not in lake.ok("GET", path)["metadata"]["properties"]
