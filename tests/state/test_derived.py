"""A derived value is as new as the newest commit, and made no more often than needed."""

import asyncio
from pathlib import Path

import pytest

from lakeshare.state.derived import FEED_PAGE, MAX_FEED_PAGES, Derived
from lakeshare.state.export import export_state, import_state
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import Archive, Delete, Put, State, Transaction
from tests.state.conftest import FEED_ENTRIES


class Names:
    """Collects the names under a prefix, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    async def __call__(self, state: State) -> list[object]:
        self.made += 1
        await asyncio.sleep(0)
        return [record.key[-1] for record in (await state.scan(("share",))).records]


async def put(state: State, *key: str) -> None:
    await state.commit(Transaction(changes=(Put(key, b""),)))


async def test_it_is_made_once_while_nothing_changes(state: Archive) -> None:
    """Asking again makes nothing again, and neither does a commit to other keys."""
    names = Names()
    derived = Derived(state, [("share",)], names)
    assert await derived.current() == []
    await put(state, "other", "a")
    await put(state, "shared", "a")
    assert await derived.current() == []
    assert names.made == 1


async def test_it_follows_each_change_of_a_source(state: Archive) -> None:
    """The next question after a commit sees it, be it a put or a delete, of a key or under a prefix."""
    names = Names()
    derived = Derived(state, [("share",)], names)
    await put(state, "share", "a")
    assert await derived.current() == ["a"]
    await put(state, "share", "b")
    assert await derived.current() == ["a", "b"]
    await state.commit(Transaction(changes=(Delete(("share", "a")),)))
    assert await derived.current() == ["b"]
    await put(state, "share")
    await derived.current()
    assert names.made == 4


async def test_it_is_made_again_when_the_feed_was_lost(state: Archive) -> None:
    """A value that fell behind the feed does not trust what it has."""
    names = Names()
    derived = Derived(state, [("share",)], names)
    await derived.current()
    for number in range(FEED_ENTRIES + 1):
        await put(state, "other", str(number))
    await put(state, "share", "a")
    for number in range(FEED_ENTRIES + 1):
        await put(state, "other", str(number))
    assert await derived.current() == ["a"]


async def test_it_gives_up_on_a_very_long_feed() -> None:
    """Past a bound it makes the value again instead of looking through every commit."""
    state, names = MemoryState(), Names()
    derived = Derived(state, [("share",)], names)
    await derived.current()
    for number in range(FEED_PAGE * MAX_FEED_PAGES + 1):
        await put(state, "other", str(number))
    await derived.current()
    assert names.made == 2


async def test_callers_that_find_it_old_make_it_once(state: Archive) -> None:
    """Of many who ask at the same time one makes the value, and all get it."""
    names = Names()
    derived = Derived(state, [("share",)], names)
    await put(state, "share", "a")
    answers = await asyncio.gather(*[derived.current() for _ in range(10)])
    assert answers == [["a"]] * 10
    assert names.made == 1


async def test_an_import_makes_it_again(state: Archive, tmp_path: Path) -> None:
    """Another history is never mistaken for the one the value was made of, though its generation is the same."""
    other = MemoryState()
    await put(other, "share", "imported")
    derived = Derived(state, [("share",)], Names())
    await put(state, "share", "a")
    assert await derived.current() == ["a"]
    with (tmp_path / "export").open("w+b") as file:
        await export_state(other, file)
        file.seek(0)
        await import_state(state, file, replace=True)
    assert await derived.current() == ["imported"]


async def test_it_finds_a_commit_that_was_never_answered(state: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pulse that stands still, as after a death in the middle of a commit, is not believed for long."""
    names = Names()
    derived = Derived(state, [("share",)], names)
    still = state.pulse()
    monkeypatch.setattr(state, "pulse", lambda: still)
    await derived.current()
    await put(state, "share", "a")
    assert derived.at_hand() == []
    derived._probe_at = 0.0
    assert derived.at_hand() is None
    assert await derived.current() == ["a"]
