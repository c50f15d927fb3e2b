"""Paths with names in them, such as `/users/{user}`: from a request's method and path to whatever stands behind it.

Pure, and without a word of any room: a family brings its routes, this finds the one that is meant.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

from lakeshare.errors import Kind, LakeshareError

T = TypeVar("T")

SEGMENT_LIMIT = 16
"""Most parts of a path that are looked at; no route has so many."""


class NoSuchPath(LakeshareError):
    """No route has that path."""

    kind = Kind.MISSING

    def __init__(self, path: str) -> None:
        super().__init__(f"there is nothing at {path[:256]!r}")
        self.path = path


class BadPath(LakeshareError):
    """A part of the path cannot be read."""

    kind = Kind.INVALID

    def __init__(self) -> None:
        super().__init__("the path is not UTF-8 once its percent-encoding is undone")


class NoSuchMethod(LakeshareError):
    """The path exists, and not for this method."""

    kind = Kind.INVALID

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"{method[:32]} is not possible here, but {', '.join(allowed)}")
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What a path leads to, and the names that stood in it."""

    target: T
    names: Mapping[str, str]


@dataclass(slots=True)
class _Node(Generic[T]):
    """One part of the paths: the parts that may follow, and what each method does here."""

    literal: "dict[str, _Node[T]]" = field(default_factory=dict)
    named: "_Node[T] | None" = None
    methods: dict[str, tuple[T, tuple[str, ...]]] = field(default_factory=dict)


class Paths(Generic[T]):
    """Routes by method and path. A literal part wins over a name at the same place."""

    def __init__(self, prefix: str, routes: Iterable[tuple[str, str, T]]) -> None:
        """Take (method, template, target) below a prefix."""
        self._prefix = prefix
        self._root: _Node[T] = _Node()
        for method, template, target in routes:
            self._add(method, template, target)

    def find(self, method: str, raw_path: str) -> Found[T]:
        """Return what a request means. Raises NoSuchPath, NoSuchMethod, BadPath."""
        if not raw_path.startswith(self._prefix):
            raise NoSuchPath(raw_path)
        parts = raw_path[len(self._prefix) :].split("/", SEGMENT_LIMIT)[1:]
        values: list[str] = []
        node: _Node[T] | None = self._root
        for part in parts:
            node = _follow(node, part, values)
        if node is None or not node.methods:
            raise NoSuchPath(raw_path)
        if method not in node.methods:
            raise NoSuchMethod(method, tuple(sorted(node.methods)))
        target, names = node.methods[method]
        return Found(target, dict(zip(names, values, strict=True)))

    def _add(self, method: str, template: str, target: T) -> None:
        node, names = self._root, list[str]()
        for part in template.split("/")[1:]:
            if part.startswith("{"):
                names.append(part[1:-1])
                node.named = node.named or _Node()
                node = node.named
            else:
                node = node.literal.setdefault(part, _Node())
        if method in node.methods:
            raise ValueError(f"{method} {template} stands in the table twice")
        node.methods[method] = target, tuple(names)


def _follow(node: "_Node[T] | None", part: str, values: list[str]) -> "_Node[T] | None":
    if node is None:
        return None
    if (literal := node.literal.get(part)) is not None:
        return literal
    if node.named is not None and part:
        values.append(_decoded(part))
        return node.named
    return None


def _decoded(part: str) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise BadPath from None
