"""Keys as file names: inside the target, or refused."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakeshare.cli.transfer.names import NoFileName, inside, walk

PIECES = st.sampled_from(["..", ".", "", "a", "b.c", "...", " ", "..x", "\0", "link"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pieces=st.lists(PIECES, min_size=1, max_size=6))
def test_a_path_lies_below_its_folder(tmp_path: Path, pieces: list[str]):
    """Whatever a key is, its path lies below the folder, or it is refused; and no two keys share a path."""
    folder = tmp_path / "target"
    folder.mkdir(exist_ok=True)
    if not (folder / "link").exists():
        (folder / "link").symlink_to(tmp_path)
    key = "/".join(pieces)
    try:
        path = inside(str(folder), key, key)
    except NoFileName:
        return
    assert os.path.normpath(path) == path
    assert os.path.relpath(path, folder) == key
    assert Path(path).parent.resolve().is_relative_to(folder.resolve())


@pytest.mark.parametrize("folder", [".", "", "./", "sub"])
def test_folders_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str):
    """A folder may be relative, empty or not there yet."""
    monkeypatch.chdir(tmp_path)
    assert Path(inside(folder, "a/b", "a/b")) == Path(folder) / "a" / "b"


NAMES = st.text(alphabet="ab-./0é", min_size=1, max_size=6).filter(
    lambda name: not any(piece in ("", ".", "..") for piece in name.split("/"))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.sets(NAMES, max_size=8), number=st.integers(0, 2**30))
def test_files_come_in_the_order_of_keys(tmp_path: Path, names: set[str], number: int):
    """A folder is walked in the order in which S3 lists the same names."""
    folder = tmp_path / f"{number}-{len(list(tmp_path.iterdir()))}"
    made = set()
    for name in sorted(names):
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        except OSError:
            continue
        if (folder / name).is_file():
            made.add(name)
    folder.mkdir(exist_ok=True)
    assert [name for name, _ in walk(str(folder))] == sorted(made, key=str.encode)
