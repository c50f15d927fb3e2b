"""Sessions: unforgeable, bound to their key, time and policy, and ended when their parent says so."""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lakeshare.identity import accounts, users
from lakeshare.identity.authorise import Reason
from lakeshare.identity.caller import ANONYMOUS, CallerKind, Need
from lakeshare.identity.claims import Claim, Claims
from lakeshare.identity.directory_errors import AccessKeyInactive, BadDuration, BadName, Escalation, TooMany
from lakeshare.identity.errors import TokenExpired, TokenInvalid
from lakeshare.identity.policy.compiled import compile_stored
from lakeshare.identity.policy.errors import MalformedPolicy, PolicyTooLarge
from lakeshare.identity.records import SESSION_KEYS
from lakeshare.identity.session_tokens import MAX_SESSION_POLICIES, Session, TokenSealer, new_session_key
from lakeshare.identity.sts import AssumeRole, assume_role, rotate_session_keys, vend
from lakeshare.identity.vending import Scope, policy_for
from lakeshare.settings import Secret
from lakeshare.state.codec import encode

OBJECT = "arn:aws:s3:::b/k"
READ = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}})
ALL = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})


async def assumed(house, name="alice", **wanted):
    return await assume_role(house.directory, await house.caller(name), AssumeRole(**wanted), house.now)


async def test_a_session_has_its_parents_rights_live(house):
    """Without a policy a session may do what its parent may, as of each request."""
    await house.user("alice", "readonly")
    credentials = await assumed(house, session_name="job-1")
    secret = await house.directory.secret_of(credentials.access_key, credentials.session_token)
    assert secret.reveal() == credentials.secret.reveal()
    caller = await house.session(credentials)
    assert (caller.kind, caller.user, caller.session) == (CallerKind.SESSION, "alice", "job-1")
    assert credentials.expires_at == house.now + 3600
    assert house.may(caller, "s3:GetObject", OBJECT)
    await house.change(users.detach_user_policies, "alice", ("readonly",))
    assert not house.may(await house.session(credentials), "s3:GetObject", OBJECT)


async def test_a_sessions_policy_is_asked_for_every_action(house):
    """A session may do what both its parent and its policy allow, own-account actions among them."""
    await house.user("alice", "readwrite")
    caller = await house.session(await assumed(house, policy=READ))
    assert house.may(caller, "s3:GetObject", OBJECT)
    assert not house.may(caller, "s3:PutObject", OBJECT)
    for action in ("admin:CreateServiceAccount", "sts:AssumeRole", "admin:RevokeSessions"):
        assert not house.may(caller, action, "arn:aws:iam:::user/alice")
    wide = await house.session(await assumed(house, policy=ALL))
    assert not house.may(wide, "admin:CreateUser", "arn:aws:iam:::user/bob")
    assert house.may(wide, "sts:AssumeRole", "arn:aws:iam:::user/alice")


async def test_a_session_of_a_session_is_within_both(house):
    """Sessions in a row keep every policy and the earliest end."""
    await house.user("alice", "readwrite")
    first = await assumed(house, duration_seconds=900, policy=READ)
    second = await assume_role(house.directory, await house.session(first), AssumeRole(43_200, ALL), house.now + 1)
    assert second.expires_at == first.expires_at
    assert not house.may(await house.session(second), "s3:PutObject", OBJECT)
    third = await assume_role(house.directory, await house.session(second), AssumeRole(900), house.now)
    assert not house.may(await house.session(third), "s3:PutObject", OBJECT)
    caller = await house.session(third)
    for _ in range(MAX_SESSION_POLICIES - 2):
        granted = await assume_role(house.directory, caller, AssumeRole(policy=ALL), house.now)
        caller = await house.session(granted)
    with pytest.raises(TooMany):
        await assume_role(house.directory, caller, AssumeRole(policy=ALL), house.now)


async def test_roots_session_is_root_within_its_policy(house):
    """A session of root's with a policy is bound by it, one without is not."""
    limited = await house.session(await assumed(house, "rootkey", policy=READ))
    assert limited.user == "rootkey"
    assert house.may(limited, "s3:GetObject", OBJECT)
    assert not house.may(limited, "s3:PutObject", OBJECT)
    assert (await house.session(await assumed(house, "rootkey"))).is_unbound


