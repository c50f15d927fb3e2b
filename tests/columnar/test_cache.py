"""What is kept warm."""

from dataclasses import dataclass

from lakeshare.columnar.cache import MAX_TABLES, VERSIONS_A_TABLE, Cache


@dataclass(frozen=True)
class Value:
    version: int
    memory_bytes: int = 0


def test_the_last_used_come_first():
    """A table's versions are kept, the newest use first, and a few of them only."""
    cache = Cache()
    for version in range(VERSIONS_A_TABLE + 2):
        cache.keep("t", Value(version))
    assert [value.version for value in cache.of("t")] == list(range(VERSIONS_A_TABLE + 1, 1, -1))
    cache.keep("t", cache.of("t")[-1])
    assert cache.of("t")[0].version == 2
    cache.forget("t")
    assert cache.of("t") == ()


def test_tables_used_longest_ago_go_first():
    """Only so many tables are kept."""
    cache = Cache()
    for number in range(MAX_TABLES):
        cache.keep(f"t{number}", Value(0))
    cache.of("t0")
    cache.keep("new", Value(0))
    assert cache.of("t1") == ()
    assert cache.of("t0")


def test_memory_is_bounded():
    """Tables go when what is kept holds too much memory; the one just kept stays."""
    cache = Cache(memory_bytes=10)
    cache.keep("a", Value(0, 6))
    cache.keep("b", Value(0, 6))
    assert (cache.of("a"), cache.of("b")) == ((), (Value(0, 6),))
    cache.keep("c", Value(0, 100))
    assert cache.of("c")


def test_one_thread_at_a_time_opens_a_table():
    """A turn is taken by table, so that another table is not kept waiting."""
    cache = Cache()
    with cache.turn("a"), cache.turn("b"):
        assert cache.of("a") == ()
