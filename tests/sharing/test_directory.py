"""The directory of shares over state: what any worker changes is what every worker sees next."""

import asyncio

import pytest

from lakeshare.sharing.errors import (
    AddressRefused,
    CredentialExpired,
    NameTaken,
    NoSuchResource,
    OAuthRequired,
    RecipientSuspended,
    Unrecognised,
)
from lakeshare.sharing.model.recipients import CredentialKind
from lakeshare.sharing.operations import recipients, shares, tokens
from lakeshare.sharing.operations.recipients import UpdateRecipient
from lakeshare.sharing.operations.shares import ShareCall, UpdateShare
from lakeshare.sharing.operations.shown import DELETE
from lakeshare.sharing.operations.tokens import TokenCall
from lakeshare.state.epoch import Plan
from lakeshare.state.export import Summary, exported
from tests.sharing.estate import DAY, Estate


async def test_a_token_lets_its_recipient_in(any_estate: Estate):
    """Who has a token sees the share that it was made for, and nothing else."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    access = await any_estate.admit(await any_estate.share_token("sales"))
    view = await any_estate.view()
    assert [share.name for share in access.shares] == ["sales"]
    assert view.table(access, "SALES", "hr", "Staff").name == "staff"
    for name in (("stock",), ("nothing",)):
        with pytest.raises(NoSuchResource, match="does not exist, please contact your share provider"):
            view.share_for(access, *name)


async def test_names_that_differ_in_case_are_one(any_estate: Estate):
    """A share cannot be made beside one that differs from it in case alone."""
    await any_estate.share("Sales", "HR/staff")
    with pytest.raises(NameTaken):
        await any_estate.share("SALES")


async def test_revoking_a_token_is_seen_by_every_worker(any_estate: Estate):
    """A token that one worker revokes is refused by another's next request."""
    await any_estate.share("sales", "HR/staff")
    issued = await any_estate.share_token("sales")
    other = any_estate.beside()
    await other.admit(issued)
    await tokens.remove_token(any_estate.room, TokenCall(issued.credential.id, tokens.DELETE))
    with pytest.raises(Unrecognised):
        await other.admit(issued)


async def test_removing_a_share_ends_its_tokens_and_no_others(any_estate: Estate):
    """The tokens of a share end with it; a recipient that has other shares keeps those, and its own token."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    await any_estate.recipient("acme", "sales", "stock")
    bound = await any_estate.share_token("sales")
    named = await any_estate.share_token("sales", "acme")
    wide = await any_estate.recipient_token("acme")
    client = await any_estate.share_token("sales", kind=CredentialKind.OAUTH)
    assert [share.name for share in (await any_estate.admit(wide)).shares] == ["sales", "stock"]
    removed = await shares.remove_share(any_estate.room, ShareCall("sales", DELETE))
    assert removed.tokens == 3
    for ended in (bound, named):
        with pytest.raises(Unrecognised):
            await any_estate.admit(ended)
    view = await any_estate.view()
    assert view.client(client.credential.id) is None
    assert [each.name for each in view.recipients] == ["acme"]
    assert [share.name for share in (await any_estate.admit(wide)).shares] == ["stock"]


async def test_a_share_made_again_has_none_of_the_old_tokens(any_estate: Estate):
    """A share of the name of one that was removed is another share: old tokens and grants do not reach it."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    bound, wide = await any_estate.share_token("sales"), await any_estate.recipient_token("acme")
    await shares.remove_share(any_estate.room, ShareCall("sales", DELETE))
    await any_estate.share("sales", "HR/staff")
    with pytest.raises(Unrecognised):
        await any_estate.admit(bound)
    assert (await any_estate.admit(wide)).shares == ()


async def test_a_share_with_very_many_tokens_is_removed(estate: Estate):
    """A share whose tokens do not fit into one commit is gone at once, and what is left of it soon after."""
    await estate.share("sales", "HR/staff")
    first = await estate.share_token("sales")
    for _ in range(550):
        await estate.share_token("sales")
    assert (await shares.remove_share(estate.room, ShareCall("sales", DELETE))).tokens == 551
    with pytest.raises(Unrecognised):
        await estate.admit(first)
    view = await estate.view()
    assert (view.tokens, view.recipients) == ((), ())


async def test_tokens_expire(any_estate: Estate):
    """A token is good up to its end, and not at it."""
    await any_estate.share("sales", "HR/staff")
    issued = await any_estate.share_token("sales", lifetime=DAY)
    any_estate.now += DAY - 1
    await any_estate.admit(issued)
    any_estate.now += 1
    with pytest.raises(CredentialExpired):
        await any_estate.admit(issued)


