"""OAuth client credentials and the access tokens they are changed into."""

import pytest

from lakeshare.settings import Secret
from lakeshare.sharing import access_tokens
from lakeshare.sharing.errors import (
    AddressRefused,
    BadGrant,
    ClientRefused,
    CredentialExpired,
    RecipientSuspended,
    Unrecognised,
)
from lakeshare.sharing.gate import admitted
from lakeshare.sharing.model.recipients import CredentialKind
from lakeshare.sharing.operations import recipients, tokens
from lakeshare.sharing.operations.issuing import Issued
from lakeshare.sharing.operations.oauth import AccessToken, GetAccessToken, get_access_token
from lakeshare.sharing.operations.recipients import UpdateRecipient
from lakeshare.sharing.operations.tokens import TokenCall
from tests.sharing.estate import PEER, Estate


@pytest.fixture
async def client(any_estate: Estate) -> Issued:
    """An OAuth client of a recipient."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales", networks=("192.0.2.0/24",))
    return await any_estate.recipient_token("acme", kind=CredentialKind.OAUTH)


async def ask(estate: Estate, client: Issued, **more) -> AccessToken:
    asked = {"client_id": client.credential.id, "peer": PEER, "client_secret": client.secret} | more
    return await get_access_token(estate.room, GetAccessToken(**asked))


async def test_a_client_gets_a_token_that_lets_it_in(any_estate: Estate, client: Issued):
    """The right secret gives an access token, which every worker knows again."""
    found = await ask(any_estate, client, scope="delta-sharing:read")
    assert found.lifetime_seconds == 3600
    access = admitted(await any_estate.beside().view(), found.token.reveal(), any_estate.now, PEER)
    assert (access.recipient.name, access.credential.kind) == ("acme", CredentialKind.OAUTH)
    assert found.token.reveal() not in repr(found)


async def test_access_tokens_end(any_estate: Estate, client: Issued):
    """An access token ends with its hour, and at once with its client."""
    token = (await ask(any_estate, client)).token.reveal()
    view = await any_estate.view()
    admitted(view, token, any_estate.now + 3599, PEER)
    with pytest.raises(CredentialExpired):
        admitted(view, token, any_estate.now + 3600, PEER)
    await tokens.remove_token(any_estate.room, TokenCall(client.credential.id, tokens.DELETE))
    with pytest.raises(Unrecognised):
        admitted(await any_estate.view(), token, any_estate.now, PEER)


async def test_what_keeps_a_recipient_out_keeps_its_client_out(any_estate: Estate, client: Issued):
    """A suspended recipient, or one at another address, gets no token and is not let in with one."""
    token = (await ask(any_estate, client)).token.reveal()
    with pytest.raises(AddressRefused):
        await ask(any_estate, client, peer="203.0.113.1")
    await recipients.update_recipient(any_estate.room, UpdateRecipient("acme", suspended=True))
    with pytest.raises(RecipientSuspended):
        await ask(any_estate, client)
    with pytest.raises(RecipientSuspended):
        admitted(await any_estate.view(), token, any_estate.now, PEER)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"client_secret": Secret("wrong")}, ClientRefused),
        ({"client_id": "238fe2ac-2ed6-4c2d-b7f3-6119049d08ba"}, ClientRefused),
        ({"client_id": ""}, ClientRefused),
        ({"grant_type": "password"}, BadGrant),
        ({"grant_type": ""}, BadGrant),
        ({"scope": "everything"}, BadGrant),
    ],
)
async def test_anything_else_is_refused(any_estate: Estate, client: Issued, change: dict, error: type[Exception]):
    """A wrong secret, an unknown client and another grant or scope get nothing."""
    with pytest.raises(error):
        await ask(any_estate, client, **change)


async def test_a_changed_token_is_no_token(any_estate: Estate, client: Issued):
    """A token with any character changed, cut or added is not recognised."""
    token = (await ask(any_estate, client)).token.reveal()
    view = await any_estate.view()
    flipped = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in range(len(token))]
    for wrong in (*flipped, token[:-1], token + "A", "", "lsat.", "lsat..", token.partition(".")[2], "é" * 20):
        with pytest.raises(Unrecognised):
            access_tokens.client_of(view, wrong, any_estate.now)


async def test_a_bearer_token_is_no_client_secret(any_estate: Estate, client: Issued):
    """A client's secret does not let anyone in by itself."""
    with pytest.raises(Unrecognised):
        admitted(await any_estate.view(), client.secret.reveal(), any_estate.now, PEER)
