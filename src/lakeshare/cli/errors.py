"""What can go wrong in a client, how a command then ends, and what to do next.

An error says its cause in `message` and the next step in `next_step`. The exit codes are those of docs/cli.md.
"""

from lakeshare.errors import Kind, LakeshareError

FAILED = 1
"""The command was refused, or part of its work failed. 2, a command written wrongly, is click's."""
MISSING = 3
"""An alias, a bucket, an object, a user or a file is not there."""
DENIED = 4
"""The key is unknown, its secret is wrong, or it may not do this."""
UNREACHABLE = 5
"""The server does not answer, or not as a server that can be trusted."""
INTERRUPTED = 130
"""Ctrl-C, or a signal to stop."""


class ClientError(LakeshareError):
    """A command cannot do what it was asked for."""

    kind = Kind.INVALID
    exit_code = FAILED

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class Misused(ClientError):
    """The arguments do not fit together."""

    exit_code = 2


class Missing(ClientError):
    """Something that was named is not there."""

    kind = Kind.MISSING
    exit_code = MISSING


class Unreachable(ClientError):
    """No answer came from the server."""

    kind = Kind.UNAVAILABLE
    exit_code = UNREACHABLE


class Corrupted(ClientError):
    """What arrived is not what the server keeps."""

    kind = Kind.INTERNAL


class Interrupted(ClientError):
    """The command was told to stop."""

    kind = Kind.UNAVAILABLE
    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__("stopped before it was done")


class SomeFailed(ClientError):
    """Parts of the work failed; each was told when it did."""

    def __init__(self, count: int, exit_code: int) -> None:
        super().__init__(f"{count} failed" if count > 1 else "one failed")
        self.count = count
        self.exit_code = exit_code


_BY_STATUS = {401: DENIED, 403: DENIED, 404: MISSING, 429: UNREACHABLE, 500: FAILED, 503: UNREACHABLE}
_DENIED_CODES = frozenset({"ExpiredToken", "InvalidToken"})


class Refused(ClientError):
    """The server answered with an error: its status, its code, and what it said of what was asked for."""

    def __init__(self, status: int, code: str, message: str, resource: str = "", next_step: str = "") -> None:
        named = f"{resource}: {message}" if resource and resource not in message else message
        alias = resource.partition("/")[0].partition(" ")[0]
        super().__init__(named, next_step or NEXT_STEPS.get(code, "").replace("ALIAS", alias or "ALIAS"))
        self.status = status
        self.code = code
        self.said = message
        self.exit_code = DENIED if code in _DENIED_CODES else _BY_STATUS.get(status, FAILED)


NEXT_STEPS = {
    "AccessDenied": "`lakeshare admin whoami ALIAS` says whose key this is. A policy gives it rights: "
    "`lakeshare admin policy attach`.",
    "BucketAlreadyExists": "Somebody else has a bucket of this name: choose another name.",
    "BucketAlreadyOwnedByYou": "Use the bucket as it is, or say `mb --ignore-existing`.",
    "BucketNotEmpty": "`lakeshare rb --force` removes a bucket with everything in it.",
    "ExpiredToken": "Get new temporary credentials, and give them to `lakeshare alias set`.",
    "GroupNotEmpty": "`lakeshare admin group remove ALIAS GROUP USER...` takes its members out.",
    "InvalidAccessKeyId": "See `lakeshare alias list`, and set the alias again with a key that the server knows.",
    "InvalidToken": "Get new temporary credentials, and give them to `lakeshare alias set`.",
    "MalformedPolicy": "docs/identity.md shows how a policy is written.",
    "NameTaken": "Choose another name, or give that user another secret: `lakeshare admin user secret ALIAS NAME`.",
    "NoSuchBucket": "`lakeshare ls ALIAS` lists the buckets, `lakeshare mb ALIAS/BUCKET` makes one.",
    "NoSuchKey": "`lakeshare ls` lists what is there. A folder is copied or removed with --recursive.",
    "NoSuchPolicy": "`lakeshare admin policy list ALIAS` lists the policies.",
    "NoSuchUser": "`lakeshare admin user list ALIAS` lists the users.",
    "NotEmpty": "Say --replace to put the import in place of what is there.",
    "PolicyInUse": "`lakeshare admin policy entities ALIAS --policy NAME` says who has it; detach it there first.",
    "RequestTimeTooSkewed": "Set this machine's clock: it is more than 15 minutes off the server's.",
    "SettingNotLive": "Give it to `lakeshare server` as a flag or in the environment, and start the server again.",
    "SignatureDoesNotMatch": "The secret key is wrong. Set the alias again: lakeshare alias set ALIAS URL KEY SECRET",
    "SlowDown": "Too many signatures failed, or too many requests came at once: wait a little and try again.",
    "XMinioStorageFull": "The server's disk is full: remove something, or give it more space.",
}
"""What to do about an error, by the server's code for it."""
