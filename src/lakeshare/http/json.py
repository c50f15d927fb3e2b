"""Bodies of JSON, read strictly: bounded in size and depth, no key twice, nothing that JSON does not have. Pure."""

import json
from typing import Any

from lakeshare.errors import Kind, LakeshareError

JSON_LIMIT_BYTES = 1024 * 1024
DEPTH_LIMIT = 16
"""Deepest nesting: a policy has five levels, in a field of a body."""


class BadJson(LakeshareError):
    """The body is not the JSON that is taken."""

    kind = Kind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(f"the body is not JSON that can be taken: {reason}")


def read_json(body: bytes) -> Any:
    """Return the value of a body. Raises BadJson."""
    try:
        found = json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise BadJson("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except ValueError:
        raise BadJson("a number has too many digits") from None
    except RecursionError:
        raise BadJson(f"it is nested more than {DEPTH_LIMIT} deep") from None
    _check(found)
    return found


def _check(found: Any) -> None:
    """Refuse deep nesting, and text that cannot be written again."""
    level = [found]
    for _ in range(DEPTH_LIMIT + 1):
        if not level:
            return
        for item in level:
            if isinstance(item, str) and not _is_text(item):
                raise BadJson("a text has half a surrogate pair in it")
        objects = [(*item.keys(), *item.values()) for item in level if isinstance(item, dict)]
        lists = [item for item in level if isinstance(item, list)]
        level = [each for inside in (*objects, *lists) for each in inside]
    raise BadJson(f"it is nested more than {DEPTH_LIMIT} deep")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadJson(f"{name[:64]!a} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise BadJson(f"{name} is no number of JSON's")
