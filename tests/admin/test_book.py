"""The book of settings: what counts, what may change, and what is left alone."""

from collections.abc import AsyncIterator

import pytest

from lakeshare.admin.book import Book
from lakeshare.admin.errors import NoSuchSetting, SettingNotLive, SettingPinned
from lakeshare.admin.model.overrides import OVERRIDES, Override
from lakeshare.settings import BadSetting, Settings, sources_of, written_value
from lakeshare.state.memory import MemoryState
from lakeshare.state.port import Transaction


@pytest.fixture
async def state() -> AsyncIterator[MemoryState]:
    found = MemoryState()
    yield found
    await found.close()


async def put(state: MemoryState, name: str, text: str) -> None:
    await state.commit(Transaction(changes=(OVERRIDES.put(Override(text), name),)))


async def test_a_change_counts_and_rings(state: MemoryState):
    """A live setting that was changed counts, and says so, until it is taken back; the bell rings both times."""
    rings: list[int] = []
    book = Book(state, Settings(), {}, lambda: rings.append(1))
    await book.change("region", Override("eu-1", 7, "annie"))
    assert (await book.current()).region == "eu-1"
    assert (await book.entry("region")).source == "state"
    await book.take_back("region", "annie")
    assert await book.current() == Settings()
    assert len(rings) == 2


async def test_what_is_given_from_outside_wins(state: MemoryState):
    """A flag or a variable wins over what lies in state, and cannot be changed here."""
    await put(state, "region", "eu-1")
    given = {"LAKESHARE_REGION": "outer-1"}
    book = Book(state, Settings.read(given, {}), sources_of(given, {}))
    assert (await book.current()).region == "outer-1"
    assert (await book.entry("region")).source == "LAKESHARE_REGION"
    with pytest.raises(SettingPinned, match="LAKESHARE_REGION"):
        await book.change("region", Override("eu-2"))
    with pytest.raises(SettingPinned):
        await book.take_back("region", "annie")


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("workers", "3", SettingNotLive),
        ("nosuch", "3", NoSuchSetting),
        ("free_space_watermark", "much", BadSetting),
    ],
)
async def test_what_cannot_be_is_refused(state: MemoryState, name: str, text: str, error: type[Exception]):
    """Nothing is kept of a change that is refused."""
    book = Book(state, Settings(), {})
    with pytest.raises(error):
        await book.change(name, Override(text))
    assert await book.current() == Settings()


async def test_what_lies_in_state_and_cannot_be_used_is_left_alone(state: MemoryState):
    """A setting of another release, one that is not live, and a text that cannot be read do not stop the server."""
    for name, text in (("from_the_future", "1"), ("workers", "9"), ("log_level", "loud"), ("region", "eu-1")):
        await put(state, name, text)
    assert await Book(state, Settings(), {}).current() == Settings(region="eu-1")


def test_values_are_written_as_they_are_read():
    """The text of a value gives that value again, for every setting that is no secret; a secret is three stars."""
    settings = Settings(domains=("a.example", "b.example"), root_password="", free_space_watermark=5)
    for name, item in Settings.__dataclass_fields__.items():
        value = getattr(settings, name)
        if value not in ("", ()):
            assert item.metadata["read"](written_value(value)) == value
    assert written_value(Settings.read({"LAKESHARE_ROOT_PASSWORD": "hush-hush"}, {}).root_password) == "***"