async def test_a_recipient_is_suspended_and_let_in_again(any_estate: Estate):
    """A suspended recipient is refused with each of its tokens, until it is let in again."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    both = [await any_estate.recipient_token("acme"), await any_estate.share_token("sales", "acme")]
    await recipients.update_recipient(any_estate.room, UpdateRecipient("ACME", suspended=True))
    for issued in both:
        with pytest.raises(RecipientSuspended):
            await any_estate.beside().admit(issued)
    await recipients.update_recipient(any_estate.room, UpdateRecipient("acme", suspended=False))
    for issued in both:
        await any_estate.admit(issued)


async def test_an_address_that_is_not_listed_is_refused(any_estate: Estate):
    """A recipient with a list of networks is let in from there alone."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales", networks=("192.0.2.0/24",))
    issued = await any_estate.recipient_token("acme")
    await any_estate.admit(issued, "192.0.2.9")
    with pytest.raises(AddressRefused, match=r"203\.0\.113\.1"):
        await any_estate.admit(issued, "203.0.113.1")


async def test_a_share_that_requires_oauth_refuses_bearer_tokens(any_estate: Estate):
    """A bearer token does not see a share that requires OAuth, and is told why; an OAuth client sees it."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    await any_estate.recipient("acme", "sales", "stock")
    bound, wide = await any_estate.share_token("sales"), await any_estate.recipient_token("acme")
    client = await any_estate.recipient_token("acme", kind=CredentialKind.OAUTH)
    await shares.update_share(any_estate.room, UpdateShare("sales", oauth_only=True))
    with pytest.raises(OAuthRequired):
        await any_estate.admit(bound)
    view = await any_estate.view()
    access = await any_estate.admit(wide)
    assert [share.name for share in access.shares] == ["stock"]
    with pytest.raises(OAuthRequired):
        view.share_for(access, "sales")
    assert [share.name for share in view.admit(client.credential, any_estate.now, "").shares] == ["sales", "stock"]


async def test_a_recipient_that_requires_oauth_refuses_bearer_tokens(any_estate: Estate):
    """A recipient that must use OAuth is refused with every bearer token."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    issued = await any_estate.recipient_token("acme")
    await recipients.update_recipient(any_estate.room, UpdateRecipient("acme", oauth_only=True))
    with pytest.raises(OAuthRequired):
        await any_estate.admit(issued)
    again = await any_estate.recipient_token("acme")
    assert any("OAuth" in text for text in again.warnings)


async def test_changes_of_many_workers_are_all_kept(any_estate: Estate):
    """Workers that change sharing at once all succeed, and no change is lost."""
    await any_estate.share("sales", "HR/staff")
    workers = [any_estate.beside() for _ in range(4)]
    await asyncio.gather(*(worker.recipient(f"r{number}", "sales") for number, worker in enumerate(workers)))
    view = await any_estate.view()
    assert [each.name for each in view.recipients] == ["r0", "r1", "r2", "r3"]


async def test_a_plan_that_refuses_changes_nothing(any_estate: Estate):
    """When a plan raises, nothing is written."""
    before = (await any_estate.view()).unchanged

    def plan(view):
        raise NameTaken("share", "x")

    with pytest.raises(NameTaken):
        await any_estate.directory.change(plan)
    assert (await any_estate.view()).unchanged == before


async def test_keys_are_the_same_in_every_worker(any_estate: Estate):
    """The key for one purpose is the same in all workers, and another one for another purpose."""
    assert (await any_estate.view()).key("a") is None
    await any_estate.share("sales")
    view, other = await any_estate.view(), await any_estate.beside().view()
    assert view.key("a") == other.key("a") != view.key("b")
    assert len(view.key("a")) == 32


async def test_no_secret_lies_in_state(estate: Estate):
    """An export of state holds no token, no client's secret and no key in the clear."""
    await estate.share("sales", "HR/staff")
    bearer = await estate.share_token("sales")
    client = await estate.share_token("sales", kind=CredentialKind.OAUTH)
    text = b"".join([chunk async for chunk in exported(estate.state, Summary())])
    for secret in (bearer.secret.reveal(), client.secret.reveal(), (await estate.view()).key("").hex()):
        assert secret.encode() not in text
        assert secret[4:].encode() not in text


async def test_a_change_that_does_nothing_is_still_one_moment(estate: Estate):
    """A plan without changes is committed like any other."""
    assert await estate.directory.change(lambda view: Plan((), "answer")) == "answer"
