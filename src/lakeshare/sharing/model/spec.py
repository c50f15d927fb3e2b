"""Table specifications, as they are written on a command line: `NAME:delta:BUCKET:PATH` and its like. Pure.

`NAME:uniform:WAREHOUSE:NAMESPACE:TABLE` is an Iceberg table, whose namespace has dots between its levels;
`NAME:remote:SOURCE:BUCKET:PATH` a Delta table at a remote source. With `*` for NAME everything in the place is meant:
each folder of a bucket's path, or with `*` for TABLE each table of a namespace.
"""

from lakeshare.sharing.errors import BadPlace, BadSpec
from lakeshare.sharing.model.names import WHOLE_SCHEMA
from lakeshare.sharing.model.places import DeltaPlace, Place, UniformPlace

MAX_SPEC_CHARACTERS = 2_048
_DELTA_PARTS, _REMOTE_PARTS, _UNIFORM_PARTS = 4, 5, 5


def read_spec(text: str) -> tuple[str, Place]:
    """Return the name and the place that a specification gives. Raises BadSpec."""
    if len(text) > MAX_SPEC_CHARACTERS:
        raise BadSpec(text, f"it has more than {MAX_SPEC_CHARACTERS} characters")
    name, _, rest = text.partition(":")
    kind = rest.partition(":")[0].lower()
    try:
        return name, _place(text, name, kind)
    except BadPlace as reason:
        raise BadSpec(text, reason.message) from None


def write_spec(name: str, place: Place) -> str:
    """Write the specification that read_spec reads."""
    if isinstance(place, UniformPlace):
        return f"{name}:uniform:{place.warehouse}:{'.'.join(place.namespace)}:{place.table or WHOLE_SCHEMA}"
    if place.source:
        return f"{name}:remote:{place.source}:{place.bucket}:{place.path}"
    return f"{name}:delta:{place.bucket}:{place.path}"


def _place(text: str, name: str, kind: str) -> Place:
    if not name:
        raise BadSpec(text, "it begins with no name")
    if kind == "delta":
        parts = text.split(":", _DELTA_PARTS - 1)
        if len(parts) == _DELTA_PARTS:
            return DeltaPlace(parts[2], parts[3])
    elif kind == "remote":
        parts = text.split(":", _REMOTE_PARTS - 1)
        if len(parts) == _REMOTE_PARTS and parts[2]:
            return DeltaPlace(parts[3], parts[4], parts[2])
    elif kind == "uniform":
        parts = text.split(":")
        if len(parts) == _UNIFORM_PARTS:
            return _iceberg(text, name, parts)
    else:
        raise BadSpec(text, f"{kind!r} is neither delta, uniform nor remote")
    raise BadSpec(text, "it has too few or too many parts")


def _iceberg(text: str, name: str, parts: list[str]) -> UniformPlace:
    whole = name == WHOLE_SCHEMA
    if whole != (parts[4] == WHOLE_SCHEMA) or not parts[4]:
        raise BadSpec(text, f"{WHOLE_SCHEMA} stands for both the name and the table, or for neither")
    return UniformPlace(parts[2], tuple(parts[3].split(".")), "" if whole else parts[4])
