"""What can go wrong in administration itself; identities and state have their own errors."""

from lakeshare.errors import Kind, LakeshareError


class AdminError(LakeshareError):
    """The root of what administration refuses."""

    kind = Kind.INVALID


class BadField(AdminError):
    """A field of the body, or a parameter of the query, is not what it must be."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class NoSuchSetting(AdminError):
    """The server has no setting of that name."""

    kind = Kind.MISSING

    def __init__(self, setting: str) -> None:
        super().__init__(f"setting {setting[:64]!r} does not exist")
        self.setting = setting


class SettingNotLive(AdminError):
    """The setting is read once, when the server starts."""

    kind = Kind.CONFLICT

    def __init__(self, setting: str) -> None:
        super().__init__(f"{setting} cannot change while the server runs: start it with another value")
        self.setting = setting


class SettingPinned(AdminError):
    """A flag or an environment variable gives the setting, and wins over what is set here."""

    kind = Kind.CONFLICT

    def __init__(self, setting: str, source: str) -> None:
        super().__init__(f"{setting} is given by {source}, which wins: change it there")
        self.setting = setting
        self.source = source


class NoAuditLog(AdminError):
    """The server keeps no audit log."""

    kind = Kind.MISSING

    def __init__(self) -> None:
        super().__init__("this server keeps no audit log: start it without --audit-file -")


class ImportTooLarge(AdminError):
    """An export is larger than is taken over HTTP."""

    kind = Kind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the export is larger than {limit_bytes} bytes: import it with `lakeshare state import`")
        self.limit_bytes = limit_bytes


class SealedOtherwise(AdminError):
    """The secrets of an export were sealed with another key file than this server's."""

    kind = Kind.CONFLICT

    def __init__(self, place: str) -> None:
        super().__init__(f"the secret of {place} was sealed with another key file: bring that secrets.key along")
        self.place = place


class WrongToken(AdminError):
    """A bearer token that is not the one of the metrics."""

    kind = Kind.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("the token is not the one that --metrics-token gives")
