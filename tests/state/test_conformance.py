"""The laws of the state port, for every implementation."""

import asyncio

import pytest

from lakeshare.errors import Kind
from lakeshare.state import limits
from lakeshare.state.errors import BadKey, BadTransaction, OverLimit, ReceiptReused
from lakeshare.state.keys import Key
from lakeshare.state.port import (
    Absent,
    Applied,
    Archive,
    At,
    Changed,
    Conflict,
    Cursor,
    Delete,
    Empty,
    Exists,
    Expectation,
    FellBehind,
    News,
    Put,
    Receipt,
    Record,
    Repeated,
    Transaction,
)
from tests.state.conftest import FEED_ENTRIES, Clock


async def put(state: Archive, *keys: Key, value: bytes = b"v", note: bytes = b"") -> int:
    outcome = await state.commit(Transaction(changes=tuple(Put(key, value) for key in keys), note=note))
    assert isinstance(outcome, Applied)
    return outcome.generation


async def keys_under(state: Archive, *prefix: str | bytes) -> list[Key]:
    return [record.key for record in (await state.scan(prefix)).records]


async def test_a_put_is_read_back_with_its_generation(state: Archive) -> None:
    """What a commit puts is there for the next read, with the generation the commit answered."""
    generation = await put(state, ("share", "sales"), value=b"\x00\xff facts")
    assert await state.get([("share", "sales"), ("share", "none")]) == {
        ("share", "sales"): Record(("share", "sales"), b"\x00\xff facts", generation),
        ("share", "none"): None,
    }


async def test_generations_count_commits(state: Archive) -> None:
    """Each applied commit takes the next generation, whatever it changes, and a refused one takes none."""
    assert await put(state, ("a",), ("b",)) == 1
    assert await state.commit(Transaction((Absent(("a",)),))) == Conflict((Absent(("a",)),))
    assert await state.commit(Transaction()) == Applied(2)
    assert await put(state, ("a",)) == 3
    assert (await state.newest()).generation == 3


async def test_a_key_made_again_has_another_generation(state: Archive) -> None:
    """A key deleted and made again with the same value does not satisfy an expectation of the first."""
    first = await put(state, ("a",))
    await state.commit(Transaction(changes=(Delete(("a",)),)))
    second = await put(state, ("a",))
    assert second > first
    assert await state.commit(Transaction((At(("a",), first),))) == Conflict((At(("a",), first),))
    assert await state.commit(Transaction((At(("a",), second),))) == Applied(second + 1)


@pytest.mark.parametrize(
    ("expectation", "holds"),
    [
        (At(("there",), 1), True),
        (At(("there",), 2), False),
        (At(("gone",), 1), False),
        (At(("gone",), 0), False),
        (Absent(("gone",)), True),
        (Absent(("there",)), False),
        (Exists(("there",)), True),
        (Exists(("gone",)), False),
        (Empty(("there",)), True),
        (Empty(("gone",)), True),
        (Empty(("parent",)), False),
        (Empty(("parent", "child")), True),
        (Empty(("paren",)), True),
        (Empty(()), False),
    ],
)
async def test_an_expectation_decides(state: Archive, expectation: Expectation, holds: bool) -> None:
    """A commit is applied exactly when its expectation holds, and otherwise says which one did not."""
    await put(state, ("there",), ("parent", "child"))
    outcome = await state.commit(Transaction((expectation,), (Put(("new",), b""),)))
    assert outcome == (Applied(2) if holds else Conflict((expectation,)))
    assert ((await state.get([("new",)]))[("new",)] is not None) == holds


async def test_every_commit_changes_the_pulse(state: Archive) -> None:
    """The pulse is another after each answered commit, and stays what it is while nothing is committed."""
    seen = {state.pulse()}
    for number in range(3):
        await put(state, ("a", str(number)))
        assert state.pulse() not in seen
        seen.add(state.pulse())
    await state.get([("a", "0")])
    assert state.pulse() in seen


