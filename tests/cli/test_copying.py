"""Where cp, mv and mirror put things."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Done

Quick = Callable[..., Done]
MIB = 1024**2


@pytest.fixture
def folder(lake: Cli) -> Path:
    """A folder with two files."""
    made = lake.home / "d"
    (made / "sub").mkdir(parents=True)
    (made / "a").write_text("a")
    (made / "sub" / "b").write_text("b")
    return made


def keys(quick: Quick, place: str) -> list[str]:
    return [item["key"] for item in quick("ls", "-r", "--json", f"{place}/").records]


def test_a_file_goes_into_a_folder_or_becomes_the_target(quick: Quick, folder: Path, bucket: str):
    """A slash, a bucket or a prefix that is there makes the target a folder."""
    quick("cp", folder / "a", bucket)
    quick("cp", folder / "a", f"{bucket}/x/")
    quick("cp", folder / "a", f"{bucket}/named")
    quick("cp", folder / "sub" / "b", f"{bucket}/x")
    assert keys(quick, bucket) == ["a", "named", "x/a", "x/b"]


def test_several_sources(quick: Quick, folder: Path, bucket: str):
    """Several files go into the target; of several folders each keeps its name, unless it ends in a slash."""
    quick("cp", folder / "a", folder / "sub" / "b", f"{bucket}/files")
    quick("cp", "-r", folder, folder / "sub", f"{bucket}/named")
    quick("cp", "-r", f"{folder}/", f"{folder}/sub/", f"{bucket}/merged")
    assert keys(quick, bucket) == [
        "files/a", "files/b",
        "merged/a", "merged/b", "merged/sub/b",
        "named/d/a", "named/d/sub/b", "named/sub/b",
    ]  # fmt: skip
    assert "is no folder" in quick("cp", f"{bucket}/files/a", f"{bucket}/files/b", "nowhere", code=2).err
    quick("cp", folder / "a", "none", folder / "sub" / "b", f"{bucket}/some", code=3)
    assert keys(quick, f"{bucket}/some") == ["a", "b"]


def test_what_cannot_be_copied(quick: Quick, folder: Path, bucket: str):
    """Each mistake is told with what to do about it, and with its exit code."""
    assert "--recursive" in quick("cp", folder, bucket, code=2).err
    quick("cp", "-r", folder, f"{bucket}/there")
    assert "--recursive" in quick("cp", f"{bucket}/there", "here", code=2).err
    assert "nothing at" in quick("cp", f"{bucket}/none", "here", code=3).err
    assert "nothing at" in quick("cp", "-r", f"{bucket}/none", "here", code=3).err
    assert "no file" in quick("cp", "none", bucket, code=3).err
    assert "begins with an alias" in quick("cp", folder / "a", "elsewhere", code=2).err
    assert "Did you mean 'lake'" in quick("cp", folder / "a", "laek/bucket", code=2).err
    assert "no alias 'laek'" in quick("cp", "laek/bucket/a", bucket, code=3).err
    assert "same object" in quick("cp", f"{bucket}/there/a", f"{bucket}/there/a", code=2).err
    assert "lies in" in quick("cp", "-r", f"{bucket}/there", f"{bucket}/there/sub", code=2).err
    assert "whole server" in quick("cp", folder / "a", "lake", code=2).err
    assert "does not exist" in quick("cp", folder / "a", f"{bucket}-none/x/", code=3).err
    (folder / "sub" / "b").chmod(0)
    if os.geteuid() != 0:
        assert "cannot be read" in quick("cp", folder / "sub" / "b", bucket, code=1).err


def test_what_fails_does_not_stop_the_others(quick: Quick, lake: Cli, folder: Path, bucket: str):
    """Of many files one that cannot be written is told, and the others are there."""
    quick("cp", "-r", folder, f"{bucket}/in")
    (lake.home / "target" / "a").mkdir(parents=True)
    told = quick("cp", "-r", "--json", f"{bucket}/in", lake.home / "target", code=1)
    assert [item["source"] for item in told.records if "source" in item] == [f"{bucket}/in/sub/b"]
    assert f"{bucket}/in/a" in told.err
    assert (lake.home / "target" / "sub" / "b").read_text() == "b"


def test_ages_choose(quick: Quick, folder: Path, bucket: str):
    """--older-than and --newer-than take what is of that age."""
    os.utime(folder / "a", (1, 1))
    quick("cp", "-r", "--older-than", "1d", folder, f"{bucket}/old")
    quick("cp", "-r", "--newer-than", "1d", folder, f"{bucket}/new")
    assert keys(quick, bucket) == ["new/sub/b", "old/a"]
    assert "no duration" in quick("cp", "-r", "--older-than", "long", folder, bucket, code=2).err


def test_mv_removes_what_was_copied(quick: Quick, lake: Cli, folder: Path, bucket: str):
    """`mv` leaves nothing behind, here or there."""
    quick("mv", "-r", folder, f"{bucket}/in")
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    quick("mv", "-r", f"{bucket}/in", f"{bucket}/out")
    assert keys(quick, bucket) == ["out/a", "out/sub/b"]
    quick("mv", f"{bucket}/out/a", lake.home / "a")
    assert (lake.home / "a").read_text() == "a"
    assert keys(quick, bucket) == ["out/sub/b"]


def test_mirror(quick: Quick, lake: Cli, folder: Path, bucket: str):
    """`mirror` copies what is new, leaves what is the same, and writes over or removes only when told to."""
    quick("mirror", folder, f"{bucket}/m")
    assert keys(quick, bucket) == ["m/a", "m/sub/b"]
    assert "mirrored" not in quick("mirror", folder, f"{bucket}/m").out
    (folder / "a").write_text("changed")
    (folder / "sub" / "b").unlink()
    (folder / "c").write_text("c")
    told = quick("mirror", folder, f"{bucket}/m", code=1)
    assert "differs" in told.err
    assert "m/c" in " ".join(keys(quick, bucket))
    dry = quick("mirror", "--overwrite", "--remove", "--dry-run", folder, f"{bucket}/m").out
    assert dry.count("DRYRUN") == 2
    quick("mirror", "--overwrite", "--remove", folder, f"{bucket}/m")
    assert keys(quick, bucket) == ["m/a", "m/c"]
    quick("mirror", "--exclude", "a*", f"{bucket}/m", lake.home / "back")
    assert [path.name for path in (lake.home / "back").iterdir()] == ["c"]
    (lake.home / "back" / "extra").write_text("x")
    quick("mirror", "--remove", f"{bucket}/m", lake.home / "back")
    assert sorted(path.name for path in (lake.home / "back").iterdir()) == ["a", "c"]


def test_mirror_removes_nothing_where_something_failed(quick: Quick, folder: Path, bucket: str):
    """A file that could not be mirrored keeps --remove from removing anything."""
    quick("cp", folder / "a", f"{bucket}/m/a")
    quick("cp", folder / "a", f"{bucket}/m/extra")
    (folder / "a").write_text("changed")
    told = quick("mirror", "--remove", folder, f"{bucket}/m", code=1)
    assert "nothing was removed" in told.err
    assert "m/extra" in keys(quick, bucket)


def test_mirror_merges_names_that_sort_oddly(quick: Quick, lake: Cli, bucket: str):
    """Names around a slash come in S3's order on both sides, so that a second mirror finds nothing to do."""
    folder = lake.home / "odd"
    for name in ("a/x", "a.txt", "a-b", "a0", "ä/y", "z/a/b", "z/a.b", "Z"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    quick("mirror", folder, bucket)
    again = quick("mirror", "--remove", "--json", folder, bucket)
    assert again.records == []


def test_a_copy_in_parts_within_the_server(quick: Quick, lake: Cli, bucket: str, monkeypatch: pytest.MonkeyPatch):
    """An object too large for one copy is copied in parts, with what it carries."""
    monkeypatch.setattr("lakeshare.cli.transfer.copying.ONE_REQUEST_BYTES", 6 * MIB)
    monkeypatch.setattr("lakeshare.cli.transfer.copying.COPIED_PART_BYTES", 5 * MIB)
    (lake.home / "large").write_bytes(os.urandom(12 * MIB))
    quick("cp", "--attr", "team=sales", lake.home / "large", f"{bucket}/large")
    quick("cp", f"{bucket}/large", f"{bucket}/copy")
    told = quick("stat", "--json", f"{bucket}/copy").record
    assert told["etag"].endswith("-3")
    assert told["metadata"]["X-Amz-Meta-Team"] == "sales"
    quick("cp", f"{bucket}/copy", lake.home / "back")
    assert (lake.home / "back").read_bytes() == (lake.home / "large").read_bytes()
