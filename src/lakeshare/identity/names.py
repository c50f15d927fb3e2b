"""Which names, access keys and secrets there can be, and new ones made at random."""

import re
import secrets
import string

from lakeshare.identity.directory_errors import BadName
from lakeshare.settings import Secret

ACCOUNT_PREFIX = "LSAK"
SESSION_PREFIX = "LSTS"
_RANDOM_CHARACTERS = 16
_SECRET_CHARACTERS = 40
_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits

# An access key stands in headers and ARNs: no slash, colon, comma, equals sign or wildcard.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{2,63}\Z")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}\Z")
_SECRET = re.compile(r"[!-~]{8,128}\Z")
_SESSION = re.compile(r"[A-Za-z0-9_+=,.@-]{2,64}\Z")  # STS AssumeRole, RoleSessionName
MAX_TEXT = 256


def check_user(name: str) -> str:
    """Return a legal user name or access key."""
    if not _NAME.match(name) or name.startswith(SESSION_PREFIX):
        raise BadName(
            "user name or access key",
            "3 to 64 letters, digits and . _ @ + -, beginning with a letter or digit, and not with " + SESSION_PREFIX,
        )
    return name


def check_group(name: str) -> str:
    """Return a legal group name."""
    return _plain("group name", name)


def check_policy(name: str) -> str:
    """Return a legal policy name."""
    return _plain("policy name", name)


def check_session(name: str) -> str:
    """Return a legal session name; none is legal too."""
    if name and not _SESSION.match(name):
        raise BadName("session name", "2 to 64 letters, digits and _ + = , . @ -")
    return name


def check_secret(secret: Secret) -> Secret:
    """Return a legal secret."""
    if not _SECRET.match(secret.reveal()):
        raise BadName("secret key", "8 to 128 printable ASCII characters without spaces")
    return secret


def check_text(what: str, text: str) -> str:
    """Return a legal description."""
    if len(text) > MAX_TEXT or not text.isprintable():
        raise BadName(what, f"at most {MAX_TEXT} printable characters")
    return text


def new_access_key(prefix: str) -> str:
    """Make an access key."""
    return prefix + "".join(secrets.choice(_KEY_LETTERS) for _ in range(_RANDOM_CHARACTERS))


def new_secret() -> Secret:
    """Make a secret of 238 bits."""
    return Secret("".join(secrets.choice(_SECRET_LETTERS) for _ in range(_SECRET_CHARACTERS)))


def new_uid() -> str:
    """Make an id that is never used twice."""
    return secrets.token_hex(8)


def _plain(what: str, name: str) -> str:
    if not _PLAIN.match(name):
        raise BadName(what, "1 to 128 letters, digits and . _ @ + -, beginning with a letter or digit")
    return name
