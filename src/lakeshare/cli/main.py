"""The root of the command line: each command is imported only when it is run, so that all start at once."""

import os
import re
import sys
from collections.abc import Sequence

import click

from lakeshare import __version__
from lakeshare.cli.errors import FAILED, ClientError, Interrupted, Misused, SomeFailed
from lakeshare.cli.groups import LazyGroup
from lakeshare.cli.output import Output
from lakeshare.errors import LakeshareError

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Servers": {
        "alias": ("lakeshare.cli.commands.alias", "Name servers and the keys to them."),
        "admin": (
            "lakeshare.cli.commands.admin.group",
            "Users, policies, keys, settings, audit and state of a server.",
        ),
        "ready": ("lakeshare.cli.commands.ready", "Wait until a server can serve."),
    },
    "Buckets and objects": {
        "mb": ("lakeshare.cli.commands.buckets", "Make a bucket."),
        "rb": ("lakeshare.cli.commands.buckets", "Remove a bucket."),
        "ls": ("lakeshare.cli.commands.ls", "List buckets and objects."),
        "tree": ("lakeshare.cli.commands.tree", "Draw what is there as a tree."),
        "cp": ("lakeshare.cli.commands.cp", "Copy files and objects."),
        "mv": ("lakeshare.cli.commands.cp", "Move files and objects."),
        "mirror": ("lakeshare.cli.commands.mirror", "Make a folder like another."),
        "cat": ("lakeshare.cli.commands.cat", "Print objects."),
        "head": ("lakeshare.cli.commands.cat", "Print the first lines of objects."),
        "pipe": ("lakeshare.cli.commands.cat", "Write an object from standard input."),
        "stat": ("lakeshare.cli.commands.stat", "Show what is known of a bucket or an object."),
        "rm": ("lakeshare.cli.commands.rm", "Remove objects."),
        "find": ("lakeshare.cli.commands.find", "Find objects by name, age and size."),
        "du": ("lakeshare.cli.commands.du", "Sum up what is there."),
        "tag": ("lakeshare.cli.commands.tag", "Tags of buckets and objects."),
        "anonymous": ("lakeshare.cli.commands.anonymous", "What everyone may do with a bucket, without a key."),
        "share": ("lakeshare.cli.commands.share", "Make links that need no key."),
    },
    "Tables, and sharing them": {
        "table": ("lakeshare.cli.commands.table.group", "Iceberg tables, and shares of tables with their tokens."),
        "recipient": ("lakeshare.cli.commands.recipient", "Whom tables are shared with."),
        "source": ("lakeshare.cli.commands.source", "Other S3 stores whose tables are shared."),
        "doctor": ("lakeshare.cli.commands.doctor", "Check what a recipient would meet."),
    },
    "Jobs": {
        "pipeline": ("lakeshare.cli.commands.pipeline", "Run Spark jobs on a server's tables."),
    },
    "A data directory": {
        "server": ("lakeshare.server.commands", "Serve a data directory."),
        "fsck": ("lakeshare.server.commands", "Check a data directory."),
        "backup": ("lakeshare.server.commands", "Copy a data directory while it is served."),
        "restore": ("lakeshare.server.commands", "Make a data directory from a backup."),
        "state": ("lakeshare.server.state_commands", "Export, import and verify its small facts."),
    },
    "This program": {
        "completion": ("lakeshare.cli.commands.completion", "Print the completion for a shell."),
    },
}
"""The commands as `lakeshare --help` groups them: where each is, and its line of help."""

COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

_DASHES = "\u2013\u2014"
_FLAG = re.compile(r"[a-z][a-z-]+(=.*)?")


class Root(LazyGroup):
    """The group of all commands, listed in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in section.items()])


@click.group(
    cls=Root,
    commands_table=COMMANDS,
    synonyms={"list": "ls", "remove": "rm"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-v", "--version", message="lakeshare %(version)s")
def root() -> None:
    r"""Lakeshare: an open object store that shares tables.

    \b
    Serve a folder:     lakeshare server ./data
    Name that server:   lakeshare alias set lake http://127.0.0.1:9000 KEY SECRET
    Use it:             lakeshare mb lake/bucket
                        lakeshare cp --recursive ./folder lake/bucket/folder
                        lakeshare tree --files lake/bucket
    Let others in:      lakeshare admin user add lake ann
                        lakeshare admin policy attach lake readonly --user ann
    Share a table:      lakeshare table share create lake/sales HR "staff:delta:bucket:staff/"
                        lakeshare table share token create lake/sales --expires 90d
    """


def main() -> None:
    """Run the command line."""
    sys.exit(run([straight(argument) for argument in sys.argv[1:]]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line, and return its exit code."""
    output = Output(as_json="--json" in arguments)
    try:
        root.main(list(arguments), prog_name="lakeshare", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.ClickException, LakeshareError) as error:
        return _told(output, error)
    except (KeyboardInterrupt, click.Abort):
        return _told(output, Interrupted())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return 0


def _told(output: Output, error: click.ClickException | LakeshareError) -> int:
    """Tell an error, and return the exit code that goes with it."""
    match error:
        case click.ClickException() if not output.as_json:
            error.show()
        case click.ClickException():
            output.complain(Misused(error.format_message()))
        case SomeFailed():
            if error.count > 1 and not output.as_json:
                output.complain(error)
        case _:
            output.complain(error)
    return error.exit_code if isinstance(error, click.ClickException | ClientError) else FAILED


def straight(argument: str) -> str:
    """Return an argument with the dash of a word processor, as copied from a web page, made the two of a flag."""
    if argument[:1] not in tuple(_DASHES) or not _FLAG.fullmatch(argument[1:]):
        return argument
    return "--" + argument[1:]
