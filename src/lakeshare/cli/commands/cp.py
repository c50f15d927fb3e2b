"""cp and mv: files and objects, from here to a server, back, and between servers."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from lakeshare.cli.commands.arguments import DURATION, PLACE, object_headers, written_headers
from lakeshare.cli.errors import ClientError, Interrupted
from lakeshare.cli.flags import command
from lakeshare.cli.output import Failure, Record, printable
from lakeshare.cli.places import Local, Place, Remote
from lakeshare.cli.session import Session
from lakeshare.cli.transfer.crew import FILES_AT_ONCE, Crew, Manner
from lakeshare.cli.transfer.items import Ages, Transfer
from lakeshare.cli.transfer.plan import Selection, plan
from lakeshare.cli.transfer.progress import Bar, bar_for
from lakeshare.cli.units import size_text

recursive = click.option("-r", "--recursive", is_flag=True, help="Take what is in a folder.")
parallel = click.option(
    "--parallel", type=click.IntRange(1, 64), default=FILES_AT_ONCE, show_default=True, help="Files moved at once."
)
older = click.option("--older-than", "--older", type=DURATION, help="Only what is older, such as 7d10h.")
newer = click.option("--newer-than", "--newer", type=DURATION, help="Only what is newer, such as 24h.")


@command()
@click.argument("sources", nargs=-1, required=True, type=PLACE, metavar="SOURCE...")
@click.argument("target", type=PLACE)
@recursive
@older
@newer
@object_headers
@click.option("--version-id", "--vid", default="", help="Copy this version of an object.")
@click.option("--continue", "-c", "resume", is_flag=True, help="Go on with an upload that was broken off.")
@click.option("--disable-multipart", is_flag=True, help="Send each file in one request, up to 5 GiB.")
@parallel
def cp(
    session: Session,
    sources: tuple[str, ...],
    target: str,
    *,
    recursive: bool,
    older_than: int | None,
    newer_than: int | None,
    version_id: str,
    resume: bool,
    disable_multipart: bool,
    parallel: int,
    **written: str,
) -> Iterator[Record | Failure]:
    r"""Copy files and objects.

    A place is ALIAS/BUCKET/KEY, or a path on this machine. With --recursive, what is in a folder goes below TARGET;
    of several folders each keeps its name, unless it is written with a slash at its end.

    \b
    lakeshare cp report.csv lake/bucket/reports/
    lakeshare cp lake/bucket/reports/report.csv .
    lakeshare cp --recursive ~/tpch lake/testdelta/tpch
    lakeshare cp --recursive lake/testdelta/tpch ./tpch
    lakeshare cp -r lake/bucket/2025/ other/archive/2025/
    lakeshare cp --attr "Cache-Control=no-cache;team=sales" page.html lake/web/
    lakeshare cp --continue disk.img lake/backup/
    """
    places, aim = [session.place(source) for source in sources], session.place(target)
    manner = Manner(written_headers(**written), multipart=not disable_multipart, resume=resume, version=version_id)
    ages = Ages(datetime.now(UTC), older_than, newer_than)
    planned = plan(session, places, aim, Selection(recursive, ages, version_id))
    with bar_for(session.output) as bar, Crew(session, bar, manner, parallel) as crew:
        yield from moved_records(crew.run(planned), bar, "copied")


@command()
@click.argument("sources", nargs=-1, required=True, type=PLACE, metavar="SOURCE...")
@click.argument("target", type=PLACE)
@recursive
@older
@newer
@object_headers
@parallel
def mv(
    session: Session,
    sources: tuple[str, ...],
    target: str,
    *,
    recursive: bool,
    older_than: int | None,
    newer_than: int | None,
    parallel: int,
    **written: str,
) -> Iterator[Record | Failure]:
    r"""Move files and objects: copy each, and remove it where it was once the copy is there.

    \b
    lakeshare mv report.csv lake/bucket/reports/
    lakeshare mv lake/bucket/a.csv lake/bucket/b.csv
    lakeshare mv --recursive lake/bucket/inbox/ lake/bucket/done/
    """
    places, aim = [session.place(source) for source in sources], session.place(target)
    ages = Ages(datetime.now(UTC), older_than, newer_than)
    planned = plan(session, places, aim, Selection(recursive, ages))
    with bar_for(session.output) as bar, Crew(session, bar, Manner(written_headers(**written)), parallel) as crew:
        yield from moved_records(_then_removed(session, crew.run(planned)), bar, "moved")


def _then_removed(session: Session, done: Iterator[Transfer | Failure]) -> Iterator[Transfer | Failure]:
    for transfer in done:
        yield transfer if isinstance(transfer, Failure) else _removed(session, transfer)


def _removed(session: Session, transfer: Transfer) -> Transfer | Failure:
    source: Place = transfer.item.place
    try:
        match source:
            case Remote():
                session.store(source.alias).delete(source.bucket, source.key)
            case Local():
                _unlink(source)
    except ClientError as error:
        return Failure(error, transfer.facts)
    return transfer


def _unlink(source: Local) -> None:
    try:
        os.unlink(source.path)  # noqa: PTH108 - as typed
    except OSError as reason:
        raise ClientError(f"{source.path} was copied, and cannot be removed: {reason.strerror}") from None


def moved_records(done: Iterator[Transfer | Failure], bar: Bar, verb: str) -> Iterator[Record | Failure]:
    """Tell of each transfer when it is done, and of all of them at the end."""
    began, count, size = time.monotonic(), 0, 0
    for transfer in done:
        if isinstance(transfer, Failure):
            if isinstance(transfer.error, Interrupted):
                raise transfer.error
            yield transfer
            continue
        count, size = count + 1, size + transfer.item.size
        text = f"`{printable(transfer.item.place.text)}` -> `{printable(transfer.target.text)}`"
        yield Record(transfer.facts, text, detail=True)
    if not bar.planned_count:
        return
    seconds = max(time.monotonic() - began, 1e-6)
    facts = {"total": bar.planned_bytes, "transferred": size, "count": count, "seconds": round(seconds, 3)}
    rate = size_text(size / seconds, " ")
    yield Record(facts, f"{count} {verb}, {size_text(size, ' ')} in {seconds:.1f} s, {rate}/s")
