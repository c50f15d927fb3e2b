"""URLs for the files of a shared table: signed with a recipient's own key, each for the bytes of one object."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.source import FileGone
from lakeshare.columnar.text import equally_long, join, letters, pieces_of
from lakeshare.formats.delta.lines import Pieces
from lakeshare.formats.delta.paths import Absolute
from lakeshare.identity.sigv4.canonical import encode_path
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.presigner import Presigner
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.objects.wire.read import PIN_PARAM
from lakeshare.sharing.errors import FileElsewhere
from lakeshare.sharing.model.places import DeltaPlace

_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_PLAIN = re.compile(r"[A-Za-z0-9/._~=\n-]*\Z")
"""Keys that need no encoding but of the signs of equality that partitions have."""

_SEPARATOR = b"\x00"

Pins = Callable[[str, Sequence[str]], Callable[[], Sequence[str | None]]]
"""Begins to look up what names the bytes of keys in a bucket, and returns what waits for it."""


class Presigns(Protocol):
    """Signs URLs below one bucket, for one time and life."""

    @property
    def expires_at(self) -> int:
        """When the URLs end, in seconds."""
        ...

    def urls(self, paths: Sequence[str], pins: Sequence[str]) -> list[str]:
        """Return a URL for each path, already encoded, that serves what its pin names."""
        ...


def own_presigner(credentials: Credentials, endpoint: str, bucket: str, now: float, seconds: int) -> Presigner:
    """Return what signs URLs to a bucket of this server."""
    return Presigner(Signer(credentials), f"{endpoint}/{encode_path(bucket)}/", now, seconds, PIN_PARAM)


class Links:
    """Makes URLs of one answer (a UrlMaker), on a thread. They live equally long."""

    def __init__(self, place: DeltaPlace, pins: Pins, presigner: Presigns) -> None:
        self._place = place
        self._pins = pins
        self._presigner = presigner

    @property
    def expiration_ms(self) -> int:
        """When the URLs end, in milliseconds."""
        return self._presigner.expires_at * 1000

    def relative(self, keys: Sequence[str]) -> Sequence[str]:
        """Return a URL for each file of the table. Raises FileGone."""
        prefix = self._place.prefix
        return self._urls([prefix + key for key in keys]) if keys else ()

    def plain(self, paths: pa.Array) -> Callable[[], Pieces]:
        """Begin to make URLs for paths of the commonest letters: their pins are looked up while others are signed.

        What is returned signs them, without making a text for each, or raises FileGone.
        """
        presigner = self._presigner
        if not isinstance(presigner, Presigner) or not _PLAIN.match(self._place.prefix):
            return lambda: (pa.array(self.relative(paths.to_pylist()), pa.string()),)
        column = join(self._place.prefix, paths)
        keys = letters(join(column, "\n")).tobytes().decode().split("\n")[:-1]
        pins = self._pins(self._place.bucket, keys)
        return lambda: _signed(presigner, pc.replace_substring(column, "=", "%3D"), _all_there(keys, pins()))

    def absolute(self, places: Sequence[Absolute]) -> Sequence[str]:
        """Return a URL for each file that is named by its whole address. Raises FileElsewhere, FileGone."""
        for place in places:
            if place.scheme not in _SCHEMES or place.authority != self._place.bucket or not self._holds(place.key):
                raise FileElsewhere(place.authority, place.key)
        return self._urls([place.key for place in places]) if places else ()

    def _holds(self, key: str) -> bool:
        return key.startswith(self._place.prefix) and ".." not in key.split("/")

    def _urls(self, keys: list[str]) -> list[str]:
        pins = self._pins(self._place.bucket, keys)
        return self._presigner.urls(_encoded(keys), _all_there(keys, pins()))


def _all_there(keys: list[str], pins: Sequence[str | None]) -> list[str]:
    if None in pins:
        raise FileGone(keys[list(pins).index(None)])
    return [pin for pin in pins if pin is not None]


def _signed(presigner: Presigner, paths: pa.Array, pins: list[str]) -> Pieces:
    """Sign URLs of encoded paths, as the columns and constants that they are made of."""
    pinned = _column(pins)
    get, middle, end = presigner.around_signed
    requests = pieces_of(join(get, paths, middle, pinned, end, _SEPARATOR.decode()), _SEPARATOR)
    signatures = presigner.signatures(requests).hex().encode()
    start, query, last = presigner.around
    return start, paths, query, pinned, last, equally_long(signatures, len(pins))


def _column(pins: list[str]) -> pa.Array:
    """Make a column of pins, which are equally long."""
    text = "".join(pins).encode()
    return equally_long(text, len(pins)) if len(set(map(len, pins))) == 1 else pa.array(pins, pa.string())


def _encoded(keys: list[str]) -> list[str]:
    """Encode keys, all at once where they are of the common sort."""
    joined = "\n".join(keys)
    if _PLAIN.match(joined) and joined.count("\n") == len(keys) - 1:
        return joined.replace("=", "%3D").split("\n")
    return [encode_path(key) for key in keys]
