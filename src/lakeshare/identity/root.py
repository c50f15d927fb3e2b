"""The root identity's first credentials: from the settings, or a file of the data directory made at the first start.

There is no default password. The file is readable by its owner alone, or it is refused.
"""

import json
import secrets
import string
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from pathlib import Path

from lakeshare.identity.errors import RootCredentialsUnusable
from lakeshare.identity.private_file import create_private, read_private
from lakeshare.settings import Secret, Settings

FILE_NAME = "root-credentials.json"
FILE_LIMIT_BYTES = 4096
ACCESS_KEY_LENGTH = 20
SECRET_LENGTH = 40
ACCESS_KEY_RANGE = range(3, 129)
"""Lengths an access key may have; AWS's own bound is 128."""
SECRET_RANGE = range(8, 129)

_WELL_KNOWN = "minioadmin"
_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits
_ATTEMPTS = 3


class Origin(Enum):
    """Where the root credentials come from."""

    SETTINGS = "settings"
    FILE = "file"
    CREATED = "created"


@dataclass(frozen=True, slots=True)
class RootCredentials:
    """The root identity's pair. `warnings` are for the operator to read at start."""

    access_key: str
    secret: Secret
    origin: Origin
    warnings: tuple[str, ...] = ()


def load_root(data_dir: Path, settings: Settings) -> RootCredentials:
    """Return the root credentials, making them at the first start. Raises RootCredentialsUnusable."""
    if settings.root_user or settings.root_password:
        return _from_settings(settings)
    path = data_dir / FILE_NAME
    for _ in range(_ATTEMPTS):
        found = _read(path)
        if found is not None:
            return RootCredentials(*found, Origin.FILE)
        made = _create(path)
        if made is not None:
            return RootCredentials(*made, Origin.CREATED)
    raise RootCredentialsUnusable(f"{path} cannot be made: another process keeps removing it")


def _from_settings(settings: Settings) -> RootCredentials:
    access_key, secret = settings.root_user, settings.root_password
    if not access_key or not secret:
        given, missing = ("root_user", "root_password") if access_key else ("root_password", "root_user")
        raise RootCredentialsUnusable(f"{given} is set without {missing}: set both, or neither")
    _check(access_key, secret, "the settings")
    if secret.reveal() != _WELL_KNOWN:
        return RootCredentials(access_key, secret, Origin.SETTINGS)
    if not _is_loopback(settings.address) and not settings.allow_default_credentials:
        raise RootCredentialsUnusable(
            f"the root password is {_WELL_KNOWN}, which everyone knows, and {settings.address} can be reached from"
            " other machines: choose another password, or start with --allow-default-credentials"
        )
    warning = f"the root password is {_WELL_KNOWN}, which everyone knows: choose another before others can connect"
    return RootCredentials(access_key, secret, Origin.SETTINGS, (warning,))


def _check(access_key: str, secret: Secret, where: str) -> None:
    if len(access_key) not in ACCESS_KEY_RANGE or len(secret) not in SECRET_RANGE:
        raise RootCredentialsUnusable(
            f"{where}: an access key must have at least {ACCESS_KEY_RANGE.start} characters and a secret at least"
            f" {SECRET_RANGE.start}, and neither more than {SECRET_RANGE.stop - 1}"
        )
    if not (access_key.isascii() and access_key.isprintable()) or set(access_key) & set(" ,=/"):
        raise RootCredentialsUnusable(
            f"{where}: an access key must be printable ASCII without spaces, commas, slashes and equals signs"
        )


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _read(path: Path) -> tuple[str, Secret] | None:
    """Return the pair in the file, or None if there is no file."""
    content = read_private(path, FILE_LIMIT_BYTES, RootCredentialsUnusable)
    return None if content is None else _parse(path, content)


def _parse(path: Path, content: bytes) -> tuple[str, Secret]:
    try:
        document = json.loads(content) if len(content) <= FILE_LIMIT_BYTES else None
    except (ValueError, RecursionError):
        document = None
    pair = (document.get("access_key"), document.get("secret")) if isinstance(document, dict) else (None, None)
    access_key, secret = pair
    if not isinstance(access_key, str) or not isinstance(secret, str):
        raise RootCredentialsUnusable(
            f'{path} must hold {{"access_key": …, "secret": …}}: repair it, or remove it to have a new pair made'
        )
    _check(access_key, Secret(secret), str(path))
    return access_key, Secret(secret)


def _create(path: Path) -> tuple[str, Secret] | None:
    """Make a pair and its file; None if the file is there already."""
    access_key = _random(_KEY_LETTERS, ACCESS_KEY_LENGTH)
    secret = _random(_SECRET_LETTERS, SECRET_LENGTH)
    content = json.dumps({"access_key": access_key, "secret": secret}, indent=2).encode() + b"\n"
    made = create_private(path, content, RootCredentialsUnusable)
    return (access_key, Secret(secret)) if made else None


def _random(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))
