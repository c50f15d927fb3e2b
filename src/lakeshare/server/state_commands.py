"""`lakeshare state`: export, import and verify the small facts of a data directory; change the key of its secrets."""

import asyncio
import shutil
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import click
import orjson

from lakeshare.admin.operations.state import check_secrets
from lakeshare.identity import vault
from lakeshare.server.occupancy import alone, in_use
from lakeshare.server.opened import open_state
from lakeshare.server.rotation import Rotation, rotate
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
    lakeshare state rotate-key ./data
    """


@state.command("export", short_help="Write all of state to a file.")
@click.argument("directory", type=_FOLDER)
@click.argument("target", type=click.File("wb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON, to standard error.")
def export_command(directory: Path, target: BinaryIO, *, as_json: bool) -> None:
    """Write all of state as of one moment to TARGET, while the directory is served or not.

    \b
    lakeshare state export ./data state.jsonl
    """
    _tell("exported", asyncio.run(_export(directory, target)), as_json=as_json)


@state.command("import", short_help="Put an export in place of what is there.")
@click.argument("directory", type=_FOLDER)
@click.argument("source", type=click.File("rb"), default="-")
@click.option("--replace", is_flag=True, help="Put the export in place of what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was read as JSON, to standard error.")
def import_command(directory: Path, source: BinaryIO, *, replace: bool, as_json: bool) -> None:
    """Put an export in place of a directory's state: all of it, or nothing when any of it is wrong.

    Its secrets must open with the directory's secrets.key: bring along the key file of the directory it came from.

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


@state.command("rotate-key")
@click.argument("directory", type=_FOLDER)
@click.option(
    "--keep-older", is_flag=True, help="Leave the older keys in the file: exports made before open with them."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def rotate_key_command(directory: Path, *, keep_older: bool, as_json: bool) -> None:
    """Seal all secrets of a directory with a new key. The server must be stopped.

    Nothing is lost if this is cut short: run it again to finish. Backups and exports keep needing the key file of their
    time.

    \b
    lakeshare state rotate-key ./data
    """
    with alone(directory):
        done = asyncio.run(rotate(existing(directory).root, keep_older=keep_older))
    click.echo(orjson.dumps({"status": "rotated", **asdict(done)}).decode() if as_json else _rotated(done))


def _rotated(done: Rotation) -> str:
    how = "A rotation that was cut short is finished" if done.resumed else "The key file has a new key"
    return (
        f"{how}. Sealed anew: {_counted(done.secrets, 'secret')}. Removed: {_counted(done.keys_removed, 'older key')}."
    )


async def _export(directory: Path, target: BinaryIO) -> Summary:
    opened = open_state(existing(directory).root)
    try:
        return await export_state(opened, target)
    finally:
        await opened.close()


async def _import(directory: Path, source: BinaryIO, *, replace: bool) -> Summary:
    root = existing(directory).root
    with in_use(root), TemporaryFile() as file:
        shutil.copyfileobj(source, file)
        check_secrets(file, vault.Vault.load(root / vault.FILE_NAME))
        file.seek(0)
        opened = open_state(root)
        try:
            return await import_state(opened, file, replace=replace)
        finally:
            await opened.close()


def _tell(done: str, summary: Summary, *, as_json: bool) -> None:
    shown = orjson.dumps({"status": done, **asdict(summary)}).decode()
    records, receipts = _counted(summary.records, "record"), _counted(summary.receipts, "receipt")
    text = f"{done.capitalize()}: {records} and {receipts}, as of generation {summary.generation}."
    click.echo(shown if as_json else text, err=True)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