async def test_a_conflict_names_every_expectation_that_failed_and_changes_nothing(state: Archive) -> None:
    """A conflict lists what failed in the order it was given; no change of the transaction is made."""
    await put(state, ("a",))
    before = await state.newest()
    wrong = (Absent(("a",)), At(("a",), 7), Exists(("b",)))
    outcome = await state.commit(
        Transaction((wrong[0], Exists(("a",)), *wrong[1:]), (Delete(("a",)), Put(("b",), b"")))
    )
    assert outcome == Conflict(wrong)
    assert await keys_under(state) == [("a",)]
    assert await state.newest() == before


async def test_one_key_may_be_expected_itself_and_as_a_prefix(state: Archive) -> None:
    """A namespace is dropped only as it was read and only while nothing lies below it."""
    generation = await put(state, ("ns", "a"))
    drop = Transaction((At(("ns", "a"), generation), Empty(("ns", "a"))), (Delete(("ns", "a")),))
    child = await put(state, ("ns", "a", "b"))
    assert await state.commit(drop) == Conflict((Empty(("ns", "a")),))
    await state.commit(Transaction((At(("ns", "a", "b"), child),), (Delete(("ns", "a", "b")),)))
    assert isinstance(await state.commit(drop), Applied)


async def test_deleting_what_is_absent_is_no_error(state: Archive) -> None:
    """A delete of an absent key is applied and changes nothing."""
    assert await state.commit(Transaction(changes=(Delete(("a",)),))) == Applied(1)
    assert await keys_under(state) == []


async def test_exactly_one_of_many_racers_wins(state: Archive) -> None:
    """Of commits that expect the same generation exactly one is applied."""
    generation = await put(state, ("a",))

    async def race(number: int) -> bool:
        mine = Transaction((At(("a",), generation),), (Put(("a",), b"%d" % number),))
        return isinstance(await state.commit(mine), Applied)

    won = await asyncio.gather(*[race(number) for number in range(16)])
    assert sum(won) == 1
    record = (await state.get([("a",)]))[("a",)]
    assert record is not None
    assert record.value == b"%d" % won.index(True)


async def test_increments_are_not_lost(state: Archive) -> None:
    """Counters that are read, raised and written under an expectation lose no increment."""
    await put(state, ("count",), value=b"0")

    async def raise_by(times: int) -> None:
        done = 0
        while done < times:
            record = (await state.get([("count",)]))[("count",)]
            assert record is not None
            raised = Put(("count",), b"%d" % (int(record.value) + 1))
            done += isinstance(
                await state.commit(Transaction((At(record.key, record.generation),), (raised,))), Applied
            )

    await asyncio.gather(*[raise_by(10) for _ in range(8)])
    record = (await state.get([("count",)]))[("count",)]
    assert record is not None
    assert record.value == b"80"


async def test_a_prefix_means_whole_parts_and_at_least_one_more(state: Archive) -> None:
    """A scan finds the keys below its prefix: not the prefix itself, and not a name that only begins like it."""
    await put(
        state, ("t",), ("t", "a"), ("t", "a", "x"), ("t1", "a"), ("t", "b"), ("s", "a"), ("t\x00", "a"), (b"t", "a")
    )
    assert await keys_under(state, "t") == [("t", "a"), ("t", "a", "x"), ("t", "b")]
    assert await keys_under(state, "t", "a") == [("t", "a", "x")]
    assert await keys_under(state, b"t") == [(b"t", "a")]
    assert len(await keys_under(state)) == 8


async def test_a_scan_is_ordered(state: Archive) -> None:
    """Keys come part by part, bytes before strings, strings by code point, and a key before those it begins."""
    ordered: list[Key] = [
        ("k", b""),
        ("k", b"\x00"),
        ("k", b"\xff"),
        ("k", ""),
        ("k", "", "a"),
        ("k", "\x00"),
        ("k", "a"),
        ("k", "a", "z"),
        ("k", "a\x00b"),
        ("k", "aa"),
        ("k", "b"),
        ("k", "é"),
        ("k", "\uffff"),
        ("k", "😀"),
    ]
    await put(state, *reversed(ordered))
    assert await keys_under(state, "k") == ordered


