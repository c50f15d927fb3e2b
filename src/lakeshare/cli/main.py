"""The root of the command line: each command is imported only when it is run, so that all start at once."""

import importlib
import sys

import click

from lakeshare import __version__
from lakeshare.errors import LakeshareError

FAILED = 1
"""The exit code of a command that was refused; click uses 2 for a command that was written wrongly."""

COMMANDS = {
    "server": ("lakeshare.server.commands", "Serve a data directory."),
    "fsck": ("lakeshare.server.commands", "Check a data directory."),
    "backup": ("lakeshare.server.commands", "Copy a data directory while it is served."),
    "restore": ("lakeshare.server.commands", "Make a data directory from a backup."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name, and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="lakeshare %(version)s")
def root() -> None:
    r"""Lakeshare: an open object store that shares tables.

    \b
    Serve a folder:      lakeshare server ./data
    On every interface:  lakeshare server ./data --address :9000
    Check it:            lakeshare fsck ./data
    """


def main() -> None:
    """Run the command line."""
    try:
        root(standalone_mode=True)
    except LakeshareError as error:
        click.echo(f"lakeshare: {error.message}", err=True)
        sys.exit(FAILED)
