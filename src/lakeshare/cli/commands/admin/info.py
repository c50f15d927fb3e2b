"""admin info and whoami: the server, and who asks it."""

from lakeshare.cli.commands.admin.told import at, names
from lakeshare.cli.commands.arguments import on_server
from lakeshare.cli.errors import DENIED, Refused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record, pairs
from lakeshare.cli.remote.admin import Admin
from lakeshare.cli.remote.api import Json
from lakeshare.cli.session import Session
from lakeshare.cli.units import duration_text, size_text


@command()
@on_server
def info(session: Session, target: str) -> Record:
    r"""Show a server: version, uptime, workers, disk and what its buckets hold.

    \b
    lakeshare admin info lake
    lakeshare admin info lake --json | jq .storage.free_bytes
    """
    admin = session.admin(target)
    found, used = admin.get("info"), _usage(admin)
    disk = found["storage"]
    rows = [
        ("Server", f"{admin.server.alias.url}  (Lakeshare {found['version']})"),
        ("Deployment", found["deployment_id"]),
        ("Uptime", duration_text(found["uptime_seconds"])),
        ("Workers", str(found["workers"])),
        ("Region", found["region"]),
        ("Disk", f"{size_text(disk['free_bytes'], ' ')} free of {size_text(disk['total_bytes'], ' ')}"),
        ("Watermark", f"writes stop below {size_text(disk['watermark_bytes'], ' ')} free"),
    ]
    if used:
        counts = f"{_counted(len(used['buckets']), 'bucket')}, {_counted(used['objects'], 'object')}"
        rows.append(("Usage", f"{counts}, {size_text(used['bytes'], ' ')}"))
    return Record({**found, **({"usage": used} if used else {})}, pairs("", rows))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _usage(admin: Admin) -> Json:
    """Return what is used; nothing where the key may not know."""
    try:
        return admin.get("usage")
    except Refused as error:
        if error.exit_code == DENIED:
            return {}
        raise


@command()
@on_server
def whoami(session: Session, target: str) -> Record:
    r"""Say whose key an alias has, and which policies count for it.

    \b
    lakeshare admin whoami lake
    """
    one = session.admin(target).get("account")
    rows = [
        ("AccessKey", one["access_key"]),
        ("Kind", one["kind"]),
        ("User", one["user"] or ("root" if one.get("root") else "")),
        ("Groups", names(one["groups"])),
        ("Policies", "everything is allowed" if one.get("root") and not one.get("limited") else names(one["policies"])),
    ]
    if one.get("limited"):
        rows.append(("Limited", "a policy of the key or session narrows what the user may"))
    if one.get("expires_at"):
        rows.append(("Expires", at(one["expires_at"])))
    return Record(one, pairs("", rows))
