"""The root identity's first credentials."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakeshare.identity.errors import RootCredentialsUnusable
from lakeshare.identity.root import FILE_NAME, Origin, load_root
from lakeshare.settings import Settings

NONE = Settings()


def settings(user: str, password: str, **flags: str) -> Settings:
    return Settings.read({}, {"root_user": user, "root_password": password, **flags})


def test_the_first_start_makes_a_pair(tmp_path: Path) -> None:
    """The first start makes a random pair and says so; later ones read it."""
    made = load_root(tmp_path, NONE)
    assert made.origin is Origin.CREATED
    assert (len(made.access_key), len(made.secret)) == (20, 40)
    again = load_root(tmp_path, NONE)
    assert again.origin is Origin.FILE
    assert (again.access_key, again.secret) == (made.access_key, made.secret)
    assert list(tmp_path.iterdir()) == [tmp_path / FILE_NAME]


def test_two_stores_have_two_pairs(tmp_path: Path) -> None:
    """No two stores start with the same pair."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = load_root(tmp_path / "a", NONE), load_root(tmp_path / "b", NONE)
    assert one.access_key != other.access_key
    assert one.secret != other.secret


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """The file is made for its owner alone, whatever the umask."""
    before = os.umask(0)
    try:
        load_root(tmp_path, NONE)
    finally:
        os.umask(before)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A file that others may read or write is refused, with the command that mends it."""
    load_root(tmp_path, NONE)
    path = tmp_path / FILE_NAME
    path.chmod(mode)
    with pytest.raises(RootCredentialsUnusable, match=f"chmod 600 {path}"):
        load_root(tmp_path, NONE)


def test_a_secret_does_not_print(tmp_path: Path) -> None:
    """The pair's representation does not show the secret."""
    made = load_root(tmp_path, NONE)
    assert made.secret.reveal() not in repr(made)


def test_racing_starts_agree(tmp_path: Path) -> None:
    """Of any number of starts at once one makes the pair, and all have it."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load_root(tmp_path, NONE), range(16)))
    assert len({(pair.access_key, pair.secret) for pair in found}) == 1
    assert [pair.origin for pair in found].count(Origin.CREATED) == 1


def test_settings_override_the_file(tmp_path: Path) -> None:
    """A pair in the settings wins, and no file is made."""
    found = load_root(tmp_path, settings("admin", "a long password"))
    assert (found.access_key, found.secret, found.origin) == ("admin", "a long password", Origin.SETTINGS)
    assert found.warnings == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("user", "password", "missing"), [("admin", "", "root_password"), ("", "longenough", "root_user")]
)
def test_half_a_pair_is_refused(tmp_path: Path, user: str, password: str, missing: str) -> None:
    """A user without a password, or the other way round, is told."""
    with pytest.raises(RootCredentialsUnusable, match=f"without {missing}"):
        load_root(tmp_path, settings(user, password))


@pytest.mark.parametrize(
    ("user", "password"), [("ab", "longenough"), ("abc", "1234567"), ("a b c", "longenough"), ("a,b", "longenough")]
)
def test_a_pair_has_its_lengths_and_letters(tmp_path: Path, user: str, password: str) -> None:
    """A user under three characters, a password under eight, or letters that signatures cannot carry, are told."""
    with pytest.raises(RootCredentialsUnusable):
        load_root(tmp_path, settings(user, password))


@pytest.mark.parametrize("address", ["127.0.0.1:9000", "localhost:9000", "[::1]:9000"])
def test_the_well_known_pair_is_warned_of_on_loopback(tmp_path: Path, address: str) -> None:
    """The pair that everyone knows works on loopback when it is set on purpose, with a warning."""
    (warning,) = load_root(tmp_path, settings("minioadmin", "minioadmin", address=address)).warnings
    assert "minioadmin" in warning


@pytest.mark.parametrize("address", [":9000", "0.0.0.0:9000", "192.0.2.1:9000", "[::]:9000", "store.example:9000"])
def test_the_well_known_pair_needs_a_switch_elsewhere(tmp_path: Path, address: str) -> None:
    """Where other machines can connect the well-known pair needs a switch besides, and is still warned of."""
    pair = ("minioadmin", "minioadmin")
    with pytest.raises(RootCredentialsUnusable, match="--allow-default-credentials"):
        load_root(tmp_path, settings(*pair, address=address))
    allowed = settings(*pair, address=address, allow_default_credentials="true")
    assert load_root(tmp_path, allowed).warnings


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"access_key": "abc"}', b'{"access_key": 1, "secret": 2}', b"x" * 5000, b"\xff", b"[" * 4000],
)
def test_a_broken_file_is_told_and_not_replaced(tmp_path: Path, content: bytes) -> None:
    """A file that cannot be read is never overwritten: that would lock its owner out."""
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(RootCredentialsUnusable, match="repair it"):
        load_root(tmp_path, NONE)
    assert path.read_bytes() == content


def test_a_file_with_a_short_secret_is_refused(tmp_path: Path) -> None:
    """The rules for settings hold for the file too."""
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps({"access_key": "admin", "secret": "short"}))
    path.chmod(0o600)
    with pytest.raises(RootCredentialsUnusable, match="at least"):
        load_root(tmp_path, NONE)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in the file's place is refused."""
    (tmp_path / "elsewhere").write_text("{}")
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RootCredentialsUnusable, match="cannot be read"):
        load_root(tmp_path, NONE)


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    """A data directory that is not there is told, with its path."""
    with pytest.raises(RootCredentialsUnusable, match="nowhere"):
        load_root(tmp_path / "nowhere", NONE)
