"""How warehouses, tables, schemas and snapshots are told."""

from collections.abc import Iterator, Sequence
from typing import Any

from lakeshare.cli.commands.admin.told import at
from lakeshare.cli.errors import Misused
from lakeshare.cli.output import pairs, printable
from lakeshare.cli.units import size_text

Json = dict[str, Any]

MILLISECONDS = 1000
MAX_SHOWN_PROPERTIES = 100


def when(milliseconds: int | None) -> str:
    """Write a time that Iceberg counts in milliseconds."""
    return "never" if milliseconds is None else at(milliseconds / MILLISECONDS)


def dotted(identifier: Json) -> str:
    """Write the name of a table or view."""
    return ".".join([*identifier["namespace"], identifier["name"]])


def attributes(texts: Sequence[str], flag: str = "--attr") -> dict[str, str]:
    """Read properties that were typed as `name=value`."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Misused(f"{flag} has {text!r}", f"Write it as {flag} name=value, and say it again for the next.")
        found[name.strip()] = value
    return found


def property_lines(properties: Json) -> list[tuple[str, str]]:
    """Lay properties out, by name."""
    rows = [(f"  {name}", str(value)) for name, value in sorted(properties.items())]
    return rows[:MAX_SHOWN_PROPERTIES]


def table_text(title: str, loaded: Json) -> str:
    """Tell a table: where it is, its columns, its partitions and its newest snapshot."""
    metadata = loaded["metadata"]
    rows = [
        ("UUID", metadata["table-uuid"]),
        ("Format", f"version {metadata['format-version']}"),
        ("Location", metadata["location"]),
        ("Metadata", loaded["metadata-location"]),
        ("Updated", when(metadata["last-updated-ms"])),
        ("Partitioned by", _partition(metadata) or "nothing"),
        *_snapshot_lines(metadata),
        ("Snapshots", str(len(metadata.get("snapshots", ())))),
        *_ref_lines(metadata),
    ]
    parts = [pairs(f"Table: {printable(title)}", rows), "", "Columns:"]
    parts += [f"  {line}" for line in columns(current_schema(metadata))]
    if metadata["properties"]:
        parts += ["", pairs("Properties:", property_lines(metadata["properties"]))]
    return "\n".join(parts)


def view_text(title: str, loaded: Json) -> str:
    """Tell a view: its SQL in every dialect, and its columns."""
    metadata = loaded["metadata"]
    version = next(each for each in metadata["versions"] if each["version-id"] == metadata["current-version-id"])
    rows = [
        ("UUID", metadata["view-uuid"]),
        ("Location", metadata["location"]),
        ("Version", f"{version['version-id']} of {len(metadata['versions'])}"),
        ("Updated", when(version["timestamp-ms"])),
    ]
    parts = [pairs(f"View: {printable(title)}", rows)]
    for each in version["representations"]:
        parts += ["", f"SQL ({printable(each['dialect'])}):", *(f"  {printable(line)}" for line in _lines(each["sql"]))]
    schema = next((each for each in metadata["schemas"] if each.get("schema-id") == version["schema-id"]), None)
    if schema is not None and schema["fields"]:
        parts += ["", "Columns:", *(f"  {line}" for line in columns(schema))]
    return "\n".join(parts)


def current_schema(metadata: Json) -> Json:
    """Return the schema that new rows have."""
    wanted = metadata["current-schema-id"]
    found: Json = next(each for each in metadata["schemas"] if each.get("schema-id", 0) == wanted)
    return found


def columns(schema: Json) -> Iterator[str]:
    """Lay the columns of a schema out."""
    fields = schema["fields"]
    names = [printable(each["name"]) for each in fields]
    types = [type_text(each["type"]) for each in fields]
    width, wide = (max(map(len, texts), default=0) for texts in (names, types))
    for each, name, kind in zip(fields, names, types, strict=True):
        more = "required" if each["required"] else ""
        doc = printable(each.get("doc") or "")
        yield f"{each['id']:>3}  {name.ljust(width)}  {kind.ljust(wide)}  {more:<8}  {doc}".rstrip()


def type_text(kind: Any) -> str:
    """Write a type in a line."""
    if isinstance(kind, str):
        return printable(kind)
    match kind.get("type"):
        case "struct":
            inner = ", ".join(f"{printable(each['name'])}: {type_text(each['type'])}" for each in kind["fields"])
            return f"struct<{inner}>"
        case "list":
            return f"list<{type_text(kind['element'])}>"
        case "map":
            return f"map<{type_text(kind['key'])}, {type_text(kind['value'])}>"
    return printable(str(kind))


def _partition(metadata: Json) -> str:
    spec: Json = next(
        (each for each in metadata["partition-specs"] if each["spec-id"] == metadata["default-spec-id"]),
        {"fields": []},
    )
    names = {each["id"]: each["name"] for each in current_schema(metadata)["fields"]}
    fields = []
    for each in spec["fields"]:
        source = names.get(each.get("source-id"), each["name"])
        fields.append(source if each["transform"] == "identity" else f"{each['transform']}({source})")
    return ", ".join(fields)


def _snapshot_lines(metadata: Json) -> Iterator[tuple[str, str]]:
    current = metadata.get("current-snapshot-id")
    found = next((each for each in metadata.get("snapshots", ()) if each["snapshot-id"] == current), None)
    if found is None:
        yield "Rows", "none: nothing was written yet"
        return
    summary = found.get("summary", {})
    yield "Snapshot", f"{current}, {summary.get('operation', 'change')} at {when(found['timestamp-ms'])}"
    if "total-records" in summary:
        yield "Rows", summary["total-records"]
    if "total-data-files" in summary:
        size = summary.get("total-files-size", "")
        yield "Files", summary["total-data-files"] + (f", {size_text(int(size))}" if size.isdigit() else "")


def _ref_lines(metadata: Json) -> Iterator[tuple[str, str]]:
    others = {name: ref for name, ref in metadata.get("refs", {}).items() if name != "main"}
    if others:
        yield "References", ", ".join(f"{name} ({ref['type']})" for name, ref in sorted(others.items()))


def _lines(text: str) -> list[str]:
    return text.splitlines() or [""]
