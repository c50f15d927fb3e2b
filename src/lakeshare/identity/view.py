"""Who each key is, at one moment: the secret to check its signature with, and the caller once that holds. No I/O."""

from dataclasses import dataclass, field
from hashlib import sha256

from lakeshare.identity.caller import Caller, CallerKind
from lakeshare.identity.directory_errors import AccessKeyInactive
from lakeshare.identity.errors import AccessKeyUnknown, TokenExpired, TokenInvalid
from lakeshare.identity.names import SESSION_PREFIX
from lakeshare.identity.policy.compiled import compile_stored
from lakeshare.identity.records import PLACE_OF_SESSION_KEYS, ROOT, place_of_account, place_of_user
from lakeshare.identity.register import Register, Standing, earliest
from lakeshare.identity.session_tokens import Session, TokenSealer
from lakeshare.identity.vault import Vault
from lakeshare.settings import Secret

BEARER = "bearer"
"""What Bearer tokens are sealed for, in place of an access key: no session's token is one, and none is a session's."""

_KEPT = 8192
_LIMIT = "policy of the key"
_DIGEST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class RootKey:
    """Root's own pair, which comes from settings or a file and never from state."""

    access_key: str
    secret: Secret = field(repr=False)


class View:
    """Identities at one moment, with what opens their secrets."""

    __slots__ = ("_callers", "_root_caller", "_secrets", "_sessions", "register", "root", "sealer", "vault")

    def __init__(self, register: Register, vault: Vault, root: RootKey, sealer: TokenSealer | None) -> None:
        self.register = register
        self.vault = vault
        self.root = root
        self.sealer = sealer
        self._root_caller = Caller(CallerKind.ROOT, root.access_key, user=root.access_key, of_root=True, holder=ROOT)
        self._secrets: dict[str, Secret] = {}
        self._callers: dict[str, tuple[Standing, Caller]] = {}
        self._sessions: dict[str, tuple[Caller, Session]] = {}

    def secret_of(self, access_key: str, session_token: Secret | None = None) -> Secret | None:
        """Return the secret that a key signs with; None where there is no such key. Raises TokenInvalid.

        A key that is disabled or expired has a secret still: `resolve` refuses it once the signature holds, so that
        only who has the secret learns of its state.
        """
        if session_token is not None:
            return Secret(self._session(access_key, session_token).secret)
        if access_key == self.root.access_key:
            return self.root.secret
        if access_key.startswith(SESSION_PREFIX):
            raise TokenInvalid(access_key, "it is missing")
        found = self._secrets.get(access_key)
        if found is None and (found := self._open(access_key)) is not None and len(self._secrets) < _KEPT:
            self._secrets[access_key] = found
        return found

    def resolve(self, access_key: str, session_token: Secret | None, now: float) -> Caller:
        """Return the caller that a key stands for, once its signature holds.

        Raises AccessKeyUnknown, AccessKeyInactive, TokenInvalid, TokenExpired.
        """
        if session_token is not None:
            return self._session_caller(access_key, self._session(access_key, session_token), now)
        if access_key == self.root.access_key:
            return self._root_caller
        standing, caller = self._known(access_key)
        self._check(access_key, standing, now)
        return caller

    def resolve_bearer(self, token: Secret, now: float) -> Caller:
        """Return the caller that a Bearer token stands for. Raises as `resolve` does."""
        if self.sealer is None:
            raise TokenInvalid("", "it was not issued by this server")
        session = self.sealer.open(token.reveal(), BEARER)
        digest = sha256(token.reveal().encode()).hexdigest()[:_DIGEST_DIGITS]
        return self._session_caller(f"{self.name_of(session.parent)}/{digest}", session, now)

    def name_of(self, user: str) -> str:
        """Return the name that a user goes by outside; root goes by its access key."""
        return self.root.access_key if user == ROOT else user

    def user_named(self, name: str) -> str:
        """Return the user that goes by a name outside."""
        return ROOT if name == self.root.access_key else name

    def _known(self, access_key: str) -> tuple[Standing, Caller]:
        found = self._callers.get(access_key)
        if found is not None:
            return found
        standing = None if access_key == ROOT else self.register.standing(access_key)
        if standing is None:
            raise AccessKeyUnknown(access_key)
        kind = CallerKind.SERVICE_ACCOUNT if standing.line else CallerKind.USER
        found = standing, self._caller(kind, access_key, standing)
        if len(self._callers) < _KEPT:
            self._callers[access_key] = found
        return found

    def _caller(
        self, kind: CallerKind, access_key: str, standing: Standing, session: Session | None = None, holder: str = ""
    ) -> Caller:
        policies = () if session is None else session.policies
        texts = (*standing.limit_texts, *policies)
        return Caller(
            kind,
            access_key,
            user=self.name_of(standing.user),
            of_root=standing.of_root,
            owner=standing.owner,
            groups=standing.groups,
            grants=standing.grants,
            limits=tuple(compile_stored(text, _LIMIT) for text in texts),
            limit_texts=texts,
            holder=holder or access_key,
            session_policies=policies,
            session=session.name if session else "",
            issued_at=session.issued_at if session else 0,
            expires_at=earliest(standing.expires_at, session.expires_at if session else None),
        )

    def _session_caller(self, access_key: str, session: Session, now: float) -> Caller:
        if now >= session.expires_at:
            raise TokenExpired(access_key)
        standing = self.register.standing(session.parent)
        if standing is None or (standing.uid, standing.session_epoch) != (session.parent_uid, session.parent_epoch):
            raise TokenInvalid(access_key, "it was revoked")
        self._check(access_key, standing, now)
        caller, known = self._sessions.get(access_key, (None, None))
        if caller is None or known is not session:
            caller = self._caller(CallerKind.SESSION, access_key, standing, session, session.parent)
            if len(self._sessions) < _KEPT:
                self._sessions[access_key] = caller, session
        return caller

    def _session(self, access_key: str, token: Secret) -> Session:
        if self.sealer is None or not access_key.startswith(SESSION_PREFIX):
            raise TokenInvalid(access_key, "this access key has no session")
        return self.sealer.open(token.reveal(), access_key)

    def _check(self, access_key: str, standing: Standing, now: float) -> None:
        if standing.flaw:
            raise AccessKeyInactive(access_key, standing.flaw)
        if standing.expires_at is not None and now >= standing.expires_at:
            raise AccessKeyInactive(access_key, "it has expired")

    def _open(self, access_key: str) -> Secret | None:
        if (user := self.register.user(access_key)) is not None:
            return Secret(self.vault.open(user.sealed_secret, place_of_user(user.name, user.uid)).decode())
        if (account := self.register.account(access_key)) is not None:
            place = place_of_account(access_key, account.uid)
            return Secret(self.vault.open(account.sealed_secret, place).decode())
        return None


def sealer_of(register: Register, vault: Vault) -> TokenSealer | None:
    """Open the keys of session tokens; None before the first session."""
    keys = register.session_keys()
    if keys is None:
        return None
    return TokenSealer(tuple(vault.open(sealed, PLACE_OF_SESSION_KEYS) for sealed in keys.sealed_keys))
