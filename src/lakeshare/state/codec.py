"""Frozen dataclasses as JSON bytes and back, checked against their annotations.

What a field may be: str (and its subclasses), int, float, bool, bytes, an Enum, a dataclass, tuple[X, ...],
tuple[X, Y], frozenset[X], Mapping[str, X], each also `| None`. A field that is missing takes its default, so that
fields can be added; one that is unknown is refused, so that nothing is dropped unseen.
"""

import dataclasses
import types
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

T = TypeVar("T")
Reader = Callable[[Any], Any]


def encode(value: object) -> bytes:
    """Write a dataclass; equal values give equal bytes. Raises TypeError for a field that JSON cannot hold."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)


def decode(kind: type[T], data: bytes) -> T:
    """Read a dataclass. Raises ValueError that says what is wrong."""
    return reader(kind)(orjson.loads(data))  # type: ignore[no-any-return]


def reader(hint: Any) -> Reader:
    """Find the function that reads one annotation. Raises TypeError for one that this module does not know."""
    return _make_reader(hint)


@cache
def _make_reader(hint: Any) -> Reader:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass_reader(hint)
    if get_origin(hint) is not None:
        return _generic_reader(hint)
    if isinstance(hint, type):
        return _plain_reader(hint)
    raise TypeError(f"{hint!r} cannot be stored")


def _plain(value: object) -> object:
    """Turn what JSON has no word for into what it has."""
    match value:
        case bytes():
            return b64encode(value).decode()
        case frozenset():
            return sorted(value)
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


def _plain_reader(hint: type) -> Reader:
    if issubclass(hint, Enum):
        return hint
    if hint is bytes:
        return _read_bytes
    if hint is float:
        return lambda found: float(_exactly((int, float), found))
    if hint in (int, bool):
        return lambda found: _exactly((hint,), found)
    if issubclass(hint, str):
        return lambda found: hint(_exactly((str,), found))
    raise TypeError(f"{hint!r} cannot be stored")


def _generic_reader(hint: Any) -> Reader:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional_reader(hint, arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _fixed_tuple_reader([reader(argument) for argument in arguments])
    if origin in (tuple, frozenset):
        item = reader(arguments[0])
        return lambda found: origin([item(one) for one in _exactly((list,), found)])
    if isinstance(origin, type) and issubclass(origin, Mapping) and arguments[0] is str:
        value = reader(arguments[1])
        return lambda found: {name: value(one) for name, one in _exactly((dict,), found).items()}
    raise TypeError(f"{hint!r} cannot be stored")


def _optional_reader(hint: Any, arguments: tuple[Any, ...]) -> Reader:
    rest = [argument for argument in arguments if argument is not type(None)]
    if len(rest) != 1 or len(rest) == len(arguments):
        raise TypeError(f"{hint!r} cannot be stored: only `X | None` can be told apart")
    inner = reader(rest[0])
    return lambda found: None if found is None else inner(found)


def _fixed_tuple_reader(items: list[Reader]) -> Reader:
    def read(found: Any) -> tuple[Any, ...]:
        parts = _exactly((list,), found)
        if len(parts) != len(items):
            raise ValueError(f"{len(items)} items were expected, {len(parts)} found")
        return tuple([item(part) for item, part in zip(items, parts, strict=True)])

    return read


def _dataclass_reader(kind: type) -> Reader:
    hints = get_type_hints(kind)
    readers: dict[str, Reader] = {}
    needed: set[str] = set()
    for item in dataclasses.fields(kind):
        readers[item.name] = reader(hints[item.name])
        if item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            needed.add(item.name)

    def read(found: Any) -> Any:
        given = _exactly((dict,), found)
        if unknown := given.keys() - readers.keys():
            raise ValueError(f"{kind.__name__} has no field {min(unknown)!r}: a newer release may have written it")
        if missing := needed - given.keys():
            raise ValueError(f"{kind.__name__} lacks its field {min(missing)!r}")
        return kind(**{name: readers[name](value) for name, value in given.items()})

    return read


def _read_bytes(found: Any) -> bytes:
    try:
        return b64decode(_exactly((str,), found), validate=True)
    except Base64Error as error:
        raise ValueError(f"no base64: {error}") from None


def _exactly(kinds: tuple[type, ...], found: Any) -> Any:
    if type(found) not in kinds:
        raise ValueError(f"{kinds[-1].__name__} was expected, {type(found).__name__} found")
    return found
