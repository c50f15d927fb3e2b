"""Secrets at rest: sealed, bound to their place, under a key file that only its owner reads."""

import stat
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from lakeshare.identity.vault import MAX_KEYS, SecretUnreadable, Vault, VaultUnusable

OLD, NEW = b"o" * 32, b"n" * 32


def test_what_is_sealed_opens_at_its_place_only():
    """A sealed secret opens for its own place, and does not show what it holds."""
    vault = Vault((NEW,))
    sealed = vault.seal(b"a secret", "user/alice")
    assert vault.open(sealed, "user/alice") == b"a secret"
    assert b"a secret" not in sealed
    assert vault.seal(b"a secret", "user/alice") != sealed
    with pytest.raises(SecretUnreadable):
        vault.open(sealed, "user/bob")


def test_a_changed_byte_is_noticed():
    """Whichever byte is changed or cut, nothing opens."""
    vault = Vault((NEW,))
    sealed = vault.seal(b"a secret", "x")
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(SecretUnreadable):
            vault.open(changed, "x")
        with pytest.raises(SecretUnreadable):
            vault.open(sealed[:at], "x")


def test_older_keys_open_and_the_newest_seals():
    """After a new first line, what the old key sealed opens still, and what is sealed now is the new key's."""
    sealed = Vault((OLD,)).seal(b"a secret", "x")
    vault = Vault((NEW, OLD))
    assert vault.open(sealed, "x") == b"a secret"
    assert not vault.is_newest(sealed)
    assert vault.is_newest(vault.seal(b"a secret", "x"))
    with pytest.raises(SecretUnreadable):
        Vault((NEW,)).open(sealed, "x")


def test_the_key_file_is_made_once_for_its_owner(tmp_path):
    """The first start makes the file with mode 0600, and later ones read it."""
    path = tmp_path / "secrets.key"
    sealed = Vault.load(path).seal(b"a secret", "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Vault.load(path).open(sealed, "x") == b"a secret"
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.key"]


def test_processes_that_start_at_once_agree_on_one_key(tmp_path):
    """Of several that make the file at the same time, one wins and all use its key."""
    path = tmp_path / "secrets.key"
    with ThreadPoolExecutor(8) as pool:
        vaults = list(pool.map(lambda _: Vault.load(path), range(16)))
    sealed = vaults[0].seal(b"a secret", "x")
    assert {vault.open(sealed, "x") for vault in vaults} == {b"a secret"}
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.key"]


def test_a_key_file_that_others_may_read_is_refused(tmp_path):
    """A key that others could have read is no key, and the error says what to do."""
    path = tmp_path / "secrets.key"
    Vault.load(path)
    path.chmod(0o640)
    with pytest.raises(VaultUnusable, match="chmod 600"):
        Vault.load(path)


def test_a_link_is_not_followed(tmp_path):
    """A symbolic link in the file's place is refused."""
    Vault.load(tmp_path / "real")
    (tmp_path / "secrets.key").symlink_to(tmp_path / "real")
    with pytest.raises(VaultUnusable):
        Vault.load(tmp_path / "secrets.key")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"not base64!\n", b64encode(b"short"), (b64encode(NEW) + b"\n") * (MAX_KEYS + 1), b"x" * 5000],
)
def test_a_damaged_key_file_is_refused(tmp_path, content):
    """A file without whole keys stops the start instead of making a new key over it."""
    path = tmp_path / "secrets.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(VaultUnusable):
        Vault.load(path)
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """Where the file cannot be made, the error names it."""
    with pytest.raises(VaultUnusable, match="missing"):
        Vault.load(tmp_path / "missing" / "secrets.key")
