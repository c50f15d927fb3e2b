"""The scripts of the tree can be read by bash, and say what they do."""

import subprocess
from pathlib import Path

import pytest

SCRIPTS = ("scripts/setup", "scripts/test", "scripts/demo", "scripts/lock", ".ci/run")


@pytest.mark.parametrize("name", SCRIPTS)
def test_bash_can_read_it(repository: Path, name: str):
    """A script is executable, and has no error of syntax."""
    path = repository / name
    assert path.stat().st_mode & 0o111
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name",
    ["scripts/setup", "scripts/test", "scripts/demo", "scripts/lock", "scripts/delta-conformance"],
)
def test_help_shows_examples(repository: Path, name: str):
    """--help prints examples and does nothing else."""
    done = subprocess.run([repository / name, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert f"  {name} " in done.stdout
