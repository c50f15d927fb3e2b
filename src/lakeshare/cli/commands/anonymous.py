"""anonymous: what everyone may do with a bucket or a prefix, without a key."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import click

from lakeshare.cli.commands.admin.documents import read_document
from lakeshare.cli.commands.arguments import BUCKET, REMOTE
from lakeshare.cli.commands.buckets import bucket_place
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.groups import lazy_group
from lakeshare.cli.output import Record
from lakeshare.cli.places import Remote
from lakeshare.cli.session import Session

_HERE = "lakeshare.cli.commands.anonymous"
_SID = "Anonymous"
_ARN = "arn:aws:s3:::"

Json = dict[str, Any]

OBJECT_ACTIONS = {
    "download": ["s3:GetObject"],
    "upload": ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"],
    "public": [
        "s3:AbortMultipartUpload",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:ListMultipartUploadParts",
        "s3:PutObject",
    ],
}
"""What each level lets everyone do with objects. All but `upload` let them list, too."""

anonymous = lazy_group(
    r"""What everyone may do with a bucket or a prefix, without a key.

    \b
    lakeshare anonymous set download lake/bucket/public/
    lakeshare anonymous list lake/bucket
    lakeshare anonymous set private lake/bucket/public/
    """,
    {
        "set": (f"{_HERE}:set_", "Let everyone read, write, both or neither."),
        "list": (f"{_HERE}:list_", "List what everyone may do."),
        "get-json": (f"{_HERE}:get_json", "Print the policy of a bucket."),
        "set-json": (f"{_HERE}:set_json", "Give a bucket a policy from a file."),
    },
    {"get": "list", "links": "list"},
)


@command("set")
@click.argument("level", type=click.Choice(["download", "upload", "public", "private", "none"]))
@click.argument("target", type=REMOTE, metavar="ALIAS/BUCKET[/PREFIX]")
def set_(session: Session, level: str, target: str) -> Record:
    r"""Let everyone download, upload, do both (public), or nothing (private), below a bucket or a prefix.

    What the bucket's policy says besides is kept.

    \b
    lakeshare anonymous set download lake/bucket
    lakeshare anonymous set upload lake/bucket/inbox/
    lakeshare anonymous set private lake/bucket
    """
    place = session.remote(target)
    if not place.bucket:
        raise Misused(f"{target} is a whole server", f"Name a bucket: {place.alias}/BUCKET.")
    store = session.store(place.alias)
    policy = store.policy(place.bucket) or {"Version": "2012-10-17", "Statement": []}
    kept = [one for one in _statements(policy) if not str(one.get("Sid", "")).endswith(_mark(place))]
    policy["Statement"] = [*kept, *_grants(place, level)]
    store.set_policy(place.bucket, policy if policy["Statement"] else None)
    facts = {"operation": "set", "bucket": place.text, "permission": level}
    return Record(facts, f"Access permission for `{place.text}` is set to `{level}`")


def _statements(policy: Json) -> list[Json]:
    found = policy.get("Statement", [])
    return list(found) if isinstance(found, list) else [found]


def _mark(place: Remote) -> str:
    """Return the end of the names of those statements that are about one prefix."""
    return hashlib.sha256(place.key.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _grants(place: Remote, level: str) -> list[Json]:
    if level not in OBJECT_ACTIONS:
        return []
    everyone: Json = {"Effect": "Allow", "Principal": {"AWS": ["*"]}}
    objects = {
        **everyone,
        "Sid": f"{_SID}{level.title()}{_mark(place)}",
        "Action": OBJECT_ACTIONS[level],
        "Resource": [f"{_ARN}{place.bucket}/{place.key}*"],
    }
    if level == "upload":
        return [objects]
    listing: Json = {
        **everyone,
        "Sid": f"{_SID}List{_mark(place)}",
        "Action": ["s3:ListBucket"],
        "Resource": [f"{_ARN}{place.bucket}"],
    }
    if place.key:
        listing["Condition"] = {"StringLike": {"s3:prefix": [f"{place.key}*"]}}
    return [listing, objects]


@command("list")
@click.argument("target", type=REMOTE, metavar="ALIAS/BUCKET[/PREFIX]")
def list_(session: Session, target: str) -> Iterator[Record]:
    r"""List what everyone may do in a bucket, by prefixes.

    \b
    lakeshare anonymous list lake/bucket
    """
    place = session.remote(target)
    if not place.bucket:
        raise Misused(f"{target} is a whole server", f"Name a bucket: {place.alias}/BUCKET.")
    levels = dict(_levels(place, session.store(place.alias).policy(place.bucket)))
    shown = {name: level for name, level in levels.items() if name.startswith(place.text)} or {place.text: "private"}
    for name, level in sorted(shown.items()):
        facts = {"operation": "get", "bucket": name, "permission": level}
        yield Record(facts, f"Access permission for `{name}` is `{level}`")


def _levels(place: Remote, policy: Json | None) -> Iterator[tuple[str, str]]:
    """Yield what everyone may do, by place; what was not set by this command is told as `custom`."""
    for one in _statements(policy or {}):
        sid, resource = str(one.get("Sid", "")), one.get("Resource", "")
        first = resource[0] if isinstance(resource, list) and resource else resource
        level = next((level for level in OBJECT_ACTIONS if sid.startswith(_SID + level.title())), "")
        if level and isinstance(first, str):
            yield f"{place.alias}/{first.removeprefix(_ARN).removesuffix('*')}".rstrip("/"), level
        elif not sid.startswith(_SID):
            yield f"{place.alias}/{place.bucket}", "custom"


@command("get-json")
@click.argument("target", type=BUCKET, metavar="ALIAS/BUCKET")
def get_json(session: Session, target: str) -> Record:
    r"""Print the policy of a bucket.

    \b
    lakeshare anonymous get-json lake/bucket > policy.json
    """
    place = bucket_place(session, target)
    policy = session.store(place.alias).policy(place.bucket) or {}
    return Record({"bucket": place.text, "policy": policy}, json.dumps(policy, indent=2))


@command("set-json")
@click.argument("file", metavar="FILE", type=click.Path())
@click.argument("target", type=BUCKET, metavar="ALIAS/BUCKET")
def set_json(session: Session, file: str, target: str) -> Record:
    r"""Give a bucket a policy from a file, in place of the one it has; `-` is standard input, `{}` takes it away.

    \b
    lakeshare anonymous set-json policy.json lake/bucket
    """
    place = bucket_place(session, target)
    session.store(place.alias).set_policy(place.bucket, read_document(file) or None)
    facts = {"operation": "set-json", "bucket": place.text}
    return Record(facts, f"Access permission for `{place.text}` is set from `{file}`")
