"""Where things are: `alias/bucket/key` on a server, or a path on this machine.

The first word decides. If it is an alias, the place is remote; `./name` or `/name` is always local. A key is kept as
it was typed: two slashes in a row, or a slash at its end, mean what they mean in S3.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass

from lakeshare.cli.errors import Missing, Misused


@dataclass(frozen=True, slots=True)
class Remote:
    """A server, a bucket of it, or a key or prefix in that."""

    alias: str
    bucket: str = ""
    key: str = ""

    @property
    def text(self) -> str:
        """Write it as it is typed."""
        return "/".join([self.alias, *([self.bucket] if self.bucket else []), *([self.key] if self.key else [])])

    @property
    def is_folder(self) -> bool:
        """Say whether it is written as a folder: a server, a bucket, or a prefix that ends in a slash."""
        return not self.key or self.key.endswith("/")

    def at(self, key: str) -> "Remote":
        """Return another key in the same bucket."""
        return Remote(self.alias, self.bucket, key)

    def as_folder(self) -> "Remote":
        """Return the prefix of what lies below."""
        return self if self.is_folder else self.at(self.key + "/")


@dataclass(frozen=True, slots=True)
class Local:
    """A path on this machine."""

    path: str

    @property
    def text(self) -> str:
        """Write it as it is typed."""
        return self.path

    @property
    def is_folder(self) -> bool:
        """Say whether it is written as a folder, or is one."""
        return self.path.endswith("/") or os.path.isdir(self.path)  # noqa: PTH112 - a Path drops the slash


Place = Remote | Local


def parse(text: str, aliases: Collection[str]) -> Place:
    """Read a place."""
    if not text:
        raise Misused("a place cannot be empty", "Write ALIAS/BUCKET/KEY, or a path on this machine.")
    alias, _, rest = text.partition("/")
    if alias not in aliases:
        return Local(os.path.expanduser(text))  # noqa: PTH111 - a Path drops the slash
    bucket, _, key = rest.partition("/")
    if not bucket and key:
        raise Misused(f"{text!r} names no bucket", f"Write {alias}/BUCKET/KEY.")
    return Remote(alias, bucket, key)


def parse_remote(text: str, aliases: Collection[str]) -> Remote:
    """Read a place that must be on a server."""
    place = parse(text, aliases)
    if isinstance(place, Remote):
        return place
    name = text.partition("/")[0]
    if os.path.exists(place.path):  # noqa: PTH110 - as typed
        raise Misused(f"{text} is a path on this machine, and {name!r} is no alias", "Write ALIAS/BUCKET/KEY.")
    raise unknown_alias(name, aliases)


def unknown_alias(name: str, aliases: Collection[str]) -> Missing:
    """Say that there is no such alias, and which one may have been meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for an alias that is not there

    near = get_close_matches(name, aliases, 1)
    if near:
        return Missing(f"there is no alias {name!r}", f"Did you mean {near[0]!r}?")
    there = f" Those there are: {', '.join(sorted(aliases))}." if aliases else ""
    return Missing(
        f"there is no alias {name!r}", f"Make it with: lakeshare alias set {name or 'ALIAS'} URL KEY SECRET.{there}"
    )
