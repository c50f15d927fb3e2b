"""A share holds schemas, a schema holds tables. Schemas lie in state beside their share, each with its tables."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import NAMESPACE_URL, uuid5

from lakeshare.sharing.errors import BadPlace, TooMany
from lakeshare.sharing.model.names import WHOLE_SCHEMA, check_schema, check_table, folded
from lakeshare.sharing.model.places import DeltaPlace, Place, TableKind, UniformPlace

MAX_SHARES = 10_000
MAX_SCHEMAS = 256
"""Of a share: it is removed with its schemas in one commit."""
MAX_TABLES = 1_000
"""Of a schema that names its tables; a whole folder may hold more."""


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A table under the name that recipients see. One of `delta` and `uniform` says where it lies.

    `history` lets recipients ask for older versions and changes, from `start_version` on.
    """

    name: str
    id: str
    delta: DeltaPlace | None = None
    uniform: UniformPlace | None = None
    history: bool = True
    start_version: int = 0
    created_at: int = 0

    def __post_init__(self) -> None:
        if (self.delta is None) == (self.uniform is None):
            raise BadPlace("a shared table lies in one place")

    @property
    def place(self) -> Place:
        """Where it lies."""
        found = self.delta or self.uniform
        assert found is not None
        return found

    @property
    def kind(self) -> TableKind:
        """What sort of table it is."""
        return TableKind.DELTA if self.delta else TableKind.UNIFORM


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of a share: tables that are named, and whole folders or namespaces that are shared with what comes."""

    name: str
    share_id: str
    id: str = ""
    description: str = ""
    tables: tuple[SharedTable, ...] = ()
    whole_delta: tuple[DeltaPlace, ...] = ()
    whole_uniform: tuple[UniformPlace, ...] = ()
    created_at: int = 0

    def table(self, name: str) -> SharedTable | None:
        """Return a table that the schema names, whatever the case."""
        wanted = folded(name)
        return next((table for table in self.tables if folded(table.name) == wanted), None)

    @property
    def wholes(self) -> tuple[Place, ...]:
        """The folders and namespaces that are shared whole."""
        return (*self.whole_delta, *self.whole_uniform)

    def with_tables(self, tables: Iterable[SharedTable]) -> "Schema":
        """Return the schema with these tables, in the order in which they were shared. Raises TooMany."""
        found = tuple(tables)
        if len(found) > MAX_TABLES:
            raise TooMany("tables in this schema", MAX_TABLES)
        return replace(self, tables=found)

    @property
    def by_name(self) -> list[SharedTable]:
        """The tables that it names, in order of folded names: the order of pages."""
        return sorted(self.tables, key=lambda table: folded(table.name))

    def discovered(self, name: str, place: Place) -> SharedTable:
        """Return a table that was found in a place shared whole; its id is the same every time."""
        made = str(uuid5(NAMESPACE_URL, f"lakeshare:{self.share_id}/{folded(self.name)}/{place}"))
        return table_at(name, made, place)


@dataclass(frozen=True, slots=True)
class Share:
    """A share. Its schemas are stored beside it, by its id, so that a rename moves none of them."""

    id: str
    name: str
    description: str = ""
    oauth_only: bool = False
    created_at: int = 0
    created_by: str = ""
    updated_at: int = 0


def table_at(name: str, table_id: str, place: Place, created_at: int = 0) -> SharedTable:
    """Make a shared table of either kind."""
    if isinstance(place, DeltaPlace):
        return SharedTable(name, table_id, delta=place, created_at=created_at)
    return SharedTable(name, table_id, uniform=place, created_at=created_at)


@dataclass(frozen=True, slots=True)
class Offer:
    """What is to be shared: a table, or with the name `*` everything in a place, now and later."""

    schema: str
    name: str
    place: Place
    history: bool = True
    start_version: int = 0

    def __post_init__(self) -> None:
        check_schema(self.schema)
        if self.name != WHOLE_SCHEMA:
            check_table(self.name)

    @property
    def is_whole(self) -> bool:
        """Whether a whole folder or namespace is meant."""
        return self.name == WHOLE_SCHEMA
