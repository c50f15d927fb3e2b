"""The directory over state: every worker sees every change, changes never mix, and a damaged key closes."""

import asyncio

import pytest

from lakeshare.identity import groups, policies, users
from lakeshare.identity.directory import Directory
from lakeshare.identity.directory_errors import NameTaken, NoSuchPolicy, PolicyInUse
from lakeshare.identity.resealing import reseal
from lakeshare.identity.sts import AssumeRole, assume_role
from lakeshare.identity.vault import SecretUnreadable, Vault
from lakeshare.identity.view import RootKey
from lakeshare.settings import Secret
from lakeshare.state.errors import CorruptValue
from lakeshare.state.port import Put, Transaction
from lakeshare.state.sqlite import SqliteState

ROOT = RootKey("rootkey", Secret("root-secret"))
VAULT = Vault((b"k" * 32,))
SECRET = Secret("long-enough")
NOW = 1_700_000_000


async def test_workers_on_one_file_see_each_other(tmp_path):
    """What one process's directory changes, another's resolves in its next request, and after a restart too."""
    path = tmp_path / "state.sqlite"
    first, second = SqliteState(path), SqliteState(path)
    mine, theirs = Directory(first, VAULT, ROOT), Directory(second, VAULT, ROOT)
    assert await theirs.secret_of("alice") is None
    await mine.change(lambda view: users.create_user(view, "alice", SECRET, NOW))
    assert (await theirs.secret_of("alice")).reveal() == "long-enough"
    session = await assume_role(theirs, await theirs.resolve("alice", None, NOW), AssumeRole(), NOW)
    assert (await mine.resolve(session.access_key, session.session_token, NOW)).user == "alice"
    await first.close()
    await second.close()
    again = SqliteState(path)
    assert (await Directory(again, VAULT, ROOT).resolve(session.access_key, session.session_token, NOW)).user == "alice"
    await again.close()


async def test_changes_that_race_are_each_made_once(house, another_worker):
    """Of many changes from two workers at once none is lost, and of two users of one name one is made."""
    await house.user("shared")

    async def make(worker, number):
        await worker.user(f"user-{number}")
        await worker.directory.change(lambda view: groups.create_group(view, f"group-{number}", NOW))
        await worker.directory.change(lambda view: groups.add_members(view, f"group-{number}", ("shared",)))

    await asyncio.gather(*(make((house, another_worker)[number % 2], number) for number in range(12)))
    view = await house.directory.current()
    assert len(list(view.register.users())) == 13
    assert set(view.register.user("shared").groups) == {f"group-{number}" for number in range(12)}
    outcomes = await asyncio.gather(house.user("twin"), another_worker.user("twin"), return_exceptions=True)
    assert sorted(type(outcome) for outcome in outcomes if outcome is not None) == [NameTaken]


async def test_a_policy_is_never_removed_from_under_its_holder(house, another_worker):
    """Attaching and removing one policy at the same time, one of the two is refused."""
    for number in range(8):
        name = f"policy-{number}"
        await house.policy(name, ("Deny", "s3:*", "*"))
        await house.user(f"user-{number}")
        attach = another_worker.change(users.attach_user_policies, f"user-{number}", (name,))
        outcomes = await asyncio.gather(house.change(policies.delete_policy, name), attach, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert [type(each) for each in refused] in ([PolicyInUse], [NoSuchPolicy])


async def test_changes_elsewhere_in_state_cost_nothing_here(house):
    """A commit that touches no identity leaves the directory's view as it is."""
    await house.user("alice")
    view = await house.directory.current()
    await house.state.commit(Transaction(changes=(Put(("tab", "t"), b"{}"),)))
    assert await house.directory.current() is view
    await house.user("bobby")
    assert await house.directory.current() is not view


async def test_many_identities_are_read_page_by_page(house):
    """More identities than one page of state holds are all there."""
    view = await house.directory.current()
    changes = [users.create_user(view, f"user-{number:05}", SECRET, NOW).changes[0] for number in range(2500)]
    for start in range(0, len(changes), 500):
        await house.state.commit(Transaction(changes=tuple(changes[start : start + 500])))
    register = (await house.directory.current()).register
    assert sum(1 for _ in register.users()) == 2500
    assert (await house.caller("user-02499")).user == "user-02499"


async def test_a_record_that_cannot_be_read_lets_nobody_in(house):
    """A damaged record is an error for its own key, and no hindrance to others."""
    await house.user("alice")
    await house.user("bobby")
    await house.state.commit(Transaction(changes=(Put(("identity", "user", "alice"), b"{}"),)))
    with pytest.raises(CorruptValue):
        await house.directory.secret_of("alice")
    with pytest.raises(CorruptValue):
        await house.caller("alice")
    assert await house.caller("bobby")


async def test_another_key_file_opens_nothing(house):
    """Without the key file that sealed them, secrets stay shut, and the error says what to restore."""
    await house.user("alice")
    other = Directory(house.state, Vault((b"x" * 32,)), ROOT)
    with pytest.raises(SecretUnreadable, match="restore"):
        await other.secret_of("alice")


async def test_secrets_move_to_a_new_key(house):
    """After resealing, the newest key alone opens everything: users, access keys and session keys."""
    await house.user("alice", secret=SECRET)
    made = await house.account(await house.caller("alice"))
    session = await assume_role(house.directory, await house.caller("alice"), AssumeRole(), house.now)
    both = Directory(house.state, Vault((b"n" * 32, b"k" * 32)), ROOT)
    assert await both.change(reseal) == 3
    assert await both.change(reseal) == 0
    newest = Directory(house.state, Vault((b"n" * 32,)), ROOT)
    assert (await newest.secret_of("alice")).reveal() == SECRET.reveal()
    assert (await newest.secret_of(made.account.access_key)).reveal() == made.secret.reveal()
    assert await newest.resolve(session.access_key, session.session_token, house.now)


async def test_values_do_not_show_secrets(house):
    """Printed, neither credentials nor callers show a secret."""
    await house.user("alice")
    alice = await house.caller("alice")
    made = await house.account(alice, secret=Secret("account-secret"))
    credentials = await assume_role(house.directory, alice, AssumeRole(), house.now)
    shown = repr((ROOT, alice, made, credentials, await house.session(credentials)))
    for secret in ("root-secret", "account-secret", credentials.secret.reveal(), credentials.session_token.reveal()):
        assert secret not in shown
