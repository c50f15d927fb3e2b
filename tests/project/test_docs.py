"""What the documents say about settings, dependencies and commands is what the code says."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from lakeshare.cli.main import root
from scripts.settings_docs import render

LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)|src=\"([^\"]+)\"")
NAME = re.compile(r"[A-Za-z0-9._-]+")


def documents(repository: Path) -> list[Path]:
    return [*sorted(repository.glob("*.md")), *sorted(repository.glob("docs/**/*.md"))]


def direct_dependencies(repository: Path) -> set[str]:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    names = {NAME.match(item)[0] for item in asked}
    return names - {project["name"]}


def test_every_setting_has_its_line(repository: Path):
    """The table of settings has a line for each setting, with its flag, names, default and help."""
    page = (repository / "docs/settings.md").read_text()
    assert render() in page, (
        "docs/settings.md is not what the settings say: run .venv/bin/python scripts/settings_docs.py"
    )


def test_every_direct_dependency_has_its_reason(repository: Path):
    """The table of dependencies names each direct dependency, why it is there and its licence, and no other."""
    page = (repository / "docs/dependencies.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")
    ]
    assert {row[0].strip("`") for row in rows} == direct_dependencies(repository)
    assert len(rows) == len(direct_dependencies(repository))
    assert all(len(row) == 3 and all(row) for row in rows)


@pytest.mark.parametrize("command", root.list_commands(click.Context(root)))
def test_every_command_has_its_place(repository: Path, command: str):
    """The page about the command line shows how each command is typed."""
    assert re.search(rf"\blakeshare {command}\b", (repository / "docs/cli.md").read_text())


def test_every_link_leads_somewhere(repository: Path):
    """A link from one document to another file of the tree finds that file."""
    broken = []
    for page in documents(repository):
        for found in LINK.finditer(page.read_text()):
            target = found[1] or found[2]
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(repository)}: {target}")
    assert broken == []


def test_every_page_is_reached_from_the_readme(repository: Path):
    """Each page under docs is linked, or its folder is, from the README or from a page that is."""
    seen: set[Path] = set()
    waiting = [repository / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.is_dir():
            waiting += page.glob("*.md")
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        targets = [found[1] or found[2] for found in LINK.finditer(page.read_text())]
        waiting += [(page.parent / target).resolve() for target in targets if "://" not in target]
    pages = {page.resolve() for page in documents(repository) if "docs" in page.parts}
    assert pages - seen == set()


def test_the_changelog_has_room_for_what_comes(repository: Path):
    """The changelog begins with what is not released yet."""
    headings = re.findall(r"^## (.+)$", (repository / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
