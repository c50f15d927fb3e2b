"""Sessions: temporary credentials for whoever asks, within a policy, and for one place of a bucket (vending)."""

from dataclasses import dataclass

from lakeshare.identity.arns import user_arn
from lakeshare.identity.caller import Caller, Need
from lakeshare.identity.directory import Directory
from lakeshare.identity.directory_errors import BadDuration, Escalation, TooMany
from lakeshare.identity.errors import AccessKeyUnknown
from lakeshare.identity.names import SESSION_PREFIX, check_session, new_access_key, new_secret
from lakeshare.identity.policy.document import MAX_SESSION_POLICY_BYTES
from lakeshare.identity.policy.parse import parse_policy
from lakeshare.identity.records import PLACE_OF_SESSION_KEYS, SESSION_KEYS, SessionKeys
from lakeshare.identity.session_tokens import (
    DEFAULT_SESSION_SECONDS,
    MAX_SESSION_POLICIES,
    MAX_SESSION_SECONDS,
    MIN_SESSION_SECONDS,
    Session,
    TemporaryCredentials,
    TokenSealer,
    new_session_key,
)
from lakeshare.identity.vending import MAX_VENDED_POLICY_BYTES, Scope, policy_for
from lakeshare.identity.view import BEARER, View
from lakeshare.settings import Secret
from lakeshare.state.epoch import Plan
from lakeshare.state.errors import Contended

MAX_SESSION_KEYS = 4
_SEALER_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class AssumeRole:
    """What a caller asks of AssumeRole: how long, under which name, and within which policy."""

    duration_seconds: int = DEFAULT_SESSION_SECONDS
    policy: str | None = None
    session_name: str = ""

    def requires(self, caller: Caller) -> tuple[Need, ...]:
        """Say what is needed to have a session of one's own."""
        facts = [("sts:DurationSeconds", str(self.duration_seconds))]
        facts += [("sts:RoleSessionName", self.session_name)] if self.session_name else []
        return (Need("sts:AssumeRole", user_arn(caller.user), tuple(facts)),)


async def assume_role(directory: Directory, caller: Caller, wanted: AssumeRole, now: float) -> TemporaryCredentials:
    """Make a session of the caller's. Raises BadDuration, BadName, TooMany, MalformedPolicy, PolicyTooLarge."""
    if wanted.policy is not None:
        parse_policy(wanted.policy, MAX_SESSION_POLICY_BYTES)
    return await _session(directory, caller, wanted, now)


async def vend(
    directory: Directory, caller: Caller, scopes: tuple[Scope, ...], duration_seconds: int, now: float
) -> TemporaryCredentials:
    """Make a session of the caller's that reaches the scopes and nothing else, whatever the caller may do besides."""
    policy = policy_for(scopes)
    parse_policy(policy, MAX_VENDED_POLICY_BYTES)
    return await _session(directory, caller, AssumeRole(duration_seconds, policy, "vended"), now)


def rotate_session_keys(view: View, now: float, *, keep_older: bool) -> Plan[None]:
    """Make a new key for tokens. Without the older ones, every session there is ends at once."""
    newest = view.vault.seal(new_session_key(), PLACE_OF_SESSION_KEYS)
    held = view.register.session_keys()
    older = held.sealed_keys[: MAX_SESSION_KEYS - 1] if held is not None and keep_older else ()
    return Plan((SESSION_KEYS.put(SessionKeys((newest, *older), int(now)), "keys"),), None)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that is proof enough by itself, and its end."""

    token: Secret
    expires_at: int


async def issue_bearer(directory: Directory, caller: Caller, duration_seconds: int, now: float) -> BearerToken:
    """Make a Bearer token with the caller's rights, which ends as its sessions do. See `View.resolve_bearer`."""
    sealer, session = await _made(directory, caller, AssumeRole(duration_seconds), now)
    return BearerToken(sealer.seal(session, BEARER), session.expires_at)


async def _session(directory: Directory, caller: Caller, wanted: AssumeRole, now: float) -> TemporaryCredentials:
    sealer, session = await _made(directory, caller, wanted, now)
    access_key = new_access_key(SESSION_PREFIX)
    token = sealer.seal(session, access_key)
    return TemporaryCredentials(access_key, Secret(session.secret), token, session.expires_at)


async def _made(directory: Directory, caller: Caller, wanted: AssumeRole, now: float) -> tuple[TokenSealer, Session]:
    _check(caller, wanted)
    view, sealer = await _with_sealer(directory, now)
    standing = view.register.standing(caller.holder)
    if standing is None or standing.flaw:
        raise AccessKeyUnknown(caller.name)
    ends = [int(now) + wanted.duration_seconds, standing.expires_at, caller.expires_at]
    session = Session(
        parent=caller.holder,
        parent_uid=standing.uid,
        parent_epoch=standing.session_epoch,
        secret=new_secret().reveal(),
        issued_at=int(now),
        expires_at=min(end for end in ends if end is not None),
        name=wanted.session_name,
        policies=caller.session_policies if wanted.policy is None else (*caller.session_policies, wanted.policy),
    )
    return sealer, session


def _check(caller: Caller, wanted: AssumeRole) -> None:
    if caller.is_anonymous or not caller.holder:
        raise Escalation("nobody signed the request")
    if not MIN_SESSION_SECONDS <= wanted.duration_seconds <= MAX_SESSION_SECONDS:
        raise BadDuration(MIN_SESSION_SECONDS, MAX_SESSION_SECONDS)
    if len(caller.session_policies) >= MAX_SESSION_POLICIES and wanted.policy is not None:
        raise TooMany("policies above this session", MAX_SESSION_POLICIES)
    check_session(wanted.session_name)


async def _with_sealer(directory: Directory, now: float) -> tuple[View, TokenSealer]:
    for _ in range(_SEALER_ATTEMPTS):
        view = await directory.current()
        if view.sealer is not None:
            return view, view.sealer
        await directory.change(lambda seen: _first_key(seen, now))
    raise Contended(_SEALER_ATTEMPTS, ("session keys",))


def _first_key(view: View, now: float) -> Plan[None]:
    return Plan((), None) if view.sealer is not None else rotate_session_keys(view, now, keep_older=False)
