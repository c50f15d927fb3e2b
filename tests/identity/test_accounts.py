"""Service accounts: they inherit live, and no key ever makes or becomes a wider one (the class of CVE-2025-62506)."""

import json

import pytest

from lakeshare.identity import accounts, users
from lakeshare.identity.accounts import AccountUpdate, NewAccount
from lakeshare.identity.authorise import Authoriser
from lakeshare.identity.caller import ANONYMOUS, CallerKind
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.directory_errors import (
    AccessKeyInactive,
    BadName,
    Escalation,
    NameTaken,
    NoSuchAccessKey,
    NoSuchUser,
    TooMany,
)
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.register import MAX_LINE
from lakeshare.identity.sts import AssumeRole, assume_role
from lakeshare.settings import Secret

OBJECT = "arn:aws:s3:::b/k"
READ = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}})
READ_AND_KEYS = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"},
            {"Effect": "Allow", "Action": ["admin:*", "sts:*"], "Resource": "*"},
        ],
    }
)


async def test_an_access_key_has_its_parents_rights_live(house):
    """What the parent may do the key may, and an edit of the parent's policies reaches the key at once."""
    await house.user("alice", "readonly")
    made = await house.account(await house.caller("alice"), name="etl", description="nightly")
    access_key = made.account.access_key
    assert (await house.directory.secret_of(access_key)).reveal() == made.secret.reveal()
    caller = await house.caller(access_key)
    assert (caller.kind, caller.name, caller.user) == (CallerKind.SERVICE_ACCOUNT, access_key, "alice")
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:PutObject", OBJECT)
    await house.change(users.attach_user_policies, "alice", ("readwrite",))
    assert house.may(await house.caller(access_key), "s3:PutObject", OBJECT)
    await house.change(users.detach_user_policies, "alice", ("readwrite", "readonly"))
    assert not house.may(await house.caller(access_key), "s3:GetObject", OBJECT)


async def test_the_policy_of_a_key_narrows_and_never_widens(house, text_of):
    """A key may do what both its parent and its own policy allow."""
    await house.user("alice", "readonly")
    alice = await house.caller("alice")
    narrow = await house.account(alice, policy=text_of(("Allow", "s3:*", "arn:aws:s3:::b/only/*")))
    caller = await house.caller(narrow.account.access_key)
    assert house.may(caller, "s3:GetObject", "arn:aws:s3:::b/only/k")
    assert not house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:PutObject", "arn:aws:s3:::b/only/k")
    await house.change(users.attach_user_policies, "alice", ("readwrite",))
    caller = await house.caller(narrow.account.access_key)
    assert house.may(caller, "s3:PutObject", "arn:aws:s3:::b/only/k")
    assert not house.may(caller, "s3:PutObject", OBJECT)


async def test_a_limited_key_may_not_even_see_to_its_own_account(house):
    """Own-account actions are asked of the key's policy too, so a key for reading makes no keys and no sessions."""
    await house.user("alice", "consoleAdmin")
    made = await house.account(await house.caller("alice"), policy=READ)
    caller = await house.caller(made.account.access_key)
    decide = Authoriser(caller, Circumstances(at=house.now), {}).decide_all
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not decide(NewAccount().requires(caller)).allowed
    assert not decide(AssumeRole().requires(caller)).allowed
    view = await house.directory.current()
    for action in ("admin:UpdateServiceAccount", "admin:RemoveServiceAccount", "admin:GetServiceAccount"):
        assert not decide(accounts.requires(action, view, made.account.access_key)).allowed


@pytest.mark.parametrize("owner", ["alice", "rootkey"])
async def test_a_restricted_key_cannot_make_a_wider_one(house, owner):
    """Even where its policy lets it make keys, what it makes is bound by that policy: no policy, or a wide one."""
    await house.user("alice", "consoleAdmin")
    await house.user("bob", "readwrite")
    made = await house.account(await house.caller(owner), policy=READ_AND_KEYS)
    restricted = await house.caller(made.account.access_key)
    assert house.may(restricted, "admin:CreateServiceAccount", f"arn:aws:iam:::user/{owner}")
    wide = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})
    for new in ({}, {"policy": wide}, {"user": owner}, {"user": "bob"}, {"user": "bob", "policy": wide}):
        child = await house.account(restricted, **new)
        caller = await house.caller(child.account.access_key)
        assert house.may(caller, "s3:GetObject", OBJECT), new
        assert not house.may(caller, "s3:PutObject", OBJECT), new
        assert not caller.is_unbound
        session = await assume_role(house.directory, caller, AssumeRole(policy=wide), house.now)
        assert not house.may(await house.session(session), "s3:PutObject", OBJECT), new


