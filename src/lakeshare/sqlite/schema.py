"""A database's shape: what kind it is, and the steps that lead from each version to the next."""

from dataclasses import dataclass
from pathlib import Path

import apsw

from lakeshare.sqlite.errors import SchemaTooNew, WrongDatabase, translated


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


def upgrade(connection: apsw.Connection, schema: Schema, path: Path) -> None:
    """Bring a database to the schema's version in one transaction. The caller holds the turnstile.

    Raises WrongDatabase, SchemaTooNew.
    """
    try:
        _check_kind(connection, schema, path)
        found = int(connection.pragma("user_version"))
        if found > schema.version:
            raise SchemaTooNew(path, found, schema.version)
        if found < schema.version:
            _apply(connection, schema, found)
    except apsw.NotADBError as error:
        raise WrongDatabase(path, "it is not a database") from error
    except apsw.Error as error:
        raise translated(error) from error


def _check_kind(connection: apsw.Connection, schema: Schema, path: Path) -> None:
    found = int(connection.pragma("application_id"))
    if found == schema.application_id:
        return
    if found or connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise WrongDatabase(path, "it is a database of another kind")


def _apply(connection: apsw.Connection, schema: Schema, found: int) -> None:
    with connection:
        for step in schema.steps[found:]:
            connection.execute(step)
        connection.pragma("application_id", schema.application_id)
        connection.pragma("user_version", schema.version)
