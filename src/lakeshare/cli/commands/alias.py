"""alias: names for servers and the keys to them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from lakeshare.cli.aliases import DEFAULT_REGION, Alias, checked_name, checked_url
from lakeshare.cli.commands.arguments import ALIAS
from lakeshare.cli.errors import DENIED, Misused, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs
from lakeshare.cli.session import Session
from lakeshare.settings import Secret

_HERE = "lakeshare.cli.commands.alias"

alias = lazy_group(
    r"""Name servers and the keys to them.

    Aliases are kept in ~/.config/lakeshare/config.json, which only you can read. The environment may hold more:
    LAKESHARE_HOST_lake=https://KEY:SECRET@lake.example.com

    \b
    lakeshare alias set lake http://127.0.0.1:9000 KEY SECRET
    lakeshare alias list
    lakeshare alias remove lake
    """,
    {
        "set": (f"{_HERE}:set_", "Make an alias, or change it."),
        "list": (f"{_HERE}:list_", "List aliases."),
        "remove": (f"{_HERE}:remove", "Forget an alias."),
    },
    {"import": "set", "add": "set"},
)


@command("set")
@click.argument("name", metavar="ALIAS", type=ALIAS)
@click.argument("url")
@click.argument("access_key", default="", metavar="[KEY]")
@click.argument("secret_key", default="", metavar="[SECRET]")
@click.option("--session-token", default="", help="Token of temporary credentials.")
@click.option(
    "--region", default=DEFAULT_REGION, help="Region to sign for; Lakeshare takes any, other servers may not."
)
@click.option("--anonymous", is_flag=True, help="Ask without a key; only what everyone may read is there.")
@click.option("--no-check", is_flag=True, help="Keep it without asking the server.")
@click.option("--api", type=click.Choice(["S3v4"], case_sensitive=False), default="S3v4", hidden=True)
@click.option("--path", type=click.Choice(["auto", "on"]), default="auto", hidden=True)
def set_(
    session: Session,
    name: str,
    url: str,
    access_key: str,
    secret_key: str,
    *,
    session_token: str,
    region: str,
    anonymous: bool,
    no_check: bool,
    api: str,
    path: str,
) -> Record:
    r"""Make an alias, or change it. The server is asked first whether it takes the key.

    Without KEY and SECRET they are asked for, or read as two lines from standard input, so that they are in no shell's
    history. A file given with --ca-cert is kept with the alias.

    \b
    lakeshare alias set lake http://127.0.0.1:9000 KEY SECRET
    lakeshare alias set lake https://lake.example.com --ca-cert ca.pem
    printf '%s\n' KEY SECRET | lakeshare alias set lake https://lake.example.com
    lakeshare alias set public https://data.example.com --anonymous
    """
    del api, path
    if not anonymous:
        access_key, secret_key = asked_keys(access_key, secret_key)
    bundle = str(Path(session.choices.ca_cert).expanduser().resolve()) if session.choices.ca_cert else ""
    made = Alias(
        checked_name(name.rstrip("/")),
        checked_url(url),
        access_key,
        Secret(secret_key),
        Secret(session_token),
        bundle,
        region=region,
    )
    if not no_check:
        _check(session, made)
    kept = session.file.put(made)
    return Record(facts_of(kept), f"Added `{kept.name}` successfully.")


def asked_keys(access_key: str, secret_key: str) -> tuple[str, str]:
    """Return a key and its secret; what was not typed is asked for, or read from standard input."""
    if access_key and secret_key:
        return access_key, secret_key
    if sys.stdin.isatty():
        access_key = access_key or click.prompt("Access key", err=True)
        return access_key, click.prompt("Secret key", hide_input=True, err=True)
    lines = [line.strip() for line in (sys.stdin.readline(), "" if access_key else sys.stdin.readline())]
    found = [access_key, lines[0]] if access_key else lines
    if not all(found):
        raise Misused("a key and its secret are missing", "Write them after the URL, or pipe them in on two lines.")
    return found[0], found[1]


def _check(session: Session, alias: Alias) -> None:
    """Ask the server something that needs the key, and pass if the key was taken."""
    from lakeshare.cli.remote.store import Store  # noqa: PLC0415 - HTTP is for those who use it

    try:
        Store(session.connect(alias)).buckets()
    except Refused as error:
        if error.code == "AccessDenied" and error.exit_code == DENIED:
            return  # The key is known; that it may not list buckets is no fault of the alias.
        step = {
            "InvalidAccessKeyId": f"The server does not know the key {alias.access_key!r}: check how it is written.",
            "SignatureDoesNotMatch": f"The secret of the key {alias.access_key!r} is wrong: check how it is written.",
        }.get(error.code, error.next_step)
        raise Refused(error.status, error.code, error.said, alias.url, step) from None


@command("list")
@click.argument("name", required=False, metavar="[ALIAS]", type=ALIAS)
@click.option("--show-secrets", is_flag=True, help="Print secret keys too.")
def list_(session: Session, name: str | None, *, show_secrets: bool) -> Iterator[Record]:
    r"""List aliases, or show one. Secret keys are shown as ***.

    \b
    lakeshare alias list
    lakeshare alias list lake --show-secrets
    lakeshare alias list --json
    """
    if session.file.is_open_to_others():
        session.output.warn(f"others can read {session.file.path}: chmod 600 {session.file.path}")
    found = [session.file.find(name.rstrip("/"))] if name else [session.aliases[key] for key in sorted(session.aliases)]
    for one in found:
        facts = facts_of(one, show_secrets=show_secrets)
        rows = [("  URL", one.url), ("  AccessKey", one.access_key), ("  SecretKey", facts["secretKey"])]
        rows += [("  CaCert", one.ca_cert)] if one.ca_cert else []
        yield Record(facts, pairs(click.style(one.name, bold=True), [*rows, ("  Src", one.source)]))


@command()
@click.argument("name", metavar="ALIAS", type=ALIAS)
def remove(session: Session, name: str) -> Record:
    r"""Forget an alias. Nothing changes on the server.

    \b
    lakeshare alias remove lake
    """
    gone = session.file.remove(name.rstrip("/"))
    return Record({"alias": gone.name}, f"Removed `{gone.name}` successfully.")


def facts_of(alias: Alias, *, show_secrets: bool = False) -> dict[str, str]:
    """Say what an alias is, for programs, in mc's words."""
    shown = alias.secret.reveal() if show_secrets else ("***" if alias.secret else "")
    facts = {"alias": alias.name, "URL": alias.url, "accessKey": alias.access_key, "secretKey": shown}
    facts |= {"api": "s3v4", "path": "auto", "src": alias.source}
    return facts | ({"caCert": alias.ca_cert} if alias.ca_cert else {})
