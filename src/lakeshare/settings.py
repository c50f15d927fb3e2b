"""Every setting of the server: its name, default, bounds and help, in one frozen value read once.

A field named `root_user` has the flag `--root-user` and the environment name `LAKESHARE_ROOT_USER`.
Flags win over the environment, `LAKESHARE_*` over the names that AIStor users already have.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any
from urllib.parse import urlsplit

from lakeshare.errors import Kind, LakeshareError


class BadSetting(LakeshareError):
    """A setting has a value that it cannot have."""

    kind = Kind.INVALID

    def __init__(self, name: str, value: str, reason: str) -> None:
        super().__init__(f"{name} cannot be {value!r}: {reason}")
        self.name = name


class Secret(str):
    """A string that prints as `***`, so that no log or traceback shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __str__(self) -> str:
        return "***"

    def reveal(self) -> str:
        """Return the string itself."""
        return str.__str__(self)


LEVELS = ("debug", "info", "warning", "error")
TOKEN_CHARACTERS = 16

_BYTES = re.compile(r"(\d+)\s*([KMGT]i?B?)?\Z", re.IGNORECASE)
_SPAN = re.compile(r"(\d+)\s*([smhd])?\Z")
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off", ""})


def size_bytes(text: str) -> int:
    """Read a size such as `64KiB`, `16M` or `1048576`; every unit is a power of 1024."""
    if not (match := _BYTES.match(text)):
        msg = "write a number of bytes, or one with KiB, MiB, GiB or TiB"
        raise ValueError(msg)
    unit = (match[2] or "").upper()[:1]
    factor: int = 1024 ** (" KMGT".index(unit) if unit else 0)
    return int(match[1]) * factor


def seconds(text: str) -> int:
    """Read a time span such as `90`, `30m`, `24h` or `7d`."""
    if not (match := _SPAN.match(text)):
        msg = "write a number of seconds, or one with s, m, h or d"
        raise ValueError(msg)
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2] or "s"]


def span(low: int, high: int) -> Callable[[str], int]:
    """Read a time span within bounds."""

    def read(text: str) -> int:
        if not low <= seconds(text) <= high:
            msg = f"write a time from {low} to {high} seconds"
            raise ValueError(msg)
        return seconds(text)

    return read


def url(text: str) -> str:
    """Read the URL of a server, or nothing."""
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment):
        msg = "write a URL such as https://shares.example.net:9000"
        raise ValueError(msg)
    return text.rstrip("/")


def flag(text: str) -> bool:
    """Read a yes or no."""
    if text.lower() in _YES:
        return True
    if text.lower() in _NO:
        return False
    msg = "write true or false"
    raise ValueError(msg)


