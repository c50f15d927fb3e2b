"""The one place where a request is given a caller, and where what it needs is allowed or denied."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from lakeshare.http.request import Request
from lakeshare.identity.arns import bucket_and_key, bucket_arn
from lakeshare.identity.authorise import UNBOUND, Decision, authorise
from lakeshare.identity.caller import ANONYMOUS, Caller, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.claims import NO_CLAIMS, Territory, is_write
from lakeshare.identity.directory import Directory
from lakeshare.identity.errors import AccessDenied, AccessKeyUnknown, SignatureMismatch, TooManyFailures
from lakeshare.identity.policy.compiled import CompiledPolicy
from lakeshare.identity.policy.keys import BUCKET_OWNER, EXISTING_TAG
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

    async def owner_of(self, bucket: str) -> str:
        """Return who made a bucket, as a caller's `owner` has it, for policies that ask; empty where none is known."""
        ...

    async def look(self, bucket: str, key: str) -> None:
        """Raise what the store says of a bucket or a key that is not there."""
        ...


class Guests(Protocol):
    """Keys that another room lends, for presigned URLs of its own or for a while; all of them begin with one prefix."""

    prefix: str

    async def secret_of(self, access_key: str) -> Secret | None:
        """Return the secret that a key signs with; None where there is no such key now."""
        ...

    async def resolve(self, access_key: str, now: float, session_token: Secret | None) -> Caller:
        """Return the caller that a key stands for, once its signature holds. Raises AccessKeyUnknown, TokenInvalid."""
        ...


_S3 = frozenset({"s3"})
_READ, _LIST = "s3:GetObject", "s3:ListBucket"
_CREDENTIAL_PARAM = "X-Amz-Credential="
_CREDENTIAL_FIELD = "Credential="
_TOKEN_PARAM = "x-amz-security-token="  # noqa: S105 - the name of a parameter


@dataclass(frozen=True, slots=True)
class Admission:
    """Who a request comes from, the signature that says so (an anonymous one has none), and how it came."""

    caller: Caller
    verified: Verified | None
    circumstances: Circumstances


