"""An export holds all of state, and an import of it is that state again."""

import io
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.state.errors import BadExport, NotEmpty
from lakeshare.state.export import Summary, export_state, import_state, verify_export
from lakeshare.state.lines import read_line, write_line
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import (
    Applied,
    Archive,
    Delete,
    FellBehind,
    Head,
    KeptReceipt,
    Put,
    Receipt,
    Record,
    Repeated,
    Transaction,
)
from tests.state.conftest import Clock
from tests.state.test_keys import keys, texts


async def fill(state: Archive) -> None:
    """Make a state with text and bytes, gaps in its generations, and receipts."""
    await state.commit(Transaction(changes=tuple(Put(("bulk", f"{n:05}"), b"%d" % n) for n in range(900))))
    await state.commit(Transaction(changes=tuple(Put(("bulk", f"{n:05}"), b"%d" % n) for n in range(900, 1500))))
    await state.commit(
        Transaction(changes=(Put(("a", b"\x00\xff", "é\x00"), b"\xff\x00"), Put(("a",), '{"é":1}'.encode())))
    )
    await state.commit(Transaction(changes=(Delete(("bulk", "00007")),)))
    await state.commit(Transaction(receipt=Receipt("z", "k", b"\xffd", b"text", 60)))
    await state.commit(Transaction(receipt=Receipt("alice", "k", b"d", b"\xff", 600)))


async def exported(state: Archive) -> bytes:
    target = io.BytesIO()
    await export_state(state, target)
    return target.getvalue()


async def everything(state: Archive) -> list[Record]:
    found: list[Record] = []
    after = None
    while True:
        page = await state.scan((), after)
        found += page.records
        if (after := page.next_after) is None:
            return found


async def test_an_import_of_an_export_is_the_identity(make_state: Callable[[str], Archive]) -> None:
    """Records, generations and receipts are the same, the newest generation too, and so is a second export."""
    first, second = make_state("first"), make_state("second")
    await fill(first)
    data = await exported(first)
    summary = await import_state(second, io.BytesIO(data))
    assert summary == Summary(generation=6, records=1501, receipts=2)
    assert await everything(second) == await everything(first)
    assert (await second.newest()).generation == (await first.newest()).generation
    assert await second.receipt("z", "k") == await first.receipt("z", "k")
    assert await exported(second) == data
    assert verify_export(io.BytesIO(data)) == summary


async def test_both_states_export_the_same_bytes(state: Archive, clock: Clock) -> None:
    """The export tells nothing of what kept the state."""
    other = MemoryState(clock=clock)
    await fill(state)
    await fill(other)
    assert await exported(state) == await exported(other)


async def test_history_goes_on_after_an_import(make_state: Callable[[str], Archive]) -> None:
    """The next commit takes the next generation, the feed begins anew, and old cursors are told so."""
    first, second = make_state("first"), make_state("second")
    await fill(first)
    old = await first.newest()
    await import_state(second, io.BytesIO(await exported(first)))
    begin = await second.newest()
    assert isinstance(await second.changes(old), FellBehind)
    assert await second.commit(Transaction(changes=(Put(("a",), b""),))) == Applied(7)
    news = await second.changes(begin)
    assert not isinstance(news, FellBehind)
    assert [commit.generation for commit in news.commits] == [7]
    repeat = Transaction(receipt=Receipt("z", "k", b"\xffd", b"other", 60))
    assert await second.commit(repeat) == Repeated(5, b"text")


async def test_an_empty_state_is_exported_too(make_state: Callable[[str], Archive]) -> None:
    """Nothing is two lines, and comes back as nothing."""
    data = await exported(make_state("first"))
    assert data.count(b"\n") == 2
    second = make_state("second")
    await import_state(second, io.BytesIO(data))
    assert await exported(second) == data


async def test_expired_receipts_are_left_out(state: Archive, clock: Clock) -> None:
    """A receipt that no longer counts is not carried on."""
    await fill(state)
    clock.move(60)
    assert verify_export(io.BytesIO(await exported(state))).receipts == 1


