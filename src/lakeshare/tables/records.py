"""How the catalog lies in state.

A name leads to a UUID and the UUID to the pointer: a rename moves no pointer, and a commit changes no listing. The
folders of a table's location are the parts of a key, so that one transaction can expect that no other table lies
above or below it.
"""

from lakeshare.state.keys import Key
from lakeshare.state.keyspace import Keyspace
from lakeshare.tables.model.entries import (
    Guarded,
    Located,
    Named,
    NamespaceRecord,
    Pointer,
    Reports,
    Version,
    Warehouse,
)

TABLES: Key = ("tables",)
WAREHOUSES = Keyspace(("tables", "warehouse"), Warehouse)
"""By name."""
NAMESPACES = Keyspace(("tables", "namespace"), NamespaceRecord)
"""By warehouse id, the joined parent ("" for none), and the last level."""
NAMES = Keyspace(("tables", "name"), Named)
"""By warehouse id, joined namespace, name."""
POINTERS = Keyspace(("tables", "pointer"), Pointer)
"""By warehouse id, UUID."""
VERSIONS = Keyspace(("tables", "version"), Version)
"""By the id of a history, and the ordinal of a version."""
LOCATIONS = Keyspace(("tables", "location"), Located)
"""By bucket, and the folders of a location."""
METADATA_FILES = Keyspace(("tables", "metadata"), Guarded)
"""By bucket, key."""
REPORTS = Keyspace(("tables", "report"), Reports)
"""By warehouse id, UUID."""
