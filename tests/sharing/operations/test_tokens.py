"""Tokens and OAuth clients."""

import re

import pytest

from lakeshare.sharing.credentials import digest_of, id_of, is_token
from lakeshare.sharing.errors import (
    BadEndpoint,
    BadSpan,
    CredentialExpired,
    CredentialMissing,
    NotImplicit,
    RecipientMissing,
    ShareMissing,
    TooMany,
    Unrecognised,
)
from lakeshare.sharing.model.recipients import CredentialKind
from lakeshare.sharing.operations import tokens
from lakeshare.sharing.operations.tokens import (
    CreateRecipientToken,
    ListTokens,
    NewCredential,
    RotateToken,
    TokenCall,
)
from lakeshare.sharing.records import TOKENS
from lakeshare.sharing.usage import USES, Use
from lakeshare.state.port import Transaction
from tests.sharing.estate import DAY, NOW, ORIGIN, Estate

NEW = NewCredential("root", ORIGIN)


async def test_a_token_is_dapi_and_64_hex_digits(any_estate: Estate):
    """A token is random and of the form that clients know; only its hash is stored, and its id follows from that."""
    await any_estate.share("sales", "HR/staff")
    issued = await any_estate.share_token("sales", description="for Databricks")
    secret = issued.secret.reveal()
    assert re.fullmatch(r"dapi[0-9a-f]{64}", secret)
    assert is_token(secret)
    stored = (await TOKENS.get(any_estate.state, issued.credential.id)).value
    assert stored.sha256 == digest_of(secret)
    assert stored.id == id_of(stored.sha256)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", stored.id)
    assert secret not in repr(issued)
    assert issued.profile.document()["bearerToken"] == secret


async def test_each_token_of_a_share_is_a_recipient_of_its_own(any_estate: Estate):
    """A token made for a share stands for a recipient that nobody named, which goes with its last token."""
    await any_estate.share("sales", "HR/staff")
    one, two = await any_estate.share_token("sales"), await any_estate.share_token("sales")
    assert one.recipient.id != two.recipient.id
    await tokens.remove_token(any_estate.room, TokenCall(one.credential.id, tokens.DELETE))
    assert [each.id for each in (await any_estate.view()).recipients] == [two.recipient.id]
    call = CreateRecipientToken(two.recipient.name, NEW)
    with pytest.raises(NotImplicit):
        await tokens.create_recipient_token(any_estate.room, call)


