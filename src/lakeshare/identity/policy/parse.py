"""From a policy's text to a policy: the grammar of AWS's policy language, its bounds, and what an author is warned of.

Anything outside the grammar is refused with its place; nothing is skipped. An action or a condition key that the
server does not know may belong to another store, so it is kept, and said aloud in the policy's warnings.
"""

import re
from typing import Any

from lakeshare.identity.policy import actions, keys
from lakeshare.identity.policy.conditions import check_condition
from lakeshare.identity.policy.document import MAX_POLICY_BYTES, read_document, shown
from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.policy.model import (
    VERSION_WITH_VARIABLES,
    VERSIONS,
    Condition,
    Effect,
    Policy,
    Principals,
    Quantifier,
    Statement,
)
from lakeshare.identity.policy.pattern import tokens_of
from lakeshare.identity.policy.principals import read_principals

MAX_STATEMENTS = 128
MAX_VALUES = 512  # of one list in a statement
MAX_CONDITIONS = 64  # keys under all operators of a statement
MAX_SID = 256

_POLICY_ELEMENTS = frozenset({"Version", "Id", "Statement"})
_ELEMENTS = frozenset(
    {
        "Sid",
        "Effect",
        "Principal",
        "NotPrincipal",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Condition",
    }
)
_SERVICE = re.compile(r"[A-Za-z0-9-]+\Z")
_OLD_VERSION = "2008-10-17"
_IF_EXISTS = "IfExists"


def parse_policy(text: str | bytes, limit_bytes: int = MAX_POLICY_BYTES) -> Policy:
    """Read a policy that belongs to an identity, a service account or a session."""
    return _policy(read_document(text, limit_bytes), of_bucket=False)


def parse_resource_policy(text: str | bytes, limit_bytes: int = MAX_POLICY_BYTES) -> Policy:
    """Read a policy that lies on a resource and so names its principals; `bucket.py` checks the rest."""
    return _policy(read_document(text, limit_bytes), of_bucket=True)


def _policy(document: dict[str, Any], *, of_bucket: bool) -> Policy:
    _known_elements(document, _POLICY_ELEMENTS, "")
    version = document.get("Version", _OLD_VERSION)
    if not isinstance(version, str) or version not in VERSIONS:
        raise MalformedPolicy("Version", f"write {VERSION_WITH_VARIABLES}")
    given = document.get("Statement")
    items = [given] if isinstance(given, dict) else given
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_STATEMENTS:
        raise MalformedPolicy("Statement", f"write one to {MAX_STATEMENTS} statements")
    reader = _Reader(variables=version == VERSION_WITH_VARIABLES, of_bucket=of_bucket)
    statements = tuple(reader.statement(item, f"Statement[{n}]") for n, item in enumerate(items))
    _unique_sids(statements)
    identifier = _short_text(document.get("Id", ""), "Id")
    return Policy(statements, version, identifier, tuple(dict.fromkeys(reader.warnings)))


