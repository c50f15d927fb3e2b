r"""Patterns with `*`, `?` and policy variables, compiled to the cheapest test that decides them.

`*` is any run of characters, `/` among them; `?` is any one. `${key}` stands for a fact about the request and
`${key, 'default'}` has a default; `${*}`, `${?}` and `${$}` are the characters themselves. A variable's value is
text: a star in it matches a star only. Matching takes time in proportion to pattern times text, whatever the pattern.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Protocol

from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.policy.keys import condition_key

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_DEFAULTED = re.compile(r"\s*([^,\s]+)\s*,\s*'([^']*)'\s*\Z")
_LITERALS = frozenset({"*", "?", "$"})
_COMPILED_KEPT = 4096


class FactSource(Protocol):
    """Where the values of condition keys come from."""

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values of a condition key; none if the request has no such fact."""


class Wild(Enum):
    """A wildcard."""

    MANY = "*"
    ONE = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    """A policy variable, with the text that stands in where the request has no such fact."""

    key: str
    default: str | None = None


Token = str | Wild | Variable
Tokens = tuple[Token, ...]


def tokens_of(text: str, *, variables: bool, wild: bool = True) -> Tokens:
    """Split a pattern into literals, wildcards and variables."""
    found: list[Token] = []
    at = 0
    if variables:
        for match in _VARIABLE.finditer(text):
            found += _plain(text[at : match.start()], wild=wild)
            found.append(_variable(match[1]))
            at = match.end()
    found += _plain(text[at:], wild=wild)
    return _joined(found)


def resolve(tokens: Tokens, facts: FactSource) -> Tokens | None:
    """Put the values of variables in place; None where one has no single value."""
    found: list[Token] = []
    for token in tokens:
        if not isinstance(token, Variable):
            found.append(token)
            continue
        values = facts.values(token.key)
        if len(values) == 1:
            found.append(values[0])
        elif not values and token.default is not None:
            found.append(token.default)
        else:
            return None
    return _joined(found)


@lru_cache(maxsize=_COMPILED_KEPT)
def expression(tokens: Tokens) -> re.Pattern[str]:
    """Compile tokens without variables to an expression that never tries one text position twice for one part."""
    parts: list[str] = [""]
    for token in tokens:
        if token is Wild.MANY:
            parts.append("")
        else:
            parts[-1] += "." if token is Wild.ONE else re.escape(str(token))
    if len(parts) == 1:
        return re.compile(parts[0], re.DOTALL)
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1] if part)
    return re.compile(f"{parts[0]}{middle}.*{parts[-1]}", re.DOTALL)


class Patterns:
    """Several patterns, of which any one may match."""

    __slots__ = ("_everything", "_exact", "_expressions", "_prefixes", "_templates")

    def __init__(self, patterns: Iterable[Tokens]) -> None:
        exact: set[str] = set()
        prefixes: set[str] = set()
        expressions: list[re.Pattern[str]] = []
        templates: list[Tokens] = []
        for tokens in patterns:
            match tokens:
                case ():
                    exact.add("")
                case (str() as text,):
                    exact.add(text)
                case (str() as text, Wild.MANY):
                    prefixes.add(text)
                case (Wild.MANY,):
                    prefixes.add("")
                case _ if has_variables(tokens):
                    templates.append(tokens)
                case _:
                    expressions.append(expression(tokens))
        self._everything = "" in prefixes
        self._exact = frozenset(exact)
        self._prefixes = tuple(sorted(prefixes))
        self._expressions = tuple(expressions)
        self._templates = tuple(templates)

    def match(self, text: str, facts: FactSource) -> bool:
        """Whether any pattern matches; a pattern with a variable that has no value matches nothing."""
        if self._everything or text in self._exact or text.startswith(self._prefixes):
            return True
        for each in self._expressions:
            if each.fullmatch(text):
                return True
        return bool(self._templates) and any(_match_template(each, text, facts) for each in self._templates)

    def unresolved(self, facts: FactSource) -> bool:
        """Whether a variable in one of the patterns has no value."""
        return any(resolve(each, facts) is None for each in self._templates)


def matches(tokens: Tokens, text: str) -> bool:
    """Whether tokens without variables match a text."""
    return expression(tokens).fullmatch(text) is not None


def has_variables(tokens: Tokens) -> bool:
    """Whether a pattern needs facts to be decided."""
    return any(isinstance(token, Variable) for token in tokens)


def has_wildcards(tokens: Tokens) -> bool:
    """Whether a pattern stands for more than one text."""
    return any(isinstance(token, Wild) for token in tokens)


def escaped(text: str) -> str:
    """Write a text so that a pattern means it literally."""
    return re.sub(r"[*?$]", lambda match: f"${{{match[0]}}}", text)


def _match_template(tokens: Tokens, text: str, facts: FactSource) -> bool:
    resolved = resolve(tokens, facts)
    return resolved is not None and matches(resolved, text)


def _variable(inside: str) -> Token:
    if inside in _LITERALS:
        return inside
    if match := _DEFAULTED.match(inside):
        return Variable(condition_key(match[1]), match[2])
    name = inside.strip()
    if ":" not in name or "," in name or "'" in name:
        raise MalformedPolicy("", f"${{{inside}}} is not a policy variable: write it like ${{aws:username}}")
    return Variable(condition_key(name))


def _plain(text: str, *, wild: bool) -> list[Token]:
    if not wild:
        return [text] if text else []
    return [Wild(part) if part in ("*", "?") else part for part in re.split(r"([*?])", text) if part]


def _joined(found: list[Token]) -> Tokens:
    tokens: list[Token] = []
    for token in found:
        if tokens and token is Wild.MANY and tokens[-1] is Wild.MANY:
            continue
        if tokens and isinstance(token, str) and isinstance(tokens[-1], str):
            tokens[-1] += token
        elif token != "":
            tokens.append(token)
    return tuple(tokens)
