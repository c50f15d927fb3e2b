"""Deciding and repeating are right whatever happens to a commit on its way."""

import asyncio
import itertools

import pytest

from lakeshare.state.decide import MAX_ATTEMPTS, commit_surely, decide
from lakeshare.state.errors import Contended, StateUnavailable, StateUnknown
from lakeshare.state.port import Absent, Applied, Archive, At, Conflict, Put, Receipt, Repeated, State, Transaction
from tests.state.faulty import Crashed, Fault, Faulty

COUNT = ("count",)


async def count(state: State) -> int:
    record = (await state.get([COUNT]))[COUNT]
    return 0 if record is None else int(record.value)


async def increment(state: State, receipt: Receipt | None = None) -> Transaction:
    """Plan to raise the counter as it is now."""
    record = (await state.get([COUNT]))[COUNT]
    expect = Absent(COUNT) if record is None else At(COUNT, record.generation)
    return Transaction((expect,), (Put(COUNT, b"%d" % (await count(state) + 1)),), receipt)


def receipt(key: str = "k") -> Receipt:
    return Receipt("o", key, b"d", b"answer", 60)


async def test_a_decision_is_made_again_until_nobody_comes_between(state: Archive) -> None:
    """Eight deciders raise one counter together, and each raise counts."""
    await asyncio.gather(*[decide(state, lambda: increment(state), attempts=100) for _ in range(8)])
    assert await count(state) == 8


async def test_a_decision_gives_up_after_its_attempts(state: Archive) -> None:
    """A plan that never fits is an error that names what failed, after the attempts allowed."""
    await state.commit(await increment(state))
    tries = itertools.count()

    async def stubborn() -> Transaction:
        next(tries)
        return Transaction((Absent(COUNT),))

    with pytest.raises(Contended) as caught:
        await decide(state, stubborn)
    assert next(tries) == MAX_ATTEMPTS
    assert caught.value.failed == (Absent(COUNT),)


LOST = [Fault.DROP_ANSWER, Fault.DROP_REQUEST, Fault.DUPLICATE, Fault.NONE]


@pytest.mark.parametrize(
    "plan", list(itertools.product(LOST, repeat=3)), ids=lambda plan: "-".join(f.name for f in plan)
)
async def test_a_commit_with_a_receipt_is_applied_once_whatever_is_lost(
    state: Archive, plan: tuple[Fault, ...]
) -> None:
    """Requests and answers lost or doubled in any order leave one increment, and the caller knows it."""
    faulty = Faulty(state, plan)
    outcome = await commit_surely(faulty, await increment(state, receipt()))
    assert isinstance(outcome, Applied | Repeated)
    assert outcome.generation == 1
    assert await count(state) == 1


async def test_a_commit_without_a_receipt_is_not_repeated(state: Archive) -> None:
    """Where a repeat could be applied twice, the caller is told that the outcome is unknown."""
    faulty = Faulty(state, [Fault.DROP_ANSWER])
    with pytest.raises(StateUnknown):
        await commit_surely(faulty, await increment(state))
    assert (faulty.applied, await count(state)) == (1, 1)


async def test_repeats_end(state: Archive) -> None:
    """When every answer is lost the caller is told so in the end."""
    faulty = Faulty(state, itertools.repeat(Fault.DROP_ANSWER))
    with pytest.raises(StateUnknown):
        await commit_surely(faulty, await increment(state, receipt()))
    assert await count(state) == 1


@pytest.mark.parametrize(("fault", "applied"), [(Fault.CRASH_BEFORE, 0), (Fault.CRASH_AFTER, 1)])
async def test_a_crash_leaves_all_or_nothing_and_a_repeat_finishes_it(
    state: Archive, fault: Fault, applied: int
) -> None:
    """After a crash the client's repeat gives one increment, whichever side of the commit it fell on."""
    faulty = Faulty(state, [fault])
    raised = await increment(state, receipt())
    with pytest.raises(Crashed):
        await faulty.commit(raised)
    with pytest.raises(StateUnavailable):
        await faulty.get([COUNT])
    faulty.restart()
    assert await count(faulty) == applied
    outcome = await faulty.commit(raised)
    assert isinstance(outcome, Repeated if applied else Applied)
    assert await count(faulty) == 1


async def test_a_delayed_commit_meets_what_overtook_it(state: Archive) -> None:
    """A commit that arrives late is judged by what is true then."""
    faulty = Faulty(state, [Fault.DELAY])
    late = asyncio.create_task(faulty.commit(await increment(state)))
    await asyncio.sleep(0)
    overtaking = await faulty.commit(await increment(state))
    faulty.release()
    assert overtaking == Applied(1)
    assert await late == Conflict((Absent(COUNT),))
    assert await count(state) == 1


async def test_a_duplicate_without_a_receipt_conflicts_with_itself(state: Archive) -> None:
    """An expectation alone keeps a doubled request from being applied twice."""
    faulty = Faulty(state, [Fault.DUPLICATE])
    assert await faulty.commit(await increment(state)) == Conflict((Absent(COUNT),))
    assert await count(state) == 1
