"""The one place where it is decided what a caller may do.

Explicit deny first, wherever it stands: in the user's policies, the bucket's, or those of the service account or
session. Then the user's policies or the bucket's must allow, and each limit as well. Whoever is anonymous has the
bucket's policy only. Root is bound by nothing, except through a key that has limits. Under a claim (`claims.py`) the
right over the table stands beside the right over the key, and for a write in its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from lakeshare.identity.arns import bucket_and_key
from lakeshare.identity.caller import Caller, Need
from lakeshare.identity.circumstances import Circumstances, NeedFacts, ServerFacts
from lakeshare.identity.claims import NO_CLAIMS, Claims, TableNeed
from lakeshare.identity.errors import AccessDenied
from lakeshare.identity.policy.compiled import CompiledPolicy, Rule


class Reason(Enum):
    """Why a need was met or refused."""

    ROOT = "root is not bound by policies"
    NOTHING_NEEDED = "nothing is needed"
    IDENTITY_ALLOWS = "a policy of the identity allows it"
    BUCKET_ALLOWS = "the bucket's policy allows it"
    DENIED = "a policy denies it"
    NOT_ALLOWED = "no policy allows it"
    NOT_WITHIN_LIMIT = "the policy of the service account or session does not allow it"
    NOT_THE_TABLE = "the key belongs to a table, and no policy allows writing that table"


_ALLOWS = frozenset({Reason.ROOT, Reason.NOTHING_NEEDED, Reason.IDENTITY_ALLOWS, Reason.BUCKET_ALLOWS})


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for one need, why, and by which statement where there is one."""

    reason: Reason
    action: str = ""
    resource: str = ""
    origin: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the need is met."""
        return self.reason in _ALLOWS


UNBOUND = Decision(Reason.ROOT)
"""What is decided for whoever no policy binds, whatever is needed."""


class Authoriser:
    """Decides the needs of one request."""

    __slots__ = ("_bucket_policies", "_caller", "_claims", "_server")

    def __init__(
        self,
        caller: Caller,
        circumstances: Circumstances,
        bucket_policies: Mapping[str, CompiledPolicy],
        claims: Claims = NO_CLAIMS,
    ) -> None:
        self._caller = caller
        self._bucket_policies = bucket_policies
        self._claims = claims
        self._server = ServerFacts(caller, circumstances)

    def decide(self, need: Need) -> Decision:
        """Decide one need."""
        if self._caller.is_unbound:
            return Decision(Reason.ROOT, need.action, need.resource)
        reason, rule = self._judge(need)
        return Decision(reason, need.action, need.resource, rule.origin if rule else "")

    def decide_all(self, needs: Iterable[Need]) -> Decision:
        """Decide needs that belong together: the first refusal, else the last permission."""
        decision = Decision(Reason.NOTHING_NEEDED)
        for need in needs:
            decision = self.decide(need)
            if not decision.allowed:
                return decision
        return decision

    def _judge(self, need: Need) -> tuple[Reason, Rule | None]:
        caller, on_table = self._caller, self._claims.over(need)
        facts = NeedFacts(self._server, need.facts)
        by_identity = caller.grants.decisive(need.action, need.resource, facts)
        by_bucket = self._by_bucket(need, facts) if self._bucket_policies else None
        by_limits = [limit.decisive(need.action, need.resource, facts) for limit in caller.limits]
        if (denial := _denial((by_identity, by_bucket, *by_limits))) is not None:
            return Reason.DENIED, denial
        if on_table is not None:
            return self._judge_table(on_table, by_identity or by_bucket, by_limits)
        if not all(by_limits):
            return Reason.NOT_WITHIN_LIMIT, None
        return self._permission(by_identity, by_bucket)

    def _permission(self, by_identity: Rule | None, by_bucket: Rule | None) -> tuple[Reason, Rule | None]:
        if self._caller.of_root:
            return Reason.ROOT, None
        if by_identity is not None:
            return Reason.IDENTITY_ALLOWS, by_identity
        if by_bucket is not None:
            return Reason.BUCKET_ALLOWS, by_bucket
        return Reason.NOT_ALLOWED, None

    def _judge_table(
        self, on_table: TableNeed, by_key: Rule | None, by_limits: list[Rule | None]
    ) -> tuple[Reason, Rule | None]:
        caller, need = self._caller, on_table.need
        facts = NeedFacts(self._server, need.facts)
        by_table = caller.grants.decisive(need.action, need.resource, facts)
        table_limits = [limit.decisive(need.action, need.resource, facts) for limit in caller.limits]
        if (denial := _denial((by_table, *table_limits))) is not None:
            return Reason.DENIED, denial
        if not all(key or table for key, table in zip(by_limits, table_limits, strict=True)):
            return Reason.NOT_WITHIN_LIMIT, None
        if caller.of_root:
            return Reason.ROOT, None
        permission = by_table or (None if on_table.writes else by_key)
        if permission is None:
            return (Reason.NOT_THE_TABLE if on_table.writes else Reason.NOT_ALLOWED), None
        return Reason.IDENTITY_ALLOWS, permission

    def _by_bucket(self, need: Need, facts: NeedFacts) -> Rule | None:
        named = bucket_and_key(need.resource)
        policy = None if named is None else self._bucket_policies.get(named[0])
        if policy is None:
            return None
        return policy.decisive(need.action, need.resource, facts, self._caller.principals)


def authorise(
    caller: Caller,
    needs: Iterable[Need],
    circumstances: Circumstances,
    bucket_policies: Mapping[str, CompiledPolicy],
    claims: Claims = NO_CLAIMS,
) -> Decision:
    """Decide everything a request requires, and raise AccessDenied if any of it is refused."""
    decision = Authoriser(caller, circumstances, bucket_policies, claims).decide_all(needs)
    if not decision.allowed:
        raise refusal(decision)
    return decision


def refusal(decision: Decision) -> AccessDenied:
    """Make the error for a decision that refuses; it tells no policy's name."""
    return AccessDenied(decision.action, decision.resource)


def _denial(rules: Iterable[Rule | None]) -> Rule | None:
    return next((rule for rule in rules if rule is not None and rule.denies), None)
