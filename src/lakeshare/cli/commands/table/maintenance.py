"""table maintenance: what a server does for tables without their writers."""

import time
from collections.abc import Iterator
from typing import Any

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table.places import Spot, any_of, catalog_of, entry_of, namespace_of
from lakeshare.cli.commands.table.shown import Json, when
from lakeshare.cli.errors import ClientError, Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record, pairs, printable, table
from lakeshare.cli.remote.catalog import joined
from lakeshare.cli.session import Session
from lakeshare.cli.units import size_text

_HERE = "lakeshare.cli.commands.table.maintenance"
SNAPSHOTS, UNREFERENCED, COMPACTION = (
    "icebergSnapshotManagement",
    "icebergUnreferencedFileRemoval",
    "icebergCompaction",
)
TYPES = {"snapshots": SNAPSHOTS, "unreferenced": UNREFERENCED}
"""What each activity is called for short."""
WAIT_SECONDS = 3_600
LOOK_SECONDS = 1.0

maintenance = lazy_group(
    r"""What a server does for tables without their writers: old snapshots, and files that nothing refers to.

    \b
    lakeshare table maintenance set lake/analytics --type snapshots --max-age-hours 240 --min-snapshots 5
    lakeshare table maintenance run lake/analytics/sales/orders --type snapshots --dry-run
    lakeshare table maintenance report lake/analytics/sales/orders
    """,
    {
        "info": (_HERE, "Show what is done for a table, and who chose it."),
        "set": (f"{_HERE}:set_", "Choose what is done, for a table or all below a place."),
        "update": (_HERE, "Change some of what was chosen."),
        "remove": (_HERE, "Leave a choice to the place above."),
        "status": (_HERE, "Say how the last runs ended."),
        "run": (_HERE, "Run it now, or with --dry-run say what would go."),
        "report": (_HERE, "Say what of a table needs compaction."),
        "jobs": (_HERE, "List what the server has still to do."),
    },
)

words = click.argument("words", metavar="ALIAS[/WAREHOUSE[/NAMESPACE/TABLE]]", nargs=-1, required=True, type=BUCKET)
table_words = click.argument("words", metavar="ALIAS WAREHOUSE NAMESPACE TABLE", nargs=-1, required=True, type=BUCKET)
_space = click.option("--namespace", is_flag=True, help="What is named is a namespace, not a table.")


