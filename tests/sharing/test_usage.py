"""What was read is counted by each worker, and written down now and then."""

import asyncio

import pytest

from lakeshare.sharing import usage
from lakeshare.sharing.operations import tokens
from lakeshare.sharing.operations.tokens import TokenCall
from lakeshare.sharing.operations.usage import GONE, GetUsage, get_usage
from lakeshare.sharing.usage import COUNTS, Counts, Ledger, Subject, last_used, totals
from lakeshare.state.port import State
from tests.sharing.estate import NOW, PEER, Estate

ONE = Subject("r1", "s1", "t1")
TWO = Subject("r1", "s1", "t2")


async def test_counts_of_all_workers_add_up(any_estate: Estate):
    """What several workers counted is summed, over any number of flushes, and after a worker's restart."""
    for worker in (0, 1, 0):
        ledger = Ledger(any_estate.state, worker)
        for at in (5, 9):
            ledger.count(ONE, Counts(1, 10, 1000, at, "HR.staff"))
            await ledger.flush()
        ledger.count(TWO, Counts(1, 1, 1, 7, "HR.pay"))
        await ledger.flush()
    found = await totals(any_estate.state)
    assert found[ONE] == Counts(6, 60, 6000, 9, "HR.staff")
    assert found[TWO] == Counts(3, 3, 3, 7, "HR.pay")


async def test_nothing_is_committed_for_a_request(any_estate: Estate):
    """Counting writes nothing; a flush writes once, and one with nothing to write not at all."""
    ledger = Ledger(any_estate.state, 0)
    before = await any_estate.state.newest()
    for _ in range(100):
        ledger.count(ONE, Counts(1, 1, 1, 1, "t"))
    assert await any_estate.state.newest() == before
    await ledger.flush()
    after = await any_estate.state.newest()
    assert after.generation == before.generation + 1
    await ledger.flush()
    assert await any_estate.state.newest() == after


async def test_many_tables_are_written_in_batches(estate: Estate):
    """More tables than one commit takes are written in several."""
    ledger = Ledger(estate.state, 0)
    for number in range(usage.BATCH * 2 + 1):
        ledger.count(Subject("r", "s", f"t{number}"), Counts(1, 1, 1, 1, f"t{number}"))
    await ledger.flush()
    assert len(await totals(estate.state)) == usage.BATCH * 2 + 1


async def test_memory_is_bounded(estate: Estate, monkeypatch: pytest.MonkeyPatch):
    """Beyond the bound what is read counts for the share as a whole."""
    monkeypatch.setattr(usage, "KEPT", 3)
    ledger = Ledger(estate.state, 0)
    for number in range(10):
        ledger.count(Subject("r", "s", f"t{number}"), Counts(1, 1, 1, 1, f"t{number}"))
    await ledger.flush()
    found = await totals(estate.state)
    assert found[Subject("r", "s", usage.OTHERS)].queries == 7
    assert len(found) == 4


async def test_uses_are_written_seldom(any_estate: Estate):
    """A use is noted once in half a minute for each token, and the newest of all workers counts."""
    await any_estate.share("sales", "HR/staff")
    access = await any_estate.admit(await any_estate.share_token("sales"))
    first, second = Ledger(any_estate.state, 0), Ledger(any_estate.state, 1)
    for ledger, times in ((first, (NOW, NOW + 1, NOW + 29)), (second, (NOW + 12,))):
        for now in times:
            ledger.used(access, now, PEER)
        await ledger.flush()
    credential = access.credential.id
    assert await last_used(any_estate.state, [credential]) == {credential: int(NOW) + 12}
    first.used(access, NOW + 31, PEER)
    await first.flush()
    assert (await last_used(any_estate.state, [credential, *map(str, range(60))]))[credential] == int(NOW) + 31


class Failing:
    """A state that fails once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.fails = True

    async def commit(self, transaction):
        from lakeshare.state.errors import StateUnavailable

        if self.fails:
            self.fails = False
            raise StateUnavailable("busy")
        return await self._state.commit(transaction)

    async def get(self, keys):
        return await self._state.get(keys)


async def test_what_could_not_be_written_is_written_later(estate: Estate):
    """When state does not answer, counts and uses are kept for the next flush."""
    await estate.share("sales", "HR/staff")
    access = await estate.admit(await estate.share_token("sales"))
    ledger = Ledger(Failing(estate.state), 0)
    ledger.count(ONE, Counts(1, 1, 1, 1, "t"))
    ledger.used(access, NOW, PEER)
    await ledger.flush()
    assert await totals(estate.state) == {}
    ledger.count(ONE, Counts(1, 1, 1, 2, "t"))
    await ledger.flush()
    assert (await totals(estate.state))[ONE].queries == 2
    assert await last_used(estate.state, [access.credential.id]) == {access.credential.id: int(NOW)}


async def test_the_end_writes_what_is_left(estate: Estate):
    """When a worker stops, what it counted is written down."""
    ledger = Ledger(estate.state, 0)
    async with ledger.kept():
        ledger.count(ONE, Counts(1, 2, 3, 4, "t"))
        await asyncio.sleep(0)
    assert (await totals(estate.state))[ONE] == Counts(1, 2, 3, 4, "t")


async def test_counting_is_no_change_of_sharing(estate: Estate):
    """What is counted lies beside sharing: no view is made anew for it."""
    await estate.share("sales", "HR/staff")
    view = await estate.view()
    ledger = Ledger(estate.state, 0)
    ledger.count(ONE, Counts(1, 1, 1, 1, "t"))
    await ledger.flush()
    assert await estate.view() is view
    assert COUNTS.prefix[0] != "sharing"


async def test_usage_is_shown_by_names(any_estate: Estate):
    """Usage names recipients and shares, those that are gone as such, and can be asked for one of them."""
    made = await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    acme = (await any_estate.view()).recipient("acme")
    ledger = Ledger(any_estate.state, 0)
    ledger.count(Subject(acme.id, made.share.id, "t1"), Counts(2, 3, 4, 5, "HR.staff"))
    ledger.count(Subject("gone", made.share.id, "t1"), Counts(1, 1, 1, 1, "HR.staff"))
    await ledger.flush()
    rows = await get_usage(any_estate.room, GetUsage())
    assert [(row.recipient, row.share, row.counts.queries) for row in rows] == [
        (GONE, "sales", 1),
        ("acme", "sales", 2),
    ]
    assert [row.recipient for row in await get_usage(any_estate.room, GetUsage("acme", "sales"))] == ["acme"]


async def test_what_belongs_to_nobody_is_cleared(any_estate: Estate):
    """Uses of tokens that are gone are cleared at once, counts of recipients that are gone after more than a year."""
    made = await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    acme = (await any_estate.view()).recipient("acme")
    kept, gone = await any_estate.recipient_token("acme"), await any_estate.share_token("sales")
    ledger = Ledger(any_estate.state, 0)
    for issued in (kept, gone):
        ledger.used(await any_estate.admit(issued), NOW, PEER)
    for recipient, at in ((acme.id, 1), ("gone", 1), ("left lately", int(NOW))):
        ledger.count(Subject(recipient, made.share.id, "t1"), Counts(1, 1, 1, at, "HR.staff"))
    await ledger.flush()
    await tokens.remove_token(any_estate.room, TokenCall(gone.credential.id, tokens.DELETE))
    assert await usage.clear_gone(any_estate.state, await any_estate.view(), NOW) == 2
    assert await last_used(any_estate.state, [kept.credential.id, gone.credential.id]) == {kept.credential.id: int(NOW)}
    assert {subject.recipient for subject in await totals(any_estate.state)} == {acme.id, "left lately"}