async def test_tokens_are_listed_without_their_secrets(any_estate: Estate):
    """Lists of tokens, by share, by recipient and of all, have everything but the secret."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    await any_estate.recipient("acme", "sales")
    one = await any_estate.share_token("sales", lifetime=DAY)
    two = await any_estate.share_token("stock", "acme", kind=CredentialKind.OAUTH)
    three = await any_estate.recipient_token("acme")
    ids = {each.credential.id for each in (one, two, three)}
    found = await tokens.list_tokens(any_estate.room, ListTokens())
    assert {each.credential.id for each in found} == ids
    assert [each.credential.id for each in await tokens.list_tokens(any_estate.room, ListTokens("sales"))] == [
        one.credential.id
    ]
    by_recipient = await tokens.list_tokens(any_estate.room, ListTokens(recipient="acme"))
    assert {each.credential.id for each in by_recipient} == {two.credential.id, three.credential.id}
    assert not any(each.secret.reveal() in repr(found) for each in (one, two, three))
    for wrong, error in ((ListTokens("no"), ShareMissing), (ListTokens(recipient="no"), RecipientMissing)):
        with pytest.raises(error):
            await tokens.list_tokens(any_estate.room, wrong)


async def test_when_a_token_was_last_used_is_shown(any_estate: Estate):
    """The newest use that any worker wrote down is shown."""
    await any_estate.share("sales", "HR/staff")
    issued = await any_estate.share_token("sales")
    for worker, at in (("0", 50), ("1", 70)):
        change = USES.put(Use(at, "192.0.2.1"), issued.credential.id, worker)
        await any_estate.state.commit(Transaction(changes=(change,)))
    call = TokenCall(issued.credential.id, tokens.LIST)
    assert (await tokens.get_token(any_estate.room, call)).last_used_at == 70


async def test_rotation_overlaps(any_estate: Estate):
    """After a rotation both tokens work until the overlap ends, then the new one alone; it lives as long as the old."""
    await any_estate.share("sales", "HR/staff")
    old = await any_estate.share_token("sales", lifetime=90 * DAY, description="theirs")
    any_estate.now += 10 * DAY
    new = await tokens.rotate_token(any_estate.room, RotateToken(old.credential.id, DAY, NEW))
    assert (new.recipient, new.credential.share_id) == (old.recipient, old.credential.share_id)
    assert (new.credential.description, new.credential.expires_at) == ("theirs", int(NOW) + 100 * DAY)
    await any_estate.admit(old)
    await any_estate.admit(new)
    any_estate.now += DAY
    with pytest.raises(CredentialExpired):
        await any_estate.admit(old)
    await any_estate.admit(new)


async def test_rotation_without_overlap_ends_the_old_token(any_estate: Estate):
    """With no overlap the old token is revoked at the moment the new one is made."""
    await any_estate.share("sales", "HR/staff")
    old = await any_estate.share_token("sales")
    new = await tokens.rotate_token(any_estate.room, RotateToken(old.credential.id, 0, NEW))
    with pytest.raises(Unrecognised):
        await any_estate.admit(old)
    await any_estate.admit(new)


async def test_rotation_never_prolongs_the_old_token(estate: Estate):
    """A token that ends before the overlap does ends when it was to end."""
    await estate.share("sales", "HR/staff")
    old = await estate.share_token("sales", lifetime=3600)
    await tokens.rotate_token(estate.room, RotateToken(old.credential.id, DAY, NEW))
    assert (await estate.view()).token(old.credential.id).expires_at == int(NOW) + 3600


async def test_ends_out_of_bounds_are_refused(estate: Estate):
    """A token cannot end in the past, nor live for ever by a number."""
    await estate.share("sales", "HR/staff")
    for end in (int(NOW), int(NOW) - 1, int(NOW) + 3651 * DAY):
        with pytest.raises(BadSpan):
            await estate.share_token("sales", expires_at=end)


async def test_an_endpoint_may_be_given_for_one_token(estate: Estate):
    """The endpoint of one profile may be another than the one that is set, if it is one."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales", endpoint="https://other.example.net")
    assert issued.profile.document()["endpoint"] == "https://other.example.net/_delta-sharing/v1"
    assert issued.warnings == ()
    with pytest.raises(BadEndpoint):
        await estate.share_token("sales", endpoint="other")


async def test_a_profile_can_be_shown_again_without_its_secret(estate: Estate):
    """The profile of a token is shown with the endpoint of now, and never with the token."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales")
    shown = await tokens.get_profile(estate.room, TokenCall(issued.credential.id, tokens.LIST, ORIGIN))
    assert shown.document() == {"shareCredentialsVersion": 1, "endpoint": f"{ORIGIN}/_delta-sharing/v1"}


async def test_missing_tokens_are_said_to_be_missing(estate: Estate):
    """What is asked of a token that is not there is refused."""
    for operation in (tokens.get_token, tokens.remove_token, tokens.get_profile):
        with pytest.raises(CredentialMissing):
            await operation(estate.room, TokenCall("238fe2ac-2ed6-4c2d-b7f3-6119049d08ba", tokens.LIST, ORIGIN))


async def test_a_recipient_has_a_bounded_number_of_tokens(estate: Estate):
    """The hundred-and-first token of a recipient is refused, until one that expired long ago makes room."""
    await estate.share("sales", "HR/staff")
    await estate.recipient("acme", "sales")
    await estate.recipient_token("acme", lifetime=3600)
    for _ in range(99):
        await estate.recipient_token("acme")
    with pytest.raises(TooMany):
        await estate.recipient_token("acme")
    estate.now += 31 * DAY
    await estate.recipient_token("acme")
    assert len((await estate.view()).tokens) == 100
