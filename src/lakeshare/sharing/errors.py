"""What can go wrong in sharing, in the protocol's words. The texts that clients look for are those of its reference."""

from collections.abc import Sequence

from lakeshare.errors import Kind, LakeshareError


class SharingError(LakeshareError):
    """The root of what sharing refuses."""

    kind = Kind.INVALID


# Names, places and bounds.


class BadName(SharingError):
    """A name, a description or an IP list that cannot be one."""

    def __init__(self, what: str, name: str, rule: str) -> None:
        shown = f"{name[:64]!r} is no {what}" if name else f"that is no {what}"
        super().__init__(f"{shown}: write {rule}")
        self.what = what


class BadPlace(SharingError):
    """A place where no table can lie."""


class BadSpec(SharingError):
    """A table specification that cannot be read."""

    def __init__(self, spec: str, reason: str) -> None:
        super().__init__(
            f"{spec[:200]!r} is no table specification: {reason}. Write NAME:delta:BUCKET:PATH, "
            "NAME:uniform:WAREHOUSE:NAMESPACE:TABLE or NAME:remote:SOURCE:BUCKET:PATH"
        )


class BadSpan(SharingError):
    """A lifetime that cannot be read, or is out of bounds."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text[:64]!r} is no lifetime: {reason}")


class BadEndpoint(SharingError):
    """An endpoint that is no URL of a server."""

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(f"{endpoint[:200]!r} is no endpoint: {reason}")


class BadWindow(SharingError):
    """A history window that cannot be."""

    def __init__(self) -> None:
        super().__init__("start_version is a whole number from 0, and says nothing where history is not shared")


class TooMany(SharingError):
    """There are as many of something as there may be."""

    kind = Kind.CONFLICT

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"there may be at most {limit} {what}")
        self.limit = limit


# What an operator asks for and is not there, or is there already.


class ShareMissing(SharingError):
    """No share of that name; what an operator is told."""

    kind = Kind.MISSING

    def __init__(self, share: str) -> None:
        super().__init__(f"share {share[:255]!r} does not exist")
        self.share = share


class SchemaMissing(SharingError):
    """The share has no schema of that name."""

    kind = Kind.MISSING

    def __init__(self, share: str, schema: str) -> None:
        super().__init__(f"share {share!r} has no schema {schema[:255]!r}")


class TableMissing(SharingError):
    """The schema has no table of that name."""

    kind = Kind.MISSING

    def __init__(self, schema: str, table: str) -> None:
        super().__init__(f"schema {schema!r} names no table {table[:255]!r}")


class RecipientMissing(SharingError):
    """No recipient of that name."""

    kind = Kind.MISSING

    def __init__(self, recipient: str) -> None:
        super().__init__(f"recipient {recipient[:128]!r} does not exist")


class CredentialMissing(SharingError):
    """No token, OAuth client or activation link of that id."""

    kind = Kind.MISSING

    def __init__(self, what: str, credential: str) -> None:
        super().__init__(f"{what} {credential[:64]!r} does not exist")


class SourceMissing(SharingError):
    """No remote source of that name."""

    kind = Kind.MISSING

    def __init__(self, source: str) -> None:
        super().__init__(f"source {source[:64]!r} does not exist")


class NameTaken(SharingError):
    """Something of that name is there already; case does not count."""

    kind = Kind.CONFLICT

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"a {what} named {name!r} exists already")
        self.name = name


class SourceInUse(SharingError):
    """Shares have tables of this source."""

    kind = Kind.CONFLICT

    def __init__(self, source: str, shares: Sequence[str]) -> None:
        super().__init__(f"source {source!r} holds tables of {', '.join(shares[:5])}: remove those first")


class NotImplicit(SharingError):
    """The recipient was made along with a token, and goes with it."""

    kind = Kind.CONFLICT

    def __init__(self) -> None:
        super().__init__("this recipient stands for one token of one share: make a recipient to share more with it")


# What is found when a table is to be shared.


class NoTableThere(SharingError):
    """Nothing at that place is a table."""

    def __init__(self, place: object, reason: str) -> None:
        super().__init__(f"there is no Delta table at {place}: {reason}")
        self.place = place


class TableUnreadable(SharingError):
    """There is a table, and it cannot be shared as it is."""

    kind = Kind.UNSUPPORTED

    def __init__(self, place: object, reason: str) -> None:
        super().__init__(f"the table at {place} cannot be shared: {reason}")


class IcebergNotShared(SharingError):
    """Iceberg tables cannot be shared yet."""

    kind = Kind.UNSUPPORTED

    def __init__(self) -> None:
        super().__init__(
            "Iceberg tables (uniform) cannot be shared by this release: give their readers a key for the catalog"
        )


class SourceUnreachable(SharingError):
    """A remote source does not answer, or refuses its key."""

    kind = Kind.UNAVAILABLE

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"source {source!r} cannot be read: {reason}")


# Who asks.


class Unrecognised(SharingError):
    """No token came, or one that means nothing here: unknown, revoked, or not a token."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("the bearer token is missing or not valid: ask your share provider for a new profile")


