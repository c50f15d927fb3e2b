"""Every command teaches by example, and has its line in the page about the command line."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lakeshare.cli.groups import LazyGroup
from lakeshare.cli.main import COMMANDS, SECTIONS, root
from tests.cli.conftest import Cli

ROW = re.compile(r"^\| `lakeshare ([a-z -]+?)(?: [A-Z\[].*)?` \|", re.MULTILINE)
HEADING = re.compile(r"^## lakeshare ([a-z]+)$", re.MULTILINE)
OTHER_NAMES = {"admin user svcacct": "admin accesskey", "table warehouse maintenance": "table maintenance"}


def commands(group: click.Group = root, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group, by the words that are typed."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        words = f"{path} {name}".strip()
        yield words, command
        if isinstance(command, click.Group) and words not in OTHER_NAMES:
            yield from commands(command, words)


ALL = dict(commands())
LEAVES = [words for words, command in ALL.items() if not isinstance(command, click.Group)]


@pytest.mark.parametrize("words", ALL)
def test_help_shows_an_example(words: str):
    """The help of a command has a line that can be typed as it stands."""
    command = ALL[words]
    said = command.get_help(click.Context(command, info_name=f"lakeshare {words}"))
    typed = OTHER_NAMES.get(words, words)
    assert re.search(rf"lakeshare {typed}\b", said.partition("Options:")[0].partition("\n\n")[2]), said
    assert "\\b" not in said


@pytest.mark.parametrize("words", LEAVES)
def test_every_example_is_a_command(words: str):
    """Each line of a help text that begins with `lakeshare` names a command that is there."""
    for line in (ALL[words].help or "").splitlines():
        for found in re.finditer(r"(?:^|\| |: +|\()lakeshare ([a-z]+)", line.strip()):
            assert found[1] in COMMANDS, line


def test_the_page_has_a_line_for_every_command(repository: Path):
    """docs/cli.md has a row or a heading for each command, and for no other."""
    page = (repository / "docs/cli.md").read_text()
    described = {*ROW.findall(page), *HEADING.findall(page)}
    assert described == set(LEAVES)


def test_the_help_lists_all_in_sections(cli: Cli):
    """`lakeshare --help` names every command under the title of its section."""
    said = cli("--help").out
    for title, section in SECTIONS.items():
        listed = said.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in listed.splitlines() if not line.startswith("   ")] == list(section)


def test_every_line_of_help_is_short():
    """The line that a group has for a command fits a terminal."""
    for group in (root, *(command for command in ALL.values() if isinstance(command, LazyGroup))):
        assert all(len(name) + len(text) < 74 and text.endswith(".") for name, (_, text) in group.table.items())


def test_no_arguments_show_the_help(cli: Cli):
    """A group alone shows its help, and a command that is not there is answered with those that are near."""
    assert "Buckets and objects" in cli(code=2).err
    assert "accesskey" in cli("admin", code=2).err
    assert "Did you mean" in cli("mirro", code=2).err
    assert "user" in cli("admin", "usr", code=2).err


def test_ls_and_rm_stand_for_list_and_remove():
    """In every group that has `list` or `remove`, `ls` and `rm` are the same commands."""
    for group in (command for command in ALL.values() if isinstance(command, LazyGroup)):
        ctx = click.Context(group)
        for short, long in (("ls", "list"), ("rm", "remove")):
            assert group.get_command(ctx, short) is group.get_command(ctx, long) or long not in group.table
    ctx = click.Context(root)
    assert root.get_command(ctx, "list") is root.get_command(ctx, "ls")


def test_the_shared_flags_are_everywhere():
    """--json, --ca-cert and the others are taken by every client command and group."""
    for words, command in ALL.items():
        if words.split()[0] in SECTIONS["A data directory"]:
            continue
        names = {option for parameter in command.params for option in parameter.opts}
        assert {"--json", "--quiet", "--ca-cert", "--insecure", "--config-dir", "--no-color"} <= names, words
