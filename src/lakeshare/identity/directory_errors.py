"""What can go wrong with users, groups, policies, access keys and sessions."""

from lakeshare.errors import Kind, LakeshareError
from lakeshare.identity.errors import AccessKeyUnknown


class AccessKeyInactive(AccessKeyUnknown):
    """The access key exists, and does not count now: disabled, expired, or its parent is gone."""

    def __init__(self, access_key: str, reason: str) -> None:
        super().__init__(access_key)
        self.args = (f"access key {access_key!r} cannot be used: {reason}",)
        self.reason = reason


class DirectoryError(LakeshareError):
    """The root of what the directory refuses."""

    kind = Kind.INVALID


class BadName(DirectoryError):
    """A name, an access key or a secret that cannot be one."""

    def __init__(self, what: str, rule: str) -> None:
        super().__init__(f"a {what} must be {rule}")
        self.what = what


class TooMany(DirectoryError):
    """One identity has as many of something as it may have."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"there are {limit} {what} already, and no more are allowed")
        self.limit = limit


class NoSuchUser(DirectoryError):
    """No user of that name."""

    kind = Kind.MISSING

    def __init__(self, user: str) -> None:
        super().__init__(f"user {user!r} does not exist")
        self.user = user


class NameTaken(DirectoryError):
    """Another user or access key has that name; users and access keys share their names."""

    kind = Kind.CONFLICT

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is taken: a user or an access key has that name")
        self.name = name


class NoSuchGroup(DirectoryError):
    """No group of that name."""

    kind = Kind.MISSING

    def __init__(self, group: str) -> None:
        super().__init__(f"group {group!r} does not exist")
        self.group = group


class GroupNotEmpty(DirectoryError):
    """The group still has members."""

    kind = Kind.CONFLICT

    def __init__(self, group: str) -> None:
        super().__init__(f"group {group!r} has members: remove them first")
        self.group = group


class NoSuchPolicy(DirectoryError):
    """No policy of that name."""

    kind = Kind.MISSING

    def __init__(self, policy: str) -> None:
        super().__init__(f"policy {policy!r} does not exist")
        self.policy = policy


class PolicyInUse(DirectoryError):
    """The policy is attached to users or groups."""

    kind = Kind.CONFLICT

    def __init__(self, policy: str, holders: tuple[str, ...]) -> None:
        named = ", ".join(holders[:5])
        super().__init__(f"policy {policy!r} is attached to {named}: detach it first")
        self.policy = policy
        self.holders = holders


class PolicyBuiltIn(DirectoryError):
    """A built-in policy cannot be changed."""

    kind = Kind.CONFLICT

    def __init__(self, policy: str) -> None:
        super().__init__(f"policy {policy!r} is built in and cannot be changed: choose another name")
        self.policy = policy


class NoSuchAccessKey(DirectoryError):
    """No service account has that access key."""

    kind = Kind.MISSING

    def __init__(self, access_key: str) -> None:
        super().__init__(f"access key {access_key!r} does not exist")
        self.access_key = access_key


class Escalation(DirectoryError):
    """The caller would make or change a key that it has no power over."""

    kind = Kind.DENIED

    def __init__(self, reason: str) -> None:
        super().__init__(f"not allowed: {reason}")
        self.reason = reason


class BadDuration(DirectoryError):
    """A session would be shorter or longer than sessions may be."""

    def __init__(self, low_seconds: int, high_seconds: int) -> None:
        super().__init__(f"a session lasts {low_seconds} to {high_seconds} seconds")
        self.low_seconds = low_seconds
        self.high_seconds = high_seconds
