"""The one place where a request is given a caller, and where what it needs is allowed or denied."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import unquote

from lakeshare.http.request import Request
from lakeshare.identity.arns import bucket_and_key
from lakeshare.identity.authorise import Decision, authorise
from lakeshare.identity.caller import ANONYMOUS, Caller, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.directory import Directory
from lakeshare.identity.errors import AccessKeyUnknown, SignatureMismatch, TooManyFailures
from lakeshare.identity.policy.compiled import CompiledPolicy
from lakeshare.identity.policy.keys import EXISTING_TAG
from lakeshare.identity.sigv4.verified import KeyLookup, Verified
from lakeshare.identity.sigv4.verify import verify
from lakeshare.identity.throttle import Throttle
from lakeshare.identity.view import View
from lakeshare.settings import Secret


class Holdings(Protocol):
    """What authorisation must know of buckets and objects, as they stand now."""

    async def policy_of(self, bucket: str) -> CompiledPolicy | None:
        """Return a bucket's policy, if it has one."""
        ...

    async def tags_of(self, bucket: str, key: str) -> tuple[tuple[str, str], ...]:
        """Return an object's tags, for policies that ask for them; none where there is no object."""
        ...


_TOKEN_PARAM = "x-amz-security-token="  # noqa: S105 - the name of a parameter


@dataclass(frozen=True, slots=True)
class Admission:
    """Who a request comes from, the signature that says so (an anonymous one has none), and how it came."""

    caller: Caller
    verified: Verified | None
    circumstances: Circumstances


class Gate:
    """Authentication and authorisation over the identities of one server."""

    def __init__(
        self,
        directory: Directory,
        holdings: Holdings,
        throttle: Throttle,
        clock: Callable[[], float],
        *,
        allow_v2: bool = True,
    ) -> None:
        self._directory = directory
        self._holdings = holdings
        self._throttle = throttle
        self._clock = clock
        self._allow_v2 = allow_v2

    async def authenticate(
        self, request: Request, services: frozenset[str], host_bucket: str = "", body_sha256: str | None = None
    ) -> Admission:
        """Say who signed a request; a signature that does not hold is refused, and counted.

        `body_sha256` is the digest of a body that was read already, which services other than S3 sign.
        """
        now = self._clock()
        view = await self._directory.current()
        try:
            verified = verify(
                request,
                self._lookup(request, view, now),
                now,
                services,
                allow_v2=self._allow_v2,
                bucket=host_bucket,
                body_sha256=body_sha256,
            )
            caller = ANONYMOUS if verified is None else view.resolve(verified.access_key, verified.session_token, now)
        except (AccessKeyUnknown, SignatureMismatch) as refusal:
            self._throttle.failed(now, refusal.access_key, request.peer)
            raise
        return Admission(caller, verified, _circumstances(request, verified, now))

    async def authorise(self, admission: Admission, needs: Sequence[Need]) -> Decision:
        """Allow all of the needs, or raise AccessDenied."""
        caller = admission.caller
        if caller.is_unbound:
            return authorise(caller, needs, admission.circumstances, {})
        policies = await self._policies(needs)
        if any(policy.asks_tags for policy in (caller.grants, *caller.limits, *policies.values())):
            needs = [await self._with_tags(need) for need in needs]
        return authorise(caller, needs, admission.circumstances, policies)

    async def _with_tags(self, need: Need) -> Need:
        named = bucket_and_key(need.resource)
        if named is None or not named[1]:
            return need
        tags = await self._holdings.tags_of(*named)
        return replace(need, facts=(*need.facts, *((EXISTING_TAG + key, value) for key, value in tags)))

    def _lookup(self, request: Request, view: View, now: float) -> KeyLookup:
        def secret_of(access_key: str) -> Secret | None:
            if self._throttle.blocked(now, access_key, request.peer):
                raise TooManyFailures(access_key, request.peer)
            return view.secret_of(access_key, _session_token(request))

        return secret_of

    async def _policies(self, needs: Sequence[Need]) -> dict[str, CompiledPolicy]:
        found: dict[str, CompiledPolicy] = {}
        for bucket in {named[0] for need in needs if (named := bucket_and_key(need.resource))}:
            if policy := await self._holdings.policy_of(bucket):
                found[bucket] = policy
        return found


def _session_token(request: Request) -> Secret | None:
    """Find the session token that a request claims, in its headers or, presigned, in its query."""
    if token := request.headers.get("x-amz-security-token"):
        return Secret(token)
    if _TOKEN_PARAM not in request.raw_query.lower():
        return None
    for pair in request.raw_query.split("&"):
        name, _, value = pair.partition("=")
        if name.lower() + "=" == _TOKEN_PARAM:
            return Secret(unquote(value))
    return None


def _circumstances(request: Request, verified: Verified | None, now: float) -> Circumstances:
    headers = request.headers
    return Circumstances(
        at=now,
        source_ip=request.peer,
        secure=request.scheme == "https",
        user_agent=headers.get("user-agent", ""),
        referer=headers.get("referer", ""),
        auth_type="" if verified is None else "REST-QUERY-STRING" if verified.presigned else "REST-HEADER",
        signature_version="" if verified is None else "AWS4-HMAC-SHA256" if verified.version == 4 else "AWS",
    )
