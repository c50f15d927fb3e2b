"""How shares, tokens and recipients are told."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from lakeshare.cli.commands.admin.told import at
from lakeshare.cli.errors import Misused
from lakeshare.cli.output import Record, printable
from lakeshare.cli.session import Session
from lakeshare.cli.units import epoch, moment_json

Json = dict[str, Any]

_KINDS = {"delta": "Delta", "uniform": "UniForm"}
_LAST, _MORE = ("└─ ", "    "), ("├─ ", "│   ")


def share_place(session: Session, target: str) -> tuple[str, str]:
    """Read `ALIAS/SHARE`."""
    place = session.remote(target)
    if not place.bucket or place.key:
        raise Misused(f"{target} names no share", f"Write {place.alias}/SHARE.")
    return place.alias, place.bucket


def told(session: Session, facts: Json) -> Json:
    """Tell the warnings of an answer where errors go, so that they are seen beside a pipe too; return the answer."""
    for text in facts.get("warnings", ()):
        click.echo(f"lakeshare: warning: {printable(text)}", err=True)
    del session
    return facts


def local_time(seconds: int | None) -> str:
    """Write a time in the local zone with its offset, as AIStor does."""
    return "never" if seconds is None else epoch(seconds).astimezone().isoformat(timespec="seconds")


def share_tree(share: Json) -> str:
    """Draw a share with its schemas and tables."""
    lines = [f"Share: {share['name']}", f"ID: {share['id']}"]
    if share["description"]:
        lines.append(f"Description: {share['description']}")
    lines += [f"Created: {_utc(share['created_at'])}", f"Updated: {_utc(share['updated_at'])}"]
    if share["oauth_only"]:
        lines.append("Requires: OAuth")
    if share["recipients"]:
        lines.append(f"Recipients: {', '.join(share['recipients'])}")
    lines += ["", "Schemas:"]
    for (mark, indent), schema in _marked(share["schemas"]):
        count = len(schema["tables"])
        lines.append(f"  {mark}{schema['name']} ({count} {'table' if count == 1 else 'tables'})")
        lines += [f"  {indent}{line}" for line in _schema(schema)]
    return "\n".join(printable(line) for line in lines)


def issued_text(made: Json, title: str) -> str:
    """Tell a new token, its secret this once."""
    bearer = made["kind"] == "bearer"
    rows = [
        ("Token ID" if bearer else "Client ID", made["id"]),
        ("Token" if bearer else "Secret", made["secret"]),
        ("Expires", local_time(made["expires_at"])),
    ]
    if made["description"]:
        rows.append(("Description", printable(made["description"])))
    lines = [f"{name + ':':<13}{value}" for name, value in rows]
    kind = "token" if bearer else "secret"
    return "\n".join([title, "", *lines, "", f"\u26a0\ufe0f  Save this {kind} securely. It won't be shown again."])


def issued_facts(made: Json) -> Json:
    """Return what programs are told of a new token, under AIStor's names too."""
    facts = {**made, "tokenId": made["id"]}
    if made["kind"] == "bearer":
        facts["token"] = made["secret"]
    return facts


def token_rows(tokens: Iterable[Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Lay tokens out for a table."""
    for one in tokens:
        recipient = "" if one["recipient"].startswith("~") else one["recipient"]
        cells = (
            one["id"],
            one["kind"],
            one["share"] or "all",
            recipient,
            at(one["expires_at"]),
            at(one["last_used_at"]),
            one["description"],
        )
        yield cells, one


TOKEN_COLUMNS = ("Token ID", "Kind", "Share", "Recipient", "Expires", "Last used", "Description")


def done(facts: Json, text: str) -> Record:
    """Tell that something was done."""
    return Record(facts, text)


def _schema(schema: Json) -> Iterator[str]:
    wholes = [{"name": "*", "kind": "whole", "spec": spec} for spec in schema["whole"]]
    for (mark, indent), table in _marked([*schema["tables"], *wholes]):
        if table["kind"] == "whole":
            yield f"{mark}every table of {table['spec'].partition(':')[2]}"
            continue
        yield f"{mark}{table['name']} [{_KINDS[table['kind']]}]"
        yield from (f"{indent}{line}" for line in _table(table))


def _table(table: Json) -> Iterator[str]:
    for field, name in (
        ("source", "Source"),
        ("bucket", "Bucket"),
        ("path", "Location"),
        ("warehouse", "Warehouse"),
        ("namespace", "Namespace"),
        ("table", "Table"),
    ):
        if field in table:
            yield f"{name}: {table[field]}"
    if not table["history"]:
        yield "History: not shared"
    elif table["start_version"]:
        yield f"History: from version {table['start_version']}"


def _marked(items: list[Json]) -> Iterator[tuple[tuple[str, str], Json]]:
    for number, item in enumerate(items, 1):
        yield (_LAST if number == len(items) else _MORE), item


def _utc(seconds: int) -> str:
    return moment_json(epoch(seconds))
