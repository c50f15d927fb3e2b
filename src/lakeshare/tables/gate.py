"""The door of the catalog: who signed a request, in any of the ways that clients have, or whose token it brings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakeshare.http.request import Request
from lakeshare.identity.authorise import Decision
from lakeshare.identity.caller import ANONYMOUS, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.directory import Directory
from lakeshare.identity.errors import IdentityError, TokenInvalid, TooManyFailures
from lakeshare.identity.gate import Admission, Gate
from lakeshare.identity.throttle import Throttle
from lakeshare.settings import Secret
from lakeshare.tables.errors import BadToken, NotSignedIn

SERVICES = frozenset({"s3tables", "s3", "execute-api"})
"""The services that clients sign for (iceberg.md 3.4)."""
_BEARER = "bearer "
_GUESSED = "bearer token"


@dataclass(frozen=True, slots=True)
class CatalogAdmission(Admission):
    """Who a request comes from, and the gate that it came by: some needs are known only once a file is read."""

    gate: Gate

    async def authorise(self, needs: Sequence[Need]) -> Decision:
        """Allow more needs of the same request, or raise AccessDenied."""
        return await self.gate.authorise(self, needs)


class CatalogGate:
    """Authentication and authorisation of the catalog's callers."""

    def __init__(self, gate: Gate, directory: Directory, throttle: Throttle, clock: Callable[[], float]) -> None:
        self._gate = gate
        self._directory = directory
        self._throttle = throttle
        self._clock = clock

    async def authenticate(
        self, request: Request, services: frozenset[str], host_bucket: str = "", body_sha256: str | None = None
    ) -> CatalogAdmission:
        """Say who asks; a route without a service needs nobody. Raises NotSignedIn, BadToken, and as Gate does."""
        header = request.headers.get("authorization", "")
        if not services:
            return CatalogAdmission(ANONYMOUS, None, _circumstances(request, self._clock()), self._gate)
        if header[: len(_BEARER)].lower() == _BEARER:
            return await self._bearer(request, header[len(_BEARER) :].strip())
        admission = await self._gate.authenticate(request, services, host_bucket, body_sha256)
        if admission.caller.is_anonymous:
            raise NotSignedIn
        return CatalogAdmission(admission.caller, admission.verified, admission.circumstances, self._gate)

    async def authorise(self, admission: Admission, needs: Sequence[Need]) -> Decision:
        """Allow all of the needs, or refuse them."""
        return await self._gate.authorise(admission, needs)

    async def _bearer(self, request: Request, token: str) -> CatalogAdmission:
        now = self._clock()
        if self._throttle.blocked(now, _GUESSED, request.peer):
            raise TooManyFailures("", request.peer)
        view = self._directory.at_hand() or await self._directory.current()
        try:
            caller = view.resolve_bearer(Secret(token), now)
        except TokenInvalid as error:
            self._throttle.failed(now, _GUESSED, request.peer)
            raise BadToken(error.message) from None
        except IdentityError as error:
            raise BadToken(error.message) from None
        return CatalogAdmission(caller, None, _circumstances(request, now), self._gate)


def _circumstances(request: Request, now: float) -> Circumstances:
    return Circumstances(
        at=now,
        source_ip=request.peer,
        secure=request.scheme == "https",
        user_agent=request.headers.get("user-agent", ""),
        referer=request.headers.get("referer", ""),
    )