async def test_an_import_overwrites_only_when_asked(make_state: Callable[[str], Archive]) -> None:
    """A state that holds something refuses an import, and is replaced whole when told to."""
    first, second = make_state("first"), make_state("second")
    await fill(first)
    await second.commit(Transaction(changes=(Put(("mine",), b""),)))
    data = await exported(first)
    with pytest.raises(NotEmpty):
        await import_state(second, io.BytesIO(data))
    assert [record.key for record in await everything(second)] == [("mine",)]
    await import_state(second, io.BytesIO(data), replace=True)
    assert await exported(second) == data


async def damages(data: bytes) -> list[bytes]:
    lines = data.splitlines(keepends=True)
    return [
        b"",
        b"".join(lines[:-1]),
        b"".join(lines[1:]),
        b"".join([*lines[:5], *lines[6:]]),
        b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
        b"".join([*lines[:3], lines[2], *lines[3:]]),
        data[:-10],
        data[:-1],
        data + b"{}\n",
        data + lines[0],
        data.replace(b'"1400"', b'"1401"'),
        data.replace(b'"generation":2', b'"generation":9', 1),
        data.replace(b'"generation":6', b'"generation":7', 1),
        data.replace(b'"version":1', b'"version":2'),
        data.replace(b"lakeshare-state", b"something-else"),
        data.replace(b'{"key":', b'{ "key":', 1),
        data.replace(b'"text":', b'"extra":1,"text":', 1),
        lines[0] + b'{"key":[],"generation":1,"text":""}\n' + b"".join(lines[1:]),
        lines[0] + b'{"key":[7],"generation":1,"text":""}\n' + b"".join(lines[1:]),
        lines[0] + b"[]\n" + b"".join(lines[1:]),
        lines[0] + b"7\n" + b"".join(lines[1:]),
        lines[0] + b"not JSON\n" + b"".join(lines[1:]),
        lines[0] + b"\xff\n" + b"".join(lines[1:]),
    ]


async def test_a_damaged_export_is_refused_and_changes_nothing(make_state: Callable[[str], Archive]) -> None:
    """Whatever is cut, moved, added or changed is found, and an import of it leaves the state as it was."""
    first, second = make_state("first"), make_state("second")
    await fill(first)
    await second.commit(Transaction(changes=(Put(("mine",), b""),)))
    before = await exported(second), await second.newest()
    data = await exported(first)
    for damaged in await damages(data):
        assert damaged != data
        with pytest.raises(BadExport):
            verify_export(io.BytesIO(damaged))
        with pytest.raises(BadExport):
            await import_state(second, io.BytesIO(damaged), replace=True)
    assert (await exported(second), await second.newest()) == before


async def test_every_changed_byte_is_noticed() -> None:
    """No single byte of an export can be changed unseen."""
    state = MemoryState(clock=Clock())
    await state.commit(Transaction(changes=(Put(("a", b"b"), b"\xff"), Put(("b",), b"text"))))
    await state.commit(Transaction(receipt=Receipt("o", "k", b"d", b"a", 60)))
    data = await exported(state)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(BadExport):
            verify_export(io.BytesIO(bytes(changed)))


async def test_an_export_is_one_moment(make_state: Callable[[str], Archive]) -> None:
    """Commits made while an export is under way are not in it, not even in part."""
    state = make_state("first")
    await fill(state)
    before = await exported(state)
    runs = []
    async for run in state.dump():
        runs.append(run)
        await state.commit(Transaction(changes=(Delete(("bulk", "01499")), Put(("new", str(len(runs))), b""))))
    facts = [fact for run in runs for fact in run]
    assert [write_line(fact) for fact in facts] == before.splitlines(keepends=True)[:-1]


records = st.builds(Record, keys, st.binary(max_size=20) | texts.map(str.encode), st.integers(1, 2**62))
names = texts.filter(lambda name: "\x00" not in name)
kept = st.builds(
    KeptReceipt, names, names, st.binary(max_size=5), st.binary(max_size=5), st.integers(1, 99), st.integers(0, 2**60)
)


@settings(derandomize=True)
@given(st.builds(Head, st.integers(0, 2**62)) | records | kept)
def test_a_line_is_read_back(fact: Head | Record | KeptReceipt) -> None:
    """Each fact has one line, and the line is that fact again."""
    assert read_line(write_line(fact)) == fact