async def test_a_session_ends(house):
    """At its last second a session is over, and says so only to who has its secret."""
    await house.user("alice")
    credentials = await assumed(house, duration_seconds=900)
    house.now += 899
    assert await house.session(credentials)
    house.now += 1
    assert await house.directory.secret_of(credentials.access_key, credentials.session_token) is not None
    with pytest.raises(TokenExpired):
        await house.session(credentials)


@pytest.mark.parametrize("duration_seconds", [-1, 0, 899, 43_201, 10**12])
async def test_durations_that_cannot_be(house, duration_seconds):
    """A session lasts 900 to 43200 seconds."""
    await house.user("alice")
    with pytest.raises(BadDuration):
        await assumed(house, duration_seconds=duration_seconds)


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"policy": "{"}, MalformedPolicy),
        ({"policy": ""}, MalformedPolicy),
        ({"policy": READ + " " * 2048}, PolicyTooLarge),
        ({"session_name": "a b"}, BadName),
        ({"session_name": "x" * 65}, BadName),
    ],
)
async def test_requests_that_cannot_be(house, wanted, error):
    """Malformed and oversized policies and odd names are refused."""
    await house.user("alice")
    with pytest.raises(error):
        await assumed(house, **wanted)
    with pytest.raises(Escalation):
        await assume_role(house.directory, ANONYMOUS, AssumeRole(), house.now)


async def test_a_stolen_token_is_worthless_beside_another_key(house):
    """A token goes with its own access key: not with another session's, a user's or root's."""
    await house.user("alice")
    await house.user("mallory")
    stolen = (await assumed(house)).session_token
    own = await assumed(house, "mallory")
    for access_key in (own.access_key, "mallory", "alice", "rootkey", "LSTS0000000000000000"):
        with pytest.raises(TokenInvalid):
            await house.directory.secret_of(access_key, stolen)
        with pytest.raises(TokenInvalid):
            await house.caller(access_key, stolen)


async def test_a_sessions_key_needs_its_token(house):
    """The access key of a session says nothing without the token."""
    await house.user("alice")
    credentials = await assumed(house)
    with pytest.raises(TokenInvalid, match="missing"):
        await house.directory.secret_of(credentials.access_key)


async def test_tokens_cannot_be_made_with_what_clients_know(house):
    """A token sealed under any key but the server's own, root's secret among them, is refused."""
    await house.user("alice")
    real = await assumed(house)
    view = await house.directory.current()
    standing = view.register.standing("alice")
    session = Session("alice", standing.uid, standing.session_epoch, "chosen-secret", 0, 10**12)
    for key in (new_session_key(), b"root-secret".ljust(32, b"\0"), real.secret.reveal().encode()[:32], b"k" * 32):
        forged = TokenSealer((key,)).seal(session, real.access_key)
        with pytest.raises(TokenInvalid):
            await house.directory.secret_of(real.access_key, forged)
    genuine = view.sealer.seal(session, "LSTSOWN")
    assert view.secret_of("LSTSOWN", genuine).reveal() == "chosen-secret"


async def test_a_changed_token_is_noticed(house):
    """Whichever byte of a token is changed or cut, it is refused."""
    await house.user("alice")
    credentials = await assumed(house, policy=READ)
    view = await house.directory.current()
    token = credentials.session_token.reveal()
    raw = urlsafe_b64decode(token[4:] + "=" * (-len(token[4:]) % 4))
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        for body in (changed, raw[:at]):
            with pytest.raises(TokenInvalid):
                view.secret_of(credentials.access_key, Secret(token[:4] + urlsafe_b64encode(body).decode()))
    assert "Get" not in raw.decode(errors="replace")


@pytest.mark.parametrize("missing", ["expires_at", "parent", "parent_uid", "parent_epoch", "secret", "issued_at"])
def test_a_token_without_an_end_is_none(missing):
    """Every token has an end, a parent and a secret: one that lacks any is refused, though its seal holds."""
    sealer = TokenSealer((b"k" * 32,))
    document = json.loads(encode(Session("alice", "uid", "0", "the-secret", 0, 10**12)))
    del document[missing]
    salt, nonce = b"s" * 16, b"n" * 12
    sealed = sealer._cipher(sealer._newest, salt).encrypt(nonce, zlib.compress(json.dumps(document).encode()), b"LSTSX")
    token = "LS1." + urlsafe_b64encode(sealer._newest + salt + nonce + sealed).decode()
    with pytest.raises(TokenInvalid):
        sealer.open(token, "LSTSX")


