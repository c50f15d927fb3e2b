"""What each condition operator compares: texts, numbers, moments, addresses, ARNs. Values are read once and kept.

A comparison is yes, no, or None where one side is not what the operator compares.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from operator import eq, ge, gt, le, lt
from typing import TypeVar

from lakeshare.identity.policy.pattern import Tokens, Wild, matches

T = TypeVar("T")
Compare = Callable[[str, str], bool | None]
ARN_PARTS = 6
_READ_KEPT = 4096
_MAX_NUMBER = 64  # characters of a number; more is no number that S3 knows


@lru_cache(maxsize=_READ_KEPT)
def read_number(text: str) -> Decimal | None:
    """Read a finite number."""
    if len(text) > _MAX_NUMBER:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@lru_cache(maxsize=_READ_KEPT)
def read_moment(text: str) -> datetime | None:
    """Read a moment, as ISO 8601 or as seconds of the epoch; without a zone it is UTC."""
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def read_truth(text: str) -> bool | None:
    """Read true or false."""
    return {"true": True, "false": False}.get(text.lower())


@lru_cache(maxsize=_READ_KEPT)
def read_network(text: str) -> IPv4Network | IPv6Network | None:
    """Read a network, or an address as a network of one."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=_READ_KEPT)
def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address; an IPv4 address in IPv6 clothes is the IPv4 address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def is_arn(text: str) -> bool:
    """Whether a text has the parts of an ARN, or is the star that stands for every ARN."""
    return text == "*" or len(text.split(":", ARN_PARTS - 1)) == ARN_PARTS


def arn_matches(tokens: Tokens, value: str) -> bool:
    """Compare ARNs part by part: a star stops at a colon, but in the last part."""
    if tokens == (Wild.MANY,):
        return True
    parts, wanted = value.split(":", ARN_PARTS - 1), _arn_token_parts(tokens)
    if len(parts) != ARN_PARTS or len(wanted) != ARN_PARTS:
        return False
    return all(matches(each, part) for each, part in zip(wanted, parts, strict=True))


@lru_cache(maxsize=_READ_KEPT)
def _arn_token_parts(tokens: Tokens) -> tuple[Tokens, ...]:
    parts: list[list[str | Wild]] = [[]]
    for token in tokens:
        if isinstance(token, str):
            head, *rest = token.split(":", ARN_PARTS - len(parts))
            parts[-1].append(head)
            parts.extend([piece] for piece in rest)
        elif isinstance(token, Wild):
            parts[-1].append(token)
    return tuple(tuple(piece for piece in part if piece != "") for part in parts)


def _in_network(value: str, wanted: str) -> bool | None:
    address, network = read_address(value), read_network(wanted)
    if address is None or network is None:
        return None
    return address in network


def _compared(read: Callable[[str], T | None], test: Callable[[T, T], bool]) -> Compare:
    """Return what compares two texts as what they say; None where one of them says nothing of the kind."""

    def compare(value: str, wanted: str) -> bool | None:
        left, right = read(value), read(wanted)
        return None if left is None or right is None else test(left, right)

    return compare


COMPARE: dict[str, Compare] = {
    "NumericEquals": _compared(read_number, eq),
    "NumericLessThan": _compared(read_number, lt),
    "NumericLessThanEquals": _compared(read_number, le),
    "NumericGreaterThan": _compared(read_number, gt),
    "NumericGreaterThanEquals": _compared(read_number, ge),
    "DateEquals": _compared(read_moment, eq),
    "DateLessThan": _compared(read_moment, lt),
    "DateLessThanEquals": _compared(read_moment, le),
    "DateGreaterThan": _compared(read_moment, gt),
    "DateGreaterThanEquals": _compared(read_moment, ge),
    "Bool": _compared(read_truth, eq),
    "IpAddress": _in_network,
}
READERS: dict[str, Callable[[str], object | None]] = {
    **{name: read_number for name in COMPARE if name.startswith("Numeric")},
    **{name: read_moment for name in COMPARE if name.startswith("Date")},
    "Bool": read_truth,
    "IpAddress": read_network,
}
ARNS = frozenset({"ArnEquals", "ArnLike"})
WILD = frozenset({"StringLike"}) | ARNS
_STRINGS = frozenset({"StringEquals", "StringEqualsIgnoreCase", "StringLike"})
_NEGATED = frozenset(
    {
        "StringNotEquals",
        "StringNotEqualsIgnoreCase",
        "StringNotLike",
        "NumericNotEquals",
        "DateNotEquals",
        "NotIpAddress",
        "ArnNotEquals",
        "ArnNotLike",
    }
)
NULL = "Null"
OPERATORS = _STRINGS | ARNS | frozenset(COMPARE) | _NEGATED | {NULL}


def split_negation(operator: str) -> tuple[str, bool]:
    """Return the operator without its `Not`, and whether it had one."""
    return (operator.replace("Not", "", 1), True) if operator in _NEGATED else (operator, False)
