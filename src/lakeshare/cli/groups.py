"""Groups of commands that are imported only when one is run, so that each starts at once."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from lakeshare.cli.flags import shared_flags

Commands = Mapping[str, tuple[str, str]]
"""Each command's module, as `package.module` or `package.module:name`, and its line of help."""

SYNONYMS = {"ls": "list", "rm": "remove"}
"""Names that work in every group that has the command they stand for."""


def unwrapped(text: str | None) -> str | None:
    r"""Return a help text in which `\\b`, as raw docstrings have it, is the character by which click keeps lines."""
    return text.replace("\\b\n", "\b\n") if text else text


class LazyGroup(click.Group):
    """A group that knows its commands by name, and imports one when it is asked for."""

    def __init__(
        self, *args: Any, commands_table: Commands, synonyms: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.help = unwrapped(self.help)
        self.table = commands_table
        self.synonyms = {**SYNONYMS, **(synonyms or {})}
        self.params += shared_flags()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, found by its name or a synonym."""
        del ctx
        name = cmd_name if cmd_name in self.table else self.synonyms.get(cmd_name, "")
        if name not in self.table:
            return None
        module, _, attribute = self.table[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute or name)
        command.help = unwrapped(command.help)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and name those that are near where there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # noqa: PLC0415 - only for a command that is not there

            near = get_close_matches(args[0], [*self.table], 3, 0.5) if args else []
            if near and "Did you mean" not in error.message:
                raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


def lazy_group(help_text: str, table: Commands, synonyms: Mapping[str, str] | None = None) -> LazyGroup:
    """Make a group from a table of its commands."""
    return LazyGroup(help=help_text, commands_table=table, synonyms=synonyms, no_args_is_help=True)
