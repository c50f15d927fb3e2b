"""Kinds of arguments that several commands take, and how a shell completes them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from lakeshare.cli.errors import Misused
from lakeshare.cli.units import duration_seconds, size_bytes

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_META = "x-amz-meta-"
_STANDARD = frozenset(
    {"cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires"}
)


class PlaceType(click.ParamType[str]):
    """A place: `ALIAS/BUCKET/KEY`, or a path on this machine."""

    name = "place"

    def __init__(self, *, local: bool = True, levels: int = 3) -> None:
        self._local = local
        self._levels = levels

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Offer aliases, buckets and prefixes, and files where they may stand."""
        del param
        from lakeshare.cli.completing import places  # noqa: PLC0415 - only a shell needs it

        return places(ctx, incomplete, local=self._local, levels=self._levels)


class _Reader(click.ParamType[int]):
    """An argument that a function reads."""

    def __init__(self, name: str, read: Callable[[str], int]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it, or say what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as reason:
            self.fail(str(reason), param, ctx)


PLACE = PlaceType()
REMOTE = PlaceType(local=False)
ALIAS = PlaceType(local=False, levels=1)
BUCKET = PlaceType(local=False, levels=2)
DURATION = _Reader("duration", duration_seconds)
SIZE = _Reader("size", size_bytes)

on_server = click.argument("target", metavar="ALIAS", type=ALIAS)
"""Gives a command the alias of the server that it is about."""


def object_headers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags that say what an object carries besides its bytes."""
    for option in (
        click.option("--attr", default="", help='Headers and metadata, such as "Cache-Control=no-cache;team=sales".'),
        click.option("--tags", default="", help='Tags, such as "kind=report&year=2026".'),
        click.option("--storage-class", "--sc", default="", help="Storage class of new objects."),
    ):
        function = option(function)
    return function


def written_headers(attr: str, tags: str, storage_class: str) -> Mapping[str, str]:
    """Return the headers that those flags ask for."""
    headers: dict[str, str] = {}
    for pair in filter(None, attr.split(";")):
        name, equals, value = pair.partition("=")
        name = name.strip().lower()
        if not equals or not name:
            raise Misused(f"--attr has {pair!r}", 'Write it as "name=value;name=value".')
        standard = name in _STANDARD or name.startswith("x-amz-")
        headers[name if standard else _META + name] = value.strip()
    if tags:
        headers["x-amz-tagging"] = tags
    if storage_class:
        headers["x-amz-storage-class"] = storage_class
    return headers
