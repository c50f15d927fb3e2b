"""Remote sources."""

import pytest

from lakeshare.settings import Secret
from lakeshare.sharing.errors import BadEndpoint, BadName, NameTaken, SourceMissing, SourceUnreachable
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.shares import Offer
from lakeshare.sharing.operations import shares, sources
from lakeshare.sharing.operations.shares import CreateShare
from lakeshare.sharing.operations.sources import PutSource, SourceCall
from lakeshare.sharing.records import SHARES
from lakeshare.state.export import Summary, exported
from tests.sharing.estate import Estate

PUT = {"by": "root", "name": "archive", "endpoint": "https://s3.example.net", "access_key": "key"}


async def test_a_source_keeps_its_secret_sealed(any_estate: Estate):
    """A source's secret is opened by the server alone, and stays when the rest changes."""
    made = await sources.put_source(
        any_estate.room, PutSource(**PUT, secret=Secret("s3cret-of-the-archive"), makes=True)
    )
    view = await any_estate.view()
    assert sources.secret_of(view, made).reveal() == "s3cret-of-the-archive"
    changed = await sources.put_source(any_estate.room, PutSource(**PUT, region="eu-1", description="old"))
    assert sources.secret_of(await any_estate.view(), changed).reveal() == "s3cret-of-the-archive"
    assert (changed.region, changed.uid) == ("eu-1", made.uid)
    text = b"".join([chunk async for chunk in exported(any_estate.state, Summary())])
    assert b"s3cret-of-the-archive" not in text
    assert "s3cret" not in repr(PutSource(**PUT, secret=Secret("s3cret-of-the-archive")))


async def test_what_cannot_be_a_source_is_refused(estate: Estate):
    """A name that is taken or none, a URL that is none, and a new source without a secret are refused."""
    secret = Secret("x")
    await sources.put_source(estate.room, PutSource(**PUT, secret=secret))
    for call, error in (
        (PutSource(**PUT, secret=secret, makes=True), NameTaken),
        (PutSource(**PUT | {"name": "A"}, secret=secret), BadName),
        (PutSource(**PUT | {"endpoint": "x"}, secret=secret), BadEndpoint),
        (PutSource(**PUT | {"name": "new"}), BadName),
    ):
        with pytest.raises(error):
            await sources.put_source(estate.room, call)
    with pytest.raises(SourceMissing):
        await sources.get_source(estate.room, SourceCall("no"))


async def test_a_source_in_use_stays(estate: Estate):
    """A source that a share has tables of is not removed."""
    await sources.put_source(estate.room, PutSource(**PUT, secret=Secret("x")))
    offer = Offer("HR", "old", DeltaPlace("b", "p", "archive"))
    with pytest.raises(SourceUnreachable):
        await shares.create_share(estate.room, CreateShare("root", "s", offers=(offer,)))
    assert [share async for share in SHARES.all(estate.state)] == []
    await sources.remove_source(estate.room, SourceCall("archive"))
    assert await sources.list_sources(estate.room, SourceCall()) == ()
