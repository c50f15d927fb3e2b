"""How the things of the admin API are told: times, lists of names, and a value's own layout."""

from collections.abc import Sequence
from typing import Any

from lakeshare.cli.output import Record, pairs
from lakeshare.cli.units import epoch, moment_text

Json = dict[str, Any]


def at(seconds: float | None) -> str:
    """Write a time, or that there is none."""
    return moment_text(epoch(seconds)) if seconds is not None else "never"


def names(values: Sequence[str]) -> str:
    """Write a list of names."""
    return ", ".join(values) if values else "none"


def state(enabled: bool) -> str:  # noqa: FBT001 - the value itself is what is told
    """Write whether something is enabled."""
    return "enabled" if enabled else "disabled"


def sheet(facts: Json, rows: Sequence[tuple[str, str]]) -> Record:
    """Tell one thing, a line a fact."""
    return Record(facts, pairs("", rows))