@given(some.text(max_size=60) | some.text("LS1.-_abcAB01=", max_size=60).map("LS1.".__add__))
def test_tokens_of_any_text_are_refused(text):
    """What was never a token is refused, and nothing else happens."""
    sealer = TokenSealer((b"k" * 32,))
    with pytest.raises(TokenInvalid):
        sealer.open(text, "LSTSX")


def test_an_oversized_token_is_refused_unread():
    """A token longer than any that is made is refused."""
    with pytest.raises(TokenInvalid):
        TokenSealer((b"k" * 32,)).open("LS1." + "A" * 10**6, "LSTSX")


async def test_sessions_can_be_revoked(house, another_worker):
    """Revoking ends every session of a user, those begun with its access keys too, and no one else's."""
    await house.user("alice", "readonly")
    await house.user("bob")
    made = await house.account(await house.caller("alice"))
    sessions = [await assumed(house), await assumed(house, made.account.access_key)]
    others = [await assumed(house, "bob"), await assumed(house, "rootkey")]
    await another_worker.change(users.revoke_sessions, "alice")
    for each in sessions:
        with pytest.raises(TokenInvalid, match="revoked"):
            await house.session(each)
    assert all([await house.session(each) for each in others])
    assert await house.session(await assumed(house))
    await house.change(users.revoke_sessions, "rootkey")
    with pytest.raises(TokenInvalid):
        await house.session(others[1])
    assert await house.session(others[0])


async def test_a_session_falls_with_the_key_that_began_it(house):
    """A session of an access key has the key's policy, and ends when the key is disabled or removed."""
    await house.user("alice", "readwrite")
    alice = await house.caller("alice")
    access_key = (await house.account(alice, policy=ALL.replace('"*"', '["s3:Get*", "sts:*"]', 1))).account.access_key
    credentials = await assumed(house, access_key)
    assert house.may(await house.session(credentials), "s3:GetObject", OBJECT)
    assert not house.may(await house.session(credentials), "s3:PutObject", OBJECT)
    await house.change(accounts.update_account, alice, access_key, accounts.AccountUpdate(enabled=False))
    with pytest.raises(AccessKeyInactive):
        await house.session(credentials)
    await house.change(accounts.remove_account, alice, access_key)
    with pytest.raises(TokenInvalid):
        await house.session(credentials)


async def test_the_keys_of_tokens_can_be_changed(house):
    """With the older key kept, sessions go on; without it, all of them end."""
    await house.user("alice")
    first = await assumed(house)
    await house.change(rotate_session_keys, house.now, keep_older=True)
    assert await house.session(first)
    second = await assumed(house)
    await house.change(rotate_session_keys, house.now, keep_older=False)
    for each in (first, second):
        with pytest.raises(TokenInvalid):
            await house.session(each)


async def test_the_first_sessions_of_two_workers_share_a_key(house, another_worker):
    """The key of tokens is made once, at the first session, and every worker opens what any made."""
    await house.user("alice")
    assert (await house.directory.current()).sealer is None
    mine, theirs = await assumed(house), await assumed(another_worker)
    assert await another_worker.session(mine)
    assert await house.session(theirs)
    assert len((await SESSION_KEYS.get(house.state, "keys")).value.sealed_keys) == 1


T1, T10 = "arn:aws:s3:::wh/t1", "arn:aws:s3:::wh/t10"


