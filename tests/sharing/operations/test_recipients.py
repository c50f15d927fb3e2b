"""Recipients and what is shared with them."""

import pytest

from lakeshare.sharing.errors import BadName, NameTaken, NotImplicit, RecipientMissing, ShareMissing, Unrecognised
from lakeshare.sharing.operations import recipients
from lakeshare.sharing.operations.recipients import (
    CreateRecipient,
    Grant,
    ListRecipients,
    RecipientCall,
    UpdateRecipient,
)
from lakeshare.sharing.operations.tokens import DELETE, LIST
from tests.sharing.estate import Estate


async def test_shares_are_granted_and_taken(any_estate: Estate):
    """A recipient's token sees what is granted to it, from the moment it is, and not after it is taken."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.share("stock", "main/items")
    await any_estate.recipient("acme", "sales")
    issued = await any_estate.recipient_token("acme")
    assert [share.name for share in (await any_estate.admit(issued)).shares] == ["sales"]
    granted = await recipients.grant_share(any_estate.room, Grant("acme", "STOCK"))
    assert granted.shares == ("sales", "stock")
    assert [share.name for share in (await any_estate.admit(issued)).shares] == ["sales", "stock"]
    await recipients.take_share(any_estate.room, Grant("acme", "sales"))
    assert [share.name for share in (await any_estate.admit(issued)).shares] == ["stock"]


async def test_recipients_are_changed_and_listed(any_estate: Estate):
    """A recipient is renamed, described and limited; those that stand for one token are listed on demand."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    await any_estate.share_token("sales")
    call = UpdateRecipient("acme", "ACME-eu", "theirs", ("192.0.2.1",), oauth_only=True)
    changed = (await recipients.update_recipient(any_estate.room, call)).recipient
    assert (changed.name, changed.description, changed.networks) == ("ACME-eu", "theirs", ("192.0.2.1/32",))
    listed = await recipients.list_recipients(any_estate.room, ListRecipients())
    assert [each.recipient.name for each in listed] == ["ACME-eu"]
    assert len(await recipients.list_recipients(any_estate.room, ListRecipients(implicit=True))) == 2
    shown = await recipients.get_recipient(any_estate.room, RecipientCall("acme-EU", LIST))
    assert (shown.shares, shown.credentials, shown.last_used_at) == (("sales",), 0, None)


async def test_a_recipient_goes_with_its_tokens(any_estate: Estate):
    """Removing a recipient ends its tokens; one of the same name made later has none of them."""
    await any_estate.share("sales", "HR/staff")
    await any_estate.recipient("acme", "sales")
    issued = await any_estate.recipient_token("acme")
    await recipients.remove_recipient(any_estate.room, RecipientCall("acme", DELETE))
    with pytest.raises(Unrecognised):
        await any_estate.admit(issued)
    await any_estate.recipient("acme", "sales")
    with pytest.raises(Unrecognised):
        await any_estate.admit(issued)
    assert (await any_estate.view()).tokens == ()


async def test_what_cannot_be_is_refused(estate: Estate):
    """Names that are taken or no names, shares that are not there, and changes of what nobody named are refused."""
    await estate.share("sales", "HR/staff")
    await estate.recipient("acme", "sales")
    await estate.recipient("other")
    issued = await estate.share_token("sales")
    for call, error in (
        (CreateRecipient("root", "ACME"), NameTaken),
        (CreateRecipient("root", "a b"), BadName),
        (CreateRecipient("root", "new", shares=("no",)), ShareMissing),
        (CreateRecipient("root", "new", networks=("no",)), BadName),
    ):
        with pytest.raises(error):
            await recipients.create_recipient(estate.room, call)
    for update, error in (
        (UpdateRecipient("other", "acme"), NameTaken),
        (UpdateRecipient("nobody"), RecipientMissing),
        (UpdateRecipient(issued.recipient.name, "named"), NotImplicit),
    ):
        with pytest.raises(error):
            await recipients.update_recipient(estate.room, update)
    with pytest.raises(NotImplicit):
        await recipients.grant_share(estate.room, Grant(issued.recipient.name, "sales"))


async def test_a_token_of_one_share_can_be_limited_too(estate: Estate):
    """The recipient that stands for one token can be suspended and limited like any other."""
    await estate.share("sales", "HR/staff")
    issued = await estate.share_token("sales")
    changed = await recipients.update_recipient(estate.room, UpdateRecipient(issued.recipient.name, suspended=True))
    assert changed.recipient.suspended
