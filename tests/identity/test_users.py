"""Users: their secrets, their state, their policies, and what is left of them once they are gone."""

import pytest

from lakeshare.identity import users
from lakeshare.identity.caller import CallerKind
from lakeshare.identity.directory_errors import AccessKeyInactive, BadName, NameTaken, NoSuchPolicy, NoSuchUser, TooMany
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.identity.sts import AssumeRole, assume_role
from lakeshare.settings import Secret

OBJECT = "arn:aws:s3:::b/k"


async def test_a_user_has_its_secret_and_nothing_else(house):
    """A new user can sign and may do nothing but see to its own account."""
    await house.user("alice")
    assert (await house.directory.secret_of("alice")).reveal() == "alice-secret-1"
    caller = await house.caller("alice")
    assert (caller.kind, caller.name, caller.user) == (CallerKind.USER, "alice", "alice")
    assert not house.may(caller, "s3:GetObject", OBJECT)
    assert house.may(caller, "admin:CreateServiceAccount", "arn:aws:iam:::user/alice")
    assert not house.may(caller, "admin:CreateServiceAccount", "arn:aws:iam:::user/bob")


async def test_root_is_not_in_the_directory(house):
    """Root's pair comes from elsewhere; no user can take its name."""
    assert (await house.directory.secret_of("rootkey")).reveal() == "root-secret"
    caller = await house.caller("rootkey")
    assert caller.is_unbound
    with pytest.raises(NameTaken):
        await house.user("rootkey")
    for unknown in ("nobody", ":root", ""):
        assert await house.directory.secret_of(unknown) is None
        with pytest.raises(AccessKeyUnknown):
            await house.caller(unknown)


async def test_secrets_lie_sealed_in_state(house):
    """No value in state holds a secret as it is."""
    await house.user("alice")
    await house.account(await house.caller("alice"), secret=Secret("account-secret"))
    await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    values = b"".join(record.value for record in (await house.state.scan(("identity",))).records)
    assert b"alice" in values
    assert b"secret-1" not in values
    assert b"account-secret" not in values


async def test_policies_count_from_the_next_request(house, another_worker):
    """A policy that is attached or detached counts at once, in every worker."""
    await house.user("alice")
    assert not another_worker.may(await another_worker.caller("alice"), "s3:GetObject", OBJECT)
    await house.change(users.attach_user_policies, "alice", ("readonly",))
    assert another_worker.may(await another_worker.caller("alice"), "s3:GetObject", OBJECT)
    await another_worker.change(users.detach_user_policies, "alice", ("readonly", "readwrite"))
    assert not house.may(await house.caller("alice"), "s3:GetObject", OBJECT)


async def test_an_edited_policy_counts_for_its_holders(house):
    """Replacing a policy's text changes what its holders may do."""
    await house.policy("mine", ("Allow", "s3:GetObject", "*"))
    await house.user("alice", "mine")
    assert house.may(await house.caller("alice"), "s3:GetObject", OBJECT)
    await house.policy("mine", ("Allow", "s3:PutObject", "*"))
    caller = await house.caller("alice")
    assert not house.may(caller, "s3:GetObject", OBJECT)
    assert house.may(caller, "s3:PutObject", OBJECT)


async def test_several_policies_are_one_with_denials_first(house):
    """What one policy denies no other allows."""
    await house.policy("no-secrets", ("Deny", "s3:*", "arn:aws:s3:::b/secret/*"))
    await house.user("alice", "readwrite", "no-secrets")
    caller = await house.caller("alice")
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:GetObject", "arn:aws:s3:::b/secret/k")
    assert house.may(caller, "sts:AssumeRole", "arn:aws:iam:::user/alice")


async def test_rights_over_ones_own_account_can_be_denied(house):
    """Own-account actions are evaluated like all others: a deny takes them away."""
    await house.policy("no-keys", ("Deny", "admin:CreateServiceAccount", "*"))
    await house.user("alice", "no-keys")
    caller = await house.caller("alice")
    assert not house.may(caller, "admin:CreateServiceAccount", "arn:aws:iam:::user/alice")
    assert house.may(caller, "admin:ListServiceAccounts", "arn:aws:iam:::user/alice")


