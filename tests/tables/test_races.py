"""Writers against each other over two workers: no update is lost, no transaction is half, no name has two owners."""

import itertools
import random
from functools import partial
from typing import Any

import pytest

from tests.live import LiveServer
from tests.tables.lake import SCHEMA, Lake, set_property
from tests.tables.writers import Writer, all_at_once

WRITERS = 16
COMMITS = 6


@pytest.fixture(scope="module")
def lake(live_server: LiveServer) -> Lake:
    """A warehouse for the tests of this file."""
    found = Lake.made(live_server, "races")
    found.namespace("ns")
    return found


def crowd(server: LiveServer, lake: Lake, count: int = WRITERS) -> list[Writer]:
    return [Writer(server, lake.warehouse) for _ in range(count)]


def test_one_table_takes_all_its_writers(live_server: LiveServer, lake: Lake):
    """Sixteen writers that set properties of one table are all served, and none is told of a conflict."""
    lake.table("/{w}/namespaces/ns", "busy")
    answers: list[int] = []

    def work(number: int, writer: Writer) -> None:
        for turn in range(COMMITS):
            status, _ = writer.send("POST", "/namespaces/ns/tables/busy", set_property(f"p-{number}-{turn}", "x"))
            answers.append(status)
        writer.close()

    all_at_once([partial(work, number, writer) for number, writer in enumerate(crowd(live_server, lake))])
    assert set(answers) == {200}
    found = lake.ok("GET", "/{w}/namespaces/ns/tables/busy")["metadata"]
    wanted = {f"p-{number}-{turn}" for number in range(WRITERS) for turn in range(COMMITS)}
    assert wanted <= found["properties"].keys()
    versions = []
    token: str | None = ""
    while token is not None:
        page = lake.ok("GET", f"/{{w}}/namespaces/ns/tables/busy/history?pageToken={token}")
        versions += [each["version"] for each in page["versions"]]
        token = page["next-page-token"]
    assert versions == list(range(WRITERS * COMMITS, -1, -1))


def snapshot_commit(number: int, sequence: int, parent: int | None) -> dict[str, Any]:
    snapshot: dict[str, Any] = {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": 1_700_000_000_000 + sequence,
        "manifest-list": f"s3://nowhere/{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    if parent is not None:
        snapshot["parent-snapshot-id"] = parent
    ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
    return {
        "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": parent}],
        "updates": [{"action": "add-snapshot", "snapshot": snapshot}, ref],
    }


def test_no_append_is_lost(live_server: LiveServer, lake: Lake):
    """Writers that append, and load again when they are told of a conflict, leave one unbroken chain of snapshots."""
    lake.table("/{w}/namespaces/ns", "chain")
    ids = itertools.count(1)
    mine: list[int] = []

    def work(writer: Writer) -> None:
        done = 0
        while done < 3:
            _, found = writer.send("GET", "/namespaces/ns/tables/chain")
            metadata = found["metadata"]
            head = metadata["current-snapshot-id"]
            number = next(ids)
            body = snapshot_commit(number, metadata["last-sequence-number"] + 1, None if head == -1 else head)
            status, answer = writer.send("POST", "/namespaces/ns/tables/chain", body)
            assert status in (200, 409), answer
            if status == 200:
                mine.append(number)
                done += 1
        writer.close()

    all_at_once([partial(work, writer) for writer in crowd(live_server, lake, 6)])
    metadata = lake.ok("GET", "/{w}/namespaces/ns/tables/chain")["metadata"]
    parents = {each["snapshot-id"]: each.get("parent-snapshot-id") for each in metadata["snapshots"]}
    chain, head = [], metadata["current-snapshot-id"]
    while head is not None:
        chain.append(head)
        head = parents[head]
    assert sorted(chain) == sorted(mine)
    assert len(chain) == 18


def test_transactions_are_whole(live_server: LiveServer, lake: Lake):
    """Transactions over two of four tables leave what they set in both of them, whoever was quicker."""
    names = ["t0", "t1", "t2", "t3"]
    for name in names:
        lake.table("/{w}/namespaces/ns", name)
    done: list[tuple[str, tuple[str, str]]] = []

    def work(number: int, writer: Writer) -> None:
        chance = random.Random(number)
        for turn in range(COMMITS):
            pair = tuple(chance.sample(names, 2))
            key = f"w-{number}-{turn}"
            changes = [set_property(key, "x") | {"identifier": {"namespace": ["ns"], "name": name}} for name in pair]
            status, answer = writer.send("POST", "/transactions/commit", {"table-changes": changes})
            assert status == 204, answer
            done.append((key, (pair[0], pair[1])))
        writer.close()

    all_at_once([partial(work, number, writer) for number, writer in enumerate(crowd(live_server, lake))])
    found = {name: lake.ok("GET", f"/{{w}}/namespaces/ns/tables/{name}")["metadata"]["properties"] for name in names}
    assert len(done) == WRITERS * COMMITS
    for key, pair in done:
        assert [key in found[name] for name in names] == [name in pair for name in names]


def test_a_name_has_one_owner(live_server: LiveServer, lake: Lake):
    """Of writers that make a table of one name, or rename theirs to it, exactly one has it, and one its location."""
    for number in range(4):
        lake.table("/{w}/namespaces/ns", f"rival-{number}")
    won: list[int] = []

    def create(writer: Writer) -> None:
        status, _ = writer.send("POST", "/namespaces/ns/tables", {"name": "prize", "schema": SCHEMA})
        assert status in (200, 409)
        won.extend([status] * (status == 200))
        writer.close()

    def rename(number: int, writer: Writer) -> None:
        source = {"namespace": ["ns"], "name": f"rival-{number}"}
        body = {"source": source, "destination": {"namespace": ["ns"], "name": "prize"}}
        status, _ = writer.send("POST", "/tables/rename", body)
        assert status in (204, 409)
        won.extend([status] * (status == 204))
        writer.close()

    writers = crowd(live_server, lake, 8)
    works = [partial(create, writer) for writer in writers[4:]]
    all_at_once(works + [partial(rename, number, writer) for number, writer in enumerate(writers[:4])])
    assert len(won) == 1
    listed = [each["name"] for each in lake.ok("GET", "/{w}/namespaces/ns/tables")["identifiers"]]
    assert listed.count("prize") == 1


def test_a_namespace_is_dropped_or_filled(live_server: LiveServer, lake: Lake):
    """A namespace that is dropped while tables are made in it is gone without tables, or there with them."""
    for turn in range(4):
        where = lake.namespace(f"raced-{turn}")
        results: dict[str, int] = {}

        def create(writer: Writer, path: str = where, found: dict[str, int] = results) -> None:
            status, _ = writer.send("POST", path.removeprefix("/{w}") + "/tables", {"name": "t", "schema": SCHEMA})
            found["create"] = status
            writer.close()

        def drop(writer: Writer, path: str = where, found: dict[str, int] = results) -> None:
            found["drop"], _ = writer.send("DELETE", path.removeprefix("/{w}"))
            writer.close()

        first, second = crowd(live_server, lake, 2)
        all_at_once([partial(create, first), partial(drop, second)])
        assert results in ({"create": 200, "drop": 409}, {"create": 404, "drop": 204})
