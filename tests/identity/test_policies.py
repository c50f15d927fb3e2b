"""Named policies: kept as they were written, built-in ones untouchable, those in use kept."""

import json

import pytest

from lakeshare.identity import groups, policies, users
from lakeshare.identity.directory_errors import BadName, NoSuchPolicy, PolicyBuiltIn, PolicyInUse
from lakeshare.identity.policy.builtin import BUILT_IN
from lakeshare.identity.policy.errors import MalformedPolicy, PolicyTooLarge
from lakeshare.identity.records import POLICIES, NamedPolicy
from lakeshare.state.port import Put, Transaction

OBJECT = "arn:aws:s3:::b/k"


async def test_a_policy_is_kept_as_it_was_written(house, text_of):
    """The text of a policy comes back byte for byte, with the warnings told when it was put."""
    text = json.dumps(json.loads(text_of(("Allow", "s3:GetObjekt", "*"))), indent=3)
    warnings = await house.change(policies.put_policy, "mine", text, house.now)
    assert "GetObjekt" in warnings[0]
    assert (await house.directory.current()).register.policy("mine").text == text


async def test_a_malformed_policy_is_never_stored(house):
    """What does not parse or is too large is refused, and nothing changes."""
    for text, error in (("{", MalformedPolicy), (" " * 30_000, PolicyTooLarge)):
        with pytest.raises(error):
            await house.change(policies.put_policy, "mine", text, house.now)
    assert (await house.directory.current()).register.policy("mine") is None
    with pytest.raises(BadName):
        await house.change(policies.put_policy, "a b", "{}", house.now)


async def test_built_in_policies_are_there_and_stay(house, text_of):
    """Every built-in policy is listed first, and cannot be replaced or removed."""
    listed = [policy.name for policy in (await house.directory.current()).register.policies()]
    assert listed == list(BUILT_IN)
    with pytest.raises(PolicyBuiltIn):
        await house.change(policies.put_policy, "readonly", text_of(("Allow", "s3:*", "*")), house.now)
    with pytest.raises(PolicyBuiltIn):
        await house.change(policies.delete_policy, "readonly")


async def test_a_policy_in_use_stays(house):
    """A policy goes when no user and no group has it any more; the error names who has."""
    await house.policy("mine", ("Deny", "s3:*", "*"))
    await house.user("alice", "mine")
    await house.group("staff", attached=["mine"])
    with pytest.raises(PolicyInUse) as caught:
        await house.change(policies.delete_policy, "mine")
    assert caught.value.holders == ("user alice", "group staff")
    await house.change(users.detach_user_policies, "alice", ("mine",))
    await house.change(groups.detach_group_policies, "staff", ("mine",))
    await house.change(policies.delete_policy, "mine")
    with pytest.raises(NoSuchPolicy):
        await house.change(policies.delete_policy, "mine")


async def test_a_policy_that_went_missing_or_broke_denies(house):
    """If a policy that is attached cannot be found or read, its holders are denied, never freed of its denials."""
    await house.policy("mine", ("Allow", "s3:*", "*"))
    await house.user("alice", "mine", "readwrite")
    assert house.may(await house.caller("alice"), "s3:GetObject", OBJECT)
    broken = (POLICIES.put(NamedPolicy("mine", "{}"), "mine"), Put(("identity", "epoch"), b""))
    await house.state.commit(Transaction(changes=broken))
    assert not house.may(await house.caller("alice"), "s3:GetObject", OBJECT)
    await house.state.commit(Transaction(changes=(POLICIES.delete("mine"),)))
    assert not house.may(await house.caller("alice"), "s3:GetObject", OBJECT)
