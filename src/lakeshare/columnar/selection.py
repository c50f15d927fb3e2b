"""Some files of a table: handed out in chunks, cut into pages, or cut down to what a limit needs.

Pages and limits follow the order of the files' ids alone, so that every worker cuts alike, however its parts lie.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakeshare.columnar.keys import Mask
from lakeshare.columnar.part import Part

ROWS_A_CHUNK = 2048
"""How many files are handed out at once: two megabytes of lines, some milliseconds of work."""
_FIRST_LOOK = 256
"""How many files are looked at first for a limit; sixteen times as many each time that is not enough."""
_SPARSE = 4
"""Fewer than one row in so many are taken one by one; more are filtered."""

Numbers = np.ndarray[tuple[int], np.dtype[np.uint64]]
Counts = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Some files of a table, as a mask over each of its parts; None means all of a part."""

    chosen: tuple[tuple[Part, Mask | None], ...]

    @property
    def num_files(self) -> int:
        """Return how many files are chosen."""
        return sum(part.num_files if mask is None else int(mask.sum()) for part, mask in self.chosen)

    def batches(self, columns: Sequence[str], rows: int = ROWS_A_CHUNK) -> Iterator[pa.RecordBatch]:
        """Yield columns of the chosen files, so many rows at a time; mapped pages are let go of behind the reader."""
        few: list[pa.RecordBatch] = []
        for batch in self._chosen_rows(columns):
            if batch.num_rows >= rows:
                yield from _cut(batch, rows)
                continue
            few.append(batch)
            if sum(each.num_rows for each in few) >= rows:
                yield pa.concat_batches(few)
                few = []
        if few:
            yield pa.concat_batches(few)

    def _chosen_rows(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for part, mask in self.chosen:
            start = 0
            for place, batch in enumerate(part.batches):
                within = None if mask is None else mask[start : start + batch.num_rows]
                start += batch.num_rows
                if (found := masked(batch.select(columns), within)) is not None:
                    yield found
                    part.let_go(place)

    def page(self, after: int | None, count: int) -> "tuple[Selection, int | None]":
        """Cut a page of about `count` files, after the place where the page before ended; None ends the last page."""
        left = self if after is None else _where(self, lambda order: order > np.uint64(after))
        if left.num_files <= count:
            return left, None
        end = np.partition(_orders(left), count - 1)[count - 1]
        page = _where(left, lambda order: order <= end)
        return page, None if page.num_files == left.num_files else int(end)

    def limited(self, limit: int, sure: "Selection | None") -> "Selection":
        """Take so many files that they surely hold `limit` rows that are wanted, or all where there are none such.

        `sure` are the files of which every row is wanted, None all of those chosen. A file whose statistics do not
        say how many rows it has counts as empty.
        """
        if not self.chosen or limit < 1:
            return Selection(())
        masks = [None] * len(self.chosen) if sure is None else [mask for _, mask in sure.chosen]
        counts = np.concatenate(
            [_rows_of(part, mask, wanted) for (part, mask), wanted in zip(self.chosen, masks, strict=True)]
        )
        if int(counts.sum()) < limit:
            return self
        end = _where_enough(_orders(self), counts, limit)
        return _where(self, lambda order: order <= end)


def masked(batch: pa.RecordBatch, within: Mask | None) -> pa.RecordBatch | None:
    """Return the rows of a batch that a mask has, or None where it has none."""
    if within is None or within.all():
        return batch
    rows = np.flatnonzero(within)
    if len(rows) * _SPARSE < batch.num_rows:
        return batch.take(pa.array(rows)) if len(rows) else None
    return batch.filter(pa.array(within))


def _cut(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _where(selection: Selection, wanted: Callable[[Numbers], Mask]) -> Selection:
    chosen: list[tuple[Part, Mask | None]] = []
    for part, mask in selection.chosen:
        found = wanted(part.column("order").to_numpy())
        chosen.append((part, found if mask is None else mask & found))
    return Selection(tuple(chosen))


def _orders(selection: Selection) -> Numbers:
    every = [(part.column("order").to_numpy(), mask) for part, mask in selection.chosen]
    return np.concatenate([order if mask is None else order[mask] for order, mask in every])


def _where_enough(order: Numbers, counts: Counts, limit: int) -> np.uint64:
    """Return the place in the order by which the files before it hold enough rows; all of them together do."""
    look = _FIRST_LOOK
    while look < len(order):
        nearest = np.argpartition(order, look)[:look]
        if int(counts[nearest].sum()) >= limit:
            break
        look *= 16
    else:
        nearest = np.arange(len(order))
    nearest = nearest[np.argsort(order[nearest])]
    enough = int(np.searchsorted(np.cumsum(counts[nearest]), limit))
    found: np.uint64 = order[nearest[enough]]
    return found


def _rows_of(part: Part, mask: Mask | None, sure: Mask | None) -> Counts:
    """Return how many wanted rows each chosen file surely holds."""
    records = pc.fill_null(part.column("records"), 0).to_numpy()
    deleted = pc.fill_null(part.column("dv_cardinality"), 0).to_numpy()
    rows: Counts = np.maximum(records - deleted, 0)
    if sure is not None:
        rows = np.where(sure, rows, 0)
    return rows if mask is None else rows[mask]
