"""The tests themselves: each says in a sentence what holds."""

import ast
from pathlib import Path


def test_every_test_says_what_holds(repository: Path):
    """Each test has a docstring that ends as a sentence does."""
    silent = []
    for path in sorted((repository / "tests").glob("**/test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
                continue
            said = ast.get_docstring(node) or ""
            if not said.endswith("."):
                silent.append(f"{path.relative_to(repository)}:{node.lineno} {node.name}")
    assert silent == []