async def test_keys_made_by_a_key_go_with_it(house):
    """Removing or narrowing a key removes or narrows what it made, however far below."""
    await house.user("alice", "readwrite")
    first = await house.account(await house.caller("alice"), policy=READ_AND_KEYS)
    second = await house.account(await house.caller(first.account.access_key))
    third = await house.account(await house.caller(second.account.access_key))
    other = await house.account(await house.caller("alice"))
    alice = await house.caller("alice")
    only_keys = json.dumps({"Statement": {"Effect": "Allow", "Action": "admin:*"}})
    await house.change(accounts.update_account, alice, first.account.access_key, AccountUpdate(policy=only_keys))
    assert not house.may(await house.caller(third.account.access_key), "s3:GetObject", OBJECT)
    await house.change(accounts.update_account, alice, second.account.access_key, AccountUpdate(enabled=False))
    with pytest.raises(AccessKeyInactive):
        await house.caller(third.account.access_key)
    gone = await house.change(accounts.remove_account, alice, first.account.access_key)
    assert set(gone) == {each.account.access_key for each in (first, second, third)}
    for each in (first, second, third):
        assert await house.directory.secret_of(each.account.access_key) is None
        with pytest.raises(AccessKeyUnknown):
            await house.caller(each.account.access_key)
    assert house.may(await house.caller(other.account.access_key), "s3:GetObject", OBJECT)


async def test_a_restricted_key_has_power_over_its_own_keys_only(house):
    """It cannot widen itself, its siblings, its makers or other users' keys; what hangs below it, it may change."""
    await house.user("alice", "consoleAdmin")
    await house.user("bob", "readwrite")
    alice = await house.caller("alice")
    sibling = (await house.account(alice, policy=READ)).account.access_key
    bobs = (await house.account(alice, user="bob", policy=READ)).account.access_key
    itself = (await house.account(alice, policy=READ_AND_KEYS)).account.access_key
    restricted = await house.caller(itself)
    below = (await house.account(restricted, policy=READ)).account.access_key
    for target in (itself, sibling, bobs):
        for update in (
            AccountUpdate(policy=None),
            AccountUpdate(secret=Secret("taken-over")),
            AccountUpdate(enabled=True),
        ):
            with pytest.raises(Escalation):
                await house.change(accounts.update_account, restricted, target, update)
    for target in (sibling, bobs):
        with pytest.raises(Escalation):
            await house.change(accounts.remove_account, restricted, target)
    await house.change(accounts.update_account, restricted, below, AccountUpdate(policy=None))
    assert not house.may(await house.caller(below), "s3:PutObject", OBJECT)
    assert await house.change(accounts.remove_account, restricted, below) == (below,)
    assert await house.change(accounts.remove_account, restricted, itself) == (itself,)


async def test_roots_keys_are_roots(house):
    """A key of root's without a policy is root; nobody but root makes or changes one, however much they may."""
    await house.user("alice", "consoleAdmin")
    alice, root = await house.caller("alice"), await house.caller("rootkey")
    free = await house.account(root)
    limited = await house.account(root, policy=READ_AND_KEYS)
    assert (await house.caller(free.account.access_key)).is_unbound
    assert not (await house.caller(limited.account.access_key)).is_unbound
    with pytest.raises(Escalation):
        await house.account(alice, user="rootkey")
    for target in (free, limited):
        with pytest.raises(Escalation):
            await house.change(accounts.update_account, alice, target.account.access_key, AccountUpdate(policy=None))
        with pytest.raises(Escalation):
            await house.change(accounts.remove_account, alice, target.account.access_key)
    restricted = await house.caller(limited.account.access_key)
    with pytest.raises(Escalation):
        await house.change(accounts.update_account, restricted, free.account.access_key, AccountUpdate(enabled=False))


async def test_a_session_leaves_no_lasting_key(house):
    """A key that a session makes has the session's policy and end; a session changes no key."""
    await house.user("alice", "readwrite")
    alice = await house.caller("alice")
    lasting = await house.account(alice)
    granted = await assume_role(house.directory, alice, AssumeRole(900, READ_AND_KEYS), house.now)
    session = await house.session(granted)
    made = await house.account(session, expires_at=house.now + 10**6)
    assert made.account.expires_at == granted.expires_at
    caller = await house.caller(made.account.access_key)
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:PutObject", OBJECT)
    free = await house.session(await assume_role(house.directory, alice, AssumeRole(900), house.now))
    for each in (session, free):
        update = AccountUpdate(secret=Secret("taken-over"))
        with pytest.raises(Escalation):
            await house.change(accounts.update_account, each, lasting.account.access_key, update)
    with pytest.raises(Escalation):
        await house.change(accounts.remove_account, session, lasting.account.access_key)
    house.now += 901
    with pytest.raises(AccessKeyInactive, match="expired"):
        await house.caller(made.account.access_key)


