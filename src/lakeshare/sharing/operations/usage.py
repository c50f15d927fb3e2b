"""Who read how much of what."""

from dataclasses import dataclass

from lakeshare.identity.arns import EVERYTHING
from lakeshare.identity.caller import Need
from lakeshare.sharing.operations.shown import existing
from lakeshare.sharing.operations.tokens import LIST, existing_recipient
from lakeshare.sharing.room import Room
from lakeshare.sharing.usage import Counts, totals

GONE = "(removed)"
"""Stands beside, or for, the name of a recipient or a share that is not there any more."""


@dataclass(frozen=True, slots=True)
class GetUsage:
    """What was read, by one recipient or all, of one share or all."""

    recipient: str = ""
    share: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(LIST, EVERYTHING),)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one recipient read of one table."""

    recipient: str
    share: str
    counts: Counts


async def get_usage(room: Room, call: GetUsage) -> tuple[UsageRow, ...]:
    """Return what was read, as far as it is written down. Raises RecipientMissing, ShareMissing."""
    view = await room.directory.current()
    recipient = existing_recipient(view, call.recipient).id if call.recipient else ""
    share = existing(view, call.share).id if call.share else ""
    rows: list[UsageRow] = []
    for subject, counts in (await totals(room.state)).items():
        if subject.recipient == (recipient or subject.recipient) and subject.share == (share or subject.share):
            reader, of = view.recipient_by_id(subject.recipient), view.share_by_id(subject.share)
            rows.append(
                UsageRow(
                    reader.name if reader else _gone(counts.recipient), of.name if of else _gone(counts.share), counts
                )
            )
    return tuple(sorted(rows, key=lambda row: (row.recipient, row.share, row.counts.table)))


def _gone(name: str) -> str:
    return f"{name} {GONE}".strip()