class _Reader:
    """Reads statements of one policy and gathers warnings."""

    def __init__(self, *, variables: bool, of_bucket: bool) -> None:
        self.variables = variables
        self.of_bucket = of_bucket
        self.warnings: list[str] = []

    def statement(self, item: Any, place: str) -> Statement:
        if not isinstance(item, dict):
            raise MalformedPolicy(place, "a statement is a JSON object")
        _known_elements(item, _ELEMENTS, place)
        effect = _effect(item, place)
        named, except_actions = self._actions(item, place)
        resources, except_resources = self._resources(item, place, named)
        return Statement(
            effect=effect,
            actions=named,
            resources=resources,
            conditions=self._conditions(item.get("Condition", {}), f"{place}.Condition"),
            principals=self._principals(item, place, effect),
            except_actions=except_actions,
            except_resources=except_resources,
            sid=_short_text(item.get("Sid", ""), f"{place}.Sid"),
        )

    def _actions(self, item: dict[str, Any], place: str) -> tuple[tuple[str, ...], bool]:
        name = _one_of(item, "Action", "NotAction", place)
        if name is None:
            raise MalformedPolicy(place, "Action or NotAction is missing")
        place = f"{place}.{name}"
        values = _texts(item[name], place)
        for n, value in enumerate(values):
            service, colon, rest = value.partition(":")
            if value != "*" and not (_SERVICE.match(service) and colon and rest):
                raise MalformedPolicy(f"{place}[{n}]", f"{value[:64]!r} is no action: write it like s3:GetObject")
            if not actions.is_known(value):
                self.warnings.append(f"{place}[{n}]: no action is called {value[:64]!r}")
        return values, name == "NotAction"

    def _resources(self, item: dict[str, Any], place: str, named: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        name = _one_of(item, "Resource", "NotResource", place)
        if name is None:
            if "Action" in item and all(actions.service_of(each) in actions.UNSCOPED_SERVICES for each in named):
                return ("*",), False
            raise MalformedPolicy(place, "Resource or NotResource is missing")
        place = f"{place}.{name}"
        values = _texts(item[name], place)
        for n, value in enumerate(values):
            if not value.startswith("arn:") and value != "*":
                raise MalformedPolicy(f"{place}[{n}]", f"{value[:64]!r} is no ARN: write it like arn:aws:s3:::bucket/*")
            self._check_pattern(value, f"{place}[{n}]")
        self._warn_unreached(named, values, place)
        return values, name == "NotResource"

    def _warn_unreached(self, named: tuple[str, ...], resources: tuple[str, ...], place: str) -> None:
        unscoped = [each for each in named if actions.service_of(each) in actions.UNSCOPED_SERVICES]
        if unscoped and all(each.startswith("arn:aws:s3") and each not in EVERYTHING for each in resources):
            self.warnings.append(f"{place}: {unscoped[0][:64]} is not about buckets or tables: write * for it")

    def _conditions(self, block: Any, place: str) -> tuple[Condition, ...]:
        if not isinstance(block, dict):
            raise MalformedPolicy(place, "a condition is a JSON object of operators")
        found: list[Condition] = []
        for operator, pairs in block.items():
            here = f"{place}.{shown(operator)}"
            if not isinstance(pairs, dict) or not pairs:
                raise MalformedPolicy(here, "write the keys to compare as a JSON object")
            found += [self._condition(operator, key, values, f"{here}.{shown(key)}") for key, values in pairs.items()]
        if len(found) > MAX_CONDITIONS:
            raise MalformedPolicy(place, f"at most {MAX_CONDITIONS} condition keys are allowed")
        return tuple(found)

    def _condition(self, operator: str, key: str, given: Any, place: str) -> Condition:
        quantifier, bare = _quantified(operator)
        if_exists = bare.endswith(_IF_EXISTS) and bare != _IF_EXISTS
        values = tuple(_scalar(value, place) for value in (given if isinstance(given, list) else [given]))
        if not 1 <= len(values) <= MAX_VALUES or not key:
            raise MalformedPolicy(place, f"write one to {MAX_VALUES} values for a named key")
        found = Condition(
            bare.removesuffix(_IF_EXISTS) if if_exists else bare,
            keys.condition_key(key),
            values,
            quantifier,
            if_exists,
        )
        try:
            check_condition(found, variables=self.variables)
        except MalformedPolicy as error:
            raise MalformedPolicy(place, error.reason) from None
        self._warn_condition(found, place)
        return found

    def _warn_condition(self, found: Condition, place: str) -> None:
        if not keys.is_known(found.key):
            self.warnings.append(f"{place}: no request has the condition key {found.key[:64]!r}")
        if found.quantifier is Quantifier.ALL:
            self.warnings.append(f"{place}: ForAllValues holds too when the key is absent; add a Null condition")

    def _principals(self, item: dict[str, Any], place: str, effect: Effect) -> Principals | None:
        name = _one_of(item, "Principal", "NotPrincipal", place)
        if not self.of_bucket:
            if name is not None:
                raise MalformedPolicy(f"{place}.{name}", "only a bucket policy names principals")
            return None
        if name is None:
            raise MalformedPolicy(place, "Principal is missing: a bucket policy says whom it is about")
        if name == "NotPrincipal" and effect is Effect.ALLOW:
            raise MalformedPolicy(f"{place}.{name}", "NotPrincipal cannot be used with Allow: it would admit anyone")
        return read_principals(item[name], f"{place}.{name}", inverted=name == "NotPrincipal")

    def _check_pattern(self, value: str, place: str) -> None:
        if not self.variables and "${" in value:
            self.warnings.append(f"{place}: ${{…}} is a variable only under Version {VERSION_WITH_VARIABLES}")
        try:
            tokens_of(value, variables=self.variables)
        except MalformedPolicy as error:
            raise MalformedPolicy(place, error.reason) from None


EVERYTHING = frozenset({"*", "arn:aws:s3:::*"})


def _known_elements(item: dict[str, Any], known: frozenset[str], place: str) -> None:
    for name in item:
        if name not in known:
            raise MalformedPolicy(place, f"{shown(name)!r} is no element here")


def _effect(item: dict[str, Any], place: str) -> Effect:
    match item.get("Effect"):
        case "Allow":
            return Effect.ALLOW
        case "Deny":
            return Effect.DENY
        case _:
            raise MalformedPolicy(f"{place}.Effect", "write Allow or Deny")


def _one_of(item: dict[str, Any], plain: str, inverted: str, place: str) -> str | None:
    if plain in item and inverted in item:
        raise MalformedPolicy(place, f"{plain} and {inverted} exclude each other")
    return plain if plain in item else inverted if inverted in item else None


def _texts(given: Any, place: str) -> tuple[str, ...]:
    values = given if isinstance(given, list) else [given]
    if not 1 <= len(values) <= MAX_VALUES:
        raise MalformedPolicy(place, f"write one to {MAX_VALUES} values")
    for n, value in enumerate(values):
        if not isinstance(value, str) or not value:
            raise MalformedPolicy(f"{place}[{n}]", "write a string")
        _encodable(value, f"{place}[{n}]")
    return tuple(values)


def _scalar(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        raise MalformedPolicy(place, "a value is a string, a number or a boolean")
    _encodable(value, place)
    return value


def _encodable(value: str, place: str) -> None:
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise MalformedPolicy(place, "half a surrogate pair is no character")


def _short_text(value: Any, place: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_SID:
        raise MalformedPolicy(place, f"write a string of at most {MAX_SID} characters")
    _encodable(value, place)
    return value


def _quantified(operator: str) -> tuple[Quantifier, str]:
    for quantifier in (Quantifier.ANY, Quantifier.ALL):
        if operator.startswith(quantifier.value):
            return quantifier, operator.removeprefix(quantifier.value)
    return Quantifier.ONE, operator


def _unique_sids(statements: tuple[Statement, ...]) -> None:
    seen: set[str] = set()
    for n, statement in enumerate(statements):
        if statement.sid and statement.sid in seen:
            raise MalformedPolicy(f"Statement[{n}].Sid", "another statement has this Sid")
        seen.add(statement.sid)
