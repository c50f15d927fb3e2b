"""doctor: what keeps recipients from reading what is shared, before they find out."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import click

from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.errors import ClientError, Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Failure, Record, printable
from lakeshare.cli.remote.admin import ROOT
from lakeshare.cli.remote.server import Call, Server
from lakeshare.cli.session import Session

HELD_BACK = 0.5
"""The part of the pause between two lines that must be seen, or something between holds answers back."""
PAUSE_SECONDS = 1.0
_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "error": ("error", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    level: str
    subject: str
    message: str


class Unhealthy(ClientError):
    """Something that was checked keeps recipients from reading."""


@command()
@on_server
@click.option("--endpoint", default="", metavar="URL", help="Check this URL in place of the one that is set.")
def doctor(session: Session, target: str, *, endpoint: str) -> Iterator[Record | Failure]:
    r"""Check what a recipient would meet: the endpoint, TLS, proxies, the lifetime of files, each shared table.

    Run it from where recipients are: what is checked is what this machine reaches. Exits with 1 if anything is wrong.

    \b
    lakeshare doctor lake
    lakeshare doctor lake --endpoint https://shares.example.net:9000
    """
    admin = session.admin(target)
    found = admin.get("sharing", "checks")
    url = endpoint or found["endpoint"]
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise Misused(f"{url!r} is no URL", "Write it as https://HOST:PORT.")
    yield from (_told(Finding(**one)) for one in found["checks"] if not (endpoint and one["check"] == "endpoint"))
    if not found["complete"]:
        yield _told(Finding("table", "warning", url, "there are more shared tables than were looked at"))
    public = session.connect(replace(admin.server.alias, url=url.rstrip("/")))
    try:
        yield from (_told(one) for one in _outside(session, public, url))
    finally:
        public.connections.close()


def _outside(session: Session, server: Server, url: str) -> Iterator[Finding]:
    """Check what lies between this machine and the server, in the order in which a recipient meets it."""
    try:
        health = server.ask(Call("GET", "/_delta-sharing/v1/health"))
    except ClientError as error:
        yield Finding("reach", "error", url, f"{error.message}. {error.next_step}".strip())
        return
    if not _is_ours(health.body):
        yield Finding("reach", "error", url, "something else than Lakeshare answers there")
        return
    yield Finding("reach", "ok", url, "sharing answers")
    yield _trust(session, url)
    yield _streaming(server, url)


def _trust(session: Session, url: str) -> Finding:
    """Say by whose authority the certificate is trusted."""
    if not url.startswith("https://"):
        return Finding("tls", "warning", url, "no TLS: Databricks and others outside need https")
    bundle = session.choices.ca_cert or session.environ.get("REQUESTS_CA_BUNDLE", "")
    if session.choices.insecure:
        return Finding("tls", "warning", url, "the certificate was not checked, since --insecure was said")
    if bundle:
        text = f"the certificate is trusted by {bundle}: recipients need it in REQUESTS_CA_BUNDLE and SSL_CERT_FILE"
        return Finding("tls", "ok", url, text)
    return Finding("tls", "ok", url, "the certificate is trusted by this system's authorities")


def _streaming(server: Server, url: str) -> Finding:
    """Say whether lines arrive as they are sent."""
    try:
        with server.open(Call("GET", f"{ROOT}/sharing/probe")) as response:
            response.readline()
            first = time.monotonic()
            response.readline()
            waited = time.monotonic() - first
            response.read()
    except ClientError as error:
        return Finding("streaming", "warning", url, f"it could not be checked: {error.message}")
    if waited < PAUSE_SECONDS * HELD_BACK:
        text = "a proxy holds answers back until they are whole: let it stream, or large tables fail"
        return Finding("streaming", "error", url, text)
    return Finding("streaming", "ok", url, "answers are streamed")


def _is_ours(body: bytes) -> bool:
    try:
        found: Any = json.loads(body)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("status") == "ok"


def _told(one: Finding) -> Record | Failure:
    facts = {"check": one.check, "level": one.level, "subject": one.subject, "message": one.message}
    if one.level == "error":
        return Failure(Unhealthy(f"{one.check}: {one.subject}: {one.message}"), facts)
    word, color = _MARKS[one.level]
    subject, message = printable(one.subject), printable(one.message)
    return Record(facts, f"{click.style(word.ljust(8), fg=color)} {one.check}: {subject}: {message}")
