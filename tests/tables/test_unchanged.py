"""304 answers, which are given from memory: never for what has changed, and never to whom the table is closed."""

from collections.abc import Iterator

import pytest

from tests.admin.client import Answer, Client
from tests.live import LiveServer, running
from tests.tables.lake import Lake, set_property
from tests.tables.writers import Writer

CONNECTIONS = 8
ROUNDS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of two workers."""
    with running(tmp_path_factory.mktemp("unchanged") / "data") as live:
        yield live


def test_no_worker_answers_304_after_a_commit(server: LiveServer):
    """Whichever worker a commit went to, the next question of every connection is answered with the new metadata."""
    lake = Lake.made(server, "fresh")
    where = lake.namespace("ns")
    lake.table(where, "t")
    readers = [Writer(server, lake.warehouse) for _ in range(CONNECTIONS)]
    path = "/namespaces/ns/tables/t"
    for turn in range(ROUNDS):
        etag = lake.call("GET", f"{where}/tables/t").headers["etag"]
        assert {reader.send("GET", path, if_none_match=etag)[0] for reader in readers} == {304}
        writer = readers[turn]
        assert writer.send("POST", path, set_property("turn", str(turn)))[0] == 200
        for reader in readers:
            status, found = reader.send("GET", path, if_none_match=etag)
            assert (status, found["metadata"]["properties"]["turn"]) == (200, str(turn))
    for reader in readers:
        reader.close()


def test_a_table_of_the_same_name_is_another(server: LiveServer):
    """A table that is dropped and made again, or that has taken another's name, is never said to be unchanged."""
    lake = Lake.made(server, "namesakes")
    where = lake.namespace("ns")
    lake.table(where, "t")
    etag = lake.call("GET", f"{where}/tables/t").headers["etag"]
    assert lake.call("GET", f"{where}/tables/t", if_none_match=etag).status == 304
    lake.ok("DELETE", f"{where}/tables/t")
    assert lake.call("GET", f"{where}/tables/t", if_none_match=etag).status == 404
    lake.table(where, "t")
    assert lake.call("GET", f"{where}/tables/t", if_none_match=etag).status == 200


def test_access_that_is_withdrawn_ends_304s(server: LiveServer):
    """Whoever may not load a table any more is refused, though others just heard that it is unchanged."""
    lake = Lake.made(server, "withdrawn")
    where = lake.namespace("ns")
    lake.table(where, "t")
    root = Client.root(server)
    allowed = {"Effect": "Allow", "Action": "s3tables:GetTable", "Resource": "arn:aws:s3tables:::bucket/*"}
    root.ok("PUT", "/policies/looks", {"Version": "2012-10-17", "Statement": [allowed]})
    made = root.ok("POST", "/users", {"name": "looks", "policies": ["looks"]})
    reader = lake.seen_by(Client(server, made["name"], made["secret_key"]))
    etag = reader.call("GET", f"{where}/tables/t").headers["etag"]
    assert reader.call("GET", f"{where}/tables/t", if_none_match=etag).status == 304
    root.ok("PUT", "/policies/looks", {"Version": "2012-10-17", "Statement": [allowed | {"Effect": "Deny"}]})
    assert lake.call("GET", f"{where}/tables/t", if_none_match=etag).status == 304
    assert reader.call("GET", f"{where}/tables/t", if_none_match=etag).status == 403


def test_an_etag_knows_the_way_to_s3(server: LiveServer):
    """Another address of the server, another form of the answer, and credentials in it are each another ETag."""
    lake = Lake.made(server, "ways")
    where = lake.namespace("ns")
    lake.table(where, "t")
    path = f"{where}/tables/t"
    etag = lake.call("GET", path).headers["etag"]
    for changed in (f"{path}?snapshots=refs", path):
        vended = {} if "refs" in changed else {"X-Iceberg-Access-Delegation": "vended-credentials"}
        answer = lake.call("GET", changed, if_none_match=etag, **vended)
        assert (answer.status, answer.headers["etag"] != etag) == (200, True)
    named = LiveServer(
        server.process, server.data, server.log, "localhost", server.port, server.access_key, server.secret_key
    )
    other = Lake(Client.root(named), lake.warehouse).call("GET", path, if_none_match=etag)
    assert (other.status, other.headers["etag"] != etag) == (200, True)


def test_revoked_credentials_are_not_said_to_be_unchanged(server: LiveServer):
    """Once a user's sessions are revoked, a load brings credentials that work, whatever ETag it names."""
    lake = Lake.made(server, "revoked")
    where = lake.namespace("ns")
    place = lake.table(where, "t")["metadata"]["location"].removeprefix("s3:/")
    root = Client.root(server)
    allowed = {"Effect": "Allow", "Action": "s3tables:*", "Resource": "*"}
    root.ok("PUT", "/policies/writes", {"Version": "2012-10-17", "Statement": [allowed]})
    made = root.ok("POST", "/users", {"name": "writes", "policies": ["writes"]})
    writer = lake.seen_by(Client(server, made["name"], made["secret_key"]))
    vended = {"X-Iceberg-Access-Delegation": "vended-credentials"}
    writer.call("GET", f"{where}/tables/t", **vended)
    first = writer.call("GET", f"{where}/tables/t", **vended)
    assert lent(server, first).raw("PUT", f"{place}/f", b"x").status == 200
    root.ok("DELETE", "/users/writes/sessions")
    assert lent(server, first).raw("PUT", f"{place}/f", b"x").status == 400
    again = writer.call("GET", f"{where}/tables/t", if_none_match=first.headers["etag"], **vended)
    assert again.status == 200
    assert lent(server, again).raw("PUT", f"{place}/f", b"x").status == 200


def lent(server: LiveServer, answer: Answer) -> Client:
    """Return the client that an answer's credentials make."""
    found = answer.json["config"]
    return Client(server, found["s3.access-key-id"], found["s3.secret-access-key"], found["s3.session-token"])