async def test_a_disabled_user_keeps_out_with_all_its_keys(house):
    """Disabling stops the user, its access keys and its sessions; enabling lets them in again."""
    await house.user("alice", "readonly")
    made = await house.account(await house.caller("alice"))
    session = await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    await house.change(users.set_user_enabled, "alice", enabled=False)
    for access_key, token in (
        ("alice", None),
        (made.account.access_key, None),
        (session.access_key, session.session_token),
    ):
        assert await house.directory.secret_of(access_key, token) is not None
        with pytest.raises(AccessKeyInactive):
            await house.caller(access_key, token)
    await house.change(users.set_user_enabled, "alice", enabled=True)
    assert house.may(await house.caller(made.account.access_key), "s3:GetObject", OBJECT)
    assert house.may(await house.session(session), "s3:GetObject", OBJECT)


async def test_a_removed_user_leaves_nothing_to_its_namesake(house):
    """Keys and sessions of a removed user stay dead when a user of the same name is made."""
    await house.user("alice", "readonly")
    made = await house.account(await house.caller("alice"))
    session = await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    await house.change(users.delete_user, "alice")
    await house.user("alice", "readwrite", secret=Secret("another-secret"))
    assert await house.directory.secret_of(made.account.access_key) is None
    with pytest.raises(Exception, match="revoked"):
        await house.session(session)
    assert (await house.directory.secret_of("alice")).reveal() == "another-secret"


async def test_a_new_secret_replaces_the_old(house):
    """After a change of secret the old one is gone, and sessions made before have ended."""
    await house.user("alice")
    session = await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    await house.change(users.set_user_secret, "alice", Secret("second-secret"))
    assert (await house.directory.secret_of("alice")).reveal() == "second-secret"
    with pytest.raises(Exception, match="revoked"):
        await house.session(session)


@pytest.mark.parametrize(
    "name",
    ["", "ab", "a" * 65, "a b", "a/b", "a:b", "a*b", "a,b", "a=b", "-ab", "ällice", "LSTSabcdef", "a\nb", "abc\n"],
)
async def test_names_that_cannot_be(house, name):
    """A user's name fits headers and ARNs, and is no session's."""
    with pytest.raises(BadName):
        await house.user(name)


@pytest.mark.parametrize("secret", ["", "short", "x" * 129, "with space", "nöt-ascii"])
async def test_secrets_that_cannot_be(house, secret):
    """A secret has 8 to 128 printable characters, and the error does not show it."""
    with pytest.raises(BadName) as caught:
        await house.user("alice", secret=Secret(secret))
    assert not secret or secret not in caught.value.message


async def test_what_does_not_exist_is_told(house):
    """Users and policies that are not there are named in the error."""
    await house.user("alice")
    with pytest.raises(NameTaken):
        await house.user("alice")
    for plan, arguments in (
        (users.delete_user, ()),
        (users.set_user_secret, (Secret("long-enough"),)),
        (users.attach_user_policies, (("readonly",),)),
        (users.revoke_sessions, ()),
    ):
        with pytest.raises(NoSuchUser, match="'bob'"):
            await house.change(plan, "bob", *arguments)
    with pytest.raises(NoSuchPolicy, match="'nothing'"):
        await house.change(users.attach_user_policies, "alice", ("readonly", "nothing"))
    assert (await house.directory.current()).register.user("alice").policies == ()


async def test_policies_of_one_user_are_bounded(house):
    """A user has at most 32 policies of its own."""
    await house.user("alice")
    names = [f"p{number}" for number in range(users.MAX_POLICIES + 1)]
    for name in names:
        await house.policy(name, ("Allow", "s3:GetObject", "*"))
    with pytest.raises(TooMany):
        await house.change(users.attach_user_policies, "alice", tuple(names))
