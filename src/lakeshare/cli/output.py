"""How values are printed: as text for people, or as one JSON object a line for programs.

Commands return Records, and nothing else prints. Names that others chose may hold control characters: they are
escaped in text, so that no key can move a cursor or colour a terminal.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import click

from lakeshare.cli.errors import ClientError, SomeFailed
from lakeshare.errors import LakeshareError

FLUSH_SECONDS = 0.2
"""How long a line may wait in a buffer while a command goes on."""

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One thing to tell: facts for programs, text for people. A detail goes unsaid where a progress bar says it."""

    facts: Facts
    text: str
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing of many that failed; the others go on."""

    error: LakeshareError
    facts: Facts = field(default_factory=dict)


Answer = Record | Failure | None | Iterable[Record | Failure]


def printable(name: str) -> str:
    """Return a name with what a terminal would act on written as escapes."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def table(columns: Sequence[str], rows: Iterable[tuple[Sequence[str], Facts]]) -> Iterator[Record]:
    """Lay rows out under headings, each column as wide as it must be; programs get the facts alone."""
    kept = [([printable(cell) for cell in cells], facts) for cells, facts in rows]
    lines = [list(columns), *(cells for cells, _ in kept)] if kept else []
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))] if lines else []
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    for number, (_, facts) in enumerate(kept):
        head = click.style(texts[0], bold=True) + "\n" if number == 0 else ""
        yield Record(facts, head + texts[number + 1])


def pairs(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Lay out names and values below each other."""
    kept = [(name, printable(value)) for name, value in rows]
    width = max(len(name) for name, _ in kept) if kept else 0
    lines = [f"{name.ljust(width)} : {value}" for name, value in kept]
    return "\n".join([title, *lines] if title else lines)


class Output:
    """Where a command's values go."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, color: bool | None = None) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.color = color
        self.bar_is_shown = False
        self._flushed_at = 0.0

    @property
    def draws(self) -> bool:
        """Say whether a progress bar may be drawn: for a person, at a terminal."""
        return not self.as_json and not self.quiet and sys.stderr.isatty()

    def show(self, answer: Answer) -> None:
        """Print what a command returned; where parts of it failed, raise that at the end."""
        if answer is None:
            return
        failed: list[Failure] = []
        try:
            for item in [answer] if isinstance(answer, Record | Failure) else answer:
                if isinstance(item, Failure):
                    failed.append(item)
                    self.complain(item.error, item.facts)
                else:
                    self._print(item)
        finally:
            sys.stdout.flush()
        if failed:
            codes = {getattr(item.error, "exit_code", 1) for item in failed}
            raise SomeFailed(len(failed), codes.pop() if len(codes) == 1 else 1)

    def _print(self, record: Record) -> None:
        if self.as_json:
            self._write(json.dumps({"status": "success", **record.facts}, ensure_ascii=False))
        elif not (record.detail and (self.quiet or self.bar_is_shown)):
            self._write(record.text)

    def _write(self, line: str) -> None:
        stream: TextIO = sys.stdout
        if "\x1b" in line and (self.color is False or (self.color is None and not stream.isatty())):
            line = click.unstyle(line)
        stream.write(_encodable(line, stream) + "\n")
        if (now := time.monotonic()) - self._flushed_at > FLUSH_SECONDS:
            self._flushed_at = now
            stream.flush()

    def complain(self, error: LakeshareError, facts: Facts | None = None) -> None:
        """Tell an error, and what to do about it, where errors go."""
        next_step = error.next_step if isinstance(error, ClientError) else ""
        if self.as_json:
            said = {"message": error.message, "code": getattr(error, "code", type(error).__name__)}
            if next_step:
                said["next"] = next_step
            line = json.dumps({"status": "error", **(facts or {}), "error": said}, ensure_ascii=False)
        else:
            line = f"lakeshare: {printable(error.message)}" + (f"\n  {next_step}" if next_step else "")
        sys.stdout.flush()
        sys.stderr.write(_encodable(line, sys.stderr) + "\n")
        sys.stderr.flush()

    def warn(self, text: str) -> None:
        """Tell what is odd and does not stop the work."""
        if not self.as_json:
            click.echo(f"lakeshare: warning: {printable(text)}", err=True, color=self.color)


def _encodable(line: str, stream: TextIO) -> str:
    """Return a line that the stream can write: what its encoding lacks becomes escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.encode(encoding, "backslashreplace").decode(encoding)
    return line
