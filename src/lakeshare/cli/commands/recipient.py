"""recipient: whom tables are shared with."""

from collections.abc import Iterator

import click

from lakeshare.cli.commands.admin.told import at, names, sheet
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.commands.table.token import new_token_body, new_token_flags
from lakeshare.cli.commands.table.told import TOKEN_COLUMNS, Json, issued_facts, issued_text, token_rows, told
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, table
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.recipient"

recipient = lazy_group(
    r"""Recipients: somebody with several shares and tokens, whom you can suspend, limit to addresses, and watch.

    \b
    lakeshare recipient add lake acme --share sales --share stock
    lakeshare recipient link lake acme --expires 90d
    lakeshare recipient suspend lake acme
    """,
    {
        "add": (_HERE, "Make a recipient."),
        "list": (f"{_HERE}:list_", "List recipients."),
        "info": (_HERE, "Show a recipient."),
        "update": (_HERE, "Rename, describe or limit a recipient."),
        "grant": (_HERE, "Share shares with a recipient."),
        "revoke": (_HERE, "Take shares from a recipient."),
        "suspend": (_HERE, "Keep a recipient out for now."),
        "resume": (_HERE, "Let a recipient in again."),
        "remove": (_HERE, "Remove recipients with all their tokens."),
        "token": (_HERE, "Make a token for all that is shared with a recipient."),
        "tokens": (_HERE, "List the tokens of a recipient."),
        "link": (_HERE, "Make a link that hands out a profile, once."),
        "links": (_HERE, "List links that were not used yet."),
        "unlink": (_HERE, "Take a link back before it is used."),
    },
)

_name = click.argument("name", metavar="RECIPIENT")
_shares = click.argument("shares", metavar="SHARE...", nargs=-1, required=True)
_oauth = click.option("--oauth", is_flag=True, help="OAuth client credentials in place of a bearer token.")


@command()
@on_server
@_name
@click.option("--share", "shares", multiple=True, help="Share this share with it; may be said again.")
@click.option("--ip", "networks", multiple=True, metavar="CIDR", help="Where it may come from; may be said again.")
@click.option("--oauth-only", is_flag=True, help="Refuse bearer tokens.")
@click.option("--description", default="", help="Who it is.")
def add(
    session: Session,
    target: str,
    name: str,
    *,
    shares: tuple[str, ...],
    networks: tuple[str, ...],
    oauth_only: bool,
    description: str,
) -> Record:
    r"""Make a recipient.

    \b
    lakeshare recipient add lake acme --share sales --ip 192.0.2.0/24 --description "ACME's analysts"
    """
    body: Json = {"name": name, "shares": list(shares), "ip_list": list(networks)}
    body |= {"oauth_only": oauth_only, "description": description}
    made = session.admin(target).send("POST", "recipients", body=body)
    return Record(made, f"Recipient '{made['name']}' created successfully.")


@command("list")
@on_server
@click.option("--all", "everyone", is_flag=True, help="Also those that stand for a token of one share.")
def list_(session: Session, target: str, *, everyone: bool) -> Iterator[Record]:
    r"""List recipients.

    \b
    lakeshare recipient list lake
    """
    query = (("all", "true"),) if everyone else ()
    listed = session.admin(target).pages("recipients", items="recipients", query=query)
    rows = (
        ((one["name"], _state(one), names(one["shares"]), str(one["tokens"]), one["description"]), one)
        for one in listed
    )
    return table(("Recipient", "Status", "Shares", "Tokens", "Description"), rows)


@command()
@on_server
@_name
def info(session: Session, target: str, name: str) -> Record:
    r"""Show a recipient: what is shared with it, where it may come from, when it last came.

    \b
    lakeshare recipient info lake acme
    """
    return _sheet(session.admin(target).get("recipients", name))


@command()
@on_server
@_name
@click.option("--rename", default="", metavar="NAME", help="Give it another name.")
@click.option("--description", default=None, help="Who it is.")
@click.option("--ip", "networks", multiple=True, metavar="CIDR", help="Where it may come from; may be said again.")
@click.option("--any-ip", is_flag=True, help="Let it come from anywhere.")
@click.option("--oauth-only/--no-oauth-only", default=None, help="Refuse bearer tokens, or take them again.")
def update(
    session: Session,
    target: str,
    name: str,
    *,
    rename: str,
    description: str | None,
    networks: tuple[str, ...],
    any_ip: bool,
    oauth_only: bool | None,
) -> Record:
    r"""Rename, describe or limit a recipient, for all its tokens at once.

    \b
    lakeshare recipient update lake acme --ip 192.0.2.0/24 --ip 2001:db8::/32
    lakeshare recipient update lake acme --oauth-only
    """
    asked: Json = {"name": rename or None, "description": description, "oauth_only": oauth_only}
    body = {field: value for field, value in asked.items() if value is not None}
    if networks or any_ip:
        body["ip_list"] = [] if any_ip else list(networks)
    return _sheet(session.admin(target).send("PATCH", "recipients", name, body=body))


