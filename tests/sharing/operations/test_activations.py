"""Activation links."""

import asyncio

import pytest

from lakeshare.settings import Secret
from lakeshare.sharing.errors import CredentialMissing, LinkUsed, RecipientSuspended, TooMany
from lakeshare.sharing.model.recipients import CredentialKind
from lakeshare.sharing.operations import activations, recipients
from lakeshare.sharing.operations.activations import CreateActivation, Link, ListActivations, RemoveActivation, UseLink
from lakeshare.sharing.operations.recipients import UpdateRecipient
from lakeshare.sharing.operations.tokens import NewCredential
from lakeshare.state.export import Summary, exported
from tests.sharing.estate import DAY, NOW, ORIGIN, Estate


async def link(estate: Estate, **more) -> Link:
    new = NewCredential("root", ORIGIN, **more)
    return await activations.create_activation(estate.room, CreateActivation("acme", new))


@pytest.fixture
async def acme(any_estate: Estate) -> Estate:
    """An estate with a recipient."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    return any_estate


async def test_a_link_hands_out_a_profile_once(acme: Estate):
    """Whoever uses a link has a profile that works; the next one has nothing."""
    made = await link(acme, lifetime=30 * DAY, description="by mail")
    assert made.url.startswith(f"{ORIGIN}/_delta-sharing/activate/")
    code = Secret(made.url.rsplit("/", 1)[1])
    acme.now += DAY
    issued = await activations.use_link(acme.room, UseLink(code))
    assert (issued.credential.expires_at, issued.credential.description) == (int(NOW) + 31 * DAY, "by mail")
    await acme.admit(issued)
    with pytest.raises(LinkUsed):
        await activations.use_link(acme.room, UseLink(code))


async def test_of_many_at_once_one_has_the_profile(acme: Estate):
    """When several workers are asked for one link at the same moment, one token is made and one caller has it."""
    code = (await link(acme)).code
    workers = [acme.beside() for _ in range(8)]
    answers = await asyncio.gather(
        *(activations.use_link(worker.room, UseLink(code)) for worker in workers), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, LinkUsed)]
    assert (len(refused), len(answers)) == (7, 8)
    assert len((await acme.view()).tokens) == 1


async def test_looking_at_a_link_does_not_use_it(acme: Estate):
    """A link can be looked at any number of times before it is used."""
    code = (await link(acme)).code
    for _ in range(3):
        _, recipient = await activations.waiting_link(acme.room, UseLink(code))
        assert recipient.name == "acme"
    await activations.use_link(acme.room, UseLink(code))


async def test_links_end(acme: Estate):
    """A link that waited too long, was taken back, or whose recipient is suspended hands out nothing."""
    late, back, kept = [await link(acme) for _ in range(3)]
    await activations.remove_activation(acme.room, RemoveActivation("acme", back.activation.id))
    with pytest.raises(LinkUsed):
        await activations.use_link(acme.room, UseLink(back.code))
    await recipients.update_recipient(acme.room, UpdateRecipient("acme", suspended=True))
    with pytest.raises(RecipientSuspended):
        await activations.use_link(acme.room, UseLink(kept.code))
    acme.now += activations.DEFAULT_LINK_SECONDS
    with pytest.raises(LinkUsed):
        await activations.use_link(acme.room, UseLink(late.code))
    with pytest.raises(LinkUsed):
        await activations.use_link(acme.room, UseLink(Secret("no code at all")))
    with pytest.raises(CredentialMissing):
        await activations.remove_activation(acme.room, RemoveActivation("acme", back.activation.id))


async def test_links_are_listed_and_stored_without_their_codes(acme: Estate):
    """Neither the list of links nor state holds a code, and no token waits behind one."""
    made = await link(acme)
    (listed,) = await activations.list_activations(acme.room, ListActivations("acme"))
    assert listed.id == made.activation.id
    assert made.code.reveal() not in repr(listed)
    assert made.code.reveal() not in repr(made)
    text = b"".join([chunk async for chunk in exported(acme.state, Summary())])
    assert made.code.reveal().encode() not in text
    assert (await acme.view()).tokens == ()


async def test_a_link_can_give_an_oauth_client(acme: Estate):
    """A link hands out OAuth client credentials where those are asked for."""
    code = (await link(acme, kind=CredentialKind.OAUTH)).code
    issued = await activations.use_link(acme.room, UseLink(code))
    assert issued.profile.document()["type"] == "oauth_client_credentials"


async def test_links_of_one_recipient_are_bounded(estate: Estate):
    """The hundred-and-first waiting link of a recipient is refused."""
    await estate.recipient("acme")
    for _ in range(100):
        await link(estate)
    with pytest.raises(TooMany):
        await link(estate)
