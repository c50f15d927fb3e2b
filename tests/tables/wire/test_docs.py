"""The catalog's paths as its pages tell them."""

import re
from pathlib import Path

from lakeshare.tables.wire.routes import ROUTES

DOCS = Path(__file__).resolve().parents[3] / "docs"
ROW = re.compile(r"^\|([^|]+)\|", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
METHOD = re.compile(r"\b(GET|HEAD|POST|PUT|DELETE)\b")
PATH = re.compile(r"/[^\s?]+")
NAME = re.compile(r"\{[^}]*\}")


def told() -> set[tuple[str, str]]:
    """Return each method and path that a table of the pages has in its first column."""
    pages = "\n".join((DOCS / name).read_text() for name in ("iceberg-catalog.md", "iceberg-maintenance.md"))
    found: set[tuple[str, str]] = set()
    for row in ROW.findall(pages):
        codes = CODE.findall(row)
        methods = [method for code in codes for method in METHOD.findall(code)]
        paths = [NAME.sub("{}", path) for code in codes for path in PATH.findall(code)]
        found |= {(method, path) for method in methods for path in paths}
    return found


def test_every_path_of_the_catalog_is_told_and_no_other():
    """The tables of the two pages have every route, and nothing that is no route."""
    assert told() == {(route.method, NAME.sub("{}", route.path)) for route in ROUTES}
