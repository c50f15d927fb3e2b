"""The commands that work on a data directory: server, fsck, backup, restore."""

import os
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from lakeshare.identity.root import FILE_NAME, Origin, RootCredentials, load_root
from lakeshare.identity.throttle import Throttle
from lakeshare.server.app import App
from lakeshare.server.jobs import jobs_of
from lakeshare.server.workers import Ready, run
from lakeshare.settings import Secret, Settings, default_of, env_names, flag_name
from lakeshare.storage.local.layout import prepare
from lakeshare.telemetry.log import configure

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
    app = App(root, settings, credentials, Throttle.in_memory(settings.auth_failure_rate))
    raise SystemExit(run(settings, app, jobs_of(root, settings), lambda ready: _greet(ready, root, credentials)))


def _greet(ready: Ready, root: Path, credentials: RootCredentials) -> None:
    url = f"{'https' if ready.tls else 'http'}://{ready.address}"
    click.echo(f"Lakeshare serves {root} at {url} with {ready.workers} workers.")
    if credentials.origin is Origin.CREATED:
        click.echo("A root identity was made. This is shown once:")
        click.echo(f"  access key: {credentials.access_key}\n  secret key: {credentials.secret.reveal()}")
        click.echo(f"It is kept in {root / FILE_NAME}, which only you can read.")
