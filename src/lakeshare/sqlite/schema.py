"""A database's shape: what kind it is, and the steps that lead from each version to the next."""

from dataclasses import dataclass
from pathlib import Path

import apsw

from lakeshare.sqlite.connection import connect, make_durable
from lakeshare.sqlite.errors import DatabaseError, SchemaTooNew, WrongDatabase, translated


@dataclass(frozen=True, slots=True)
class Schema:
    """`application_id` tells our kinds of files apart; step n (SQL) leads from version n to n + 1.

    A released step never changes: a new version is a new step.
    """

    application_id: int
    steps: tuple[str, ...]

    @property
    def version(self) -> int:
        """Return the version that the steps lead to."""
        return len(self.steps)


def open_writer(path: Path, schema: Schema) -> apsw.Connection:
    """Open a database for writing and bring it to the schema's version. The caller holds the turnstile.

    What is not ours is left as it was. Raises WrongDatabase, SchemaTooNew.
    """
    connection = connect(path)
    try:
        _check_kind(connection, schema, path)
        make_durable(connection)
        _upgrade(connection, schema)
    except apsw.NotADBError as error:
        connection.close()
        raise WrongDatabase(path, "it is not a database") from error
    except apsw.Error as error:
        connection.close()
        raise translated(error) from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def _check_kind(connection: apsw.Connection, schema: Schema, path: Path) -> None:
    found = int(connection.pragma("application_id"))
    if found != schema.application_id and (found or connection.execute("SELECT count(*) FROM sqlite_schema").get):
        raise WrongDatabase(path, "it is a database of another kind")
    version = _version(connection)
    if version > schema.version:
        raise SchemaTooNew(path, version, schema.version)


def _upgrade(connection: apsw.Connection, schema: Schema) -> None:
    """Apply the steps that are missing, in one transaction."""
    if (found := _version(connection)) == schema.version:
        return
    with connection:
        for step in schema.steps[found:]:
            connection.execute(step)
        connection.pragma("application_id", schema.application_id)
        connection.pragma("user_version", schema.version)


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))
