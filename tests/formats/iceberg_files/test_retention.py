"""Which snapshots a table keeps."""

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.formats.iceberg.snapshots import Snapshot, SnapshotRef
from lakeshare.formats.iceberg_files.retention import Expiry, Retention, collects_garbage, expiry_of

NOW = 1_000_000


def snapshot(number: int, parent: int | None, at: int) -> Snapshot:
    """Make a snapshot."""
    return Snapshot({"snapshot-id": number, "parent-snapshot-id": parent, "timestamp-ms": at})


def branch(number: int, **more: int) -> SnapshotRef:
    """Make a branch."""
    facts = {name.replace("_", "-"): value for name, value in more.items()}
    return SnapshotRef({"snapshot-id": number, "type": "branch", **facts})


def tag(number: int, **more: int) -> SnapshotRef:
    """Make a tag."""
    facts = {name.replace("_", "-"): value for name, value in more.items()}
    return SnapshotRef({"snapshot-id": number, "type": "tag", **facts})


LINE = [snapshot(1, None, 100), snapshot(2, 1, 200), snapshot(3, 2, 900_000), snapshot(4, 3, 950_000)]
YOUNG = Retention(max_snapshot_age_ms=200_000)


def test_a_line_keeps_what_is_young():
    """Of main, snapshots older than the age go, the newest stays however old."""
    assert expiry_of(LINE, {"main": branch(4)}, YOUNG, NOW) == Expiry((1, 2))
    assert expiry_of(LINE, {"main": branch(4)}, Retention(max_snapshot_age_ms=0), NOW) == Expiry((1, 2, 3))


def test_a_line_keeps_as_many_as_are_asked_for():
    """The least number counts from the head, whatever the age."""
    rules = Retention(max_snapshot_age_ms=0, min_snapshots_to_keep=3)
    assert expiry_of(LINE, {"main": branch(4)}, rules, NOW) == Expiry((1,))


def test_a_branch_has_rules_of_its_own():
    """What a reference says of its snapshots counts before what the table says."""
    refs = {"main": branch(4, min_snapshots_to_keep=2, max_snapshot_age_ms=1)}
    assert expiry_of(LINE, refs, Retention(), NOW) == Expiry((1, 2))


def test_a_tag_keeps_its_snapshot_and_nothing_before_it():
    """What a tag points to stays, its parents do not."""
    assert expiry_of(LINE, {"main": branch(4), "t": tag(2)}, YOUNG, NOW) == Expiry((1,))


def test_an_old_reference_goes_with_what_it_alone_kept():
    """A tag whose snapshot is older than the tag may be is removed; main never is."""
    refs = {"main": branch(4, max_ref_age_ms=1), "t": tag(2, max_ref_age_ms=1_000)}
    assert expiry_of(LINE, refs, YOUNG, NOW) == Expiry((1, 2), ("t",))


def test_a_reference_to_nothing_goes():
    """A branch whose snapshot is not there is removed."""
    assert expiry_of(LINE[2:], {"main": branch(4), "b": branch(77)}, YOUNG, NOW) == Expiry((), ("b",))


def test_a_staged_snapshot_stays_while_it_is_young():
    """What no reference reaches is kept by age alone."""
    staged = [*LINE, snapshot(5, 4, 990_000), snapshot(6, 4, 500)]
    assert expiry_of(staged, {"main": branch(4)}, YOUNG, NOW) == Expiry((1, 2, 6))


def test_properties_of_the_table_count_before_what_was_set_elsewhere():
    """A property that is no number changes nothing."""
    rules = Retention().with_properties(
        {"history.expire.max-snapshot-age-ms": "7", "history.expire.min-snapshots-to-keep": "many"}
    )
    assert rules == Retention(max_snapshot_age_ms=7)


def test_garbage_may_be_somebody_elses():
    """Only `false` says that files are not to be removed."""
    assert collects_garbage({})
    assert not collects_garbage({"gc.enabled": "False"})


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, NOW)), min_size=1, max_size=8),
    st.integers(1, 4),
    st.integers(0, NOW),
)
def test_no_reference_ever_loses_its_snapshot(facts: list[tuple[int, int]], least: int, age: int):
    """Whatever the parents and the times are, each reference that stays points to a snapshot that stays."""
    snapshots = [snapshot(at, parent, when) for at, (parent, when) in enumerate(facts)]
    refs = {"main": branch(len(facts) - 1), "t": tag(0), "b": branch(len(facts) // 2)}
    gone = expiry_of(snapshots, refs, Retention(age, least), NOW)
    kept = {name: ref for name, ref in refs.items() if name not in gone.ref_names}
    assert "main" in kept
    assert not {ref.snapshot_id for ref in kept.values()} & set(gone.snapshot_ids)
