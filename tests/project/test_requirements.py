"""The lock files: names, versions and hashes, of everything that is asked for, and no addresses."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

FILES = ("build", "runtime", "demo", "dev", "spark")
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; (.+?))? \\$", re.MULTILINE)
NAME = re.compile(r"[A-Za-z0-9._-]+")
BROUGHT = {"py4j"}
"""What PySpark speaks to Java with: its errors are py4j's."""


def pins(repository: Path, name: str) -> dict[tuple[str, str], str]:
    """Return the version of each (package, marker); a package may differ by the version of Python."""
    text = (repository / f"requirements/{name}.txt").read_text()
    return {(found[1], found[3] or ""): found[2] for found in PIN.finditer(text)}


def test_no_file_holds_an_address(repository: Path):
    """No lock file, and no list of requirements, names where packages come from."""
    files = [repository / "pyproject.toml", *(repository / "requirements").iterdir()]
    assert [path.name for path in files if "://" in path.read_text()] == []


@pytest.mark.parametrize("name", FILES)
def test_every_package_has_a_version_and_hashes(repository: Path, name: str):
    """Each line of a lock file is a package with its version, or one of its hashes."""
    lines = (repository / f"requirements/{name}.txt").read_text().splitlines()
    assert lines
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("    --hash=sha256:"):
            assert PIN.match(line + "\n"), line
            assert following.startswith("    --hash=sha256:"), line


@pytest.mark.parametrize("name", FILES[:-1])
def test_all_levels_agree_on_versions(repository: Path, name: str):
    """A package has one version on a given Python, whatever else is installed."""
    everything = {package: set() for package, _ in pins(repository, "spark")}
    for (package, _), version in pins(repository, "spark").items():
        everything[package].add(version)
    for (package, _), version in pins(repository, name).items():
        assert version in everything[package], package


@pytest.mark.parametrize(("extra", "name"), [("", "runtime"), ("demo", "demo"), ("dev", "dev"), ("spark", "spark")])
def test_what_is_asked_for_is_locked(repository: Path, extra: str, name: str):
    """Each dependency of an extra is in the lock file of its level."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + (project["optional-dependencies"][extra] if extra else [])
    wanted = {NAME.match(item)[0].lower() for item in asked} - {project["name"]}
    assert wanted <= {package for package, _ in pins(repository, name)}


def test_what_the_server_imports_is_asked_for(repository: Path):
    """Each package that the source imports is a direct dependency, or comes with the one whose inside it is."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]["spark"]
    asked = {NAME.match(item)[0].lower() for item in project["dependencies"] + extras}
    homes = packages_distributions()
    for path in sorted((repository / "src").glob("**/*.py")):
        for module in imported(path) - sys.stdlib_module_names - {project["name"], *BROUGHT}:
            assert asked & {name.lower() for name in homes.get(module, [module])}, f"{path}: {module}"


def imported(path: Path) -> set[str]:
    """Name the top-level modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names