def names(text: str) -> tuple[str, ...]:
    """Read a list with commas between its items."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def whole(low: int, high: int) -> Callable[[str], int]:
    """Read a whole number within bounds."""

    def read(text: str) -> int:
        if not text.isdigit() or not low <= int(text) <= high:
            msg = f"write a whole number from {low} to {high}"
            raise ValueError(msg)
        return int(text)

    return read


def setting(default: Any, help_text: str, read: Callable[[str], Any] = str, *aliases: str, live: bool = False) -> Any:
    """Describe one field of Settings; `aliases` are further environment names, `live` lets it change while we run."""
    return field(default=default, metadata={"help": help_text, "read": read, "aliases": aliases, "live": live})


def level(text: str) -> str:
    """Read the name of a log level."""
    if text.lower() not in LEVELS:
        msg = "write debug, info, warning or error"
        raise ValueError(msg)
    return text.lower()


def token(text: str) -> Secret:
    """Read a secret that stands alone, and so must be long enough not to be guessed."""
    if text and len(text) < TOKEN_CHARACTERS:
        msg = f"write at least {TOKEN_CHARACTERS} characters"
        raise ValueError(msg)
    return Secret(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator may choose. The order of fields is the order of `docs/settings.md`."""

    address: str = setting("127.0.0.1:9000", "Address and port to listen on; `:9000` means every interface.")
    console_address: str = setting("", "Address and port of the console. Accepted; the console is not there yet.")
    workers: int = setting(2, "Worker processes that answer requests.", whole(1, 256))
    tls_cert: str = setting("", "PEM file with the server's certificate chain; needs --tls-key.")
    tls_key: str = setting("", "PEM file with the private key of --tls-cert.")
    root_user: str = setting(
        "", "Access key of the root identity; made at the first start if unset.", str, "MINIO_ROOT_USER"
    )
    root_password: Secret = setting(
        Secret(""), "Secret key of the root identity; made at the first start if unset.", Secret, "MINIO_ROOT_PASSWORD"
    )
    allow_default_credentials: bool = setting(
        False, "Let the well-known pair minioadmin/minioadmin serve addresses other than loopback.", flag
    )
    domains: tuple[str, ...] = setting(
        (), "Domains under which a host name's first label is the bucket (virtual-host style).", names, live=True
    )
    region: str = setting("us-east-1", "Region reported to clients; any region is accepted in signatures.", live=True)
    delta_sharing_endpoint: str = setting(
        "",
        "URL that recipients reach this server by, put into profiles and presigned URLs.",
        url,
        "MINIO_DELTA_SHARING_ENDPOINT",
        live=True,
    )
    delta_sharing_token_rate: int = setting(
        100,
        "Requests a second that one recipient token may send, over all workers; 0 is no limit.",
        whole(0, 1_000_000),
        live=True,
    )
    delta_sharing_total_rate: int = setting(
        1000,
        "Requests a second that all recipients together may send, over all workers; 0 is no limit.",
        whole(0, 1_000_000),
        live=True,
    )
    delta_sharing_url_expiry: int = setting(
        3600, "Seconds that a data file's presigned URL lives.", span(60, 7 * 86_400), live=True
    )
    delta_sharing_oauth_expiry: int = setting(
        3600, "Seconds that an OAuth access token of a recipient lives.", span(60, 86_400), live=True
    )
    iceberg_endpoint: str = setting(
        "",
        "URL of S3 that Iceberg clients are told; the one that they reach the catalog by if unset.",
        url,
        live=True,
    )
    iceberg_oauth_expiry: int = setting(
        3600, "Seconds that a Bearer token of the Iceberg catalog lives.", span(900, 43_200), live=True
    )
    trusted_proxies: tuple[str, ...] = setting(
        (), "Addresses or networks whose X-Forwarded-For and X-Forwarded-Proto are believed.", names
    )
    delta_commit_guard: bool = setting(
        True, "Refuse to overwrite a Delta commit (_delta_log/<20 digits>.json) with other bytes.", flag, live=True
    )
    allow_sigv2: bool = setting(
        True, "Accept presigned URLs of signature version 2, which boto3 makes by default.", flag, live=True
    )
    free_space_watermark: int = setting(
        1024**3, "Free bytes on the data disk under which writes are refused with 507.", size_bytes, live=True
    )
    garbage_grace: int = setting(
        7200, "Seconds that removed content stays readable by pinned URLs before it is collected.", seconds, live=True
    )
    stale_upload_age: int = setting(
        7 * 86400, "Age in seconds at which an unfinished multipart upload is removed.", seconds, live=True
    )
    sweep_interval: int = setting(60, "Seconds between two rounds of garbage collection.", span(1, 86_400), live=True)
    header_limit: int = setting(32 * 1024, "Largest request head, in bytes.", size_bytes)
    header_timeout: int = setting(20, "Seconds a client has to send a whole request head.", seconds)
    body_timeout: int = setting(
        60, "Seconds without a byte of a body, in or out, after which a connection is closed.", seconds
    )
    keep_alive: int = setting(75, "Seconds an idle connection is kept open.", seconds)
    shutdown_timeout: int = setting(30, "Seconds that requests in flight have to finish at shutdown.", seconds)
    auth_failure_rate: int = setting(
        100,
        "Failed signatures a second, for each access key and each client address, before 503 SlowDown.",
        whole(1, 1_000_000),
        live=True,
    )
    audit_file: str = setting("", "Folder of the audit log; `audit` in the data directory if unset, `-` for none.")
    audit_rotate: int = setting(64 * 1024**2, "Size in bytes at which an audit file is rotated.", size_bytes, live=True)
    audit_keep: int = setting(10, "Rotated audit files kept for each worker.", whole(1, 10_000), live=True)
    audit_webhook: str = setting("", "URL that audit events are posted to as well, in batches of lines of JSON.")
    audit_webhook_token: Secret = setting(
        Secret(""), "Bearer token sent with what is posted to --audit-webhook.", Secret
    )
    metrics_token: Secret = setting(
        Secret(""), "Bearer token that reads /metrics; a signature with admin:Prometheus reads it too.", token
    )
    metrics_public: bool = setting(False, "Let anyone read /metrics.", flag, live=True)
    log_level: str = setting("info", "Least severe log line to print: debug, info, warning or error.", level, live=True)

    @classmethod
    def read(cls, environ: Mapping[str, str], flags: Mapping[str, str | None]) -> "Settings":
        """Read settings from flags (by field name) and the environment; flags win."""
        chosen: dict[str, Any] = {}
        for item in fields(cls):
            found = _find(item, environ, flags)
            if found is None:
                continue
            source, text = found
            chosen[item.name] = _value(item, source, text)
        return cls(**chosen)

    def changed(self, overrides: Mapping[str, str]) -> "Settings":
        """Return the settings with some of them read from other texts. Raises BadSetting."""
        chosen: dict[str, Any] = {}
        for item in fields(self):
            if item.name in overrides:
                chosen[item.name] = _value(item, item.name, overrides[item.name])
        return replace(self, **chosen)


def written_value(value: Any) -> str:
    """Write the value of a setting as the text that gives it; a secret as `***`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value == "" else str(value)


def sources_of(environ: Mapping[str, str], flags: Mapping[str, str | None]) -> dict[str, str]:
    """Name the flag or environment variable of each setting that is given by one."""
    found = ((item.name, _find(item, environ, flags)) for item in fields(Settings))
    return {name: given[0] for name, given in found if given is not None}


def flag_name(item: "Field[Any]") -> str:
    """Name a field's flag."""
    return "--" + item.name.replace("_", "-")


def env_names(item: "Field[Any]") -> tuple[str, ...]:
    """Name the environment variables of a field, the one that wins first."""
    return ("LAKESHARE_" + item.name.upper(), *item.metadata["aliases"])


def default_of(item: "Field[Any]") -> Any:
    """Return a field's default."""
    return None if item.default is MISSING else item.default


def _value(item: "Field[Any]", source: str, text: str) -> Any:
    try:
        return item.metadata["read"](text)
    except ValueError as reason:
        shown = "***" if isinstance(default_of(item), Secret) else text
        raise BadSetting(source, shown, str(reason)) from None


def _find(item: "Field[Any]", environ: Mapping[str, str], flags: Mapping[str, str | None]) -> tuple[str, str] | None:
    if (given := flags.get(item.name)) is not None:
        return flag_name(item), given
    for name in env_names(item):
        if name in environ:
            return name, environ[name]
    return None
