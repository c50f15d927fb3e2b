"""Shapes of JSON: each reads a value strictly, and describes itself as JSON Schema, so that both say the same. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lakeshare.admin.errors import BadField

Schema = dict[str, Any]


class Shape(Protocol):
    """What a value of JSON must be."""

    def read(self, value: Any, place: str) -> Any:
        """Return the value if it has this shape. Raises BadField."""
        ...

    def schema(self) -> Schema:
        """Describe the shape as JSON Schema."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A text of bounded length; `pattern` is a regular expression for all of it."""

    high: int
    low: int = 0
    pattern: str = ""
    hint: str = ""
    secret: bool = False

    def read(self, value: Any, place: str) -> str:
        """Return a text."""
        if not isinstance(value, str):
            raise BadField(place, "it must be a text")
        if not self.low <= len(value) <= self.high:
            raise BadField(place, f"it must have {self.low} to {self.high} characters")
        if self.pattern and re.fullmatch(self.pattern, value) is None:
            raise BadField(place, f"it must be {self.hint or 'like ' + self.pattern}")
        return value

    def schema(self) -> Schema:
        """Describe the text."""
        found: Schema = {"type": "string", "minLength": self.low, "maxLength": self.high}
        if self.pattern:
            found["pattern"] = f"^(?:{self.pattern})$"
        return found | ({"format": "password"} if self.secret else {})


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds. In a query it stands as digits."""

    low: int
    high: int

    def read(self, value: Any, place: str) -> int:
        """Return a whole number."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise BadField(place, f"it must be a whole number from {self.low} to {self.high}")
        return value

    def schema(self) -> Schema:
        """Describe the number."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Real:
    """A number of an answer."""

    def read(self, value: Any, place: str) -> float:
        """Return a number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadField(place, "it must be a number")
        return value

    def schema(self) -> Schema:
        """Describe the number."""
        return {"type": "number"}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, value: Any, place: str) -> bool:
        """Return a yes or no."""
        if not isinstance(value, bool):
            raise BadField(place, "it must be true or false")
        return value

    def schema(self) -> Schema:
        """Describe the flag."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some texts."""

    values: tuple[str, ...]

    def read(self, value: Any, place: str) -> str:
        """Return one of the texts."""
        if not isinstance(value, str) or value not in self.values:
            raise BadField(place, f"it must be one of {', '.join(self.values)}")
        return value

    def schema(self) -> Schema:
        """Describe the choice."""
        return {"type": "string", "enum": list(self.values)}


@dataclass(frozen=True, slots=True)
class Maybe:
    """A shape, or null."""

    inner: Shape

    def read(self, value: Any, place: str) -> Any:
        """Return the value, or None."""
        return None if value is None else self.inner.read(value, place)

    def schema(self) -> Schema:
        """Describe both."""
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}


@dataclass(frozen=True, slots=True)
class Many:
    """A list of one shape, of bounded length."""

    inner: Shape
    high: int

    def read(self, value: Any, place: str) -> tuple[Any, ...]:
        """Return the values."""
        if not isinstance(value, list) or len(value) > self.high:
            raise BadField(place, f"it must be a list of at most {self.high}")
        return tuple(self.inner.read(each, f"{place}[{number}]") for number, each in enumerate(value))

    def schema(self) -> Schema:
        """Describe the list."""
        return {"type": "array", "items": self.inner.schema(), "maxItems": self.high}


@dataclass(frozen=True, slots=True)
class Document:
    """Any JSON object, whose own grammar is checked elsewhere."""

    title: str

    def read(self, value: Any, place: str) -> Mapping[str, Any]:
        """Return the object."""
        if not isinstance(value, dict):
            raise BadField(place, "it must be an object")
        return value

    def schema(self) -> Schema:
        """Describe the object."""
        return {"type": "object", "title": self.title}


@dataclass(frozen=True, slots=True)
class Field:
    """One named value of an object or a query."""

    name: str
    shape: Shape
    help: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields and no others."""

    fields: tuple[Field, ...]

    def read(self, value: Any, place: str) -> dict[str, Any]:
        """Return the fields that are there."""
        if not isinstance(value, dict):
            raise BadField(place, "the body must be a JSON object" if not place else "it must be an object")
        return read_fields(self.fields, value, place)

    def schema(self) -> Schema:
        """Describe the object."""
        return {
            "type": "object",
            "properties": {field.name: described(field) for field in self.fields},
            "required": [field.name for field in self.fields if field.required],
            "additionalProperties": False,
        }

    def plus(self, *more: Field) -> "Record":
        """Return the record with more fields."""
        return Record((*self.fields, *more))


def read_fields(fields: Sequence[Field], given: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Read the fields of an object. Raises BadField for one that is wrong, missing or not known."""
    known = {field.name: field for field in fields}
    start = f"{place}." if place else ""
    for name in given:
        if name not in known:
            raise BadField(f"{start}{name[:64]}", f"there is no such field; there are {', '.join(known) or 'none'}")
    for field in fields:
        if field.required and field.name not in given:
            raise BadField(start + field.name, "it is missing")
    return {name: known[name].shape.read(value, start + name) for name, value in given.items()}


def described(field: Field) -> Schema:
    """Describe one field."""
    return field.shape.schema() | ({"description": field.help} if field.help else {})