@command()
@on_server
@_name
@_shares
def grant(session: Session, target: str, name: str, shares: tuple[str, ...]) -> Iterator[Record]:
    r"""Share shares with a recipient; its tokens see them at once.

    \b
    lakeshare recipient grant lake acme sales stock
    """
    for share in shares:
        changed = session.admin(target).send("PUT", "recipients", name, "shares", share)
        yield Record(changed, f"Share '{share}' is shared with '{changed['name']}'.")


@command()
@on_server
@_name
@_shares
def revoke(session: Session, target: str, name: str, shares: tuple[str, ...]) -> Iterator[Record]:
    r"""Take shares from a recipient, from the next request on.

    \b
    lakeshare recipient revoke lake acme stock
    """
    for share in shares:
        changed = session.admin(target).send("DELETE", "recipients", name, "shares", share)
        yield Record(changed, f"Share '{share}' is not shared with '{changed['name']}' any more.")


@command()
@on_server
@_name
def suspend(session: Session, target: str, name: str) -> Record:
    r"""Keep a recipient out, with all its tokens and data URLs, until it is let in again.

    \b
    lakeshare recipient suspend lake acme
    """
    return Record(
        session.admin(target).send("POST", "recipients", name, "suspend"), f"Recipient '{name}' is suspended."
    )


@command()
@on_server
@_name
def resume(session: Session, target: str, name: str) -> Record:
    r"""Let a recipient in again.

    \b
    lakeshare recipient resume lake acme
    """
    return Record(session.admin(target).send("POST", "recipients", name, "resume"), f"Recipient '{name}' is let in.")


@command()
@on_server
@click.argument("names_", metavar="RECIPIENT...", nargs=-1, required=True)
def remove(session: Session, target: str, names_: tuple[str, ...]) -> Iterator[Record]:
    r"""Remove recipients with all their tokens. Shares stay.

    \b
    lakeshare recipient remove lake acme
    """
    for one in names_:
        session.admin(target).send("DELETE", "recipients", one)
        yield Record({"name": one}, f"Recipient '{one}' removed successfully.")


@command()
@on_server
@_name
@new_token_flags
@_oauth
def token(
    session: Session, target: str, name: str, *, expires: str, description: str, endpoint: str, oauth: bool
) -> Record:
    r"""Make a token for all that is shared with a recipient, now and later.

    \b
    lakeshare recipient token lake acme --expires 90d --json | jq -r .profile > profile.share
    """
    body = new_token_body(expires, description, endpoint, oauth=oauth)
    made = told(session, session.admin(target).send("POST", "recipients", name, "tokens", body=body))
    what = "OAuth client" if oauth else "Token"
    return Record(issued_facts(made), issued_text(made, f"{what} created successfully for recipient '{name}'."))


@command()
@on_server
@_name
def tokens(session: Session, target: str, name: str) -> Iterator[Record]:
    r"""List the tokens of a recipient; never their secrets.

    \b
    lakeshare recipient tokens lake acme
    """
    return table(TOKEN_COLUMNS, token_rows(session.admin(target).pages("recipients", name, "tokens", items="tokens")))


@command()
@on_server
@_name
@new_token_flags
@_oauth
@click.option("--link-expires", default="72h", show_default=True, help="How long the link waits to be used.")
def link(
    session: Session,
    target: str,
    name: str,
    *,
    expires: str,
    description: str,
    endpoint: str,
    oauth: bool,
    link_expires: str,
) -> Record:
    r"""Make a link that hands out a profile, once. The token is made when the link is used.

    \b
    lakeshare recipient link lake acme --expires 90d
    """
    body = new_token_body(expires, description, endpoint, oauth=oauth) | {"link_expires": link_expires}
    made = told(session, session.admin(target).send("POST", "recipients", name, "activations", body=body))
    text = f"Link for recipient '{name}', which works once, until {at(made['expires_at'])}:\n{made['url']}"
    return Record(made, text)


@command()
@on_server
@_name
def links(session: Session, target: str, name: str) -> Iterator[Record]:
    r"""List links that were not used yet; never where they lead.

    \b
    lakeshare recipient links lake acme
    """
    found = session.admin(target).get("recipients", name, "activations")["links"]
    rows = (((one["id"], one["kind"], at(one["expires_at"]), one["description"]), one) for one in found)
    return table(("Link ID", "Kind", "Expires", "Description"), rows)


@command()
@on_server
@_name
@click.argument("link_id", metavar="LINK_ID")
def unlink(session: Session, target: str, name: str, link_id: str) -> Record:
    r"""Take a link back before it is used.

    \b
    lakeshare recipient unlink lake acme LINK_ID
    """
    session.admin(target).send("DELETE", "recipients", name, "activations", link_id)
    return Record({"id": link_id}, f"Link '{link_id}' removed successfully.")


def _state(one: Json) -> str:
    return "suspended" if one["suspended"] else "active"


def _sheet(one: Json) -> Record:
    rows = [
        ("Recipient", one["name"]),
        ("Status", _state(one)),
        ("Description", one["description"]),
        ("Shares", names(one["shares"])),
        ("Addresses", names(one["ip_list"]) if one["ip_list"] else "any"),
        ("Requires", "OAuth" if one["oauth_only"] else "a token"),
        ("Tokens", str(one["tokens"])),
        ("Last used", at(one.get("last_used_at"))),
        ("Created", at(one["created_at"])),
    ]
    return sheet(one, rows)
