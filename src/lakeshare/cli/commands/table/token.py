"""table share token: the tokens of shares."""

from collections.abc import Iterator
from typing import Any

import click

from lakeshare.cli.commands.arguments import ALIAS, on_server
from lakeshare.cli.commands.table.told import (
    TOKEN_COLUMNS,
    Json,
    issued_facts,
    issued_text,
    share_place,
    token_rows,
    told,
)
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.table.token"

token = lazy_group(
    r"""Tokens: whoever has one reads what is in its share. A token is shown once.

    \b
    lakeshare table share token create lake/sales --expires 90d --json | jq -r .profile > profile.share
    lakeshare table share token list lake/sales
    lakeshare table share token rotate lake TOKEN_ID --overlap 24h
    lakeshare table share token remove lake TOKEN_ID
    """,
    {
        "create": (_HERE, "Make a token, and its profile."),
        "list": (f"{_HERE}:list_", "List tokens."),
        "rotate": (_HERE, "Make a token in place of one that soon ends."),
        "remove": (_HERE, "Revoke tokens at once."),
    },
)

_id = click.argument("token", metavar="TOKEN_ID")


def new_token_flags(function: Any) -> Any:
    """Give a command the flags of a new token."""
    for option in (
        click.option("--endpoint", default="", metavar="URL", help="Endpoint of this profile, not the set one."),
        click.option("--description", default="", help="What it is for."),
        click.option("--expires", default="", metavar="SPAN", help="How long it lives: 90d, 24h, 30m, or never."),
    ):
        function = option(function)
    return function


def new_token_body(expires: str, description: str, endpoint: str, *, oauth: bool = False) -> Json:
    """Return what those flags ask for."""
    body: Json = {"expires": expires, "description": description, "endpoint": endpoint}
    asked = {field: value for field, value in body.items() if value}
    return asked | ({"kind": "oauth"} if oauth else {})


@command()
@click.argument("target", metavar="ALIAS/SHARE", type=ALIAS)
@new_token_flags
@click.option("--recipient", default="", help="Make it a token of this recipient, for this share alone.")
@click.option("--oauth", is_flag=True, help="Make OAuth client credentials in place of a bearer token.")
def create(
    session: Session, target: str, *, expires: str, description: str, endpoint: str, recipient: str, oauth: bool
) -> Record:
    r"""Make a token for a share. The profile goes to whoever shall read: they need nothing else.

    \b
    lakeshare table share token create lake/sales --expires 90d --description "for Databricks"
    lakeshare table share token create lake/sales --json | jq -r .profile > profile.share
    """
    alias, name = share_place(session, target)
    body = new_token_body(expires, description, endpoint, oauth=oauth)
    if recipient:
        body["recipient"] = recipient
    made = told(session, session.admin(alias).send("POST", "shares", name, "tokens", body=body))
    what = "OAuth client" if oauth else "Token"
    return Record(issued_facts(made), issued_text(made, f"{what} created successfully for share '{made['share']}'."))


@command("list")
@click.argument("target", metavar="ALIAS[/SHARE]", type=ALIAS)
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List the tokens of a share, or all; never their secrets.

    \b
    lakeshare table share token list lake/sales
    """
    place = session.remote(target)
    path = ("shares", place.bucket, "tokens") if place.bucket else ("tokens",)
    return table(TOKEN_COLUMNS, token_rows(session.admin(place.alias).pages(*path, items="tokens")))


@command()
@on_server
@_id
@new_token_flags
@click.option("--overlap", default="24h", show_default=True, help="How long the old one goes on; 0m is not at all.")
def rotate(
    session: Session, target: str, token: str, *, expires: str, description: str, endpoint: str, overlap: str
) -> Record:
    r"""Make a token in place of another, which goes on for a while: time to hand the new profile over.

    \b
    lakeshare table share token rotate lake TOKEN_ID
    lakeshare table share token rotate lake TOKEN_ID --overlap 7d --expires 90d --json | jq -r .profile > profile.share
    """
    body = new_token_body(expires, description, endpoint) | {"overlap": overlap}
    made = told(session, session.admin(target).send("POST", "tokens", token, "rotate", body=body))
    return Record(issued_facts(made), issued_text(made, f"Token created in place of '{token}'."))


@command()
@on_server
@click.argument("tokens", metavar="TOKEN_ID...", nargs=-1, required=True)
def remove(session: Session, target: str, tokens: tuple[str, ...]) -> Iterator[Record]:
    r"""Revoke tokens. They, and the data URLs that were made with them, end with the next request.

    \b
    lakeshare table share token remove lake TOKEN_ID
    """
    for one in tokens:
        session.admin(target).send("DELETE", "tokens", one)
        yield Record({"tokenId": one}, f"Token '{one}' removed successfully.")
