"""Policies made ready to be asked: the rules about each action are gathered once, at its first question.

One compiled policy may hold the statements of several: what any of them denies is denied, what any allows is allowed.
Resources of admin and sts actions are the server's own (`*`, or names under `arn:aws:iam:::`), which `arn:aws:s3:::*`
covers as `*` does where the statement names such actions; a narrower bucket or table resource never reaches them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from lakeshare.identity.policy.actions import UNSCOPED_SERVICES, ActionPatterns, service_of
from lakeshare.identity.policy.conditions import Judge, compile_condition
from lakeshare.identity.policy.document import MAX_POLICY_BYTES
from lakeshare.identity.policy.errors import PolicyError
from lakeshare.identity.policy.keys import BUCKET_OWNER, EXISTING_TAG, condition_key
from lakeshare.identity.policy.model import Effect, Policy, Principals, Statement
from lakeshare.identity.policy.parse import EVERYTHING, parse_policy
from lakeshare.identity.policy.pattern import FactSource, Patterns, tokens_of
from lakeshare.identity.policy.principals import concerns

NOBODY: frozenset[str] = frozenset()
_ACTIONS_KEPT = 1024
_POLICIES_KEPT = 2048


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One statement, ready to be asked. `origin` names the policy, and the statement where it has a Sid, for audit."""

    denies: bool
    origin: str
    actions: ActionPatterns
    resources: Patterns
    server_resources: Patterns
    except_resources: bool
    principals: Principals | None
    judges: tuple[Judge, ...]
    asks_tags: bool = False
    asks_owner: bool = False

    def applies(self, resource: str, facts: FactSource, names: frozenset[str], *, unscoped: bool) -> bool:
        """Whether the statement, which is about the action, is about this resource, caller and circumstances too."""
        patterns = self.server_resources if unscoped else self.resources
        if patterns.match(resource, facts) == self.except_resources:
            return False
        if self.except_resources and not self.denies and patterns.unresolved(facts):
            return False
        if self.principals is not None and not concerns(self.principals, names):
            return False
        for judge in self.judges:
            answer = judge(facts)
            if not (self.denies if answer is None else answer):
                return False
        return True


class CompiledPolicy:
    """Rules of one or more policies. `asks` says that some of them ask for what must be read: tags, or an owner."""

    __slots__ = ("_gathered", "_rules", "asks", "asks_owner", "asks_tags")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self.asks_tags = any(rule.asks_tags for rule in self._rules)
        self.asks_owner = any(rule.asks_owner for rule in self._rules)
        self.asks = self.asks_tags or self.asks_owner
        self._gathered: dict[str, tuple[tuple[Rule, ...], bool]] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order they were written."""
        return self._rules

    def decisive(self, action: str, resource: str, facts: FactSource, names: frozenset[str] = NOBODY) -> Rule | None:
        """Return the rule that decides: a Deny that applies, else an Allow that applies, else None."""
        if not self._rules:
            return None
        gathered = self._gathered.get(action)
        rules, unscoped = gathered if gathered is not None else self._gather(action)
        for rule in rules:
            if rule.applies(resource, facts, names, unscoped=unscoped):
                return rule
        return None

    def _gather(self, action: str) -> tuple[tuple[Rule, ...], bool]:
        about = [rule for rule in self._rules if rule.actions.match(action)]
        rules = tuple(sorted(about, key=lambda rule: not rule.denies))
        gathered = rules, service_of(action) in UNSCOPED_SERVICES
        if len(self._gathered) < _ACTIONS_KEPT:
            self._gathered[action] = gathered
        return gathered


NO_POLICY = CompiledPolicy(())


def compile_policy(policy: Policy, name: str = "") -> CompiledPolicy:
    """Compile one policy."""
    return CompiledPolicy(_rule(statement, policy, name, n) for n, statement in enumerate(policy.statements))


def union(policies: Iterable[CompiledPolicy]) -> CompiledPolicy:
    """Join policies into one that allows what any allows and denies what any denies."""
    rules = [rule for policy in policies for rule in policy.rules]
    return CompiledPolicy(rules) if rules else NO_POLICY


@lru_cache(maxsize=_POLICIES_KEPT)
def compile_stored(text: str, name: str = "") -> CompiledPolicy:
    """Compile the text of a policy that was accepted once; one that cannot be read any more denies everything."""
    try:
        return compile_policy(parse_policy(text, MAX_POLICY_BYTES), name)
    except PolicyError:
        return closed(name)


def closed(name: str) -> CompiledPolicy:
    """Make a policy that denies everything to everyone, for one that cannot be read."""
    statement = Statement(Effect.DENY, ("*",), ("*",))
    return CompiledPolicy((_rule(statement, Policy((statement,)), f"{name} (cannot be read)", 0),))


def _rule(statement: Statement, policy: Policy, name: str, number: int) -> Rule:
    variables = policy.has_variables
    resources = [tokens_of(each, variables=variables) for each in statement.resources]
    whole = EVERYTHING if _names_actions(statement) else ()
    own = [tokens_of("*" if each in whole else each, variables=variables) for each in statement.resources]
    return Rule(
        denies=statement.effect is Effect.DENY,
        origin=f"{name}#{statement.sid or number}",
        actions=ActionPatterns(statement.actions, inverted=statement.except_actions),
        resources=Patterns(resources),
        server_resources=Patterns(own),
        except_resources=statement.except_resources,
        principals=statement.principals,
        judges=tuple(compile_condition(each, variables=variables) for each in statement.conditions),
        asks_tags=any(condition_key(each.key).startswith(EXISTING_TAG) for each in statement.conditions),
        asks_owner=any(condition_key(each.key) == BUCKET_OWNER for each in statement.conditions),
    )


def _names_actions(statement: Statement) -> bool:
    """Whether every action stands there with its service, so that admin actions are meant where they are covered."""
    return not statement.except_actions and "*" not in statement.actions
