"""The facts that conditions and policy variables may ask for: the server's, the caller's and the request's own.

What the server knows wins: a fact that a request brings along never stands in for one of the server's keys, even
where the server has none (`keys.py` names them).
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from lakeshare.identity.arns import user_arn
from lakeshare.identity.caller import Caller, CallerKind
from lakeshare.identity.policy.keys import condition_key, is_server_key

_PRINCIPAL_TYPES = {
    CallerKind.ANONYMOUS: "Anonymous",
    CallerKind.ROOT: "Account",
    CallerKind.USER: "User",
    CallerKind.SERVICE_ACCOUNT: "User",
    CallerKind.SESSION: "AssumedRole",
    CallerKind.RECIPIENT: "Recipient",
}


class Circumstances(NamedTuple):
    """How a request came: from which address (after trusted proxies), over TLS or not, when, and signed how."""

    at: float
    source_ip: str = ""
    secure: bool = False
    user_agent: str = ""
    referer: str = ""
    auth_type: str = ""
    signature_version: str = ""
    signature_age_ms: int | None = None


class ServerFacts:
    """What the server knows of one request; each fact is reckoned when it is first asked for."""

    __slots__ = ("_caller", "_circumstances", "_known")

    def __init__(self, caller: Caller, circumstances: Circumstances) -> None:
        self._caller = caller
        self._circumstances = circumstances
        self._known: dict[str, tuple[str, ...]] = {}

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values of one of the server's keys."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._reckon(key)
        return found

    def _reckon(self, key: str) -> tuple[str, ...]:
        if (of_request := _OF_REQUEST.get(key)) is not None:
            value = of_request(self._circumstances)
            return (value,) if value else ()
        of_caller = _OF_CALLER.get(key)
        return () if of_caller is None else of_caller(self._caller)


class NeedFacts:
    """The facts for one need: the server's, then those the need carries."""

    __slots__ = ("_carried", "_given", "_server")

    def __init__(self, server: ServerFacts, given: tuple[tuple[str, str], ...]) -> None:
        self._server = server
        self._given = given
        self._carried: dict[str, tuple[str, ...]] | None = None

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values of a condition key; none if there is no such fact."""
        if is_server_key(key):
            return self._server.values(key)
        if self._carried is None:
            self._carried = _gathered(self._given)
        return self._carried.get(key, ())


def _gathered(given: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in given:
        key = condition_key(name)
        found[key] = (*found.get(key, ()), value)
    return found


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _user(caller: Caller) -> tuple[str, ...]:
    return () if caller.is_anonymous else (caller.user or caller.name,)


def _user_id(caller: Caller) -> tuple[str, ...]:
    return tuple(f"{user}:{caller.session}" if caller.session else user for user in _user(caller))


def _issued(caller: Caller) -> tuple[str, ...]:
    return (_iso(caller.issued_at),) if caller.kind is CallerKind.SESSION else ()


_OF_REQUEST: dict[str, Callable[[Circumstances], str]] = {
    "aws:currenttime": lambda facts: _iso(facts.at),
    "aws:epochtime": lambda facts: str(int(facts.at)),
    "aws:securetransport": lambda facts: "true" if facts.secure else "false",
    "aws:sourceip": lambda facts: facts.source_ip,
    "aws:useragent": lambda facts: facts.user_agent,
    "aws:referer": lambda facts: facts.referer,
    "s3:authtype": lambda facts: facts.auth_type,
    "s3:signatureversion": lambda facts: facts.signature_version,
    "s3:signatureage": lambda facts: "" if facts.signature_age_ms is None else str(facts.signature_age_ms),
}
_OF_CALLER: dict[str, Callable[[Caller], tuple[str, ...]]] = {
    "aws:principaltype": lambda caller: (_PRINCIPAL_TYPES[caller.kind],),
    "aws:username": _user,
    "aws:userid": _user_id,
    "aws:principalarn": lambda caller: tuple(user_arn(user) for user in _user(caller)),
    "aws:groups": lambda caller: caller.groups,
    "aws:tokenissuetime": _issued,
}
