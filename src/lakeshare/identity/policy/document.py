"""A policy's JSON text, read strictly: bounded in size and depth, no key twice, nothing that JSON does not have."""

import json
from typing import Any

from lakeshare.identity.policy.errors import MalformedPolicy, PolicyTooLarge

MAX_POLICY_BYTES = 20 * 1024  # S3's bound for a bucket policy, held for identity policies too
MAX_SESSION_POLICY_BYTES = 2048  # STS AssumeRole, parameter Policy
MAX_DEPTH = 8  # the grammar itself needs five: policy, statements, statement, condition, values

_OPENING = "{["
_CLOSING = "}]"


def read_document(text: str | bytes, limit_bytes: int = MAX_POLICY_BYTES) -> dict[str, Any]:
    """Return the JSON object of a policy text."""
    checked = _within(text, limit_bytes)
    _check_depth(checked)
    try:
        found = json.loads(checked, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise MalformedPolicy(f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}") from None
    except ValueError:
        raise MalformedPolicy("", "not JSON: a number has too many digits") from None
    if not isinstance(found, dict):
        raise MalformedPolicy("", "a policy is a JSON object")
    return found


def _within(text: str | bytes, limit_bytes: int) -> str:
    try:
        raw = text.encode() if isinstance(text, str) else text
        if len(raw) > limit_bytes:
            raise PolicyTooLarge(len(raw), limit_bytes)
        return raw.decode()
    except UnicodeError:
        raise MalformedPolicy("", "not UTF-8 text") from None


def _check_depth(text: str) -> None:
    depth, quoted, escaped = 0, False, False
    for letter in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                raise MalformedPolicy("", f"nested more than {MAX_DEPTH} deep")
        elif letter in _CLOSING:
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise MalformedPolicy(shown(name), "written twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise MalformedPolicy("", f"not JSON: {name}")


def shown(name: str) -> str:
    """Return a name as an error may show it."""
    return name[:64].encode(errors="replace").decode()