@pytest.mark.parametrize("limit", [1, 3, 7, 100, limits.MAX_PAGE_ROWS])
async def test_pages_join_without_a_gap_or_a_repeat(state: Archive, limit: int) -> None:
    """Going on from a page's end until there is none yields every key once, and no page is over its limit."""
    expected: list[Key] = [("n", f"{number:03}") for number in range(200)]
    await put(state, *expected, ("m", "x"), ("o", "x"))
    found: list[Key] = []
    after: Key | None = None
    while True:
        page = await state.scan(("n",), after, limit)
        assert len(page.records) <= limit
        found += [record.key for record in page.records]
        if (after := page.next_after) is None:
            break
    assert found == expected


async def test_a_scan_may_begin_after_a_key_that_is_not_there(state: Archive) -> None:
    """`after` is a place in the order: before the prefix it changes nothing, behind it nothing is left."""
    await put(state, ("n", "a"), ("n", "c"))
    assert [record.key for record in (await state.scan(("n",), ("n", "b"))).records] == [("n", "c")]
    assert len((await state.scan(("n",), ("m", "z"))).records) == 2
    assert (await state.scan(("n",), ("o",))).records == ()


async def test_a_page_is_bounded_by_bytes_too(state: Archive) -> None:
    """A page of large values ends early, and says where to go on."""
    keys: list[Key] = [("n", str(number)) for number in range(10)]
    for key in keys:
        await put(state, key, value=bytes(limits.MAX_VALUE_BYTES))
    page = await state.scan(("n",))
    assert [record.key for record in page.records] == keys[: limits.MAX_PAGE_BYTES // limits.MAX_VALUE_BYTES]
    rest = await state.scan(("n",), page.next_after)
    assert [*page.records, *rest.records][-1].key == keys[-1]


async def test_a_get_of_no_key_is_empty(state: Archive) -> None:
    """Asking for nothing gives nothing."""
    assert await state.get([]) == {}


async def test_a_get_takes_many_keys(state: Archive) -> None:
    """As many keys as the limit allows are read at once."""
    keys: list[Key] = [("n", str(number)) for number in range(limits.MAX_GET_KEYS)]
    await put(state, *keys)
    assert all(record is not None for record in (await state.get(keys)).values())
    with pytest.raises(OverLimit):
        await state.get([*keys, ("one more",)])


@pytest.mark.parametrize(
    "key",
    [(), ("\ud800",), ("a",) * (limits.MAX_KEY_PARTS + 1), ("x" * limits.MAX_KEY_BYTES,), (7,), ("a", None)],
)
async def test_what_cannot_be_a_key_is_refused(state: Archive, key: Key) -> None:
    """No verb takes a key without parts, with half a character, of another type, or over the limits."""
    with pytest.raises(BadKey):
        await state.commit(Transaction(changes=(Put(key, b""),)))
    with pytest.raises(BadKey):
        await state.commit(Transaction((Absent(key),)))
    with pytest.raises(BadKey):
        await state.get([key])


def _receipt(**changes: object) -> Receipt:
    given = {"owner": "alice", "key": "k1", "digest": b"d1", "answer": b"made", "lifetime_seconds": 60, **changes}
    return Receipt(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "transaction",
    [
        Transaction(changes=(Put(("a",), bytes(limits.MAX_VALUE_BYTES + 1)),)),
        Transaction(changes=tuple(Put((str(n),), bytes(limits.MAX_VALUE_BYTES)) for n in range(9))),
        Transaction(changes=tuple(Put((str(n),), b"") for n in range(limits.MAX_CHANGES + 1))),
        Transaction(expect=tuple(Absent((str(n),)) for n in range(limits.MAX_EXPECTATIONS + 1))),
        Transaction(note=bytes(limits.MAX_NOTE_BYTES + 1)),
        Transaction(receipt=_receipt(owner="x" * 513)),
        Transaction(receipt=_receipt(key="x" * 513)),
        Transaction(receipt=_receipt(digest=bytes(65))),
        Transaction(receipt=_receipt(answer=bytes(limits.MAX_ANSWER_BYTES + 1))),
        Transaction(receipt=_receipt(lifetime_seconds=limits.MAX_RECEIPT_SECONDS + 1)),
    ],
)
async def test_a_transaction_over_a_limit_is_refused(state: Archive, transaction: Transaction) -> None:
    """Each limit is an error that says it, and nothing is applied."""
    with pytest.raises(OverLimit) as caught:
        await state.commit(transaction)
    assert caught.value.kind is Kind.TOO_LARGE
    assert (await state.newest()).generation == 0


@pytest.mark.parametrize(
    "transaction",
    [
        Transaction(changes=(Put(("a",), b"1"), Put(("a",), b"2"))),
        Transaction(changes=(Put(("a",), b"1"), Delete(("a",)))),
        Transaction(receipt=_receipt(lifetime_seconds=0)),
    ],
)
async def test_a_transaction_that_contradicts_itself_is_refused(state: Archive, transaction: Transaction) -> None:
    """No key changes twice in one transaction, and no receipt is dead at birth."""
    with pytest.raises(BadTransaction):
        await state.commit(transaction)


@pytest.mark.parametrize("name", ["\ud800", "a\x00b"])
async def test_a_receipt_has_a_clean_name(state: Archive, name: str) -> None:
    """A receipt's name is whole characters without NUL, which every database can keep."""
    with pytest.raises(BadKey):
        await state.commit(Transaction(receipt=_receipt(key=name)))


@pytest.mark.parametrize("limit", [0, -1, limits.MAX_PAGE_ROWS + 1])
async def test_a_page_has_a_sensible_limit(state: Archive, limit: int) -> None:
    """Pages of nothing and pages over the limit are refused, of records and of the feed."""
    with pytest.raises((BadTransaction, OverLimit)):
        await state.scan(("a",), None, limit)
    with pytest.raises((BadTransaction, OverLimit)):
        await state.changes(await state.newest(), limit)


async def test_a_repeat_is_told_the_first_answer(state: Archive) -> None:
    """A commit whose receipt is kept changes nothing, though its expectations no longer hold."""
    create = Transaction((Absent(("a",)),), (Put(("a",), b"v"),), _receipt())
    assert await state.commit(create) == Applied(1)
    assert await state.commit(create) == Repeated(1, b"made")
    assert (await state.newest()).generation == 1
    kept = await state.receipt("alice", "k1")
    assert kept is not None
    assert (kept.digest, kept.answer, kept.generation) == (b"d1", b"made", 1)


async def test_a_conflict_leaves_no_receipt(state: Archive) -> None:
    """A refused commit may be tried again under the same receipt."""
    await put(state, ("a",))
    assert isinstance(await state.commit(Transaction((Absent(("a",)),), (), _receipt())), Conflict)
    assert await state.receipt("alice", "k1") is None
    assert await state.commit(Transaction((Exists(("a",)),), (), _receipt())) == Applied(2)


async def test_a_receipt_belongs_to_one_owner_and_one_request(state: Archive) -> None:
    """Another owner's key is another receipt; the same key for another request is refused."""
    assert await state.commit(Transaction(receipt=_receipt())) == Applied(1)
    assert await state.commit(Transaction(receipt=_receipt(owner="bob", digest=b"d2"))) == Applied(2)
    with pytest.raises(ReceiptReused):
        await state.commit(Transaction(changes=(Put(("a",), b""),), receipt=_receipt(digest=b"d2")))
    assert (await state.newest()).generation == 2


async def test_receipts_expire(state: Archive, clock: Clock) -> None:
    """A receipt counts until its lifetime is over, then its key is free for any request."""
    await state.commit(Transaction(receipt=_receipt()))
    clock.move(59.9)
    assert isinstance(await state.commit(Transaction(receipt=_receipt())), Repeated)
    clock.move(0.1)
    assert await state.receipt("alice", "k1") is None
    assert await state.commit(Transaction(receipt=_receipt(digest=b"d2"))) == Applied(2)


async def test_expired_receipts_are_swept(state: Archive, clock: Clock) -> None:
    """Receipts that have expired go away as others arrive, so that they do not pile up."""
    for number in range(3 * limits.RECEIPT_SWEEP):
        await state.commit(Transaction(receipt=_receipt(key=str(number))))
    clock.move(60)
    for number in range(3):
        await state.commit(Transaction(receipt=_receipt(key=f"new {number}")))
    clock.move(-60)
    left = [await state.receipt("alice", str(number)) for number in range(3 * limits.RECEIPT_SWEEP)]
    assert left == [None] * len(left)


async def test_the_feed_tells_each_commit_once_in_order(state: Archive, clock: Clock) -> None:
    """After a cursor come the commits since, oldest first, each with its keys, its note and its time."""
    begin = await state.newest()
    await put(state, ("a",), ("b",), note=b"made")
    clock.move(1.5)
    await state.commit(Transaction(changes=(Delete(("a",)), Put(("c", b"\x00"), b""))))
    news = await state.changes(begin)
    assert isinstance(news, News)
    assert [(commit.generation, commit.changes, commit.note) for commit in news.commits] == [
        (1, (Changed(("a",), deleted=False), Changed(("b",), deleted=False)), b"made"),
        (2, (Changed(("a",), deleted=True), Changed(("c", b"\x00"), deleted=False)), b""),
    ]
    assert news.commits[1].committed_at_ms - news.commits[0].committed_at_ms == 1500
    assert news.cursor == await state.newest()
    assert await state.changes(news.cursor) == News((), news.cursor)


async def test_the_feed_is_read_in_pages(state: Archive) -> None:
    """A page of the feed ends at its limit, and its cursor goes on."""
    cursor = await state.newest()
    for number in range(10):
        await put(state, (str(number),))
    seen: list[int] = []
    for _ in range(4):
        news = await state.changes(cursor, 3)
        assert isinstance(news, News)
        seen += [commit.generation for commit in news.commits]
        cursor = news.cursor
    assert seen == list(range(1, 11))


async def test_a_cursor_that_fell_behind_is_told_so(state: Archive) -> None:
    """The feed keeps its last commits only; an older cursor is told where to go on after reading everything."""
    cursors = [await state.newest()]
    for number in range(FEED_ENTRIES + 5):
        await put(state, (str(number),))
        cursors.append(await state.newest())
    for number, cursor in enumerate(cursors):
        answer = await state.changes(cursor)
        if number < 5:
            assert answer == FellBehind(cursors[-1])
        else:
            assert isinstance(answer, News)
            assert len(answer.commits) == len(cursors) - 1 - number


async def test_a_cursor_of_another_history_fell_behind(state: Archive) -> None:
    """A cursor of another epoch, or from the future, is not believed."""
    await put(state, ("a",))
    now = await state.newest()
    assert await state.changes(Cursor("another", 1)) == FellBehind(now)
    assert await state.changes(Cursor("another", 0)) == FellBehind(now)
    assert await state.changes(Cursor(now.epoch, 2)) == FellBehind(now)


async def test_an_untouched_state_stands_still(state: Archive) -> None:
    """Reading moves nothing: the newest place stays until a commit."""
    place = await state.newest()
    await state.get([("a",)])
    await state.scan(())
    assert await state.newest() == place


async def test_a_sound_state_checks_clean(state: Archive) -> None:
    """Nothing is found wrong with what commits made."""
    for number in range(FEED_ENTRIES + 2):
        await put(state, ("a", str(number)))
    assert list(await state.check()) == []
