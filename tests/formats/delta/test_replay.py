"""Replay as a fold."""

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.formats.delta.actions import AddFile, DomainMetadata, RemoveFile, Transaction
from lakeshare.formats.delta.replay import fold, live_files
from lakeshare.formats.delta.vectors import DeletionVector, Storage

VECTORS = st.sampled_from([None, *(DeletionVector(Storage.RELATIVE, name, 1, 1, 1) for name in "xy")])
PATHS = st.sampled_from(["a", "b", "/c", "file:/c", "file:///c"])


def actions():
    adds = st.builds(
        lambda path, size, vector: AddFile(path, {}, size, 0, data_change=True, deletion_vector=vector),
        PATHS,
        st.integers(0, 9),
        VECTORS,
    )
    removes = st.builds(lambda path, vector: RemoveFile(path, data_change=True, deletion_vector=vector), PATHS, VECTORS)
    return st.lists(st.one_of(adds, removes), max_size=30)


@given(actions())
def test_both_folds_agree(log):
    """Replaying newest first and oldest first leave the same files."""
    newest = {add.key: add for add in live_files(reversed(log))}
    assert newest == fold(log).files


def test_domains_end_with_their_tombstone():
    """The newest of each domain and application wins, and a removed domain is gone."""
    state = fold(
        [
            DomainMetadata("d", "1", removed=False),
            DomainMetadata("e", "1", removed=False),
            DomainMetadata("d", "1", removed=True),
            Transaction("a", 7),
            Transaction("a", 5),
        ]
    )
    assert set(state.domains) == {"e"}
    assert state.transactions["a"].version == 5
