"""Names of shares, schemas, tables, recipients and sources, and texts beside them. Pure.

Delta Sharing compares names without regard to case. Clients write `share.schema.table` and put names into URLs as they
are, so that no name holds what would end it there; `:` and `,` end a name in a table specification.
"""

import re

from lakeshare.sharing.errors import BadName

MAX_NAME_CHARACTERS = 255  # PROTOCOL.md, names
MAX_DESCRIPTION_CHARACTERS = 4_096
WHOLE_SCHEMA = "*"
"""Stands in a table specification for every table of a place, those that are made later too."""

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f/.:,*?#%\\&+]")
_RECIPIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}\Z")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")


def folded(name: str) -> str:
    """Return what two spellings of one name have in common."""
    return name.casefold()


def check_share(name: str) -> str:
    """Return a legal share name. Raises BadName."""
    return _shared("share name", name)


def check_schema(name: str) -> str:
    """Return a legal schema name. Raises BadName."""
    return _shared("schema name", name)


def check_table(name: str) -> str:
    """Return a legal table name. Raises BadName."""
    return _shared("table name", name)


def is_table_name(name: str) -> bool:
    """Say whether a folder's name can be the name of a shared table."""
    return 0 < len(name) <= MAX_NAME_CHARACTERS and _FORBIDDEN.search(name) is None


def check_recipient(name: str) -> str:
    """Return a legal recipient name. Raises BadName."""
    if not _RECIPIENT.match(name):
        raise BadName("recipient name", name, "1 to 128 letters, digits and . _ @ -, beginning with a letter or digit")
    return name


def check_source(name: str) -> str:
    """Return a legal name of a remote source. Raises BadName."""
    if not _SOURCE.match(name):
        raise BadName("source name", name, "1 to 63 lower-case letters, digits and -, not beginning with -")
    return name


def check_description(text: str) -> str:
    """Return a legal description. Raises BadName."""
    if len(text) > MAX_DESCRIPTION_CHARACTERS or not all(char.isprintable() or char == "\n" for char in text):
        raise BadName("description", "", f"at most {MAX_DESCRIPTION_CHARACTERS} printable characters")
    return text


def _shared(what: str, name: str) -> str:
    if not name or len(name) > MAX_NAME_CHARACTERS or _FORBIDDEN.search(name) or not name.isprintable():
        rule = (
            f"1 to {MAX_NAME_CHARACTERS} characters without spaces, control characters or any of / . : , * ? # % \\ & +"
        )
        raise BadName(what, name, rule)
    return name
