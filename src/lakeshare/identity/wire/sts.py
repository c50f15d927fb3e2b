"""The actions of STS: how each is read from a form, what it needs, and how it is done and answered."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakeshare.http.response import Response
from lakeshare.identity import sts
from lakeshare.identity.arns import user_arn
from lakeshare.identity.caller import Caller, CallerKind, Need
from lakeshare.identity.directory import Directory
from lakeshare.identity.session_tokens import DEFAULT_SESSION_SECONDS, TemporaryCredentials
from lakeshare.identity.wire import xml
from lakeshare.identity.wire.errors import BadParameter, UnknownAction, UnknownVersion

VERSION = "2011-06-15"
ACCOUNT = "000000000000"
"""The account number that AWS's clients expect in an answer; there is one account here."""

_DURATION_DIGITS = 6
_COMMON = frozenset({"Action", "Version"})
# RoleArn and ExternalId choose a role of AWS's. Here a session has its maker's rights, so they choose nothing.
_ASSUME_ROLE = _COMMON | {"DurationSeconds", "Policy", "RoleSessionName", "RoleArn", "ExternalId"}


@dataclass(frozen=True, slots=True)
class Assume:
    """A caller asks for a session."""

    caller: Caller
    wanted: sts.AssumeRole

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.wanted.requires(self.caller)


@dataclass(frozen=True, slots=True)
class Identify:
    """A caller asks who it is."""

    caller: Caller

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("sts:GetCallerIdentity", user_arn(self.caller.user)),)


@dataclass(frozen=True, slots=True)
class Route:
    """One action of STS; `action` is the permission it needs first."""

    name: str
    action: str
    decode: Callable[[Caller, Mapping[str, str]], Any]
    operate: Callable[[Directory, Any, float], Awaitable[Any]]
    encode: Callable[[Any, Any, str], Response]


def find(form: Mapping[str, str]) -> Route:
    """Return the route that a form asks for, or refuse it."""
    if (version := form.get("Version", "")) != VERSION:
        raise UnknownVersion(version)
    action = form.get("Action", "")
    if (route := ROUTES.get(action)) is None:
        raise UnknownAction(action)
    return route


def decode_assume_role(caller: Caller, form: Mapping[str, str]) -> Assume:
    """Read an AssumeRole; a parameter that would narrow the session and is not served is refused, not skipped."""
    _only(form, _ASSUME_ROLE)
    duration = form.get("DurationSeconds", str(DEFAULT_SESSION_SECONDS))
    if not (duration.isascii() and duration.isdigit()) or len(duration) > _DURATION_DIGITS:
        raise BadParameter("DurationSeconds", "write a number of seconds")
    policy = form.get("Policy") or None
    return Assume(caller, sts.AssumeRole(int(duration), policy, form.get("RoleSessionName", "")))


async def assume_role(directory: Directory, call: Assume, now: float) -> TemporaryCredentials:
    """Make the session."""
    return await sts.assume_role(directory, call.caller, call.wanted, now)


def encode_assume_role(call: Assume, made: TemporaryCredentials, request_id: str) -> Response:
    """Write the credentials of a session."""
    role = f"{call.caller.user}/{call.wanted.session_name}"
    result = xml.group(
        "AssumeRoleResult",
        xml.group(
            "AssumedRoleUser",
            xml.element("Arn", f"arn:aws:sts:::assumed-role/{role}"),
            xml.element("AssumedRoleId", f"{made.access_key}:{call.wanted.session_name}"),
        ),
        xml.group(
            "Credentials",
            xml.element("AccessKeyId", made.access_key),
            xml.element("SecretAccessKey", made.secret.reveal()),
            xml.element("SessionToken", made.session_token.reveal()),
            xml.element("Expiration", xml.timestamp(made.expires_at)),
        ),
    )
    return _answer("AssumeRoleResponse", result, request_id)


def decode_identity(caller: Caller, form: Mapping[str, str]) -> Identify:
    """Read a GetCallerIdentity."""
    _only(form, _COMMON)
    return Identify(caller)


async def identify(_directory: Directory, call: Identify, _now: float) -> Caller:
    """Return the caller: its signature has said it all."""
    return call.caller


def encode_identity(_call: Identify, caller: Caller, request_id: str) -> Response:
    """Write who a caller is."""
    is_session = caller.kind is CallerKind.SESSION
    arn = f"arn:aws:sts:::assumed-role/{caller.user}/{caller.session}" if is_session else user_arn(caller.user)
    result = xml.group(
        "GetCallerIdentityResult",
        xml.element("Arn", arn),
        xml.element("UserId", caller.name),
        xml.element("Account", ACCOUNT),
    )
    return _answer("GetCallerIdentityResponse", result, request_id)


def _only(form: Mapping[str, str], known: frozenset[str]) -> None:
    for name in form:
        if name not in known:
            raise BadParameter(name, "it is not served here")


def _answer(root: str, result: str, request_id: str) -> Response:
    metadata = xml.group("ResponseMetadata", xml.element("RequestId", request_id))
    headers = [("content-type", xml.CONTENT_TYPE), ("cache-control", "no-store")]
    return Response(200, headers, xml.document(root, result, metadata))


ROUTES: Mapping[str, Route] = {
    route.name: route
    for route in (
        Route("AssumeRole", "sts:AssumeRole", decode_assume_role, assume_role, encode_assume_role),
        Route("GetCallerIdentity", "sts:GetCallerIdentity", decode_identity, identify, encode_identity),
    )
}
