"""What a shell offers after a tab: aliases, buckets and prefixes. One quick question to a server, or nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from lakeshare.cli.flags import session_of
from lakeshare.cli.session import Session
from lakeshare.errors import LakeshareError

PATIENCE_SECONDS = 2
"""How long a server may take: somebody waits at a prompt."""
OFFER_LIMIT = 200
"""Most names offered at once."""


class _TooSlow(Exception):
    """The server took too long."""


def places(ctx: click.Context, incomplete: str, *, local: bool, levels: int) -> list[CompletionItem]:
    """Return what a place may go on as."""
    session = session_of(ctx)
    try:
        with _patience():
            names = list(islice(_names(session, incomplete, levels), OFFER_LIMIT))
    except (LakeshareError, _TooSlow):
        names = []
    offers = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*offers, CompletionItem(incomplete, type="file")] if local else offers


def _names(session: Session, incomplete: str, levels: int) -> Iterator[str]:
    alias, slash, rest = incomplete.partition("/")
    if not slash:
        yield from (name + "/" if levels > 1 else name for name in sorted(session.aliases))
        return
    if alias not in session.aliases or levels == 1:
        return
    store = session.store(alias)
    bucket, slash, prefix = rest.partition("/")
    if not slash:
        yield from (f"{alias}/{found.name}{'/' if levels > 2 else ''}" for found in store.buckets())
    elif levels > 2:
        yield from (
            f"{alias}/{bucket}/{found.key}" for found in store.listing.objects(bucket, prefix, "/", OFFER_LIMIT)
        )


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
