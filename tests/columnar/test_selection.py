"""Selections: chunks, pages and limits."""

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.columnar.fileset import FileSet, Layer
from lakeshare.columnar.predicate import Compare, Comparison, Literal, Unknown, ValueKind
from tests.columnar.files import SHAPE, add, part_of, stats


def file_set(*groups, standing=None):
    layers = [Layer.of(part_of(*group)) for group in groups]
    if standing is not None:
        layers = [Layer.of(layer.part, np.array(mask)) for layer, mask in zip(layers, standing, strict=True)]
    return FileSet(tuple(layers))


def files(count, prefix="f", rows=10):
    return [add(f"{prefix}{number}", stats(rows)) for number in range(count)]


def paths(selection, rows=4096):
    return [path for batch in selection.batches(["path"], rows) for path in batch["path"].to_pylist()]


def test_chunks_have_the_size_asked_for():
    """Files are handed out so many at a time, and small remains are gathered."""
    chosen = file_set(files(10), files(3, "g")).everything()
    assert [batch.num_rows for batch in chosen.batches(["path"], 4)] == [4, 4, 2, 3]
    some = file_set(files(10), files(3, "g"), standing=[[True] + [False] * 9, [True] * 3]).everything()
    assert [batch.num_rows for batch in some.batches(["path"], 4)] == [4]
    assert paths(some) == ["f0", "g0", "g1", "g2"]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 30), st.integers(0, 10), st.integers(1, 12))
def test_pages_hold_every_file_once(first, second, count):
    """However the parts lie, the pages are the same, and together they are the whole."""
    one = file_set(files(first), files(second, "g")).everything()
    other = file_set([*files(second, "g"), *files(first)]).everything()
    pages, after = [], None
    for _ in range(100):
        page, following = one.page(after, count)
        same, same_following = other.page(after, count)
        assert sorted(paths(page)) == sorted(paths(same))
        assert following == same_following
        pages.append(paths(page))
        after = following
        if after is None:
            break
    assert sorted(path for page in pages for path in page) == sorted(paths(one))
    assert all(len(page) == count for page in pages[:-1])


def test_a_limit_takes_just_enough_files():
    """Rows are counted without those that deletion vectors take out; files that do not say count as empty."""
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 1, "cardinality": 5}
    known = file_set([add(f"f{number}", stats(10), dv=vector) for number in range(20)])
    assert known.select(None, SHAPE, 11).num_files == 3
    assert known.select(None, SHAPE, 0).num_files == 0
    assert known.select(None, SHAPE, 1000).num_files == 20
    silent = file_set([add(f"f{number}") for number in range(20)])
    assert silent.select(None, SHAPE, 1).num_files == 20


def test_a_limit_looks_at_as_many_files_as_it_needs():
    """A limit over many small files is met as well."""
    many = file_set(files(600, rows=1))
    assert many.select(None, SHAPE, 300).num_files == 300
    assert many.select(None, SHAPE, 600).num_files == 600


def test_a_limit_counts_only_rows_that_surely_match():
    """Where a predicate is not proven of a file, its rows do not count towards the limit."""
    lows = [add(f"f{n}", stats(10, {"n": n}, {"n": n + 1}, {"n": 0})) for n in range(20)]
    some = file_set(lows)
    below = Compare(Comparison.LESS, "n", Literal(10, ValueKind.WHOLE))
    assert some.select(below, SHAPE).num_files == 10
    assert some.select(below, SHAPE, 10).num_files in {1, 2}
    assert some.select(Unknown(), SHAPE, 10).num_files == 20


def test_lines_keep_their_tails():
    """The tail of a file's line is JSON: partition values, size, and statistics where there are any."""
    whole = file_set([add("a", '{"numRecords":1}', {"p": 'x"y', "q": None}, size=7), add("b")]).everything()
    (batch,) = whole.batches(["tail"])
    first, second = (json.loads("{" + tail + "}") for tail in batch["tail"].to_pylist())
    assert first == {"partitionValues": {"p": 'x"y', "q": None}, "size": 7, "stats": '{"numRecords":1}'}
    assert second == {"partitionValues": {}, "size": 1}
