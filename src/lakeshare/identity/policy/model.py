"""A policy as values: what its statements say, before it is compiled."""

from dataclasses import dataclass
from enum import Enum

VERSION_WITH_VARIABLES = "2012-10-17"
VERSIONS = frozenset({"2008-10-17", VERSION_WITH_VARIABLES})


class Effect(Enum):
    """What a statement does where it applies."""

    ALLOW = "Allow"
    DENY = "Deny"


class Quantifier(Enum):
    """How the several values of one fact are taken."""

    ONE = ""
    ANY = "ForAnyValue:"
    ALL = "ForAllValues:"


@dataclass(frozen=True, slots=True)
class Condition:
    """One key of one operator: the operator's bare name, how it is quantified, and the values it is compared with."""

    operator: str
    key: str
    values: tuple[str, ...]
    quantifier: Quantifier = Quantifier.ONE
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Principals:
    """Whom a statement of a bucket policy is about: everyone, or names as `principals.py` writes them."""

    everyone: bool = False
    names: frozenset[str] = frozenset()
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `except_actions` and `except_resources` say that the list names what is left out."""

    effect: Effect
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    principals: Principals | None = None
    except_actions: bool = False
    except_resources: bool = False
    sid: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """A legal policy, with what its author should be told."""

    statements: tuple[Statement, ...]
    version: str = VERSION_WITH_VARIABLES
    id: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def has_variables(self) -> bool:
        """Whether `${…}` is a variable here; the older version of the language takes it literally."""
        return self.version == VERSION_WITH_VARIABLES
