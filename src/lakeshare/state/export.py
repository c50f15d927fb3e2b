"""State as a file of lines: to look at, to keep, to carry elsewhere.

The form of a line stands in `lakeshare.state.lines`. Equal state gives equal bytes, and importing an export gives the
state it was made of: the same records with the same generations, and the same receipts. The change feed is not part
of it, since an import begins a new epoch.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from lakeshare.state.errors import BadExport
from lakeshare.state.lines import End, place, read_line, write_line
from lakeshare.state.port import Archive, Fact, Head, KeptReceipt, Record

MAX_LINE_BYTES = 8 * 1024 * 1024
"""JSON writes a byte of a value as six at worst, so that the largest value and its key fit."""


@dataclass(slots=True)
class Summary:
    """What an export holds."""

    generation: int = 0
    records: int = 0
    receipts: int = 0

    def count(self, fact: Fact) -> None:
        """Take one more fact into account."""
        match fact:
            case Head():
                self.generation = fact.generation
            case Record():
                self.records += 1
            case KeptReceipt():
                self.receipts += 1


async def export_state(state: Archive, target: BinaryIO) -> Summary:
    """Write all of state as of one moment, while others go on changing it."""
    summary = Summary()
    async with aclosing(exported(state, summary)) as pieces:
        async for piece in pieces:
            target.write(piece)
    return summary


async def exported(state: Archive, summary: Summary) -> AsyncGenerator[bytes, None]:
    """Yield an export in pieces of whole lines, counting what it holds."""
    digest = sha256()
    async with aclosing(state.dump()) as dump:
        async for run in dump:
            piece = b"".join([write_line(fact) for fact in run])
            for fact in run:
                summary.count(fact)
            digest.update(piece)
            yield piece
    yield write_line(End(summary.records, summary.receipts, digest.hexdigest()))


async def import_state(state: Archive, source: BinaryIO, *, replace: bool = False) -> Summary:
    """Put an export in place of what is there: all of it, or nothing when any of it is wrong.

    Raises BadExport; NotEmpty unless `replace`.
    """
    summary = Summary()
    await state.load(read_export(source, summary), replace=replace)
    return summary


def verify_export(source: BinaryIO) -> Summary:
    """Read an export to its end and check all of it: form, limits, order, counts and checksum. Raises BadExport."""
    summary = Summary()
    for _ in read_export(source, summary):
        pass
    return summary


def read_export(source: BinaryIO, summary: Summary) -> Iterator[Fact]:
    """Yield the facts of an export and count them; it ends well only behind a last line that agrees."""
    digest, number = sha256(), 0
    before: tuple[int | bytes, ...] = ()
    for number, line in enumerate(_lines(source), 1):
        item = _read(number, line)
        if isinstance(item, End):
            _check_end(number, item, End(summary.records, summary.receipts, digest.hexdigest()))
            if source.read(1):
                raise BadExport(number + 1, "something follows the last line")
            return
        before = _check_place(number, item, before)
        digest.update(line)
        summary.count(item)
        _check_generation(number, item, summary)
        yield item
    raise BadExport(number + 1, "the last line is missing: the export was cut")


def _lines(source: BinaryIO) -> Iterator[bytes]:
    while line := source.readline(MAX_LINE_BYTES):
        yield line


def _read(number: int, line: bytes) -> Fact | End:
    try:
        return read_line(line)
    except ValueError as error:
        raise BadExport(number, str(error)) from error


def _check_place(number: int, fact: Fact, before: tuple[int | bytes, ...]) -> tuple[int | bytes, ...]:
    here = place(fact)
    if (number == 1) != isinstance(fact, Head):
        raise BadExport(number, "an export begins with its format, once")
    if here <= before:
        raise BadExport(number, "it is out of order")
    return here


def _check_generation(number: int, fact: Fact, summary: Summary) -> None:
    if not isinstance(fact, Head) and not 1 <= fact.generation <= summary.generation:
        raise BadExport(number, f"generation {fact.generation} was never reached")


def _check_end(number: int, found: End, counted: End) -> None:
    if found != counted:
        raise BadExport(number, "its counts or its checksum do not fit the lines before it: the export was changed")
