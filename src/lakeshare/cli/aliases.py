"""Aliases: short names for servers and the keys to them, in a file that only its owner can read.

The file has the layout of mc's `config.json`, so that one can be copied over. An environment variable
`LAKESHARE_HOST_name=https://KEY:SECRET@host:port` (or mc's `MC_HOST_name`) is an alias too, and wins over the file.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lakeshare.cli.errors import ClientError, Missing, Misused
from lakeshare.settings import Secret

FILE_NAME = "config.json"
ENVIRONMENT = ("LAKESHARE_HOST_", "MC_HOST_")
FILE_LIMIT_BYTES = 1024**2
"""Largest file of aliases that is read."""
LAYOUT = "10"
"""The version of mc's layout that this one is."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


NO_SECRET = Secret("")
DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Alias:
    """A server, and what to sign with. Without an access key requests are sent unsigned."""

    name: str
    url: str
    access_key: str = ""
    secret: Secret = NO_SECRET
    session_token: Secret = NO_SECRET
    ca_cert: str = ""
    source: str = ""
    region: str = DEFAULT_REGION


def config_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of the aliases."""
    if chosen := environ.get("LAKESHARE_CONFIG_DIR"):
        return Path(chosen)
    home = environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "lakeshare"


def checked_name(name: str) -> str:
    """Return an alias's name if it can be one."""
    if not _NAME.fullmatch(name):
        raise Misused(
            f"{name!r} cannot be an alias", "Use letters, digits, - and _, with a letter first: lake, prod-eu."
        )
    return name


def checked_url(url: str) -> str:
    """Return a server's URL, without a slash at its end, if it is one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as reason:
        raise Misused(f"{url!r} is no URL of a server: {reason}", "Write such as http://127.0.0.1:9000.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        guess = f"http://{url.rsplit('://', maxsplit=1)[-1].strip('/') or '127.0.0.1:9000'}"
        raise Misused(f"{url!r} is no URL of a server", f"Write it with its scheme, such as {guess}.")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise Misused(f"{url!r} has a path: an alias is for a whole server", f"Use {parts.scheme}://{parts.netloc}.")
    if "@" in parts.netloc:
        raise Misused("the URL holds keys", "Give them after it: lakeshare alias set ALIAS URL KEY SECRET")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


class AliasFile:
    """The aliases of one user."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.path = folder / FILE_NAME
        self._environ = environ

    def all(self) -> dict[str, Alias]:
        """Return every alias by name, those of the environment too."""
        found = {name: _decode(name, raw, str(self.path)) for name, raw in self._read()["aliases"].items()}
        for prefix in reversed(ENVIRONMENT):
            for variable, value in self._environ.items():
                if variable.startswith(prefix) and value and (name := variable.removeprefix(prefix)):
                    found[name] = _from_environment(name, variable, value)
        return found

    def find(self, name: str) -> Alias:
        """Return one alias."""
        known = self.all()
        if name in known:
            return known[name]
        there = f" Those there are: {', '.join(sorted(known))}." if known else ""
        raise Missing(f"there is no alias {name!r}", f"Make it with: lakeshare alias set {name} URL KEY SECRET.{there}")

    def put(self, alias: Alias) -> Alias:
        """Keep an alias, in place of one of that name."""
        content = self._read()
        content["aliases"][alias.name] = _encode(alias)
        self._write(content)
        return replace(alias, source=str(self.path))

    def remove(self, name: str) -> Alias:
        """Forget an alias."""
        content, alias = self._read(), self.find(name)
        if name not in content["aliases"]:
            raise ClientError(f"the alias {name!r} comes from {alias.source}", f"Unset it: unset {alias.source}")
        del content["aliases"][name]
        self._write(content)
        return alias

    def is_open_to_others(self) -> bool:
        """Say whether other users can read the file, which holds secrets."""
        try:
            return bool(self.path.stat().st_mode & _OPEN_TO_OTHERS)
        except OSError:
            return False

    def _read(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                content = json.loads(file.read(FILE_LIMIT_BYTES))
        except FileNotFoundError:
            return {"version": LAYOUT, "aliases": {}}
        except OSError as reason:
            raise ClientError(f"{self.path} cannot be read: {reason.strerror}") from None
        except ValueError as reason:
            raise ClientError(
                f"{self.path} is not JSON: {reason}", "Mend it, or remove it and set aliases again."
            ) from None
        if not isinstance(content, dict) or not isinstance(content.setdefault("aliases", {}), dict):
            raise ClientError(f"{self.path} holds no aliases", "Mend it, or remove it and set aliases again.")
        return content

    def _write(self, content: dict[str, Any]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{FILE_NAME}.{os.getpid()}.new")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(content, file, indent=2)
                file.write("\n")
            fresh.replace(self.path)
        except OSError as reason:
            fresh.unlink(missing_ok=True)
            raise ClientError(f"{self.path} cannot be written: {reason.strerror}") from None


def _decode(name: str, raw: Any, source: str) -> Alias:
    if not isinstance(raw, dict) or not isinstance(raw.get("url"), str):
        raise ClientError(f"the alias {name!r} in {source} has no url", f"lakeshare alias set {name} URL KEY SECRET")
    text = {key: str(raw.get(key) or "") for key in ("accessKey", "secretKey", "sessionToken", "caCert", "region")}
    return Alias(
        name,
        raw["url"].rstrip("/"),
        text["accessKey"],
        Secret(text["secretKey"]),
        Secret(text["sessionToken"]),
        text["caCert"],
        source,
        text["region"] or DEFAULT_REGION,
    )


def _encode(alias: Alias) -> dict[str, str]:
    content = {
        "url": alias.url,
        "accessKey": alias.access_key,
        "secretKey": alias.secret.reveal(),
        "api": "S3v4",
        "path": "auto",
    }
    if alias.session_token:
        content["sessionToken"] = alias.session_token.reveal()
    if alias.region != DEFAULT_REGION:
        content["region"] = alias.region
    if alias.ca_cert:
        content["caCert"] = alias.ca_cert
    return content


def _from_environment(name: str, variable: str, value: str) -> Alias:
    scheme, _, rest = value.partition("://")
    keys, at, host = rest.rpartition("@")
    parts = [unquote(part) for part in keys.split(":")] if at else []
    if scheme not in ("http", "https") or not host or len(parts) not in (0, 2, 3):
        form = "https://KEY:SECRET@host:port, or https://KEY:SECRET:TOKEN@host:port"
        raise Misused(f"{variable} is no alias", f"Write it as {form}; : / @ and % in a key as %3A %2F %40 and %25.")
    access_key, secret, token = (*parts, "", "", "")[:3]
    return Alias(name, checked_url(f"{scheme}://{host}"), access_key, Secret(secret), Secret(token), "", variable)
