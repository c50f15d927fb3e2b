"""Parameters of recipients' requests: numbers, times and truths as clients write them. Unknown ones are ignored."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from lakeshare.http.request import Request
from lakeshare.sharing.errors import InvalidParameter, MalformedRequest
from lakeshare.sharing.model.asking import TableName

MAX_PARAMETERS = 64
MAX_LONG = 2**63 - 1


def query_of(request: Request) -> dict[str, str]:
    """Return the query's parameters; of one that comes twice the first counts. Raises MalformedRequest."""
    if not request.raw_query:
        return {}
    try:
        pairs = parse_qsl(request.raw_query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS, errors="strict")
    except ValueError:
        raise MalformedRequest("the query of the URL cannot be read") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def table_name(names: Mapping[str, str]) -> TableName:
    """Return the table that a path names."""
    return TableName(names["share"], names["schema"], names["table"])


def whole(name: str, value: Any) -> int | None:
    """Read a whole number, also one that is written as text. Raises MalformedRequest."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.removeprefix("-").isascii() and value.removeprefix("-").isdigit():
        value = int(value[:32])
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_LONG:
        raise MalformedRequest(f"{name} must be a whole number")
    return value


def truth(name: str, value: Any) -> bool:
    """Read a truth: Spark writes `true`, Python `True`. Raises MalformedRequest."""
    if value is None or value == "":
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise MalformedRequest(f"{name} must be true or false")


def text(name: str, value: Any) -> str:
    """Read a text. Raises MalformedRequest."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedRequest(f"{name} must be a string")
    return value


def instant_ms(name: str, value: Any) -> int | None:
    """Read a time as ISO 8601 has it, in milliseconds; without a zone it is in UTC. Raises InvalidParameter."""
    if value is None or value == "":
        return None
    try:
        found = datetime.fromisoformat(text(name, value).strip())
    except ValueError:
        raise InvalidParameter(f"Invalid {name}: {str(value)[:64]} is no time such as 2022-01-01T00:00:00Z") from None
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    since = found - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def version(name: str, value: Any, complaint: str) -> int | None:
    """Read a version. Raises MalformedRequest, InvalidParameter."""
    found = whole(name, value)
    if found is not None and found < 0:
        raise InvalidParameter(complaint)
    return found


def max_files(value: Any) -> int | None:
    """Read how many files a page may have. Raises MalformedRequest, InvalidParameter."""
    found = whole("maxFiles", value)
    if found is not None and found <= 0:
        raise InvalidParameter("maxFiles must be positive.")
    return found
