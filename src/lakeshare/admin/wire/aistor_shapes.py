"""Shares and tokens as AIStor's admin clients write and read them. Fields that are not known are left alone. Pure.

Those clients change a share by reading it and writing it back, and keep only the fields that they know. What they have
no field for stands where they keep it: a table of a remote source has `remote:SOURCE` for its type, and a place that is
shared whole is a table named `*`.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lakeshare.admin.errors import BadField
from lakeshare.sharing.model.names import folded
from lakeshare.sharing.model.places import DeltaPlace, Place, UniformPlace
from lakeshare.sharing.model.recipients import Token
from lakeshare.sharing.model.shares import Offer, Schema
from lakeshare.sharing.operations.contents import ReplaceSchemas
from lakeshare.sharing.operations.issuing import Issued
from lakeshare.sharing.operations.shown import ShownShare
from lakeshare.sharing.operations.tokens import ShownCredential
from lakeshare.sharing.view import View

_REMOTE = "remote:"


def text_of(given: Mapping[str, Any], field: str, default: str | None = None) -> str:
    """Return a text of an object. Raises BadField."""
    value = given.get(field, default)
    if not isinstance(value, str):
        raise BadField(field, "it must be a text")
    return value


def objects_of(given: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list; null is an empty one. Raises BadField."""
    found = given.get(field) or []
    if not isinstance(found, list):
        raise BadField(field, "it must be a list")
    for each in found:
        if not isinstance(each, dict):
            raise BadField(field, "it must be a list of objects")
        yield each


def schemas_of(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Read the names and descriptions of schemas. Raises BadField."""
    return tuple((text_of(each, "name"), text_of(each, "description", "")) for each in objects_of(given, "schemas"))


def offers_of(given: Mapping[str, Any]) -> tuple[Offer, ...]:
    """Read what is to be shared. Raises BadField, BadName, BadPlace."""
    found: list[Offer] = []
    for schema in objects_of(given, "schemas"):
        if schema.get("volumes"):
            raise BadField("volumes", "volumes are not shared by this release")
        found += [
            Offer(text_of(schema, "name"), text_of(table, "name"), _place_of(table))
            for table in objects_of(schema, "tables")
        ]
    return tuple(found)


def replacement_of(view: View, name: str, given: Mapping[str, Any]) -> ReplaceSchemas:
    """Read how a share shall be; what is in it already needs no new look. Raises as offers_of does."""
    description = text_of(given, "description") if given.get("description") is not None else None
    share = view.share(name)
    held = {} if share is None else {folded(each.name): each for each in view.schemas(share)}
    offers = offers_of(given)
    kept = tuple(offer for offer in offers if _is_held(held.get(folded(offer.schema)), offer))
    new = tuple(offer for offer in offers if offer not in kept)
    return ReplaceSchemas(name, description, schemas_of(given), new, kept)


def end_of(given: Mapping[str, Any]) -> int | None:
    """Read when a token shall end. Raises BadField."""
    if given.get("expiresAt") is None:
        return None
    text = text_of(given, "expiresAt")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadField("expiresAt", "it must be a time such as 2026-02-13T10:22:05Z") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def share(shown: ShownShare) -> dict[str, Any]:
    """Write a share."""
    found = shown.share
    return {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "schemas": [_schema(each) for each in shown.schemas],
        "createdAt": _time(found.created_at),
        "updatedAt": _time(found.updated_at),
    }


def token(shown: ShownCredential) -> dict[str, Any]:
    """Write a token, without its secret."""
    found = shown.credential
    written = {
        "tokenId": found.id,
        "description": found.description,
        "shareId": found.share_id,
        "shareName": shown.share.name if shown.share else "",
        "createdAt": _time(found.created_at),
    }
    return written | _end(found.expires_at)


def issued(made: Issued) -> dict[str, Any]:
    """Write a new token."""
    written = {"tokenId": made.credential.id, "token": made.secret.reveal(), "profile": made.profile.document()}
    return written | _end(made.credential.expires_at)


def is_bearer(shown: ShownCredential) -> bool:
    """Say whether a credential is one that AIStor's clients know."""
    return isinstance(shown.credential, Token)


def _place_of(table: Mapping[str, Any]) -> Place:
    kind = text_of(table, "sourceType")
    if kind == "delta" or kind.startswith(_REMOTE):
        source = kind.removeprefix(_REMOTE) if kind != "delta" else ""
        return DeltaPlace(text_of(table, "bucket"), text_of(table, "location", ""), source)
    if kind != "uniform":
        raise BadField("sourceType", "it must be delta or uniform")
    namespace = table.get("namespace", "")
    levels = namespace.split(".") if isinstance(namespace, str) else namespace
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        raise BadField("namespace", "it must be a text or a list of texts")
    return UniformPlace(text_of(table, "warehouse"), tuple(levels), text_of(table, "table"))


def _is_held(schema: Schema | None, offer: Offer) -> bool:
    if schema is None:
        return False
    if offer.is_whole:
        return offer.place in schema.wholes
    table = schema.table(offer.name)
    return table is not None and table.place == offer.place


def _schema(schema: Schema) -> dict[str, Any]:
    tables = [_table(each.name, each.place) for each in schema.tables]
    tables += [_table("*", place) for place in schema.wholes]
    return {"name": schema.name, "description": schema.description, "tables": tables}


def _table(name: str, place: Place) -> dict[str, Any]:
    if isinstance(place, DeltaPlace):
        kind = f"{_REMOTE}{place.source}" if place.source else "delta"
        return {"name": name, "sourceType": kind, "bucket": place.bucket, "location": place.path}
    return {
        "name": name,
        "sourceType": "uniform",
        "warehouse": place.warehouse,
        "namespace": ".".join(place.namespace),
        "table": place.table,
    }


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _end(expires_at: int | None) -> dict[str, str]:
    return {} if expires_at is None else {"expiresAt": _time(expires_at)}