class Gate:
    """Authentication and authorisation over the identities of one server."""

    def __init__(  # noqa: PLR0913 - a gate is where all of these meet
        self,
        directory: Directory,
        holdings: Holdings,
        throttle: Throttle,
        clock: Callable[[], float],
        *,
        allow_v2: bool = True,
        guests: Guests | None = None,
        territory: Territory | None = None,
    ) -> None:
        self._directory = directory
        self._holdings = holdings
        self._throttle = throttle
        self._clock = clock
        self._allow_v2 = allow_v2
        self._guests = guests
        self._territory = territory

    async def authenticate(
        self, request: Request, services: frozenset[str], host_bucket: str = "", body_sha256: str | None = None
    ) -> Admission:
        """Say who signed a request; a signature that does not hold is refused, and counted.

        `body_sha256` is the digest of a body that was read already, which services other than S3 sign.
        """
        now = self._clock()
        if self._guests is not None and (guest := _guest_key(request, self._guests.prefix)):
            return await self._authenticate_guest(request, self._guests, guest, now)
        view = self._directory.at_hand() or await self._directory.current()
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

    async def _authenticate_guest(self, request: Request, guests: Guests, guest: str, now: float) -> Admission:
        """Say who signed with a key that another room lends: by signature version 4, and for S3 alone.

        A request that names such a key and is not signed is no one's: the names stand in URLs that are handed out.
        """
        secret = await guests.secret_of(guest)
        try:
            self._bear(now, guest, request.peer)
            verified = verify(request, lambda key: secret if key == guest else None, now, _S3, allow_v2=False)
            verified = _signed_by(guest, verified)
            caller = await guests.resolve(guest, now, verified.session_token)
        except (AccessKeyUnknown, SignatureMismatch) as refusal:
            self._throttle.failed(now, refusal.access_key, request.peer)
            raise
        return Admission(caller, verified, _circumstances(request, verified, now))

    async def authorise(self, admission: Admission, needs: Sequence[Need]) -> Decision:
        """Allow all of the needs, or raise AccessDenied."""
        caller = admission.caller
        unbound = caller.is_unbound
        if self._territory is None or (unbound and not any(map(is_write, needs))):
            claims = NO_CLAIMS
        else:
            claims = await self._territory.claims(needs)
        if unbound:
            return UNBOUND
        policies = await self._policies(needs)
        asked = (caller.grants, *caller.limits, *policies.values())
        if any(policy.asks for policy in asked):
            needs = [await self._with_facts(need, caller, asked) for need in needs]
        try:
            return authorise(caller, needs, admission.circumstances, policies, claims)
        except AccessDenied:
            await self._tell_of_absence(admission, needs)
            raise

    async def _tell_of_absence(self, admission: Admission, needs: Sequence[Need]) -> None:
        """Tell who may list a key, and not read it, that it is not there: a listing would, and S3 does."""
        if len(needs) != 1 or needs[0].action != _READ:
            return
        named = bucket_and_key(needs[0].resource)
        if named is None or not named[1]:
            return
        try:
            await self.authorise(admission, (Need(_LIST, bucket_arn(named[0]), (("s3:prefix", named[1]),)),))
        except AccessDenied:
            return
        await self._holdings.look(*named)

    async def _with_facts(self, need: Need, caller: Caller, asked: Sequence[CompiledPolicy]) -> Need:
        """Add what policies ask for that must be read: tags of the object, the owner of the bucket."""
        named = bucket_and_key(need.resource)
        if named is None:
            return need
        facts = list(need.facts)
        if named[1] and any(policy.asks_tags for policy in asked):
            facts += [(EXISTING_TAG + key, value) for key, value in await self._holdings.tags_of(*named)]
        if any(policy.asks_owner for policy in asked):
            owner = await self._holdings.owner_of(named[0])
            name = owner.partition(":")[0]
            if name and (name != caller.user or owner == caller.owner):  # a later user of the name is another
                facts.append((BUCKET_OWNER, name))
        return need._replace(facts=tuple(facts))

    def _bear(self, now: float, access_key: str, peer: str) -> None:
        if self._throttle.blocked(now, access_key, peer):
            raise TooManyFailures(access_key, peer)

    def _lookup(self, request: Request, view: View, now: float) -> KeyLookup:
        def secret_of(access_key: str) -> Secret | None:
            self._bear(now, access_key, request.peer)
            return view.secret_of(access_key, _session_token(request))

        return secret_of

    async def _policies(self, needs: Sequence[Need]) -> dict[str, CompiledPolicy]:
        found: dict[str, CompiledPolicy] = {}
        for bucket in {named[0] for need in needs if (named := bucket_and_key(need.resource))}:
            if policy := await self._holdings.policy_of(bucket):
                found[bucket] = policy
        return found


def _guest_key(request: Request, prefix: str) -> str:
    """Return the access key that a request claims, if it begins with the prefix of keys that are lent."""
    header = request.headers.get("authorization", "")
    if (at := header.find(_CREDENTIAL_FIELD + prefix)) >= 0:
        return header[at + len(_CREDENTIAL_FIELD) :].partition("/")[0]
    start = _CREDENTIAL_PARAM + prefix
    at = request.raw_query.find(start)
    if at < 0:
        return ""
    value = request.raw_query[at + len(_CREDENTIAL_PARAM) :].partition("&")[0]
    return unquote(value).partition("/")[0]


def _signed_by(guest: str, verified: Verified | None) -> Verified:
    if verified is None or verified.access_key != guest:
        raise AccessKeyUnknown(guest)
    return verified


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
    auth_type = signature_version = ""
    if verified is not None:
        auth_type = "REST-QUERY-STRING" if verified.presigned else "REST-HEADER"
        signature_version = "AWS4-HMAC-SHA256" if verified.version == 4 else "AWS"
    agent, referer = request.headers.get("user-agent", ""), request.headers.get("referer", "")
    secure = request.scheme == "https"
    return Circumstances(now, request.peer, secure, agent, referer, auth_type, signature_version)
