"""Dataclasses come back from their bytes as they were, and nothing else does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.settings import Secret
from lakeshare.state.codec import decode, encode, reader

NO_SECRET = Secret("s")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    name: str
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class Everything:
    text: str
    number: int
    yes: bool
    ratio: float
    blob: bytes
    colour: Colour
    inner: Inner
    names: tuple[str, ...]
    pair: tuple[str, int]
    groups: frozenset[str]
    table: Mapping[str, int]
    inners: Mapping[str, tuple[Inner, ...]]
    maybe: Inner | None
    secret: Secret = NO_SECRET
    extra: dict[str, str] = field(default_factory=dict)


names = st.text(st.characters(codec="utf-8"), max_size=5)
numbers = st.integers(-(2**63), 2**63 - 1)
inner_values = st.builds(Inner, names, st.floats(allow_nan=False, allow_infinity=False))
everything = st.builds(
    Everything,
    text=names,
    number=numbers,
    yes=st.booleans(),
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    blob=st.binary(max_size=5),
    colour=st.sampled_from(Colour),
    inner=inner_values,
    names=st.lists(names, max_size=3).map(tuple),
    pair=st.tuples(names, numbers),
    groups=st.frozensets(names, max_size=3),
    table=st.dictionaries(names, numbers, max_size=3),
    inners=st.dictionaries(names, st.lists(inner_values, max_size=2).map(tuple), max_size=2),
    maybe=st.none() | inner_values,
    secret=names.map(Secret),
)


@given(everything)
def test_a_value_is_read_back(value: Everything) -> None:
    """Decoding gives an equal value of the same types, and encoding it again the same bytes."""
    found = decode(Everything, encode(value))
    assert found == value
    assert encode(found) == encode(value)
    assert type(found.secret) is Secret


def test_a_secret_is_stored_in_full() -> None:
    """A secret prints as stars, but its bytes are kept."""
    value = decode(Everything, encode(_example(secret=Secret("hidden"))))
    assert value.secret.reveal() == "hidden"


def test_a_read_only_mapping_is_stored() -> None:
    """Any mapping can be stored, and comes back equal."""
    assert decode(Everything, encode(_example(table=MappingProxyType({"a": 1})))).table == {"a": 1}


def test_equal_values_have_equal_bytes() -> None:
    """The order in which a mapping or a set was filled does not show."""
    one = _example(table={"a": 1, "b": 2}, groups=frozenset("xyz"))
    other = _example(table={"b": 2, "a": 1}, groups=frozenset("zyx"))
    assert encode(one) == encode(other)


def test_a_missing_field_takes_its_default() -> None:
    """A value written before a field was added is still read."""
    assert decode(Inner, b'{"name":"old"}') == Inner("old")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"name":"x","colour":"red"}', "has no field 'colour'"),
        (b"{}", "lacks its field 'name'"),
        (b'{"name":7}', "str was expected, int found"),
        (b'{"name":"x","weight":"1"}', "float was expected, str found"),
        (b'{"name":"x","weight":true}', "float was expected, bool found"),
        (b"[]", "dict was expected, list found"),
        (b"{", "unexpected end"),
        (b"", "empty"),
    ],
)
def test_what_does_not_fit_is_refused(data: bytes, message: str) -> None:
    """Unknown and missing fields, other types and broken JSON are errors that say so."""
    with pytest.raises(ValueError, match=message):
        decode(Inner, data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("blob", "!"), ("colour", "green"), ("pair", ["a"]), ("number", True), ("names", "abc"), ("table", {"a": "b"})],
)
def test_a_field_is_checked_against_its_annotation(name: str, value: object) -> None:
    """A field's value must be what its annotation says, down to the items of collections."""
    with pytest.raises(ValueError, match=r".+"):
        decode(Everything, orjson.dumps({**orjson.loads(encode(_example())), name: value}))


@pytest.mark.parametrize("hint", [complex, list, object, str | int, tuple[complex, ...], Mapping[int, str], "text"])
def test_an_annotation_that_cannot_be_stored_is_refused_at_once(hint: object) -> None:
    """A kind that could not be read back is refused when its reader is made."""
    with pytest.raises(TypeError):
        reader(hint)


def test_a_value_that_cannot_be_stored_is_refused() -> None:
    """What has no form in JSON raises a TypeError."""
    with pytest.raises(TypeError):
        encode(Inner(object()))  # type: ignore[arg-type]


def _example(**changes: object) -> Everything:
    given_fields = {
        "text": "t",
        "number": 1,
        "yes": True,
        "ratio": 1.5,
        "blob": b"\xff",
        "colour": Colour.RED,
        "inner": Inner("i"),
        "names": ("n",),
        "pair": ("p", 2),
        "groups": frozenset({"g"}),
        "table": {"t": 3},
        "inners": {},
        "maybe": None,
        **changes,
    }
    return Everything(**given_fields)  # type: ignore[arg-type]
