"""The shapes of shares, recipients and tokens in the admin API, and how each is written."""

from typing import Any

from lakeshare.admin.model.paging import PAGE_LIMIT
from lakeshare.admin.wire import names
from lakeshare.admin.wire.shapes import Choice, Document, Field, Flag, Many, Maybe, Record, Text, Whole
from lakeshare.sharing.model.names import MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS
from lakeshare.sharing.model.places import DeltaPlace, Place
from lakeshare.sharing.model.recipients import MAX_GRANTS, MAX_NETWORKS, CredentialKind
from lakeshare.sharing.model.shares import MAX_SCHEMAS, MAX_TABLES, Schema, SharedTable
from lakeshare.sharing.model.spec import MAX_SPEC_CHARACTERS, write_spec
from lakeshare.sharing.operations.issuing import Issued
from lakeshare.sharing.operations.offers import MAX_OFFERS, MAX_WHOLES, Looked
from lakeshare.sharing.operations.recipients import ShownRecipient
from lakeshare.sharing.operations.shown import ShownShare
from lakeshare.sharing.operations.tokens import ShownCredential

NAME = Text(MAX_NAME_CHARACTERS, 1)
RECIPIENT_NAME = Text(128, 1, r"[A-Za-z0-9][A-Za-z0-9._@\-]{0,127}", "1 to 128 letters, digits and . _ @ -")
SOURCE_NAME = Text(63, 1, r"[a-z0-9][a-z0-9\-]{0,62}", "1 to 63 lower-case letters, digits and -")
DESCRIPTION = Text(MAX_DESCRIPTION_CHARACTERS)
URL = Text(512)
ID = Text(64, 1)
SPEC = Text(MAX_SPEC_CHARACTERS, 1)
VERSION = Whole(0, 2**62)
LIFETIME = Text(16, 0, r"(?:[0-9]{1,9}[dhm]|never)?", "a number with d, h or m, such as 90d, 24h or 30m, or never")
KIND = Choice(tuple(kind.value for kind in CredentialKind))
WARNINGS = Field("warnings", Many(names.ANY, 1000), "What the operator should know.", required=True)
PROFILE = Document("A Delta Sharing profile")
PAGING = (
    Field("limit", Whole(1, PAGE_LIMIT), f"Most items of the page; {PAGE_LIMIT} if it is not given."),
    Field("after", Text(2 * MAX_NAME_CHARACTERS), "What `next` was on the page before."),
)
NEXT = Field("next", names.ANY)

TABLE = Record(
    (
        Field("name", names.ANY, "The name that recipients see.", required=True),
        Field("id", names.ANY, required=True),
        Field("kind", Choice(("delta", "uniform")), required=True),
        Field("spec", names.ANY, "The table as a specification.", required=True),
        Field("bucket", names.ANY),
        Field("path", names.ANY),
        Field("source", names.ANY, "The remote source that the bucket is at."),
        Field("warehouse", names.ANY),
        Field("namespace", names.ANY),
        Field("table", names.ANY),
        Field("history", Flag(), "Whether older versions and changes are shared.", required=True),
        Field("start_version", VERSION, "The oldest version that is shared.", required=True),
        Field("created_at", names.TIME, required=True),
    )
)
SCHEMA = Record(
    (
        Field("name", names.ANY, required=True),
        Field("id", names.ANY, required=True),
        Field("description", names.ANY, required=True),
        Field("tables", Many(TABLE, MAX_TABLES), "The tables that it names.", required=True),
        Field("whole", Many(names.ANY, MAX_WHOLES), "The places of which every table is shared.", required=True),
    )
)
REPORT = Record(
    (
        Field("schema", names.ANY, required=True),
        Field("table", names.ANY, required=True),
        Field("version", Maybe(VERSION), required=True),
        Field("features", Many(names.ANY, 1000), "What a reader must know.", required=True),
        Field("files", Maybe(names.COUNT), required=True),
        Field("bytes", Maybe(names.COUNT), required=True),
        Field("rows", Maybe(names.COUNT), required=True),
        Field("changes_recorded", Maybe(Flag()), "Whether its change data feed is on.", required=True),
    )
)
_SHARE = (
    Field("name", names.ANY, required=True),
    Field("id", names.ANY, required=True),
    Field("description", names.ANY, required=True),
    Field("oauth_only", Flag(), "Whether bearer tokens are refused.", required=True),
    Field("created_at", names.TIME, required=True),
    Field("created_by", names.ANY, required=True),
    Field("updated_at", names.TIME, required=True),
)
SHARE_LINE = Record(
    (*_SHARE, Field("schemas", names.COUNT, required=True), Field("tables", names.COUNT, required=True))
)
SHARES = Record((Field("shares", Many(SHARE_LINE, PAGE_LIMIT), required=True), NEXT))
SHARE = Record(
    (
        *_SHARE,
        Field("schemas", Many(SCHEMA, MAX_SCHEMAS), required=True),
        Field("recipients", Many(names.ANY, 100_000), "The recipients that it is shared with by name.", required=True),
        Field("reports", Many(REPORT, MAX_OFFERS), "What was found of the tables that were added."),
        Field("warnings", Many(names.ANY, 1000), "What the operator should know of them."),
    )
)
CREDENTIAL = Record(
    (
        Field("id", names.ANY, required=True),
        Field("kind", KIND, required=True),
        Field("recipient", names.ANY, "Whose it is; `~` and an id where it was made for a share.", required=True),
        Field(
            "share", Maybe(names.ANY), "The one share that it reaches; null is all of its recipient's.", required=True
        ),
        Field("description", names.ANY, required=True),
        Field("created_at", names.TIME, required=True),
        Field("created_by", names.ANY, required=True),
        Field("expires_at", names.MAYBE_TIME, "Null is never.", required=True),
        Field("last_used_at", names.MAYBE_TIME, "Null is not yet; known to half a minute.", required=True),
    )
)
CREDENTIALS = Record((Field("tokens", Many(CREDENTIAL, PAGE_LIMIT), required=True), NEXT))
ISSUED = CREDENTIAL.plus(
    Field("secret", names.ANY, "The token, or the client's secret, told this once.", required=True),
    Field("profile", PROFILE, "The profile with the secret in it.", required=True),
    Field("endpoint", names.ANY, "The endpoint in the profile.", required=True),
    WARNINGS,
)
RECIPIENT = Record(
    (
        Field("name", names.ANY, required=True),
        Field("id", names.ANY, required=True),
        Field("description", names.ANY, required=True),
        Field("shares", Many(names.ANY, MAX_GRANTS), required=True),
        Field("ip_list", Many(names.ANY, MAX_NETWORKS), "Where it may come from; empty is anywhere.", required=True),
        Field("suspended", Flag(), required=True),
        Field("oauth_only", Flag(), "Whether bearer tokens are refused.", required=True),
        Field("implicit", Flag(), "Whether it stands for a token that was made for one share.", required=True),
        Field("tokens", names.COUNT, "How many tokens and OAuth clients it has.", required=True),
        Field("created_at", names.TIME, required=True),
        Field("created_by", names.ANY, required=True),
        Field("updated_at", names.TIME, required=True),
        Field("last_used_at", names.MAYBE_TIME),
    )
)
RECIPIENTS = Record((Field("recipients", Many(RECIPIENT, PAGE_LIMIT), required=True), NEXT))
NEW_TOKEN_FIELDS = (
    Field("expires", LIFETIME, "How long it lives; never if neither this nor expires_at is given."),
    Field("expires_at", names.TIME, "When it ends, in place of expires."),
    Field("description", DESCRIPTION),
    Field("endpoint", URL, "The endpoint of this profile, in place of the one that is set."),
)


