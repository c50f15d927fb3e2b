"""What one run of a command has: its output, its aliases, and the servers that it speaks to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lakeshare.cli.aliases import Alias, AliasFile, config_dir
from lakeshare.cli.output import Output
from lakeshare.cli.places import Place, Remote, parse, parse_remote

if TYPE_CHECKING:
    from lakeshare.cli.remote.admin import Admin
    from lakeshare.cli.remote.server import Server
    from lakeshare.cli.remote.store import Store


@dataclass(frozen=True, slots=True)
class Choices:
    """What the shared flags say."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False
    ca_cert: str = ""
    insecure: bool = False
    config_dir: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a command."""

    choices: Choices
    output: Output
    file: AliasFile
    environ: Mapping[str, str]
    _servers: "dict[str, Server]" = field(default_factory=dict)
    _aliases: dict[str, Alias] = field(default_factory=dict)

    @classmethod
    def of(cls, choices: Choices, environ: Mapping[str, str] = os.environ) -> "Session":
        """Begin a run."""
        color = False if choices.no_color or environ.get("NO_COLOR") else None
        output = Output(as_json=choices.json, quiet=choices.quiet, color=color)
        folder = Path(choices.config_dir) if choices.config_dir else config_dir(environ)
        return cls(choices, output, AliasFile(folder, environ), environ)

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """Every alias by name, read once."""
        if not self._aliases:
            self._aliases.update(self.file.all())
        return self._aliases

    def place(self, text: str) -> Place:
        """Read a place, remote or local."""
        return parse(text, self.aliases)

    def remote(self, text: str) -> Remote:
        """Read a place on a server."""
        return parse_remote(text, self.aliases)

    def server(self, name: str) -> "Server":
        """Return the server of an alias."""
        if name not in self._servers:
            self.connect(self.aliases.get(name) or self.file.find(name))
        return self._servers[name]

    def connect(self, alias: Alias) -> "Server":
        """Return a server that is asked as an alias says."""
        from lakeshare.cli.remote.server import Server  # noqa: PLC0415 - HTTP is for those who use it
        from lakeshare.cli.remote.trust import Trust  # noqa: PLC0415

        trust = Trust.of(self.choices.ca_cert or alias.ca_cert, self.environ, insecure=self.choices.insecure)
        server = Server(alias, trust, self.environ)
        self._servers[alias.name] = server
        return server

    def store(self, name: str) -> "Store":
        """Return the buckets of an alias's server."""
        from lakeshare.cli.remote.store import Store  # noqa: PLC0415

        return Store(self.server(name))

    def admin(self, target: str) -> "Admin":
        """Return the admin API of an alias's server; mc's users put a slash after it."""
        from lakeshare.cli.remote.admin import Admin  # noqa: PLC0415

        return Admin(self.server(self.remote(target).alias))

    def servers(self) -> "list[Server]":
        """Return the servers that were used."""
        return list(self._servers.values())

    def close(self) -> None:
        """Close every connection."""
        for server in self._servers.values():
            server.connections.close()
