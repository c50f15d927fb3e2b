"""Every limit stands in the documentation with its value."""

import re
from pathlib import Path

from lakeshare.state import limits


def test_the_documentation_names_every_limit(repository: Path) -> None:
    """The table of docs/state.md and the constants are the same."""
    page = (repository / "docs" / "state.md").read_text(encoding="utf-8")
    documented = {name: int(value) for name, value in re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", page, re.MULTILINE)}
    assert documented == {name: value for name, value in vars(limits).items() if name.isupper()}


def test_a_page_holds_the_largest_value() -> None:
    """A record of the largest size fits a transaction and a page."""
    assert limits.MAX_VALUE_BYTES + limits.MAX_KEY_BYTES < limits.MAX_TRANSACTION_BYTES
    assert limits.MAX_VALUE_BYTES < limits.MAX_PAGE_BYTES
