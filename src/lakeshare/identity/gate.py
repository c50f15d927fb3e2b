"""The one place where a request is given a caller, and where what it needs is allowed or denied."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakeshare.http.request import Request
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind, Need
from lakeshare.identity.errors import AccessDenied, IdentityError, TokenInvalid, TooManyFailures
from lakeshare.identity.root import RootCredentials
from lakeshare.identity.sigv4.verify import Verified, verify
from lakeshare.identity.throttle import Throttle
from lakeshare.settings import Secret


@dataclass(frozen=True, slots=True)
class Admission:
    """Who a request comes from, and the signature that says so; nobody signs an anonymous one."""

    caller: Caller
    verified: Verified | None


class Gate:
    """Authentication and authorisation over the identities of one server."""

    def __init__(self, root: RootCredentials, throttle: Throttle, now: Callable[[], float], *, allow_v2: bool) -> None:
        self._root = root
        self._throttle = throttle
        self._now = now
        self._allow_v2 = allow_v2

    def authenticate(self, request: Request, services: frozenset[str]) -> Admission:
        """Say who signed a request; a signature that does not hold is refused and counted."""
        now = self._now()
        try:
            verified = verify(request, self._secret_of, now, services, allow_v2=self._allow_v2)
        except IdentityError:
            self._count_failure(request, now)
            raise
        if verified is None:
            return Admission(ANONYMOUS, None)
        if verified.session_token is not None:
            raise TokenInvalid
        return Admission(Caller(CallerKind.ROOT, verified.access_key), verified)

    def authorise(self, caller: Caller, needs: Sequence[Need]) -> None:
        """Allow all of the needs, or deny the request."""
        if caller.kind is not CallerKind.ROOT:
            raise AccessDenied(needs[0].action, needs[0].resource)

    def _secret_of(self, access_key: str) -> Secret | None:
        return self._root.secret if access_key == self._root.access_key else None

    def _count_failure(self, request: Request, now: float) -> None:
        if self._throttle.blocked(now, "", request.peer):
            raise TooManyFailures
        self._throttle.failed(now, "", request.peer)
