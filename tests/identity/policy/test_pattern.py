"""Patterns against a plain reckoning of what they mean, and against texts made to be slow."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as some

from lakeshare.identity.policy.pattern import Patterns, escaped, matches, tokens_of


class Facts:
    def __init__(self, **facts):
        self.facts = {key.replace("_", ":"): value for key, value in facts.items()}

    def values(self, key):
        return tuple(self.facts.get(key, ()))


def meaning(pattern, text):
    @cache
    def holds(i, j):
        if i == len(pattern):
            return j == len(text)
        if pattern[i] == "*":
            return holds(i + 1, j) or (j < len(text) and holds(i, j + 1))
        return j < len(text) and pattern[i] in ("?", text[j]) and holds(i + 1, j + 1)

    return holds(0, 0)


LETTERS = some.text("ab/*?\n", max_size=10)


@given(LETTERS, some.text("ab/\n", max_size=12))
def test_wildcards_mean_what_they_say(pattern, text):
    """A star is any run of characters, a question mark any one, and the compiled form agrees with the plain one."""
    tokens = tokens_of(pattern, variables=False)
    assert matches(tokens, text) is meaning(pattern, text)
    assert Patterns([tokens]).match(text, Facts()) is meaning(pattern, text)


@given(some.text("ab*?${}.:'", max_size=12), some.text("ab*?${}.:'", max_size=12))
def test_an_escaped_text_matches_itself_alone(literal, other):
    """What is escaped is taken literally, whatever wildcards and variables it looks like."""
    tokens = tokens_of(escaped(literal), variables=True)
    assert matches(tokens, literal)
    assert matches(tokens, other) is (literal == other)


@given(some.text(max_size=12), some.text(max_size=12))
def test_a_variables_value_is_text(value, other):
    """The value of a variable matches itself and nothing else, stars in it too."""
    patterns = Patterns([tokens_of("x/${aws:username}", variables=True)])
    facts = Facts(aws_username=[value])
    assert patterns.match(f"x/{value}", facts)
    assert patterns.match(f"x/{other}", facts) is (value == other)


def test_a_variable_needs_exactly_one_value():
    """A variable with no value or with several matches nothing; a default serves where there is none."""
    patterns = Patterns([tokens_of("${aws:groups}", variables=True)])
    assert not patterns.match("", Facts())
    assert patterns.unresolved(Facts())
    assert not patterns.match("a", Facts(aws_groups=["a", "b"]))
    assert Patterns([tokens_of("${aws:groups, 'none'}", variables=True)]).match("none", Facts())


def test_patterns_made_to_be_slow_are_not():
    """Many stars against a long text that almost matches take no more steps than pattern times text."""
    pattern = tokens_of("*a" * 500 + "*b", variables=False)
    assert not matches(pattern, "a" * 1024)
    assert matches(pattern, "a" * 1024 + "b")