@pytest.mark.parametrize("owner", ["alice", "rootkey"])
async def test_a_vended_credential_reaches_its_prefix_only(house, owner):
    """For `t1` nothing of `t10` can be listed, read or written, whatever its owner may do."""
    await house.user("alice", "readwrite")
    owner_caller = await house.caller(owner)
    credentials = await vend(house.directory, owner_caller, (Scope("wh", "t1", writable=True),), 900, house.now)
    caller = await house.session(credentials)
    for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"):
        assert house.may(caller, action, f"{T1}/data/x.parquet")
        assert house.may(owner_caller, action, f"{T10}/x")
        for other in (
            f"{T10}/x",
            T1,
            f"{T1}0",
            "arn:aws:s3:::wh/x",
            "arn:aws:s3:::other/t1/x",
            "arn:aws:s3:::wh2/t1/x",
        ):
            assert not house.may(caller, action, other), (action, other)
    for prefix in ("t1/", "t1/data/"):
        assert house.may(caller, "s3:ListBucket", "arn:aws:s3:::wh", ("s3:prefix", prefix))
    for prefix in ("t1", "t10/", "t10", "", "t"):
        assert not house.may(caller, "s3:ListBucket", "arn:aws:s3:::wh", ("s3:prefix", prefix))
    assert not house.may(caller, "s3:ListBucket", "arn:aws:s3:::wh")
    assert not house.may(caller, "s3:ListBucketVersions", "arn:aws:s3:::wh", ("s3:prefix", "t1/"))
    for action in ("s3:DeleteBucket", "s3:PutBucketPolicy", "s3:GetBucketPolicy", "s3:ListAllMyBuckets"):
        assert not house.may(caller, action, "arn:aws:s3:::wh")
    for action in ("admin:CreateServiceAccount", "sts:AssumeRole", "s3tables:GetTable"):
        assert not house.may(caller, action, f"arn:aws:iam:::user/{owner}")


async def test_a_vended_credential_for_reading_writes_nothing(house):
    """A scope that is not writable allows reads and listings."""
    await house.user("alice", "readwrite")
    credentials = await vend(house.directory, await house.caller("alice"), (Scope("wh", "t1/"),), 900, house.now)
    caller = await house.session(credentials)
    assert house.may(caller, "s3:GetObject", f"{T1}/x")
    for action in ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"):
        assert not house.may(caller, action, f"{T1}/x")


async def test_a_vended_credential_is_never_wider_than_its_owner(house):
    """A scope that the owner may not write is not writable through the credential either."""
    await house.user("alice", "readonly")
    scope = (Scope("wh", "t1", writable=True),)
    caller = await house.session(await vend(house.directory, await house.caller("alice"), scope, 900, house.now))
    assert house.may(caller, "s3:GetObject", f"{T1}/x")
    assert not house.may(caller, "s3:PutObject", f"{T1}/x")


async def test_table_rights_suffice_behind_a_vended_credential(house):
    """Under a claim, an owner with table rights and no S3 rights reads and writes its table, and no neighbour."""
    await house.user("alice", "tablesReadWrite")
    claims = Claims([Claim("wh", "t1", "arn:aws:s3tables:::bucket/wh/table/1")])
    scope = (Scope("wh", "t1", writable=True),)
    caller = await house.session(await vend(house.directory, await house.caller("alice"), scope, 900, house.now))

    def decided(action, key):
        return house.decide(caller, Need(action, f"arn:aws:s3:::wh/{key}"), claims)

    assert decided("s3:PutObject", "t1/x").allowed
    assert decided("s3:GetObject", "t1/x").allowed
    assert decided("s3:PutObject", "t10/x").reason is Reason.NOT_WITHIN_LIMIT
    listing = Need("s3:ListBucket", "arn:aws:s3:::wh", (("s3:prefix", "t1/"),))
    assert house.decide(caller, listing, claims).allowed


@given(some.text("ab*?${}/", min_size=1, max_size=8), some.text("ab*?${}/", max_size=8))
def test_a_scope_takes_its_prefix_literally(prefix, key):
    """Wildcards and variables in a location are characters: the policy matches the keys below it and no others."""

    class NoFacts:
        def values(self, name):
            return ()

    scope = Scope("wh", prefix)
    rule = compile_stored(policy_for((scope,))).decisive("s3:GetObject", f"arn:aws:s3:::wh/{key}", NoFacts())
    assert (rule is not None) is key.startswith(scope.prefix)


def test_credentials_do_not_show_their_secrets():
    """Printed or logged, a session shows neither secret nor policy."""
    session = Session("alice", "uid", "0", "the-secret", 0, 1, policies=("the-policy",))
    assert "the-" not in repr(session)
