"""Pages of lists in order of names."""

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.admin.model.paging import Page, take


@given(st.sets(st.text("abc", min_size=1, max_size=4), max_size=30), st.integers(1, 7))
def test_pages_hold_everything_once(names: set[str], limit: int):
    """Following pages to their end gives every name, in order and once."""
    found: list[str] = []
    after = ""
    for _ in range(len(names) + 1):
        page = take(sorted(names), str, Page(limit, after))
        assert len(page.items) <= limit
        found += page.items
        after = page.next
        if not after:
            break
    assert found == sorted(names)
