"""How warehouses, namespaces, tables and views are typed: as one path, or as words.

`lake/sales/eu/orders` and `lake sales eu orders` mean the same. Levels of a namespace are further parts:
`lake/sales/eu/north/orders` is the table `orders` in the namespace `eu`, `north`. A slash that is part of a name is
typed as `%2F`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.cli.errors import Misused
from lakeshare.cli.places import unknown_alias
from lakeshare.cli.remote.catalog import Catalog, Namespace, joined
from lakeshare.cli.session import Session


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a catalog: how much of it is given depends on what is asked for."""

    catalog: Catalog
    warehouse: str = ""
    namespace: Namespace = ()
    name: str = ""

    @property
    def text(self) -> str:
        """Write it as it is typed."""
        return _typed(self.catalog, self.warehouse, *self.namespace, self.name)

    @property
    def parent(self) -> str:
        """Write its namespace as it is typed."""
        return _typed(self.catalog, self.warehouse, *self.namespace)

    @property
    def identifier(self) -> dict[str, object]:
        """Write it as the catalog's bodies do."""
        return {"namespace": list(self.namespace), "name": self.name}

    @property
    def space(self) -> tuple[str, ...]:
        """The path of its namespace."""
        return self.warehouse, "namespaces", joined(self.namespace)

    @property
    def table(self) -> tuple[str, ...]:
        """Its path as a table."""
        return (*self.space, "tables", self.name)

    @property
    def view(self) -> tuple[str, ...]:
        """Its path as a view."""
        return (*self.space, "views", self.name)


def catalog_of(session: Session, words: Sequence[str]) -> Spot:
    """Read `ALIAS`."""
    catalog, parts = _parts(session, words)
    if parts:
        raise Misused(f"{'/'.join(words)} names more than a server", "Write ALIAS.")
    return Spot(catalog)


def warehouse_of(session: Session, words: Sequence[str]) -> Spot:
    """Read `ALIAS WAREHOUSE` or `ALIAS/WAREHOUSE`."""
    catalog, parts = _parts(session, words)
    if len(parts) != 1:
        raise _unclear(words, "warehouse", "ALIAS WAREHOUSE, or ALIAS/WAREHOUSE")
    return Spot(catalog, parts[0])


def namespace_of(session: Session, words: Sequence[str], *, or_none: bool = False) -> Spot:
    """Read `ALIAS WAREHOUSE NAMESPACE` or `ALIAS/WAREHOUSE/NAMESPACE`; a list may do without the namespace."""
    catalog, parts = _parts(session, words)
    if len(parts) < (1 if or_none else 2):
        raise _unclear(words, "namespace", "ALIAS WAREHOUSE NAMESPACE, or ALIAS/WAREHOUSE/NAMESPACE")
    return Spot(catalog, parts[0], tuple(parts[1:]))


def entry_of(session: Session, words: Sequence[str], what: str = "table") -> Spot:
    """Read `ALIAS WAREHOUSE NAMESPACE TABLE` or `ALIAS/WAREHOUSE/NAMESPACE/TABLE`; a view goes by the same form."""
    catalog, parts = _parts(session, words)
    if len(parts) < 3:
        last = what.upper()
        raise _unclear(words, what, f"ALIAS WAREHOUSE NAMESPACE {last}, or ALIAS/WAREHOUSE/NAMESPACE/{last}")
    return Spot(catalog, parts[0], tuple(parts[1:-1]), parts[-1])


def renamed_of(session: Session, words: Sequence[str], to_namespace: str, what: str = "table") -> tuple[Spot, Spot]:
    """Read a table or view, and last its new name, which may be in another namespace, or a path as the old one is."""
    if len(words) < 2:
        raise _unclear(words, what, f"ALIAS/WAREHOUSE/NAMESPACE/{what.upper()} NEW")
    source = entry_of(session, words[:-1], what)
    if "/" in words[-1]:
        return source, _moved(session, source, words[-1], to_namespace, what)
    namespace = _levels(to_namespace) if to_namespace else source.namespace
    return source, Spot(source.catalog, source.warehouse, namespace, _decoded(words[-1]))


def _moved(session: Session, source: Spot, path: str, to_namespace: str, what: str) -> Spot:
    """Read a new name that is a path: one in the same warehouse, and no name with slashes in it."""
    if to_namespace or path.partition("/")[0] not in session.aliases:
        raise Misused(f"{path} is no name for a {what}", "Write one name; a slash that is part of it is %2F.")
    target = entry_of(session, [path], what)
    if (target.catalog.name, target.warehouse) != (source.catalog.name, source.warehouse):
        raise Misused(f"{path} is in another warehouse", f"A {what} is renamed within its warehouse.")
    return target


def any_of(session: Session, words: Sequence[str]) -> Spot:
    """Read a server, a warehouse, or a table, whichever is given."""
    catalog, parts = _parts(session, words)
    match parts:
        case []:
            return Spot(catalog)
        case [warehouse]:
            return Spot(catalog, warehouse)
        case [warehouse, *namespace, name] if namespace:
            return Spot(catalog, warehouse, tuple(namespace), name)
    raise _unclear(
        words, "table", "ALIAS, ALIAS/WAREHOUSE or ALIAS/WAREHOUSE/NAMESPACE/TABLE; a namespace takes --namespace"
    )


def _parts(session: Session, words: Sequence[str]) -> tuple[Catalog, list[str]]:
    """Split what was typed at slashes and blanks alike."""
    alias, *rest = "/".join(word.strip("/") for word in words).split("/")
    if alias not in session.aliases:
        raise unknown_alias(alias, session.aliases)
    if any(not part for part in rest):
        raise Misused(f"{'/'.join(words)} has an empty part", "Write a slash that is part of a name as %2F.")
    return Catalog(session.server(alias)), [_decoded(part) for part in rest]


def _typed(catalog: Catalog, *parts: str) -> str:
    return "/".join([catalog.name, *(part.replace("/", "%2F") for part in parts if part)])


def _levels(text: str) -> Namespace:
    return tuple(_decoded(part) for part in text.strip("/").split("/"))


def _decoded(part: str) -> str:
    return part.replace("%2F", "/").replace("%2f", "/")


def _unclear(words: Sequence[str], what: str, form: str) -> Misused:
    return Misused(f"{' '.join(words)} names no {what}", f"Write {form}.")
