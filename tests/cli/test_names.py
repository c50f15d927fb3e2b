"""Names of every kind go up and come down as they are, and none leads out of the folder that was named."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lakeshare.cli.remote.body import Bytes
from lakeshare.cli.session import Choices, Session
from tests.cli.conftest import Cli, Done

Quick = Callable[..., Done]

ODD = [
    "a b",
    "ünï/cødé",
    "日本/語",
    "per%20cent",
    "plus+and=&?#",
    "'quote\"s",
    "tab\tnew\nline",
    "emoji😀",
    " lead",
    "~",
    "-r",
    "$(x)",
]
ESCAPES = ["../up", "a/../../up", "..", "/etc/abs", "//double", "a//b", "a/./b", ".", "a/..", "./x"]


def put(quick: Quick, lake: Cli, bucket: str, key: str) -> None:
    source = lake.home / "source"
    source.write_text(key)
    quick("cp", source, f"{bucket}/{key}")


def test_odd_names_make_the_round_trip(quick: Quick, lake: Cli, bucket: str):
    """Spaces, Unicode, percent signs, control characters and what shells and URLs act on are kept."""
    folder = lake.home / "odd"
    for name in ODD:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    quick("cp", "-r", folder, f"{bucket}/deep er")
    quick("cp", "-r", f"{bucket}/deep er", lake.home / "back")
    assert {
        str(path.relative_to(lake.home / "back")): path.read_text()
        for path in (lake.home / "back").rglob("*")
        if path.is_file()
    } == {name: name for name in ODD}
    listed = quick("ls", "-r", "--json", f"{bucket}/deep er/").records
    assert {item["key"] for item in listed} == set(ODD)
    for name in ODD:
        assert quick("cat", f"{bucket}/deep er/{name}").out == name
    quick("cp", "-r", f"{bucket}/deep er/", f"{bucket}/copy/")
    assert len(quick("rm", "-r", "--force", "--json", bucket).records) == 2 * len(ODD)


def test_control_characters_reach_no_terminal(quick: Quick, lake: Cli, bucket: str):
    """A key that holds an escape sequence is printed with its escapes spelled out."""
    put(quick, lake, bucket, "red\x1b[31m")
    for told in (
        quick("ls", bucket),
        quick("tree", "--files", bucket),
        quick("find", bucket),
        quick("rm", f"{bucket}/red\x1b[31m"),
    ):
        assert "\x1b" not in told.out
        assert "red\\x1b[31m" in told.out


@pytest.mark.parametrize("key", ESCAPES)
def test_no_key_leads_out_of_the_target(quick: Quick, lake: Cli, bucket: str, key: str, tmp_path: Path):
    """A recursive download refuses a key that would lie elsewhere, keeps the others, and says so."""
    put(quick, lake, bucket, f"in/{key}")
    put(quick, lake, bucket, "in/good")
    target = tmp_path / "x" / "y" / "target"
    before = {path for path in tmp_path.rglob("*") if lake.home not in path.parents}
    told = quick("cp", "-r", f"{bucket}/in", target, code=1)
    assert "is no name for a file here" in told.err
    made = {path for path in tmp_path.rglob("*") if lake.home not in path.parents} - before
    assert {path for path in made if path.is_file()} == {target / "good"}
    assert "is no name for a file here" in quick("mirror", f"{bucket}/in", target, code=1).err
    assert [path for path in tmp_path.rglob("up") if path.is_file()] == []


@pytest.mark.parametrize("key", ["..", "a/..", "."])
def test_no_single_key_names_a_folder_above(quick: Quick, lake: Cli, bucket: str, key: str):
    """A key whose last part is `..` cannot be copied into a folder, and can be copied to a file with a name."""
    put(quick, lake, bucket, f"k/{key}")
    (lake.home / "here").mkdir()
    quick("cp", f"{bucket}/k/{key}", lake.home / "here", code=1)
    assert list((lake.home / "here").iterdir()) == []
    quick("cp", f"{bucket}/k/{key}", lake.home / "here" / "named")
    assert (lake.home / "here" / "named").read_text() == f"k/{key}"


def test_a_link_in_the_target_leads_nowhere(quick: Quick, lake: Cli, bucket: str, tmp_path: Path):
    """A symbolic link in the target is not followed out of it; one to a file is replaced, not written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    target = lake.home / "target"
    target.mkdir()
    (target / "link").symlink_to(outside)
    (target / "file").symlink_to(outside / "victim")
    put(quick, lake, bucket, "in/link/evil")
    put(quick, lake, bucket, "in/file")
    assert "symbolic link" in quick("cp", "-r", f"{bucket}/in", target, code=1).err
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert (outside / "victim").read_text() == "untouched"
    assert (target / "file").read_text() == "in/file"


def test_an_object_and_a_folder_of_one_name(quick: Quick, lake: Cli, bucket: str):
    """S3 has both `a` and `a/b`; here one of them is refused, and the other is there."""
    put(quick, lake, bucket, "in/a")
    put(quick, lake, bucket, "in/a/b")
    told = quick("cp", "-r", "--parallel", "1", f"{bucket}/in", lake.home / "target", code=1)
    assert "S3 has both" in told.err
    assert (lake.home / "target" / "a").read_text() == "in/a"


def test_a_marker_of_a_folder_becomes_one(quick: Quick, lake: Cli, bucket: str):
    """An empty object whose key ends in a slash, as some tools write it, is a folder here."""
    put(quick, lake, bucket, "in/file")
    session = Session.of(Choices())
    session.store("lake").put(bucket.partition("/")[2], "in/folder/", Bytes())
    session.close()
    quick("cp", "-r", f"{bucket}/in", lake.home / "target")
    assert (lake.home / "target" / "folder").is_dir()
    assert (lake.home / "target" / "file").is_file()


def test_links_and_odd_files_here(quick: Quick, lake: Cli, bucket: str):
    """A link to a file is read as the file, a link to a folder is left, and a socket or pipe is not read."""
    folder = lake.home / "folder"
    folder.mkdir()
    (folder / "file").write_text("file")
    (folder / "link").symlink_to("file")
    (folder / "circle").symlink_to(".")
    os.mkfifo(folder / "pipe")
    quick("cp", "-r", folder, bucket)
    assert [item["key"] for item in quick("ls", "-r", "--json", bucket).records] == ["file", "link"]


def test_a_name_that_is_not_utf8(quick: Quick, lake: Cli, bucket: str):
    """A file whose name is not UTF-8 is refused by name, and the others are copied."""
    folder = lake.home / "folder"
    folder.mkdir()
    (folder / "good").write_text("good")
    (Path(bytes(folder).decode()) / b"bad\xff".decode("utf-8", "surrogateescape")).write_text("bad")
    assert "is not UTF-8" in quick("cp", "-r", folder, bucket, code=1).err
    assert [item["key"] for item in quick("ls", "-r", "--json", bucket).records] == ["good"]
