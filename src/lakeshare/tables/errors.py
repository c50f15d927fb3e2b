"""What can go wrong with warehouses, namespaces, tables and views, in the words that Iceberg's clients look for."""

from lakeshare.errors import Kind, LakeshareError


class TablesError(LakeshareError):
    """The root of what the catalog refuses."""

    kind = Kind.INVALID


class BadRequest(TablesError):
    """A request that cannot be read, or whose parts do not go together."""


class NotSignedIn(TablesError):
    """Nobody signed the request, and it brings no token."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("sign the request (SigV4) or send a Bearer token")


class BadToken(TablesError):
    """A Bearer token that this server did not issue, or that has ended."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self, reason: str) -> None:
        super().__init__(f"the Bearer token is not valid: {reason}")


class BadGrant(TablesError):
    """A request for a token that OAuth has a code for."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ClientRefused(TablesError):
    """The client's id and secret are not those of an access key."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self, access_key: str = "") -> None:
        super().__init__("client_id must be an access key and client_secret its secret key")
        self.access_key = access_key


class NoSuchWarehouse(TablesError):
    """No warehouse of that name."""

    kind = Kind.MISSING

    def __init__(self, warehouse: str) -> None:
        super().__init__(f"Warehouse does not exist: {warehouse}")
        self.warehouse = warehouse


class WarehouseExists(TablesError):
    """The warehouse is there already."""

    kind = Kind.CONFLICT

    def __init__(self, warehouse: str, more: str = "") -> None:
        super().__init__(f"Warehouse already exists: {warehouse}{more}")
        self.warehouse = warehouse


class WarehouseNotEmpty(TablesError):
    """The warehouse still has namespaces."""

    kind = Kind.CONFLICT

    def __init__(self, warehouse: str) -> None:
        super().__init__(
            f"Warehouse {warehouse} is not empty: drop its tables, views and namespaces first, or purge it with force"
        )


class BucketHasObjects(TablesError):
    """A bucket with objects becomes a warehouse only when that is asked for."""

    kind = Kind.CONFLICT

    def __init__(self, bucket: str) -> None:
        super().__init__(
            f"bucket {bucket!r} already holds objects: ask for upgrade-existing to make it a warehouse and keep them"
        )


class NoSuchNamespace(TablesError):
    """No namespace of that name."""

    kind = Kind.MISSING

    def __init__(self, namespace: str, before: str = "") -> None:
        super().__init__(f"{before}Namespace does not exist: {namespace}")


class NamespaceExists(TablesError):
    """The namespace is there already."""

    kind = Kind.CONFLICT

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace already exists: {namespace}")


class NamespaceNotEmpty(TablesError):
    """The namespace still has tables, views or namespaces below it."""

    kind = Kind.CONFLICT

    def __init__(self, namespace: str) -> None:
        super().__init__(f"Namespace {namespace} is not empty: drop what it holds first")


class Unprocessable(TablesError):
    """A request that says one thing and its opposite."""


class NoSuchTable(TablesError):
    """No table of that name."""

    kind = Kind.MISSING

    def __init__(self, table: str, before: str = "") -> None:
        super().__init__(f"{before}Table does not exist" + ("" if before else f": {table}"))


class NoSuchView(TablesError):
    """No view of that name."""

    kind = Kind.MISSING

    def __init__(self, view: str, before: str = "") -> None:
        super().__init__(f"{before}View does not exist" + ("" if before else f": {view}"))


class AlreadyExists(TablesError):
    """The name is taken, by a table or a view; or a table of that UUID, or at that location, is there."""

    kind = Kind.CONFLICT


class MetadataFileMissing(TablesError):
    """The metadata file that a pointer or a request names is not there."""

    kind = Kind.MISSING

    def __init__(self, location: str) -> None:
        super().__init__(f"Failed to open input stream for file: {location}")
        self.location = location


class MetadataFileChanged(TablesError):
    """The bytes under a metadata file's key are not those that were committed."""

    kind = Kind.INTERNAL

    def __init__(self, location: str) -> None:
        super().__init__(f"the metadata file {location} is not the one that was committed")
        self.location = location


class CommitFailed(TablesError):
    """The commit was definitely not applied, and may be tried again on what is there now."""

    kind = Kind.CONFLICT


class OutOfTries(CommitFailed):
    """Others changed the same tables again and again: a request that is sent again may well have its way."""


class InMotion(AlreadyExists):
    """A table or view was changed by others while it was to be changed: sent again, the request may have its way."""


class CommitStateUnknown(TablesError):
    """It is not known whether a commit was applied."""

    kind = Kind.INTERNAL

    def __init__(self) -> None:
        super().__init__("it is not known whether the commit was applied: load the table and look for it")


class NotOffered(TablesError):
    """The specification has it, this server has not."""

    kind = Kind.UNSUPPORTED


class RefusedBefore(TablesError):
    """A request with an idempotency key that was refused for good when it came first."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


class KeyReused(TablesError):
    """An idempotency key that was used for another request."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the Idempotency-Key {key} was used before for another request: choose a new one")
