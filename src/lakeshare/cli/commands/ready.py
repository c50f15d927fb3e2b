"""ready: wait until a server can serve, for scripts that start one."""

import time

import click

from lakeshare.cli.commands.arguments import DURATION, on_server
from lakeshare.cli.errors import ClientError, Interrupted, Refused, Unreachable
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record
from lakeshare.cli.remote.server import Call, Server
from lakeshare.cli.session import Session

PAUSE_SECONDS = 0.25
"""How long to wait between two questions."""
FAILED = 500
"""From this status on, a server says that it cannot serve now."""

_CALL = Call("GET", "/_health/ready", repeatable=False)


@command()
@on_server
@click.option("--timeout", type=DURATION, default="1m", show_default=True, help="How long to wait for it.")
def ready(session: Session, target: str, *, timeout: int) -> Record:
    r"""Wait until a server can serve.

    \b
    lakeshare server ./data & lakeshare ready lake && lakeshare ls lake
    lakeshare ready lake --timeout 5m
    """
    alias = session.remote(target).alias
    server, end = session.server(alias), time.monotonic() + timeout
    while (reason := _unready(server)) is not None:
        if time.monotonic() >= end:
            raise reason
        if server.stopped.wait(PAUSE_SECONDS):
            raise Interrupted
    return Record({"alias": alias, "healthy": True}, f"The server `{alias}` is ready.")


def _unready(server: Server) -> ClientError | None:
    """Ask once, and say why the server cannot serve; None if it can. What waiting does not change is raised."""
    try:
        server.ask(_CALL)
    except Unreachable as reason:
        return reason
    except Refused as reason:
        if reason.status < FAILED:
            raise
        return reason
    return None
