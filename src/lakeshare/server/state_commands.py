"""`lakeshare state`: export, import and verify the small facts of a data directory."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import click
import orjson

from lakeshare.server.opened import open_state
from lakeshare.state.export import Summary, export_state, import_state, verify_export
from lakeshare.storage.local.layout import existing

_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.group()
def state() -> None:
    """Export, import and verify the small facts of a data directory: identities, shares, settings.

    \b
    lakeshare state export ./data state.jsonl
    lakeshare state verify state.jsonl
    lakeshare state import ./data state.jsonl --replace
    """


@state.command("export")
@click.argument("directory", type=_FOLDER)
@click.argument("target", type=click.File("wb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON, to standard error.")
def export_command(directory: Path, target: BinaryIO, *, as_json: bool) -> None:
    """Write all of state as of one moment to TARGET, while the directory is served or not.

    \b
    lakeshare state export ./data state.jsonl
    """
    _tell("exported", asyncio.run(_export(directory, target)), as_json=as_json)


@state.command("import")
@click.argument("directory", type=_FOLDER)
@click.argument("source", type=click.File("rb"), default="-")
@click.option("--replace", is_flag=True, help="Put the export in place of what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was read as JSON, to standard error.")
def import_command(directory: Path, source: BinaryIO, *, replace: bool, as_json: bool) -> None:
    """Put an export in place of a directory's state: all of it, or nothing when any of it is wrong.

    \b
    lakeshare state import ./data state.jsonl
    """
    _tell("imported", asyncio.run(_import(directory, source, replace=replace)), as_json=as_json)


@state.command("verify")
@click.argument("source", type=click.File("rb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print what was read as JSON, to standard error.")
def verify_command(source: BinaryIO, *, as_json: bool) -> None:
    """Read an export to its end and check all of it.

    \b
    lakeshare state verify state.jsonl
    """
    _tell("sound", verify_export(source), as_json=as_json)


async def _export(directory: Path, target: BinaryIO) -> Summary:
    opened = open_state(existing(directory).root)
    try:
        return await export_state(opened, target)
    finally:
        await opened.close()


async def _import(directory: Path, source: BinaryIO, *, replace: bool) -> Summary:
    opened = open_state(existing(directory).root)
    try:
        return await import_state(opened, source, replace=replace)
    finally:
        await opened.close()


def _tell(done: str, summary: Summary, *, as_json: bool) -> None:
    counts = asdict(summary)
    shown = orjson.dumps({"status": done, **counts}).decode()
    click.echo(shown if as_json else f"{done}: " + ", ".join(f"{n} {name}" for name, n in counts.items()), err=True)