class CredentialExpired(SharingError):
    """The token's time is over."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("the bearer token has expired: ask your share provider for a new profile")


class RecipientSuspended(SharingError):
    """The recipient is kept out for now."""

    kind = Kind.DENIED

    def __init__(self) -> None:
        super().__init__("access is suspended: please contact your share provider")


class AddressRefused(SharingError):
    """The recipient may not come from this address."""

    kind = Kind.DENIED

    def __init__(self, peer: str) -> None:
        super().__init__(f"access from {peer} is not allowed: please contact your share provider")


class OAuthRequired(SharingError):
    """The share or the recipient takes OAuth access tokens only."""

    kind = Kind.DENIED

    def __init__(self) -> None:
        super().__init__("bearer tokens are not accepted here: use a profile with OAuth client credentials")


class TooManyGuesses(SharingError):
    """Too many tokens from this address were wrong just now."""

    kind = Kind.THROTTLED
    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__("too many tokens from your address were not valid: try again later")


class RateLimited(SharingError):
    """More requests a second than the token, or everybody together, may send."""

    kind = Kind.THROTTLED

    def __init__(self, limit: int, retry_after_seconds: int, *, shared: bool) -> None:
        whose = "all recipients together" if shared else "one token"
        super().__init__(f"{whose} may send {limit} requests a second: try again in {retry_after_seconds} s")
        self.retry_after_seconds = retry_after_seconds


class LinkUsed(SharingError):
    """The activation link was used, has expired, or never was."""

    kind = Kind.MISSING

    def __init__(self) -> None:
        super().__init__("this activation link was used already or has expired: ask your share provider for another")


class BadGrant(SharingError):
    """A request for an access token that is not OAuth's; `code` is the word of RFC 6749, section 5.2."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ClientRefused(SharingError):
    """The client id or its secret is wrong."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("the client id or the client secret is not valid")


# What a recipient asks for and does not get. A share that is not granted does not exist.


class NoSuchResource(SharingError):
    """No share, schema or table of that name is visible to this recipient."""

    kind = Kind.MISSING

    def __init__(self, *parts: str) -> None:
        named = "/".join(part[:255] for part in parts)
        super().__init__(
            f"[Share/Schema/Table] '{named}' does not exist, "
            "please contact your share provider for further information."
        )
        self.parts = parts


class InvalidParameter(SharingError):
    """A parameter of a request that cannot be; clients' tests look for these texts."""


class MalformedRequest(SharingError):
    """A body or a number that cannot be read."""


class UnsupportedTable(SharingError):
    """The table has a feature that the client did not say it knows, or that we do not know."""

    kind = Kind.UNSUPPORTED


class HistoryNotShared(InvalidParameter):
    """The table is shared without its history."""

    def __init__(self, table: str) -> None:
        super().__init__(
            "Reading table by version or timestamp is not supported because "
            f"history sharing is not enabled on table: {table}"
        )


class ChangesNotRecorded(InvalidParameter):
    """The table records no changes."""

    def __init__(self, table: str) -> None:
        super().__init__(f"cdf is not enabled on table {table}")


class BeforeWindow(InvalidParameter):
    """The version is older than what is shared."""

    def __init__(self, start_version: int) -> None:
        super().__init__(f"You can only query table data since version {start_version}.")


class BadPage(InvalidParameter):
    """A page token that we did not give for this list."""

    def __init__(self) -> None:
        super().__init__("invalid 'nextPageToken'")


class BadPageSize(InvalidParameter):
    """A page size out of bounds."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"Acceptable values of 'maxResults' are 0 to {limit}, inclusive. (Default: {limit})")


class TableBroken(SharingError):
    """The table cannot be read, through no fault of who asks; asking again changes nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the table cannot be read: {reason}. Please contact your share provider")


class FileElsewhere(SharingError):
    """The table names a file outside of its own folder: sharing the table does not share that."""

    kind = Kind.UNSUPPORTED

    def __init__(self, bucket: str, key: str) -> None:
        super().__init__(
            f"the table names a file outside of its folder ({bucket[:64]}/{key[:128]}), which is not shared with it"
        )
