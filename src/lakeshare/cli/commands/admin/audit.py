"""admin audit: who did what."""

import time
from collections import deque
from collections.abc import Iterator

import click

from lakeshare.cli.commands.arguments import DURATION, on_server
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, printable
from lakeshare.cli.remote.api import Json
from lakeshare.cli.remote.server import Pairs
from lakeshare.cli.session import Session
from lakeshare.cli.units import moment, moment_text

LINES_LIMIT = 1000
"""Most events in one answer, by the admin API's limit."""
REMEMBERED = 4 * LINES_LIMIT
"""Events that are known to have been told, while following."""
POLL_SECONDS = 1.0
OVERLAP_SECONDS = 5
"""How far each question reaches back: workers write their events at their own pace."""

audit = lazy_group(
    r"""Who did what: one event for each request.

    \b
    lakeshare admin audit tail lake
    lakeshare admin audit tail lake --follow --status 403
    """,
    {"tail": ("lakeshare.cli.commands.admin.audit", "Print the newest events.")},
    {"list": "tail", "ls": "tail"},
)


@command()
@on_server
@click.option("-n", "--lines", type=click.IntRange(1, LINES_LIMIT), default=20, show_default=True, help="How many.")
@click.option("-f", "--follow", is_flag=True, help="Go on with events as they come, until Ctrl-C.")
@click.option("--access-key", default="", help="Only of this key.")
@click.option("--action", default="", help="Only of this action, such as PutObject.")
@click.option("--status", default="", help="Only with this HTTP status.")
@click.option("--error", default="", help="Only with this error.")
@click.option("--request-id", default="", help="Only this request.")
@click.option("--peer", default="", help="Only from this address.")
@click.option("--since", type=DURATION, help="Only of this last time, such as 1h.")
def tail(
    session: Session, target: str, *, lines: int, follow: bool, since: int | None, **asked: str
) -> Iterator[Record]:
    r"""Print the newest events, the newest last.

    \b
    lakeshare admin audit tail lake
    lakeshare admin audit tail lake -n 100 --since 1h --access-key ann
    lakeshare admin audit tail lake --follow --status 403
    lakeshare admin audit tail lake -f --json | jq 'select(.duration_ms > 100)'
    """
    filters: Pairs = tuple((name, value) for name, value in asked.items() if value)
    begun = int(time.time())
    started: Pairs = (("since", str(begun - since)),) if since is not None else ()
    admin = session.admin(target)
    told: deque[str] = deque(maxlen=REMEMBERED)
    events = admin.get("audit", query=(*filters, *started, ("limit", str(lines))))["events"]
    while True:
        for event in reversed(events):
            if event["request_id"] not in told:
                told.append(event["request_id"])
                yield Record(event, _line(event))
        if not follow:
            return
        time.sleep(POLL_SECONDS)
        after = (("since", str(max(begun, int(time.time())) - OVERLAP_SECONDS)), ("limit", str(LINES_LIMIT)))
        events = admin.get("audit", query=(*filters, *after))["events"]


def _line(event: Json) -> str:
    status = event["status"]
    told = [
        moment_text(moment(event["time"])),
        click.style(str(status), fg="red" if status >= 400 else "green"),
        f"{event['duration_ms']:.0f}ms",
        event["peer"],
        event["access_key"] or "-",
        event["action"] or "-",
        *event["resources"],
        event.get("error", ""),
    ]
    return "  ".join(text if text.startswith("\x1b") else printable(text) for text in told if text)
