"""Commits when others come between, when answers are lost, and when the last step fails."""

from functools import partial

import pytest

from lakeshare.formats.iceberg.creating import parse_create_table
from lakeshare.formats.iceberg.errors import RequirementFailed
from lakeshare.state.errors import StateUnknown
from lakeshare.state.keys import ordinal
from lakeshare.storage.port import Delete, Put
from lakeshare.tables.errors import CommitFailed, CommitStateUnknown, MetadataFileChanged, MetadataFileMissing
from lakeshare.tables.model.names import Identifier
from lakeshare.tables.model.places import place_of
from lakeshare.tables.operations import commit as commits
from lakeshare.tables.operations.commit import Commit, commit
from lakeshare.tables.operations.receipts import Once, refuse_once
from lakeshare.tables.operations.tables import CreateTable, Made, create_table
from lakeshare.tables.records import VERSIONS
from tests.tables.estate import Estate
from tests.tables.lake import SCHEMA


async def rival(estate: Estate, key: str, *names: str) -> None:
    """Commit as another worker does."""
    other = estate.beside()
    await commit(other.room, await other.setting(key, *names))


async def test_a_lost_race_is_run_again():
    """A commit that others came before is made on what they left, and its first metadata file is gone."""
    estate = Estate()
    await estate.table()
    mine = await estate.setting("mine", "t")
    estate.state.before = [partial(rival, estate, "theirs", "t")]
    (step,) = await commit(estate.room, mine)
    assert {"mine", "theirs"} <= (await estate.properties("t")).keys()
    assert step.pointer.version == 2
    assert len(await estate.files()) == 3


async def test_a_failed_requirement_is_not():
    """A requirement that held when the client looked, and does not now, is refused, and leaves no file."""
    estate = Estate()
    made = await estate.table()
    schema = {"action": "set-properties", "updates": {"a": "b"}}
    requirement = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}
    with pytest.raises(RequirementFailed):
        await commit(estate.room, Commit((await estate.change("t", [requirement], schema),), "root"))
    assert await estate.files() == [str(place_of(made.pointer.metadata_location).key)]


async def test_a_race_without_end_is_a_conflict(monkeypatch: pytest.MonkeyPatch):
    """After its deadline a commit is given up, and definitely not applied."""
    monkeypatch.setattr(commits, "DEADLINE_SECONDS", 0.0)
    estate = Estate()
    await estate.table()
    mine = await estate.setting("mine", "t")
    estate.state.before = [partial(rival, estate, "theirs", "t")]
    with pytest.raises(CommitFailed):
        await commit(estate.room, mine)
    assert "mine" not in await estate.properties("t")


async def test_a_lost_answer_is_looked_for():
    """A commit whose answer is lost is found by its metadata file; one that was not made is said to be unknown."""
    estate = Estate()
    await estate.table()
    estate.state.lose = [True]
    (step,) = await commit(estate.room, await estate.setting("a", "t"))
    assert "a" in await estate.properties("t")
    assert step.pointer.version == 1
    estate.state.lose = [False]
    with pytest.raises(CommitStateUnknown):
        await commit(estate.room, await estate.setting("b", "t"))


async def test_with_a_key_a_lost_answer_is_asked_for_again():
    """A commit with an idempotency key is sent to state again, and is applied once whether or not it was before."""
    estate = Estate()
    await estate.table()
    for lost, key in ((True, "a"), (False, "b")):
        once = Once("root", f"key-{key}", key.encode())
        estate.state.lose = [lost]
        await commit(estate.room, await estate.setting(key, "t", once=once))
        again = await commit(estate.room, await estate.setting(key, "t", once=once))
        assert key in await estate.properties("t")
    assert again[0].pointer.version == 2


async def test_several_tables_move_together():
    """When one of several tables was changed by others, all are made anew, and the log of each has one line more."""
    estate = Estate()
    for name in "abc":
        await estate.table(name)
    mine = await estate.setting("mine", "a", "b", "c")
    estate.state.before = [partial(rival, estate, "theirs", "b")]
    steps = await commit(estate.room, mine)
    assert [step.pointer.version for step in steps] == [1, 2, 1]
    assert {"mine", "theirs"} <= (await estate.properties("b")).keys()
    for step in steps:
        for number in range(step.pointer.version + 1):
            assert await VERSIONS.get(estate.state, step.pointer.history, ordinal(number)) is not None
    assert len(await estate.files()) == 7


async def test_nothing_to_do_writes_nothing():
    """A commit that changes nothing writes no file and no line."""
    estate = Estate()
    await estate.table()
    await commit(estate.room, await estate.setting("a", "t"))
    files = await estate.files()
    (step,) = await commit(estate.room, await estate.setting("a", "t"))
    assert step.plan is None
    assert await estate.files() == files


async def test_only_what_was_committed_is_loaded():
    """A metadata file with other bytes than were committed is refused, and so is one that is gone."""
    estate = Estate()
    made = await estate.table()
    place = place_of(made.pointer.metadata_location)
    other = estate.beside()
    async with estate.store.stage(frozenset()) as staging:
        await staging.write(b"{}")
        await estate.store.put(Put(place.bucket, place.key), staging)
    with pytest.raises(MetadataFileChanged):
        await other.room.files.shown(made.pointer)
    await estate.store.delete(place.bucket, [Delete(place.key)])
    with pytest.raises(MetadataFileMissing, match="Failed to open input stream for file: s3://lake/"):
        await other.room.files.shown(made.pointer)
    assert (await estate.room.files.shown(made.pointer))[0].startswith(b'{"format-version"')


async def test_a_table_whose_answer_is_lost_is_made_once():
    """A creation with a key whose answer is lost is made once, and its metadata file is there."""
    estate = Estate()
    await estate.table()
    warehouse, identifier = await estate.warehouse(), Identifier(("ns",), "born")
    new = parse_create_table({"name": "born", "schema": SCHEMA})
    for lost in (True, False):
        once = Once("root", f"key-{lost}", b"digest")
        estate.state.lose = [lost]
        made = await create_table(estate.room, CreateTable(warehouse, identifier, new, "root", once))
        assert isinstance(made, Made)
        assert (await estate.beside().room.files.table(made.pointer)).uuid == made.uuid
        identifier = Identifier(("ns",), "again")


async def test_a_refusal_that_may_be_another_effect_is_unknown():
    """Where state does not say whether a twin of the request had its effect, nobody is told that there was none."""
    estate = Estate()
    refusal = Once("root", "key", b"digest").refusal(409, "CommitFailedException", "no")
    estate.state.lose = [False, False]
    with pytest.raises(StateUnknown):
        await refuse_once(estate.state, refusal)
    estate.state.lose = [True]
    assert await refuse_once(estate.state, refusal) is True
