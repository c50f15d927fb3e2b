"""Data URLs are signed with keys that end with what they were made for."""

import pytest

from lakeshare.identity.caller import CallerKind
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.sharing.data_keys import PREFIX, DataKeys, data_credentials
from lakeshare.sharing.model.recipients import CredentialKind
from lakeshare.sharing.operations import recipients, shares, tokens
from lakeshare.sharing.operations.issuing import Issued
from lakeshare.sharing.operations.recipients import Grant, UpdateRecipient
from lakeshare.sharing.operations.shares import ShareCall, UpdateShare
from lakeshare.sharing.operations.shown import DELETE
from lakeshare.sharing.operations.tokens import TokenCall
from tests.sharing.estate import DAY, Estate


async def key_of(estate: Estate, issued: Issued, share: str):
    view = await estate.view()
    return data_credentials(view, issued.credential, view.share(share))


async def resolves(estate: Estate, access_key: str) -> bool:
    keys = DataKeys(estate.directory.current)
    if await keys.secret_of(access_key) is None:
        return False
    try:
        caller = await keys.resolve(access_key, estate.now)
    except AccessKeyUnknown:
        return False
    assert caller.kind is CallerKind.RECIPIENT
    return True


@pytest.fixture
async def shared(any_estate: Estate) -> tuple[Estate, Issued]:
    """A recipient with two shares and a token."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    await any_estate.recipient("acme", "sales", "stock")
    return any_estate, await any_estate.recipient_token("acme", lifetime=DAY)


async def test_a_key_belongs_to_a_token_and_a_share(shared: tuple[Estate, Issued]):
    """Each token and share has a key of its own, the same in every worker, that says nothing of the token."""
    estate, issued = shared
    sales, stock = await key_of(estate, issued, "sales"), await key_of(estate, issued, "stock")
    assert sales.access_key != stock.access_key
    assert sales.secret.reveal() != stock.secret.reveal()
    assert sales.access_key.startswith(PREFIX)
    assert await DataKeys(estate.beside().directory.current).secret_of(sales.access_key) == sales.secret
    assert issued.secret.reveal()[4:] not in sales.access_key + sales.secret.reveal()


@pytest.mark.parametrize(
    "ends", ["token", "recipient", "share", "grant", "suspended", "expired", "oauth share", "oauth"]
)
async def test_keys_end_with_what_they_were_made_for(shared: tuple[Estate, Issued], ends: str):
    """A key ends with its token, its recipient, its share, the grant, a suspension, or when OAuth is required."""
    estate, issued = shared
    key = (await key_of(estate, issued, "sales")).access_key
    other = (await key_of(estate, issued, "stock")).access_key
    assert await resolves(estate, key)
    room = estate.room
    match ends:
        case "token":
            await tokens.remove_token(room, TokenCall(issued.credential.id, tokens.DELETE))
        case "recipient":
            await recipients.remove_recipient(room, recipients.RecipientCall("acme", tokens.DELETE))
        case "share":
            await shares.remove_share(room, ShareCall("sales", DELETE))
        case "grant":
            await recipients.take_share(room, Grant("acme", "sales"))
        case "suspended":
            await recipients.update_recipient(room, UpdateRecipient("acme", suspended=True))
        case "expired":
            estate.now += DAY
        case "oauth share":
            await shares.update_share(room, UpdateShare("sales", oauth_only=True))
        case "oauth":
            await recipients.update_recipient(room, UpdateRecipient("acme", oauth_only=True))
    assert not await resolves(estate.beside() if ends != "expired" else estate, key)
    assert await resolves(estate, other) is (ends in {"share", "grant", "oauth share"})


async def test_oauth_clients_have_keys_where_oauth_is_required(shared: tuple[Estate, Issued]):
    """The key of an OAuth client goes on where bearer tokens are refused."""
    estate, _ = shared
    client = await estate.recipient_token("acme", kind=CredentialKind.OAUTH)
    await shares.update_share(estate.room, UpdateShare("sales", oauth_only=True))
    assert await resolves(estate, (await key_of(estate, client, "sales")).access_key)


async def test_what_is_no_key_is_unknown(shared: tuple[Estate, Issued]):
    """A made-up key has no secret."""
    estate, issued = shared
    key = (await key_of(estate, issued, "sales")).access_key
    for wrong in (PREFIX, key[:-1], key[:-8] + "00000000", PREFIX + "0" * 40, PREFIX + "é" * 40, "LSAKEXAMPLE"):
        assert not await resolves(estate, wrong)


async def test_a_data_key_can_only_read(shared: tuple[Estate, Issued]):
    """What a data key is granted is to read objects, and nothing else."""
    from lakeshare.identity.authorise import Authoriser
    from lakeshare.identity.caller import Need
    from lakeshare.identity.circumstances import Circumstances

    estate, issued = shared
    caller = await DataKeys(estate.directory.current).resolve(
        (await key_of(estate, issued, "sales")).access_key, estate.now
    )
    authoriser = Authoriser(caller, Circumstances(at=estate.now), {})
    assert authoriser.decide(Need("s3:GetObject", "arn:aws:s3:::lake/x")).allowed
    for action in (
        "s3:PutObject",
        "s3:DeleteObject",
        "s3:ListBucket",
        "s3:DeleteBucket",
        "admin:ServerInfo",
        "sts:AssumeRole",
    ):
        assert not authoriser.decide(Need(action, "arn:aws:s3:::lake/x")).allowed
    assert "acme" not in caller.principals