def _type(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Read a type by its short name or the one that S3 Tables gives it."""
    del ctx, param
    if value is None:
        return None
    if value in (COMPACTION, "compaction"):
        raise Misused(
            "compaction is the work of the pipeline",
            "`lakeshare table maintenance report` says which tables need it.",
        )
    found = TYPES.get(value, value)
    if found not in TYPES.values():
        raise Misused(f"there is no maintenance of type {value!r}", f"Write --type {' or --type '.join(TYPES)}.")
    return found


_activity = click.option(
    "--type", "activity", required=True, metavar="TYPE", callback=_type, help="snapshots or unreferenced."
)


def _not_offered(said: str, next_step: str) -> Any:
    """Return what refuses a flag of AIStor's that has no meaning here, and says why."""

    def refuse(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
        del ctx
        if value is not None:
            raise Misused(f"{param.opts[0]} {said}", next_step)

    return refuse


_flags = (
    click.option("--max-age-hours", type=click.IntRange(1), help="Age from which a snapshot may go."),
    click.option("--min-snapshots", type=click.IntRange(1), help="Snapshots of a branch that stay however old."),
    click.option("--unreferenced-days", type=click.IntRange(1), help="Age from which an unreferenced file goes."),
    click.option("--interval", type=click.IntRange(5), metavar="MINUTES", help="Time between two runs."),
    click.option("--status", type=click.Choice(["enabled", "disabled"]), default=None, help="Whether it is done."),
    click.option("--noncurrent-days", type=int, hidden=True, expose_value=False, callback=_not_offered(
        "means nothing here: an unreferenced file that is removed is gone, in any version", "Use --unreferenced-days.",
    )),
    click.option("--target-file-size-mb", type=int, hidden=True, expose_value=False, callback=_not_offered(
        "belongs to compaction, the work of the pipeline", "`lakeshare table maintenance report` says who needs it.",
    )),
)  # fmt: skip
_SETTINGS = {
    "max_age_hours": (SNAPSHOTS, "maxSnapshotAgeHours"),
    "min_snapshots": (SNAPSHOTS, "minSnapshotsToKeep"),
    "unreferenced_days": (UNREFERENCED, "unreferencedDays"),
}


def _choices(function: Any) -> Any:
    for option in reversed((_activity, *_flags, _space)):
        function = option(function)
    return function


@command()
@words
@_space
def info(session: Session, words: tuple[str, ...], *, namespace: bool) -> Iterator[Record]:
    r"""Show what is done for a table, or for all below a place, and where each choice comes from.

    \b
    lakeshare table maintenance info lake/analytics/sales/orders
    lakeshare table maintenance info lake analytics
    lakeshare table maintenance info lake/analytics/sales --namespace
    """
    spot = _spot(session, words, namespace=namespace)
    answer = spot.catalog.get(*_path(spot))
    found = answer["configuration"]
    rows = [row for activity in found for row in _rows(activity, found[activity])]
    rows += [_property_row(name, value) for name, value in answer.get("table-properties", {}).items()]
    return table(("Type", "Setting", "Value", "From"), rows)


@command("set")
@words
@_choices
def set_(session: Session, words: tuple[str, ...], *, activity: str, namespace: bool, **given: Any) -> Record:
    r"""Choose what is done for a table, or for all below a warehouse, a namespace or the server. It is then enabled.

    \b
    lakeshare table maintenance set lake/analytics --type snapshots --max-age-hours 240 --min-snapshots 5
    lakeshare table maintenance set lake/analytics/sales/orders --type unreferenced --unreferenced-days 7
    lakeshare table maintenance set lake --type snapshots --status disabled
    """
    spot = _spot(session, words, namespace=namespace)
    value = {"status": given.pop("status") or "enabled", "settings": {activity: _settings(activity, given)}}
    return _put(spot, activity, value)


@command()
@words
@_choices
def update(session: Session, words: tuple[str, ...], *, activity: str, namespace: bool, **given: Any) -> Record:
    r"""Change some of what was chosen at a place; the rest stays.

    \b
    lakeshare table maintenance update lake/analytics --type snapshots --status disabled
    lakeshare table maintenance update lake/analytics/sales/orders --type snapshots --min-snapshots 20
    """
    spot = _spot(session, words, namespace=namespace)
    if all(value is None for value in given.values()):
        raise Misused("there is nothing to change", f"Say {_flags_of(activity)}, --interval or --status.")
    own = spot.catalog.get(*_path(spot), query=(("own", "true"),))["configuration"][activity]
    status = given.pop("status") or own["status"]
    settings = {**own["settings"][activity], **_settings(activity, given)}
    return _put(spot, activity, {"status": status, "settings": {activity: settings}})


@command()
@words
@_activity
@_space
def remove(session: Session, words: tuple[str, ...], *, activity: str, namespace: bool) -> Record:
    r"""Leave a choice to the place above again.

    \b
    lakeshare table maintenance remove lake/analytics/sales/orders --type snapshots
    """
    spot = _spot(session, words, namespace=namespace)
    spot.catalog.send("DELETE", *_path(spot), activity)
    return Record({"type": activity, "place": spot.text}, f"{spot.text} has no choice about {activity} of its own.")


@command()
@table_words
def status(session: Session, words: tuple[str, ...]) -> Iterator[Record]:
    r"""Say how the last runs for a table ended, and what they removed.

    \b
    lakeshare table maintenance status lake/analytics/sales/orders
    """
    spot = entry_of(session, words)
    found = spot.catalog.get(*_path(spot), "status")["status"]
    rows = ((_status_cells(name, each), _job_facts(name, each)) for name, each in found.items())
    return table(("Type", "Status", "Last run", "Removed", "Failure"), rows)


@command()
@table_words
@_activity
@click.option("--dry-run", is_flag=True, help="Remove nothing, and say what would go.")
@click.option("--wait", is_flag=True, help="Wait until it has ended.")
def run(session: Session, words: tuple[str, ...], *, activity: str, dry_run: bool, wait: bool) -> Record:
    r"""Run it for one table now, whatever is chosen; the server does it by itself.

    \b
    lakeshare table maintenance run lake/analytics/sales/orders --type snapshots --dry-run
    lakeshare table maintenance run lake/analytics/sales/orders --type unreferenced --wait
    """
    spot = entry_of(session, words)
    done = spot.catalog.send("POST", *_path(spot), activity, "run", body={"dry-run": dry_run})
    if dry_run:
        return Record(done, _would(done))
    if wait:
        return _waited(session, spot, activity)
    return Record(done, f"The server will do it. See: lakeshare table maintenance status {spot.text}")


@command()
@table_words
def report(session: Session, words: tuple[str, ...]) -> Record:
    r"""Say what of a table needs compaction: small files, delete files, manifests.

    \b
    lakeshare table maintenance report lake/analytics/sales/orders
    lakeshare table maintenance report lake/analytics/sales/orders --json | jq -r '.advice[]'
    """
    spot = entry_of(session, words)
    found = spot.catalog.get(*_path(spot), "report")
    rows = [
        ("Rows", f"{found['records']}, of which {found['deleted-records']} are deleted by position"),
        ("Data files", f"{found['data-files']}, {size_text(found['data-bytes'])}"),
        ("Small files", f"{found['small-files']}, {size_text(found['small-bytes'])}"),
        ("Delete files", f"{found['position-delete-files']} by position, {found['equality-delete-files']} by equality"),
        ("Manifests", f"{found['manifests']}, of which {found['small-manifests']} are small"),
        ("Snapshots", f"{found['snapshots']}, of which {found['expirable-snapshots']} have had their time"),
    ]
    advice = [f"  {line}" for line in found["advice"]] or ["  nothing"]
    return Record(found, "\n".join([pairs(f"Table: {printable(spot.text)}", rows), "", "To do:", *advice]))


@command()
@click.argument("words", metavar="ALIAS", nargs=-1, required=True, type=BUCKET)
def jobs(session: Session, words: tuple[str, ...]) -> Iterator[Record]:
    r"""List what the server has still to do: what drops left, and runs that are due.

    \b
    lakeshare table maintenance jobs lake
    """
    spot = catalog_of(session, words)
    found = spot.catalog.get("maintenance", "jobs")["jobs"]
    rows = ((_job_cells(each), each) for each in found)
    return table(("Kind", "Warehouse", "Table", "Asked", "By", "Attempts", "Failure"), rows)


def _job_cells(found: Json) -> tuple[str, ...]:
    asked = when(found["asked-at-ms"]), found["asked-by"], str(found["attempts"])
    return found["kind"], found["warehouse"], found["table"], *asked, found["failure"]


def _spot(session: Session, words: tuple[str, ...], *, namespace: bool) -> Spot:
    return namespace_of(session, words) if namespace else any_of(session, words)


def _path(spot: Spot) -> tuple[str, ...]:
    """Return the path of a place's maintenance: of the server, a warehouse, a namespace or a table."""
    parts = ["warehouses", spot.warehouse] if spot.warehouse else []
    parts += ["namespaces", joined(spot.namespace)] if spot.namespace else []
    parts += ["tables", spot.name] if spot.name else []
    return (*parts, "maintenance")


def _settings(activity: str, given: Json) -> Json:
    found: Json = {}
    interval = given.pop("interval", None)
    for flag, value in given.items():
        wanted, name = _SETTINGS[flag]
        if value is not None and wanted != activity:
            said = f"--{flag.replace('_', '-')} is no setting of {activity}"
            raise Misused(said, f"It has {_flags_of(activity)}, --interval and --status.")
        if value is not None:
            found[name] = value
    return found | ({"intervalMinutes": interval} if interval else {})


def _flags_of(activity: str) -> str:
    return ", ".join(f"--{flag.replace('_', '-')}" for flag, (wanted, _) in _SETTINGS.items() if wanted == activity)


def _put(spot: Spot, activity: str, value: Json) -> Record:
    spot.catalog.send("PUT", *_path(spot), activity, body={"value": value})
    said = f"{activity} is {value['status']} for {spot.text}."
    if not value["status"]:
        said = f"{activity} is changed for {spot.text}; whether it is done is left to the place above."
    return Record({"type": activity, "place": spot.text, "value": value}, said)


def _rows(activity: str, found: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    values = {"status": found["status"], **found["settings"][activity]}
    for name, value in values.items():
        source = found["sources"].get(name, "")
        facts = {"type": activity, "setting": name, "value": value, "from": source}
        yield (activity, name, str(value), source), facts


def _property_row(name: str, value: str) -> tuple[tuple[str, ...], Json]:
    """Lay out a property of the table, which counts before what is chosen anywhere."""
    facts = {"type": "property", "setting": name, "value": value, "from": "table"}
    return ("property", name, printable(value), "table"), facts


def _job_facts(name: str, found: Json) -> Json:
    """Return how an activity stands, as programs are told; `status` is how the command itself went."""
    return {"type": name, "job-status": found["status"], **{key: found[key] for key in found if key != "status"}}


def _status_cells(name: str, found: Json) -> tuple[str, ...]:
    word = "Due" if found["due"] else found["status"]
    return (
        name,
        word,
        found.get("lastRunTimestamp", "never"),
        _removed(found.get("removed", {})),
        found.get("attemptFailureMessage") or found.get("failureMessage", ""),
    )


def _removed(tally: Json) -> str:
    counts = {name: count for name, count in tally.items() if count and name not in ("bytes", "outside")}
    parts = [f"{count} {name.replace('_', ' ')}" for name, count in counts.items()]
    size = [size_text(tally["bytes"])] if tally.get("bytes") else []
    left = f" ({tally['outside']} files outside of the location stay)" if tally.get("outside") else ""
    return (", ".join([*parts, *size]) or "nothing") + left


def _would(done: Json) -> str:
    lines = [f"It would remove {_removed(done['removed'])}."]
    if done["snapshot-ids"]:
        lines.append("Snapshots: " + ", ".join(map(str, done["snapshot-ids"])))
    if done["refs"]:
        lines.append("References: " + ", ".join(map(printable, done["refs"])))
    lines += [f"  {printable(uri)}" for uri in done["files"]]
    if done["files-cut"]:
        lines.append("  and more")
    return "\n".join(lines)


def _waited(session: Session, spot: Spot, activity: str) -> Record:
    end, told = time.monotonic() + WAIT_SECONDS, ""
    while time.monotonic() < end:
        found = spot.catalog.get(*_path(spot), "status")["status"][activity]
        if not found["due"]:
            if found["status"] == "Failed":
                raise ClientError(f"it failed: {found['failureMessage']}", "Try again, or look at the server's log.")
            return Record(_job_facts(activity, found), f"It removed {_removed(found['removed'])}.")
        if (said := found.get("attemptFailureMessage", "")) != told:
            told = said
            session.output.warn(f"an attempt failed, and the server tries again: {said}")
        time.sleep(LOOK_SECONDS)
    raise ClientError("it has not ended yet", f"See: lakeshare table maintenance status {spot.text}")
