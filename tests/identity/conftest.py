"""A directory over state in memory, and short ways to fill it."""

import json

import pytest

from lakeshare.identity import accounts, groups, policies, users
from lakeshare.identity.authorise import Authoriser
from lakeshare.identity.caller import Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.directory import Directory
from lakeshare.identity.vault import Vault
from lakeshare.identity.view import RootKey
from lakeshare.settings import Secret
from lakeshare.state.memory import MemoryState

NOW = 1_700_000_000
SECRET = Secret("alice-secret-1")


class House:
    """One server's identities, at a time that stands still until it is moved."""

    def __init__(self, state=None, vault=None):
        self.state = state or MemoryState()
        self.vault = vault or Vault((b"k" * 32,))
        self.directory = Directory(self.state, self.vault, RootKey("rootkey", Secret("root-secret")))
        self.now = NOW

    async def user(self, name, *attached, secret=SECRET):
        await self.directory.change(lambda view: users.create_user(view, name, secret, self.now))
        if attached:
            await self.directory.change(lambda view: users.attach_user_policies(view, name, attached))

    async def policy(self, name, *statements):
        text = policy_text(*statements)
        return await self.directory.change(lambda view: policies.put_policy(view, name, text, self.now))

    async def group(self, name, members=(), attached=()):
        await self.directory.change(lambda view: groups.create_group(view, name, self.now))
        await self.directory.change(lambda view: groups.add_members(view, name, tuple(members)))
        await self.directory.change(lambda view: groups.attach_group_policies(view, name, tuple(attached)))

    async def account(self, caller, **new):
        made = accounts.NewAccount(**new)
        return await self.directory.change(lambda view: accounts.create_account(view, caller, made, self.now))

    async def caller(self, access_key, token=None):
        return await self.directory.resolve(access_key, token, self.now)

    async def session(self, credentials):
        return await self.directory.resolve(credentials.access_key, credentials.session_token, self.now)

    async def change(self, plan, *arguments, **named):
        return await self.directory.change(lambda view: plan(view, *arguments, **named))

    def may(self, caller, action, resource, *facts):
        return self.decide(caller, Need(action, resource, tuple(facts))).allowed

    def decide(self, caller, need, claims=None):
        more = () if claims is None else (claims,)
        return Authoriser(caller, Circumstances(at=self.now), {}, *more).decide(need)


def policy_text(*statements):
    found = [dict(zip(("Effect", "Action", "Resource", "Condition"), each, strict=False)) for each in statements]
    return json.dumps({"Version": "2012-10-17", "Statement": found})


@pytest.fixture
def house():
    return House()


@pytest.fixture
def another_worker(house):
    """Make a second directory over the same state, as another worker process has it."""
    return House(house.state, house.vault)


@pytest.fixture
def text_of():
    return policy_text
