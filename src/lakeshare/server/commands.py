"""The commands that work on a data directory: server, fsck, backup, restore."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import Field, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from lakeshare.identity.root import FILE_NAME, Origin, RootCredentials, load_root
from lakeshare.server import archive
from lakeshare.server.app import App, Shared
from lakeshare.server.jobs import jobs_of
from lakeshare.server.live import LiveSettings
from lakeshare.server.maintenance import maintenance_job
from lakeshare.server.occupancy import in_use
from lakeshare.server.workers import Ready, run
from lakeshare.settings import Secret, Settings, default_of, env_names, flag_name, sources_of
from lakeshare.storage.local.backup import BackupReport
from lakeshare.storage.local.check.report import CheckReport, Progress, silent
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import prepare
from lakeshare.telemetry.log import configure

if TYPE_CHECKING:
    from rich.progress import TaskID

Command = Callable[..., Any]


def setting_options(command: Command) -> Command:
    """Give a command a flag for every setting."""
    for item in reversed(fields(Settings)):
        command = _option(item)(command)
    return command


def _option(item: "Field[Any]") -> Callable[[Command], Command]:
    default, names = default_of(item), ", ".join(env_names(item))
    shown = "" if isinstance(default, Secret) or default in ("", ()) else f" Default: {_shown(default)}."
    help_text = f"{item.metadata['help']}{shown} [{names}]"
    if isinstance(default, bool):
        return click.option(
            flag_name(item), item.name, metavar="BOOL", help=help_text, is_flag=False, flag_value="true"
        )
    return click.option(flag_name(item), item.name, metavar="VALUE", help=help_text)


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@setting_options
def server(directory: Path, **flags: str | None) -> None:
    r"""Serve the data DIRECTORY, making it if it is not there.

    \b
    lakeshare server ./data
    lakeshare server ./data --address :9000 --workers 4
    lakeshare server ./data --tls-cert cert.pem --tls-key key.pem
    """
    settings = Settings.read(os.environ, flags)
    configure(settings)
    root = directory.resolve()
    prepare(root)
    credentials = load_root(root, settings)
    for warning in credentials.warnings:
        click.secho(f"warning: {warning}", fg="yellow", err=True)
    _show_made(root, credentials)
    sources, shared = sources_of(os.environ, flags), Shared.of(settings)
    app = App(root, settings, credentials, sources, shared)
    swept = jobs_of(root, LiveSettings(root, settings, sources, shared.bell))
    jobs = (*swept, maintenance_job(root, settings, credentials, shared.throttle))
    with in_use(root):
        raise SystemExit(run(settings, app, jobs, lambda ready: _greet(ready, root)))


def _greet(ready: Ready, root: Path) -> None:
    url = f"{'https' if ready.tls else 'http'}://{ready.address}"
    click.echo(f"Lakeshare serves {root} at {url} with {ready.workers} workers.")


def _show_made(root: Path, credentials: RootCredentials) -> None:
    """Show root credentials that this start made, before anything answers: whoever finds the server up has them."""
    if credentials.origin is Origin.CREATED:
        click.echo("A root identity was made. This is shown once:")
        click.echo(f"  access key: {credentials.access_key}\n  secret key: {credentials.secret.reveal()}")
        click.echo(f"It is kept in {root / FILE_NAME}, which only you can read.")


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--deep", is_flag=True, help="Read every payload and compare its checksum.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def fsck(directory: Path, *, deep: bool, as_json: bool) -> None:
    r"""Check the data DIRECTORY, while it is served or not. Exits with 1 if anything is wrong.

    \b
    lakeshare fsck ./data
    lakeshare fsck ./data --deep
    """
    with progress_bar(shown=not as_json) as progress:
        report = check(directory, deep=deep, progress=progress)
    if as_json:
        click.echo(orjson.dumps(_report(report)).decode())
    else:
        _print_report(report)
    raise SystemExit(0 if report.clean else 1)


def _report(report: CheckReport) -> dict[str, Any]:
    return {
        "clean": report.clean,
        "versions": report.versions,
        "blobs": report.blobs,
        "inline": report.inline,
        "bytes_read": report.bytes_read,
        "in_flight": report.in_flight,
        "counts": {kind.value: count for kind, count in report.counts.items()},
        "problems": [
            {"kind": item.kind.value, "subject": item.subject, "detail": item.detail} for item in report.problems
        ],
        "affected": report.affected,
    }


def _print_report(report: CheckReport) -> None:
    click.echo(f"{report.versions} versions, {report.blobs} blobs, {report.inline} small objects looked at.")
    for item in report.problems:
        click.echo(f"{item.kind.value}: {item.subject}: {item.detail}")
    for label in report.affected:
        click.echo(f"lost content: {label}")
    click.echo(
        "Nothing is wrong."
        if report.clean
        else f"{sum(report.counts.values())} problems; orphans are removed by the server."
    )


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@click.option("--hard-links", is_flag=True, help="Share blobs with DIRECTORY where both lie on one file system.")
@click.option(
    "--without-keys", is_flag=True, help="Leave out the key file and the root credentials; keep them elsewhere."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def backup(directory: Path, target: Path, *, hard_links: bool, without_keys: bool, as_json: bool) -> None:
    r"""Copy the data DIRECTORY, which may be in use, into TARGET: one consistent moment.

    \b
    lakeshare backup ./data /mnt/backup
    lakeshare backup ./data /mnt/backup        again: only what is new is copied
    """
    with in_use(directory), progress_bar(shown=not as_json) as progress:
        report = archive.backup(
            directory.resolve(), target.resolve(), progress, hard_links=hard_links, keys=not without_keys
        )
    _print_carried(report, as_json=as_json)


@click.command()
@click.argument("source", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def restore(source: Path, directory: Path, *, as_json: bool) -> None:
    r"""Make the data DIRECTORY, which must be new or empty, from the backup in SOURCE.

    \b
    lakeshare restore /mnt/backup ./data
    """
    with progress_bar(shown=not as_json) as progress:
        report = archive.restore(source.resolve(), directory.resolve(), progress)
    _print_carried(report, as_json=as_json)


def _print_carried(report: BackupReport, *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(asdict(report)).decode())
        return
    click.echo(f"{report.blobs} blobs, {report.kept} of them there already, {report.bytes_copied} bytes copied.")


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[Progress]:
    """Show a bar for each phase on a terminal; elsewhere nothing."""
    if not shown or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import, and only a terminal needs it
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show
