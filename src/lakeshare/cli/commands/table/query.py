"""table share query: rows of a shared table, as a recipient gets them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from lakeshare.cli.commands.table.told import Json
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, table
from lakeshare.cli.preview.recipient import Named, Profile, Recipient
from lakeshare.cli.session import Session

MAX_ROWS = 10_000
CELL_LETTERS = 60
"""What a person is shown of one value; programs are told all of it."""
LIFE = "15m"
"""How long the token of a preview would live if its removal failed."""


@command()
@click.argument("target", metavar="TABLE")
@click.option("--limit", type=click.IntRange(0, MAX_ROWS), default=10, show_default=True, help="Show so many rows.")
@click.option("--predicate", default="", metavar="SQL", help="Leave out files that cannot match, such as n > 7.")
@click.option("--version", type=click.IntRange(0), default=None, help="Show the table as it was.")
def query(session: Session, target: str, *, limit: int, predicate: str, version: int | None) -> Iterator[Record]:
    r"""Show rows of a shared table as a recipient gets them: over the endpoint, by links, with a token.

    TABLE is ALIAS/SHARE/SCHEMA/TABLE, for which a token is made that ends with the command, or a recipient's own
    profile: FILE#SHARE.SCHEMA.TABLE. A predicate is a hint, as every client sends it: rows beside it may be shown.

    \b
    lakeshare table share query lake/sales/HR/employees --limit 5
    lakeshare table share query profile.share#sales.HR.employees --predicate "id > 100" --json
    """
    from lakeshare.cli.preview.rows import plain  # noqa: PLC0415 - columns are for those who read them

    asked: Json = {"limitHint": limit}
    if predicate:
        asked["predicateHints"] = [predicate]
    if version is not None:
        asked["version"] = version
    with _recipient(session, target) as (recipient, named):
        found = [plain(row) for row in _rows(recipient, named, asked, limit)]
    columns = list(found[0]) if found else []
    yield from table(columns, (([_text(row[name]) for name in columns], {"row": row}) for row in found))


def _rows(recipient: Recipient, named: Named, asked: Json, limit: int) -> Iterator[Json]:
    from lakeshare.cli.preview.rows import Shape, rows_of_file  # noqa: PLC0415

    lines = list(recipient.lines(named, asked))
    shape = Shape.of(lines[1])
    left = limit
    for line in lines[2:]:
        for row in rows_of_file(recipient, shape, line["file"]) if left and "file" in line else ():
            yield row
            left -= 1
            if not left:
                return


@contextmanager
def _recipient(session: Session, target: str) -> Iterator[tuple[Recipient, Named]]:
    """Be a recipient of the table that is named."""
    if "#" in target:
        file, _, rest = target.rpartition("#")
        recipient = Recipient(session, _profile(file))
        try:
            yield recipient, _named(target, rest.split("."))
        finally:
            recipient.close()
        return
    alias, _, rest = target.partition("/")
    named = _named(target, rest.strip("/").split("/"))
    with _lent(session, alias, named.share) as profile:
        recipient = Recipient(session, profile)
        try:
            yield recipient, named
        finally:
            recipient.close()


@contextmanager
def _lent(session: Session, alias: str, share: str) -> Iterator[Profile]:
    """Make a token for as long as it is needed."""
    admin = session.admin(alias)
    body: dict[str, Any] = {"expires": LIFE, "description": "a preview from the command line"}
    if admin.get("shares", share)["oauth_only"]:
        body["kind"] = "oauth"
    made = admin.send("POST", "shares", share, "tokens", body=body)
    try:
        yield Profile.read(json.dumps(made["profile"]), "what the server gave")
    finally:
        admin.server.ask(admin.call("DELETE", ("tokens", made["id"])), cleans_up=True)


def _profile(file: str) -> Profile:
    try:
        return Profile.read(Path(file).expanduser().read_text(), file)
    except OSError as reason:
        said = f"{file} cannot be read: {reason.strerror}"
        raise Misused(said, "Name a profile, as FILE#SHARE.SCHEMA.TABLE.") from None


def _named(target: str, parts: list[str]) -> Named:
    if len(parts) != 3 or not all(parts):
        raise Misused(f"{target} names no shared table", "Write ALIAS/SHARE/SCHEMA/TABLE, or FILE#SHARE.SCHEMA.TABLE.")
    return Named(*parts)


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= CELL_LETTERS else text[: CELL_LETTERS - 1] + "…"
