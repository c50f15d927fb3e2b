"""admin state: identities and other state as lines of JSON, out, in, and checked."""

import os
import sys
import tempfile
from pathlib import Path

import click

from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.errors import ClientError, Missing, Unreachable
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Failure, Record
from lakeshare.cli.remote.admin import Admin
from lakeshare.cli.remote.body import CHUNK_BYTES, Slice
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.admin.state"

state = lazy_group(
    r"""Export, import and verify identities and other state.

    Secrets in an export are sealed with the key file of the server's data directory; an import needs the same file.

    \b
    lakeshare admin state export lake state.jsonl
    lakeshare admin state verify lake
    """,
    {
        "export": (_HERE, "Write all of state to a file."),
        "import": (f"{_HERE}:import_", "Put an export in place."),
        "verify": (_HERE, "Check state as it is kept."),
    },
)


@command()
@on_server
@click.argument("file", default="-", metavar="[FILE]", type=click.Path())
def export(session: Session, target: str, file: str) -> Record | None:
    r"""Write all of state, at one moment, to a file that only you can read, or to standard output.

    \b
    lakeshare admin state export lake state.jsonl
    lakeshare admin state export lake | gzip > state.jsonl.gz
    """
    admin = session.admin(target)
    if file == "-":
        _copy(admin, sys.stdout.buffer.fileno())
        return None
    place = Path(file).expanduser()
    fresh = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            count = _copy(admin, fd)
        finally:
            os.close(fd)
        fresh.replace(place)
    except OSError as reason:
        raise ClientError(f"{file} cannot be written: {reason.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)
    return Record({"file": str(place), "bytes": count}, f"Exported {count} bytes to {place}.")


def _copy(admin: Admin, fd: int) -> int:
    """Copy the export to a file; return how long it is."""
    count = 0
    with admin.server.open(admin.call("GET", ("state", "export"))) as response:
        size = response.getheader("content-length")
        while chunk := response.read(CHUNK_BYTES):
            count += len(chunk)
            while chunk:
                chunk = chunk[os.write(fd, chunk) :]
    if size is not None and int(size) != count:
        raise Unreachable(f"the export broke off after {count} of {size} bytes", "Try again.")
    return count


@command("import")
@on_server
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--replace", is_flag=True, help="Put it in place of what is there.")
def import_(session: Session, target: str, file: str, *, replace: bool) -> Record:
    r"""Put an export in place, all of it or nothing; `-` is standard input.

    \b
    lakeshare admin state import lake state.jsonl
    lakeshare admin state import lake state.jsonl --replace
    """
    if file != "-":
        return _import(session.admin(target), str(Path(file).expanduser()), replace=replace)
    with tempfile.NamedTemporaryFile() as spool:
        while chunk := sys.stdin.buffer.read(CHUNK_BYTES):
            spool.write(chunk)
        spool.flush()
        return _import(session.admin(target), spool.name, replace=replace)


def _import(admin: Admin, path: str, *, replace: bool) -> Record:
    try:
        body = Slice(path, 0, os.stat(path).st_size)  # noqa: PTH116 - a name is all there is
    except FileNotFoundError:
        raise Missing(f"there is no file {path}") from None
    done = admin.send_body("POST", ("state", "import"), body, (("replace", "true"),) if replace else ())
    return Record(done, f"Imported {done['records']} records.")


@command()
@on_server
def verify(session: Session, target: str) -> list[Record | Failure]:
    r"""Check state as it is kept. The exit code is 1 if anything is wrong.

    \b
    lakeshare admin state verify lake
    """
    faults = session.admin(target).get("state", "verify")["faults"]
    if not faults:
        return [Record({"faults": []}, "State is sound.")]
    return [Failure(ClientError(fault), {"fault": fault}) for fault in faults]
