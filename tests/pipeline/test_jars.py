"""The jars: pinned, checked, and explained where they cannot be had."""

import hashlib
import re
from pathlib import Path

import pytest

from lakeshare.pipeline.errors import NoSpark
from lakeshare.pipeline.jars import JARS, TOTAL_BYTES, Jar, is_sound, jars


def test_every_jar_is_pinned_and_told(repository: Path):
    """Each jar has a hash, and its line in the page about the pipeline."""
    page = (repository / "docs/pipeline.md").read_text()
    for jar in JARS:
        assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256)
        assert f"`{jar.organisation}:{jar.name}:{jar.version}`" in page
    assert f"{TOTAL_BYTES / 1e6:.0f} MB" in page


def test_a_jar_is_known_by_its_bytes(tmp_path: Path):
    """A file of the right size with another byte in it is not the jar."""
    path = tmp_path / "a.jar"
    path.write_bytes(b"abc")
    jar = Jar("org", "a", "1", 3, hashlib.sha256(b"abc").hexdigest())
    assert is_sound(path, jar)
    path.write_bytes(b"abd")
    assert not is_sound(path, jar)
    assert not is_sound(tmp_path / "absent", jar)


def test_jars_that_are_there_are_taken_without_asking(tmp_path: Path):
    """Where the folder has every jar, neither Java nor a network is needed."""
    folder = tmp_path / "spark-jars"
    folder.mkdir()
    for jar in JARS:
        with (folder / jar.file).open("wb") as file:
            file.truncate(jar.size_bytes)
    assert [path.name for path in jars(tmp_path, tmp_path / "no-java")] == [jar.file for jar in JARS]


@pytest.mark.spark
def test_a_jar_that_cannot_be_fetched_is_told_with_what_to_do(tmp_path: Path, java: Path):
    """Without a repository the error names the jar, Ivy's words, the setting and the folder; nothing half is left."""
    mirror = tmp_path / "ivysettings.xml"
    mirror.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{tmp_path}/mirror/[artifact]-[revision].[ext]"/></filesystem></resolvers></ivysettings>'
    )
    with pytest.raises(NoSpark, match=re.escape(JARS[0].file)) as failed:
        jars(tmp_path, java, {"LAKESHARE_IVY_SETTINGS": str(mirror)})
    assert "LAKESHARE_IVY_SETTINGS" in failed.value.next_step
    assert str(tmp_path / "spark-jars") in failed.value.next_step
    assert list((tmp_path / "spark-jars").iterdir()) == []


@pytest.mark.spark
def test_a_mirror_that_changes_files_is_found_out(tmp_path: Path, java: Path):
    """What a mirror gives under a jar's name is checked against the jar's hash before it is kept."""
    (tmp_path / "mirror").mkdir()
    for jar in JARS:
        (tmp_path / "mirror" / jar.file).write_bytes(b"something else")
    mirror = tmp_path / "ivysettings.xml"
    mirror.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{tmp_path}/mirror/[artifact]-[revision].[ext]"/></filesystem></resolvers></ivysettings>'
    )
    with pytest.raises(NoSpark, match="is not that jar"):
        jars(tmp_path, java, {"LAKESHARE_IVY_SETTINGS": str(mirror)})
    assert list((tmp_path / "spark-jars").iterdir()) == []
