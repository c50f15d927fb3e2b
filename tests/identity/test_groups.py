"""Groups: policies that members share, from the next request on."""

import pytest

from lakeshare.identity import groups, users
from lakeshare.identity.directory_errors import BadName, GroupNotEmpty, NoSuchGroup, NoSuchPolicy, NoSuchUser, TooMany

OBJECT = "arn:aws:s3:::b/k"


async def test_members_have_the_groups_policies(house):
    """A policy of a group counts for its members as long as they are members."""
    await house.user("alice")
    await house.user("carol")
    await house.group("staff", ["alice"], ["readonly"])
    assert house.may(await house.caller("alice"), "s3:GetObject", OBJECT)
    assert (await house.caller("alice")).groups == ("staff",)
    assert not house.may(await house.caller("carol"), "s3:GetObject", OBJECT)
    await house.change(groups.remove_members, "staff", ("alice",))
    assert not house.may(await house.caller("alice"), "s3:GetObject", OBJECT)


async def test_a_groups_denial_binds_its_members(house):
    """What a group's policy denies, a member's own policy cannot allow."""
    await house.policy("no-writes", ("Deny", "s3:Put*", "*"))
    await house.user("alice", "readwrite")
    await house.group("careful", ["alice"], ["no-writes"])
    caller = await house.caller("alice")
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:PutObject", OBJECT)


async def test_a_disabled_group_counts_for_nothing(house):
    """A disabled group gives its members nothing until it is enabled."""
    await house.user("alice")
    await house.group("staff", ["alice"], ["readonly"])
    await house.change(groups.set_group_enabled, "staff", enabled=False)
    caller = await house.caller("alice")
    assert caller.groups == ()
    assert not house.may(caller, "s3:GetObject", OBJECT)
    await house.change(groups.set_group_enabled, "staff", enabled=True)
    assert house.may(await house.caller("alice"), "s3:GetObject", OBJECT)


async def test_policies_of_a_group_can_be_taken_back(house):
    """A detached policy no longer counts; detaching what is not attached is no error."""
    await house.user("alice")
    await house.group("staff", ["alice"], ["readonly"])
    await house.change(groups.detach_group_policies, "staff", ("readonly", "readwrite"))
    assert not house.may(await house.caller("alice"), "s3:GetObject", OBJECT)


async def test_a_group_is_removed_when_it_is_empty(house):
    """A group with members stays; a removed user leaves its groups."""
    await house.user("alice")
    await house.group("staff", ["alice"])
    with pytest.raises(GroupNotEmpty):
        await house.change(groups.delete_group, "staff")
    await house.change(users.delete_user, "alice")
    await house.change(groups.delete_group, "staff")
    with pytest.raises(NoSuchGroup):
        await house.change(groups.delete_group, "staff")


async def test_making_a_group_again_leaves_it_as_it_is(house):
    """Creating a group that exists changes nothing of it."""
    await house.user("alice")
    await house.group("staff", ["alice"], ["readonly"])
    await house.change(groups.create_group, "staff", house.now)
    view = await house.directory.current()
    assert view.register.group("staff").policies == ("readonly",)
    assert groups.members(view, "staff") == ("alice",)


async def test_membership_is_all_or_nothing(house):
    """One unknown user among the members keeps all of them out."""
    await house.user("alice")
    await house.group("staff")
    with pytest.raises(NoSuchUser):
        await house.change(groups.add_members, "staff", ("alice", "nobody"))
    assert groups.members(await house.directory.current(), "staff") == ()
    with pytest.raises(NoSuchPolicy):
        await house.change(groups.attach_group_policies, "staff", ("nothing",))
    with pytest.raises(NoSuchGroup):
        await house.change(groups.add_members, "other", ("alice",))
    with pytest.raises(BadName):
        await house.change(groups.create_group, "a/b", house.now)


async def test_groups_of_one_user_are_bounded(house):
    """A user is in at most 32 groups."""
    await house.user("alice")
    for number in range(groups.MAX_GROUPS_OF_USER):
        await house.group(f"g{number}", ["alice"])
    await house.group("last")
    with pytest.raises(TooMany):
        await house.change(groups.add_members, "last", ("alice",))
