"""The flags that every command has, before and after its name, and what makes a function a command.

A command is a function from a Session and its own arguments to an Answer, which is then printed.
"""

import signal
from collections.abc import Callable
from functools import update_wrapper
from types import FrameType
from typing import Any

import click

from lakeshare.cli.output import Answer
from lakeshare.cli.session import Choices, Session

_META = "lakeshare.cli.choices"
_NAMES = ("json", "quiet", "no_color", "ca_cert", "insecure", "config_dir")


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value not in (None, False) and param.name:
        ctx.meta.setdefault(_META, {})[param.name] = value


def _flag(*names: str, help_text: str) -> click.Option:
    return click.Option(names, is_flag=True, help=help_text, expose_value=False, callback=_remember)


def shared_flags() -> list[click.Parameter]:
    """Return the flags that every command has."""
    return [
        _flag("--json", help_text="Print one JSON object a line."),
        _flag("-q", "--quiet", help_text="Draw no progress bar, and tell no details."),
        _flag("--no-color", help_text="Print without colours."),
        click.Option(
            ["--ca-cert"], metavar="FILE", help="Trust the authorities in this PEM file, and no others.",
            expose_value=False, callback=_remember,
        ),
        _flag("--insecure", help_text="Do not check the server's certificate."),
        click.Option(
            ["-C", "--config-dir"], metavar="FOLDER", help="Folder of the aliases.",
            expose_value=False, callback=_remember,
        ),
    ]  # fmt: skip


class SharedCommand(click.Command):
    """A command with the shared flags at the end of its help."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params += shared_flags()


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a function a command: it is given a Session first, and what it returns is printed."""

    def wrap(function: Callable[..., Answer]) -> click.Command:
        def run(**arguments: Any) -> None:
            signal.signal(signal.SIGTERM, _interrupt)
            session = session_of(click.get_current_context())
            try:
                session.output.show(function(session, **arguments))
            finally:
                session.close()

        update_wrapper(run, function)
        return click.command(name, cls=SharedCommand, **attributes)(run)

    return wrap


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Take a signal to stop as Ctrl-C, so that what was begun is cleaned up."""
    del number, frame
    raise KeyboardInterrupt


def session_of(ctx: click.Context) -> Session:
    """Return the session that the flags of a command line ask for."""
    chosen = ctx.meta.get(_META, {})
    return Session.of(Choices(**{name: chosen[name] for name in _NAMES if name in chosen}))
