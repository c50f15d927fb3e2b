"""How recipients are let in."""

import pytest

from lakeshare.http.request import Request
from lakeshare.identity.arns import share_arn
from lakeshare.identity.caller import CallerKind, Need
from lakeshare.identity.throttle import Throttle
from lakeshare.sharing.errors import NoSuchResource, OAuthRequired, RateLimited, TooManyGuesses, Unrecognised
from lakeshare.sharing.gate import SERVICE, RecipientGate, bearer_of
from lakeshare.sharing.operations import shares
from lakeshare.sharing.operations.shares import UpdateShare
from lakeshare.sharing.rates import Limits, Rates
from tests.sharing.estate import PEER, Estate

SERVICES = frozenset({SERVICE})


def request(authorization: str | None, peer: str = PEER) -> Request:
    headers = {} if authorization is None else {"authorization": authorization}
    return Request("id", "GET", "/_delta-sharing/v1/shares", "", headers, "https", peer, None)


def gate(estate: Estate, *, failures: int = 100, each: int = 100, used=lambda *_: None) -> RecipientGate:
    rates = Rates.in_memory(Limits(each, 0))
    return RecipientGate(estate.directory, Throttle.in_memory(failures), rates, lambda: estate.now, used)


async def test_a_token_says_who_asks(estate: Estate):
    """A bearer token, in whatever case its scheme is written, says which recipient asks, and that it came is noted."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales")
    heard = []
    door = gate(estate, used=lambda access, now, peer: heard.append((access.credential.id, now, peer)))
    for scheme in ("Bearer", "bearer", "BEARER"):
        admission = await door.authenticate(request(f"{scheme} {issued.secret.reveal()}"), SERVICES)
        assert admission.caller.kind is CallerKind.RECIPIENT
        assert admission.caller.name == f"{issued.recipient.name}/{issued.credential.id}"
        assert [share.name for share in admission.access.shares] == ["sales"]
    assert heard == [(issued.credential.id, estate.now, PEER)] * 3


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer ", "Basic eDp5", "Bearer dapi0", "Bearer " + "x" * 5000])
async def test_anything_else_is_not_recognised(estate: Estate, given: str | None):
    """Without a token, or with what is none, nobody is let in."""
    await estate.share("sales", "HR/staff")
    with pytest.raises(Unrecognised):
        await gate(estate).authenticate(request(given), SERVICES)


async def test_an_open_route_needs_no_token(estate: Estate):
    """A route that names no service is open to anyone."""
    admission = await gate(estate).authenticate(request(None), frozenset())
    assert admission.caller.is_anonymous


async def test_guesses_are_bounded(estate: Estate):
    """An address that guesses is refused before its next guess is looked at; others are not."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales")
    door = gate(estate, failures=3)
    for number in range(3):
        with pytest.raises(Unrecognised):
            await door.authenticate(request(f"Bearer dapi{number:064x}"), SERVICES)
    with pytest.raises(TooManyGuesses):
        await door.authenticate(request(f"Bearer dapi{9:064x}"), SERVICES)
    await door.authenticate(request(f"Bearer {issued.secret.reveal()}", "192.0.2.200"), SERVICES)


async def test_requests_are_counted(estate: Estate):
    """A token that sends more than it may is refused; requests without a good token count for nobody."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales")
    door = gate(estate, each=2)
    asked = request(f"Bearer {issued.secret.reveal()}")
    for _ in range(2):
        await door.authenticate(asked, SERVICES)
    with pytest.raises(RateLimited):
        await door.authenticate(asked, SERVICES)


async def test_what_is_asked_of_a_share_needs_that_share(estate: Estate):
    """A need that names a share is met if the recipient sees it; another share does not exist."""
    await estate.share("sales", "HR/staff")
    await estate.share("stock", "main/items")
    await estate.recipient("acme", "sales", "stock")
    issued = await estate.recipient_token("acme")
    bound = await estate.share_token("sales")
    await shares.update_share(estate.room, UpdateShare("stock", oauth_only=True))
    door = gate(estate)
    admission = await door.authenticate(request(f"Bearer {issued.secret.reveal()}"), SERVICES)
    await door.authorise(admission, [Need("sharing:Query", share_arn("SALES", "HR", "staff")), Need("x", "*")])
    with pytest.raises(OAuthRequired):
        await door.authorise(admission, [Need("sharing:Query", share_arn("stock"))])
    narrow = await door.authenticate(request(f"Bearer {bound.secret.reveal()}"), SERVICES)
    for other in ("stock", "nothing"):
        with pytest.raises(NoSuchResource):
            await door.authorise(narrow, [Need("sharing:Query", share_arn(other))])


def test_only_a_bearer_token_is_read():
    """Of the header only what follows `Bearer` is a token."""
    assert bearer_of(request("Bearer  abc ")) == "abc"
    assert bearer_of(request("Basic abc")) == ""
    assert bearer_of(request("Bearerabc")) == ""