async def test_an_access_key_ends_with_its_time(house):
    """A key with an end works until then, and what it made no longer."""
    await house.user("alice", "readonly")
    made = await house.account(await house.caller("alice"), expires_at=house.now + 100)
    child = await house.account(await house.caller(made.account.access_key))
    house.now += 99
    assert house.may(await house.caller(child.account.access_key), "s3:GetObject", OBJECT)
    house.now += 1
    for each in (made, child):
        with pytest.raises(AccessKeyInactive, match="expired"):
            await house.caller(each.account.access_key)


async def test_a_key_can_be_changed(house):
    """Secret, policy, state, end and texts can be changed, each by itself."""
    await house.user("alice", "readwrite")
    alice = await house.caller("alice")
    access_key = (await house.account(alice, policy=READ, name="one")).account.access_key
    session = await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    await house.change(accounts.update_account, alice, access_key, AccountUpdate(secret=Secret("new-secret")))
    assert (await house.directory.secret_of(access_key)).reveal() == "new-secret"
    await house.change(accounts.update_account, alice, access_key, AccountUpdate(policy=None, name="two"))
    assert house.may(await house.caller(access_key), "s3:PutObject", OBJECT)
    await house.change(accounts.update_account, alice, access_key, AccountUpdate(enabled=False))
    with pytest.raises(AccessKeyInactive, match="disabled"):
        await house.caller(access_key)
    update = AccountUpdate(enabled=True, expires_at=house.now + 5, description="more")
    account = await house.change(accounts.update_account, alice, access_key, update)
    assert (account.name, account.description, account.policy) == ("two", "more", None)
    assert await house.session(session)


async def test_changing_a_key_ends_its_sessions(house):
    """A new secret or policy of a key ends the sessions that it began."""
    await house.user("alice", "readwrite")
    alice = await house.caller("alice")
    access_key = (await house.account(alice)).account.access_key
    session = await assume_role(house.directory, await house.caller(access_key), AssumeRole(), house.now)
    await house.change(accounts.update_account, alice, access_key, AccountUpdate(policy=READ))
    with pytest.raises(Exception, match="revoked"):
        await house.session(session)


async def test_another_users_key_needs_the_right_over_that_user(house):
    """Whose key is asked for decides what is needed."""
    await house.user("alice")
    await house.user("bob")
    alice = await house.caller("alice")
    decide = Authoriser(alice, Circumstances(at=house.now), {}).decide_all
    assert decide(NewAccount().requires(alice)).allowed
    assert decide(NewAccount(user="alice").requires(alice)).allowed
    assert not decide(NewAccount(user="bob").requires(alice)).allowed
    bobs = await house.account(await house.caller("bob"))
    view = await house.directory.current()
    assert not decide(accounts.requires("admin:GetServiceAccount", view, bobs.account.access_key)).allowed
    roots = await house.account(await house.caller("rootkey"))
    needs = accounts.requires("admin:GetServiceAccount", await house.directory.current(), roots.account.access_key)
    assert needs[0].resource == "arn:aws:iam:::user/rootkey"


async def test_what_cannot_be_made(house):
    """Taken names, malformed policies, unknown users, nobody and endless lines of keys are refused."""
    await house.user("alice")
    alice = await house.caller("alice")
    await house.account(alice, access_key="taken")
    for new, error in (
        ({"access_key": "taken"}, NameTaken),
        ({"access_key": "alice"}, NameTaken),
        ({"access_key": "rootkey"}, NameTaken),
        ({"access_key": "x"}, BadName),
        ({"access_key": "LSTSXXXX"}, BadName),
        ({"secret": Secret("short")}, BadName),
        ({"name": "x" * 300}, BadName),
        ({"policy": "{"}, MalformedPolicy),
        ({"user": "nobody"}, NoSuchUser),
        ({"user": ":root"}, Escalation),
    ):
        with pytest.raises(error):
            await house.account(alice, **new)
    with pytest.raises(NameTaken):
        await house.user("taken")
    with pytest.raises(Escalation):
        await house.account(ANONYMOUS)
    with pytest.raises(NoSuchAccessKey):
        await house.change(accounts.remove_account, alice, "nothing")
    maker = alice
    for _ in range(MAX_LINE):
        maker = await house.caller((await house.account(maker)).account.access_key)
    with pytest.raises(TooMany):
        await house.account(maker)


async def test_access_keys_of_one_user_are_bounded(house, monkeypatch):
    """A user has at most so many access keys, those made by its keys among them."""
    monkeypatch.setattr(accounts, "MAX_ACCOUNTS_OF_USER", 2)
    await house.user("alice")
    alice = await house.caller("alice")
    first = await house.account(alice)
    await house.account(await house.caller(first.account.access_key))
    with pytest.raises(TooMany):
        await house.account(alice)
