"""Bodies of JSON as the catalog's clients send them, and what is read out of them."""

from collections.abc import Mapping
from typing import Any

import orjson

from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.names import Identifier, Namespace, check_name, check_namespace

MAX_LIST = 10_000
"""Most items of a list that is no schema's and no commit's."""

Document = Mapping[str, Any]


def read_document(body: bytes) -> Document:
    """Return the object that a body is. Raises BadRequest."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"Cannot parse the request: {error}") from None
    if not isinstance(found, dict):
        raise BadRequest("Cannot parse the request: it must be a JSON object")
    return found


def text_in(document: Document, name: str) -> str:
    """Return a text that must be there. Raises BadRequest."""
    found = document.get(name)
    if not isinstance(found, str):
        raise BadRequest(f"Cannot parse the request: {name} must be a text")
    return found


def flag_in(document: Document, name: str) -> bool:
    """Return a yes or no; what is missing is a no. Raises BadRequest."""
    found = document.get(name)
    if found is not None and not isinstance(found, bool):
        raise BadRequest(f"Cannot parse the request: {name} must be true or false")
    return bool(found)


def texts_in(document: Document, name: str) -> tuple[str, ...]:
    """Return a list of texts; what is missing is empty. Raises BadRequest."""
    found = document.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) > MAX_LIST or not all(isinstance(item, str) for item in found):
        raise BadRequest(f"Cannot parse the request: {name} must be a list of texts")
    return tuple(found)


def properties_in(document: Document, name: str) -> Mapping[str, str]:
    """Return a map of texts; what is missing is empty. Raises BadRequest."""
    found = document.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadRequest(f"Cannot parse the request: {name} must be an object of texts")
    return found


def listed(document: Document, name: str) -> object:
    """Return what a commit lists; null is empty, as what is missing is: iceberg-go sends it for no requirements."""
    found = document.get(name)
    return [] if found is None else found


def documents_in(document: Document, name: str, limit: int) -> list[Document]:
    """Return a list of objects that must be there. Raises BadRequest."""
    found = document.get(name)
    if not isinstance(found, list) or len(found) > limit or not all(isinstance(item, dict) for item in found):
        raise BadRequest(f"Cannot parse the request: {name} must be a list of at most {limit} objects")
    return found


def namespace_in(document: Document, name: str = "namespace") -> Namespace:
    """Return a namespace. Raises BadRequest."""
    if not isinstance(document.get(name), list):
        raise BadRequest(f"Cannot parse the request: {name} must be a list of texts")
    return check_namespace(texts_in(document, name))


def identifier_in(document: Document, name: str) -> Identifier:
    """Return the name of a table or view. Raises BadRequest."""
    found = document.get(name)
    if not isinstance(found, dict):
        raise BadRequest(f"Cannot parse the request: {name} must be an object with namespace and name")
    return Identifier(namespace_in(found), check_name(text_in(found, "name")))
