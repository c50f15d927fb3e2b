"""Conditions, each compiled once to a judge that reads the facts of a request.

A judge says yes, no, or None where it cannot say: a value is not what its operator compares (text for a number), or
a variable has no value. What cannot be judged never helps the caller: an Allow does not apply, a Deny does.
"""

from collections.abc import Callable, Iterable

from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.policy.model import Condition, Quantifier
from lakeshare.identity.policy.operators import (
    ARNS,
    COMPARE,
    NULL,
    OPERATORS,
    READERS,
    WILD,
    arn_matches,
    is_arn,
    read_truth,
    split_negation,
)
from lakeshare.identity.policy.pattern import (
    FactSource,
    Tokens,
    Wild,
    has_variables,
    has_wildcards,
    matches,
    resolve,
    tokens_of,
)

Judge = Callable[[FactSource], bool | None]
Match = Callable[[str, FactSource], bool | None]


def compile_condition(condition: Condition, *, variables: bool) -> Judge:
    """Make the judge of one condition."""
    name, negated = split_negation(condition.operator)
    if name == NULL:
        return _null(condition)
    match = _matcher(name, condition.values, variables=variables)
    absent = _if_absent(condition, negated=negated)
    key, combine = condition.key, _COMBINE[condition.quantifier, negated]

    def judge(facts: FactSource) -> bool | None:
        given = facts.values(key)
        return combine(match(value, facts) for value in given) if given else absent

    return judge


def check_condition(condition: Condition, *, variables: bool) -> None:
    """Refuse an operator that does not exist, and values that it could never compare."""
    name, _ = split_negation(condition.operator)
    if condition.operator not in OPERATORS:
        raise MalformedPolicy("", "no such condition operator")
    for value in condition.values:
        if name == NULL and read_truth(value) is None:
            raise MalformedPolicy("", "Null is compared with true or false")
        if has_variables(tokens_of(value, variables=variables)):
            continue
        if name in READERS and READERS[name](value) is None:
            raise MalformedPolicy("", f"{value[:64]!r} is no value for {condition.operator}")
        if name in ARNS and not is_arn(value):
            raise MalformedPolicy("", f"{value[:64]!r} is not an ARN")


def is_fixed(condition: Condition, *, variables: bool) -> bool:
    """Whether the values of a condition are plain ones, without wildcards and variables."""
    name, _ = split_negation(condition.operator)
    tokens = [tokens_of(value, variables=variables, wild=name in WILD) for value in condition.values]
    return not any(has_variables(each) or has_wildcards(each) for each in tokens)


def _null(condition: Condition) -> Judge:
    wants_absent = any(read_truth(value) for value in condition.values)
    wants_present = any(read_truth(value) is False for value in condition.values)
    key = condition.key

    def judge(facts: FactSource) -> bool:
        return wants_present if facts.values(key) else wants_absent

    return judge


def _if_absent(condition: Condition, *, negated: bool) -> bool:
    if condition.if_exists or condition.quantifier is Quantifier.ALL:
        return True
    return negated and condition.quantifier is Quantifier.ONE


def _any(answers: Iterable[bool | None]) -> bool | None:
    unsure = False
    for answer in answers:
        if answer:
            return True
        unsure = unsure or answer is None
    return None if unsure else False


def _not(answer: bool | None) -> bool | None:  # noqa: FBT001 - an answer is what it negates
    return None if answer is None else not answer


def _none(answers: Iterable[bool | None]) -> bool | None:
    return _not(_any(answers))


def _some_not(answers: Iterable[bool | None]) -> bool | None:
    return _any(_not(answer) for answer in answers)


def _all(answers: Iterable[bool | None]) -> bool | None:
    return _not(_some_not(answers))


_COMBINE: dict[tuple[Quantifier, bool], Callable[[Iterable[bool | None]], bool | None]] = {
    (Quantifier.ONE, False): _any,
    (Quantifier.ONE, True): _none,
    (Quantifier.ANY, False): _any,
    (Quantifier.ANY, True): _some_not,
    (Quantifier.ALL, False): _all,
    (Quantifier.ALL, True): _none,
}


def _matcher(name: str, values: tuple[str, ...], *, variables: bool) -> Match:
    tokens = tuple(tokens_of(value, variables=variables, wild=name in WILD) for value in values)
    match = _fixed_matcher(name, tuple(each for each in tokens if not has_variables(each)))
    templates = tuple(each for each in tokens if has_variables(each))
    if not templates:
        return match

    def with_variables(value: str, facts: FactSource) -> bool | None:
        answers = (_resolved_answer(name, each, value, facts) for each in templates)
        return _any((match(value, facts), *answers))

    return with_variables


def _resolved_answer(name: str, tokens: Tokens, value: str, facts: FactSource) -> bool | None:
    resolved = resolve(tokens, facts)
    return None if resolved is None else _fixed_matcher(name, (resolved,))(value, facts)


def _fixed_matcher(name: str, fixed: tuple[Tokens, ...]) -> Match:
    if name == "StringEquals":
        texts = frozenset(_text(tokens) for tokens in fixed)
        return lambda value, _: value in texts
    if name == "StringEqualsIgnoreCase":
        folded = frozenset(_text(tokens).casefold() for tokens in fixed)
        return lambda value, _: value.casefold() in folded
    if name == "StringLike":
        return lambda value, _: any(matches(tokens, value) for tokens in fixed)
    if name in ARNS:
        return lambda value, _: any(arn_matches(tokens, value) for tokens in fixed)
    compare, wanted = COMPARE[name], tuple(_text(tokens) for tokens in fixed)
    return lambda value, _: _any(compare(value, each) for each in wanted)


def _text(tokens: Tokens) -> str:
    return "".join(token.value if isinstance(token, Wild) else str(token) for token in tokens)