def share_line(shown: ShownShare) -> dict[str, Any]:
    """Write a share as a line of a list."""
    tables = sum(len(schema.tables) for schema in shown.schemas)
    return _share(shown) | {"schemas": len(shown.schemas), "tables": tables}


def share(shown: ShownShare) -> dict[str, Any]:
    """Write a share with all that is in it."""
    found = _share(shown) | {"schemas": [schema(each) for each in shown.schemas], "recipients": shown.recipients}
    if shown.looked:
        found |= {"reports": [report(each) for each in shown.looked], "warnings": shown.warnings}
    return found


def schema(found: Schema) -> dict[str, Any]:
    """Write a schema."""
    return {
        "name": found.name,
        "id": found.id,
        "description": found.description,
        "tables": [table(each) for each in found.tables],
        "whole": [write_spec("*", place) for place in found.wholes],
    }


def table(found: SharedTable) -> dict[str, Any]:
    """Write a table."""
    return {
        "name": found.name,
        "id": found.id,
        "kind": found.kind.value,
        "spec": write_spec(found.name, found.place),
        **_place(found.place),
        "history": found.history,
        "start_version": found.start_version,
        "created_at": found.created_at,
    }


def report(looked: Looked) -> dict[str, Any]:
    """Write what was found of a table."""
    found = looked.report
    return {
        "schema": looked.schema,
        "table": looked.name,
        "version": found.version,
        "features": found.features,
        "files": found.files,
        "bytes": found.size_bytes,
        "rows": found.rows,
        "changes_recorded": found.changes_recorded,
    }


def credential(shown: ShownCredential) -> dict[str, Any]:
    """Write a token or an OAuth client, without its secret."""
    found = shown.credential
    return {
        "id": found.id,
        "kind": shown.kind.value,
        "recipient": shown.recipient.name,
        "share": shown.share.name if shown.share else None,
        "description": found.description,
        "created_at": found.created_at,
        "created_by": found.created_by,
        "expires_at": found.expires_at,
        "last_used_at": shown.last_used_at,
    }


def issued(made: Issued) -> dict[str, Any]:
    """Write a new token or OAuth client with its secret."""
    return credential(ShownCredential(made.credential, made.recipient, made.share)) | {
        "secret": made.secret.reveal(),
        "profile": made.profile.document(),
        "endpoint": made.endpoint.sharing,
        "warnings": made.warnings,
    }


def recipient(shown: ShownRecipient) -> dict[str, Any]:
    """Write a recipient."""
    found = shown.recipient
    written: dict[str, Any] = {
        "name": found.name,
        "id": found.id,
        "description": found.description,
        "shares": shown.shares,
        "ip_list": found.networks,
        "suspended": found.suspended,
        "oauth_only": found.oauth_only,
        "implicit": found.is_implicit,
        "tokens": shown.credentials,
        "created_at": found.created_at,
        "created_by": found.created_by,
        "updated_at": found.updated_at,
    }
    return written | ({} if shown.last_used_at is None else {"last_used_at": shown.last_used_at})


def _share(shown: ShownShare) -> dict[str, Any]:
    found = shown.share
    return {
        "name": found.name,
        "id": found.id,
        "description": found.description,
        "oauth_only": found.oauth_only,
        "created_at": found.created_at,
        "created_by": found.created_by,
        "updated_at": found.updated_at,
    }


def _place(place: Place) -> dict[str, Any]:
    if isinstance(place, DeltaPlace):
        at_source = {"source": place.source} if place.source else {}
        return {"bucket": place.bucket, "path": place.path} | at_source
    return {"warehouse": place.warehouse, "namespace": ".".join(place.namespace), "table": place.table}
