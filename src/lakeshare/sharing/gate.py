"""Who a recipient is, by its bearer or access token, and whether what it asks for is shared with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakeshare.http.request import Request
from lakeshare.identity.arns import share_and_rest
from lakeshare.identity.authorise import Decision, Reason
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.gate import Admission
from lakeshare.identity.throttle import Throttle
from lakeshare.sharing import access_tokens
from lakeshare.sharing.credentials import digest_of, id_of, is_token
from lakeshare.sharing.directory import ShareDirectory
from lakeshare.sharing.errors import TooManyGuesses, Unrecognised
from lakeshare.sharing.rates import Rates
from lakeshare.sharing.view import Access, View

SERVICE = "delta-sharing"
"""The service of what recipients ask for; a route that needs no token names no service."""
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class RecipientAdmission(Admission):
    """A recipient that was let in. `view` is all of sharing as it was when the request came."""

    access: Access
    view: View


class RecipientGate:
    """Authentication and authorisation of recipients."""

    def __init__(
        self,
        directory: ShareDirectory,
        throttle: Throttle,
        rates: Rates,
        clock: Callable[[], float],
        used: Callable[[Access, float, str], None] = lambda _access, _now, _peer: None,
    ) -> None:
        """Take what knows recipients, what bears bad guesses, what counts requests, and what hears of each use."""
        self._directory = directory
        self._throttle = throttle
        self._rates = rates
        self._clock = clock
        self._used = used

    async def authenticate(
        self,
        request: Request,
        services: frozenset[str],
        host_bucket: str = "",  # noqa: ARG002 - a gate's signature
        body_sha256: str | None = None,  # noqa: ARG002
    ) -> Admission:
        """Say which recipient asks; a route without a service needs none.

        Raises Unrecognised, CredentialExpired, RecipientSuspended, AddressRefused, OAuthRequired, RateLimited,
        TooManyGuesses.
        """
        now = self._clock()
        circumstances = Circumstances(
            at=now,
            source_ip=request.peer,
            secure=request.scheme == "https",
            user_agent=request.headers.get("user-agent", ""),
        )
        if not services:
            return Admission(ANONYMOUS, None, circumstances)
        view = await self._directory.current()
        access = self._admit(view, bearer_of(request), now, request.peer)
        self._rates.take(access.credential.id, now)
        self._used(access, now, request.peer)
        name = access.recipient.name
        caller = Caller(CallerKind.RECIPIENT, f"{name}/{access.credential.id}", user=f"recipient/{name}")
        return RecipientAdmission(caller, None, circumstances, access, view)

    async def authorise(self, admission: Admission, needs: Sequence[Need]) -> Decision:
        """Allow what is asked of shares that the recipient sees. Raises NoSuchResource, OAuthRequired."""
        if not isinstance(admission, RecipientAdmission):
            return Decision(Reason.NOTHING_NEEDED)
        for need in needs:
            named = share_and_rest(need.resource)
            if named is not None:
                admission.view.share_for(admission.access, named[0])
        return Decision(Reason.IDENTITY_ALLOWS)

    def _admit(self, view: View, token: str, now: float, peer: str) -> Access:
        name = id_of(digest_of(token))
        if self._throttle.blocked(now, name, peer):
            raise TooManyGuesses
        try:
            return admitted(view, token, now, peer)
        except Unrecognised:
            self._throttle.failed(now, name, peer)
            raise


def admitted(view: View, token: str, now: float, peer: str) -> Access:
    """Let in who has a token of either kind. Raises as `View.recipient_of` does."""
    if is_token(token):
        return view.recipient_of(digest_of(token), now, peer)
    return view.admit(access_tokens.client_of(view, token, now), now, peer)


def bearer_of(request: Request) -> str:
    """Return the token that a request brings, or nothing."""
    given = request.headers.get("authorization", "")
    return given[len(_BEARER) :].strip() if given[: len(_BEARER)].lower() == _BEARER else ""
