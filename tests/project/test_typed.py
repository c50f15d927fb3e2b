"""What pages and help texts show as typed can be typed: the commands are there, and so are their flags."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lakeshare.cli.main import root

QUOTED = re.compile(r"`(lakeshare [^`]+)`")
TYPED = re.compile(r"^(?:\$ |[^`#]*\| )?(?:\.venv/bin/)?(lakeshare .+)$")
END = re.compile(r" [#|>] .*| && .*| {2,}\S.*| ?\\$")
PLACEHOLDERS = {"COMMAND"}


def pages() -> list[Path]:
    tree = Path(__file__).parents[2]
    return [*sorted(tree.glob("*.md")), *sorted(tree.glob("docs/**/*.md"))]


def typed(text: str) -> Iterator[str]:
    """Yield what is shown as typed, whole lines and words in quotes; a line may go on in the next."""
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        yield from QUOTED.findall(line)
        if found := TYPED.match(line.strip()):
            yield found[1]


def helps(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the help of a command and of all below it."""
    yield command.help or ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from helps(below, click.Context(below, parent=context))


def wrong(line: str) -> str:
    """Say what is wrong with a line, if anything is."""
    text = END.sub("", line).replace("[", "").replace("]", "").replace("...", "").replace("…", "")
    try:
        words = shlex.split(text)[1:]
    except ValueError:
        return ""  # Only the beginning of a command is on the line.
    command, context = root, click.Context(root)
    while words and isinstance(command, click.Group):
        word = words.pop(0).partition("|")[0]
        if word.startswith("-") or word in PLACEHOLDERS:
            continue
        below = command.get_command(context, word)
        if below is None:
            return f"there is no {word!r} in {line!r}"
        command, context = below, click.Context(below, parent=context)
    known = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)} | {"--help"}
    unknown = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)} - known
    return f"there is no {', '.join(sorted(unknown))} in {line!r}" if unknown else ""


def test_what_cannot_be_typed_is_found():
    """A command or a flag that is not there is found, and what stands behind a command is not taken for it."""
    assert wrong("lakeshare copy a b")
    assert wrong("lakeshare table share toke list lake")
    assert wrong("lakeshare cp --recursively a b")
    assert not wrong("lakeshare cp --recursive a b    or --attr, too")
    assert not wrong("lakeshare ls lake --json | jq --raw-output .key")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_what_a_page_shows_can_be_typed(page: Path):
    """Each command on a page is a command, and each flag of it is one of its flags."""
    assert [each for each in map(wrong, typed(page.read_text())) if each] == []


def test_what_help_shows_can_be_typed():
    """So is each example in the help of a command."""
    shown = [line for text in helps(root, click.Context(root)) for line in typed(text)]
    assert len(shown) > 100
    assert [each for each in map(wrong, shown) if each] == []
