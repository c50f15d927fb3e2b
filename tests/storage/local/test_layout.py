"""A data directory is made once, and known again."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from lakeshare.storage.local.layout import Layout, WrongLayout, existing, prepare
from lakeshare.storage.local.store import LocalStore


def test_a_new_directory_is_made_private(tmp_path):
    """A new data directory has its folders, its identity, and no reader but its owner."""
    layout = prepare(tmp_path / "deep" / "data", fanout_digits=1)
    assert sorted(path.name for path in layout.root.iterdir()) == ["blobs", "format.json", "index", "tmp"]
    assert len(list(layout.blobs.iterdir())) == 16
    assert stat.S_IMODE(layout.root.stat().st_mode) == 0o700
    assert json.loads(layout.format_file.read_bytes())["deployment"]
    assert prepare(layout.root) == layout
    assert layout.path_of(bytes(15) + b"\xab").endswith("/blobs/b/" + "00" * 15 + "ab")


def test_blobs_lie_in_4096_folders(tmp_path):
    """By default the last three digits of a blob's id name its folder."""
    assert Layout(tmp_path).path_of(bytes(14) + b"\x1a\xbc") == f"{tmp_path}/blobs/abc/{'00' * 14}1abc"
    assert Layout(tmp_path).folder_of(bytes(14) + b"\x1a\xbc") == f"{tmp_path}/blobs/abc"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"layout": 2, "fanout_digits": 3}', '{"layout": "x", "fanout_digits": 3}']
)
def test_what_is_no_data_directory_is_refused(tmp_path, text):
    """A format.json that is broken or of a newer layout is refused, and left as it is."""
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(WrongLayout):
        existing(tmp_path)
    with pytest.raises(WrongLayout):
        LocalStore.open_root(tmp_path)
    assert (tmp_path / "format.json").read_text() == text


def test_a_directory_that_lost_its_identity_is_refused(tmp_path):
    """Blobs and an index without format.json are not taken for a new directory."""
    layout = prepare(tmp_path / "data", fanout_digits=1)
    layout.index.write_bytes(b"")
    layout.format_file.unlink()
    with pytest.raises(WrongLayout, match="missing"):
        prepare(tmp_path / "data")


def test_making_a_directory_can_be_tried_again(tmp_path):
    """A start that was interrupted before the directory was whole is simply repeated."""
    layout = prepare(tmp_path / "data", fanout_digits=1)
    layout.format_file.unlink()
    assert prepare(tmp_path / "data", fanout_digits=1) == layout


def test_of_several_first_starts_one_names_the_deployment(tmp_path):
    """Processes that start at once on an empty folder agree on what they made."""
    with ThreadPoolExecutor(8) as threads:
        layouts = list(threads.map(lambda _: prepare(tmp_path / "data", fanout_digits=1), range(8)))
    assert len(set(layouts)) == 1
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["blobs", "format.json", "index", "tmp"]
