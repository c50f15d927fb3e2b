"""What columns a table's files have bounds of, as values. `statistics` fills them, `prune` reads them."""

from dataclasses import dataclass

from lakeshare.columnar.predicate import ValueKind


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column whose least and greatest values are kept for each file.

    `physical` is its path in statistics, or its one name in partition values; `type_name` is its type in the schema.
    A partition column's value is exact, all other bounds may be wider than the values they stand for.
    """

    name: tuple[str, ...]
    physical: tuple[str, ...]
    kind: ValueKind
    type_name: str
    partition: bool = False

    @property
    def narrow(self) -> bool:
        """Say whether every value fits a type of 32 bits."""
        return self.type_name in {"byte", "short", "integer", "float"}


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the engine must know of a table to type its statistics and partition values."""

    columns: tuple[BoundColumn, ...] = ()

    def find(self, name: str) -> BoundColumn | None:
        """Find a column by its name, of any case: a top-level one first, then a nested one by its dotted path."""
        wanted = name.lower()
        for column in self.columns:
            if len(column.name) == 1 and column.name[0].lower() == wanted:
                return column
        for column in self.columns:
            if len(column.name) > 1 and ".".join(column.name).lower() == wanted:
                return column
        return None
