"""Secrets of sharing are moved to the newest key of the key file."""

from lakeshare.identity.vault import Vault
from lakeshare.settings import Secret
from lakeshare.sharing.operations import sources
from lakeshare.sharing.operations.sources import PutSource
from lakeshare.sharing.resealing import reseal
from tests.sharing.estate import Estate

OLD, NEW = b"k" * 32, b"n" * 32


async def test_an_old_key_can_be_taken_out_of_the_key_file():
    """After resealing, sharing opens with the new key alone, and tokens and sources are what they were."""
    before = Estate(vault=Vault((OLD,)))
    await before.share("sales", "HR/staff")
    issued = await before.share_token("sales")
    put = PutSource("root", "archive", "https://s3.example.net", "key", Secret("s3cret"))
    await sources.put_source(before.room, put)
    key = (await before.view()).key("x")
    both = Estate(before.state, Vault((NEW, OLD)), before.store)
    assert await both.directory.change(reseal) == 2
    assert await both.directory.change(reseal) == 0
    after = Estate(before.state, Vault((NEW,)), before.store)
    view = await after.view()
    assert view.key("x") == key
    assert sources.secret_of(view, view.source("archive")).reveal() == "s3cret"
    await after.admit(issued)
