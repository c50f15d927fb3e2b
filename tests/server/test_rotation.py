"""A new key for the secrets of a data directory: nothing is lost, wherever it is cut short."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lakeshare.identity import users, vault
from lakeshare.identity.directory import Directory
from lakeshare.identity.view import RootKey
from lakeshare.server.occupancy import DirectoryInUse, alone, in_use
from lakeshare.server.opened import open_state
from lakeshare.server.rotation import rotate
from lakeshare.settings import Secret
from lakeshare.sharing.directory import ShareDirectory
from lakeshare.storage.local.layout import prepare
from tests.admin.client import Client
from tests.live import lakeshare, running

USERS = {f"user-{n}": f"a-long-secret-{n}" for n in range(5)}
ROOT = RootKey("root-key", Secret("root-secret-key"))
# Where a run is killed: after its step, and with one secret a commit.
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from lakeshare.identity import resealing, vault
from lakeshare.identity.directory import Directory
from lakeshare.server import rotation

where, root = sys.argv[1], Path(sys.argv[2])
resealing.AT_ONCE = 1
def die(*_arguments, **_named):
    os.kill(os.getpid(), signal.SIGKILL)
if where == "key added":
    added = vault.add_key
    vault.add_key = lambda path: (added(path), die())
elif where == "one secret sealed":
    change = Directory.change
    async def once(self, plan):
        await change(self, plan)
        die()
    Directory.change = once
elif where == "all sealed":
    rotation._check = die
elif where == "before the old keys go":
    vault.drop_older = die
asyncio.run(rotation.rotate(root))
"""


@pytest.fixture
async def root(tmp_path: Path) -> Path:
    """Make a data directory with users and a share directory."""
    found = tmp_path / "data"
    prepare(found)
    state = open_state(found)
    directory = Directory(state, vault.Vault.load(found / vault.FILE_NAME), ROOT)
    for name, secret in USERS.items():
        await directory.change(lambda view, n=name, s=secret: users.create_user(view, n, Secret(s), 0))
    await state.close()
    return found


def lines(root: Path) -> list[bytes]:
    return (root / vault.FILE_NAME).read_bytes().split()


async def secrets_of(root: Path) -> dict[str, str]:
    state = open_state(root)
    try:
        view = await Directory(state, vault.Vault.load(root / vault.FILE_NAME), ROOT).current()
        await ShareDirectory(state, view.vault).current()
        return {name: found.reveal() for name in USERS if (found := view.secret_of(name)) is not None}
    finally:
        await state.close()


async def test_secrets_are_what_they_were_under_a_new_key(root: Path):
    """After a rotation the file has one key, another than before, and opens every secret."""
    before = lines(root)
    done = await rotate(root)
    assert (done.secrets, done.keys_removed, done.resumed) == (len(USERS), 1, False)
    assert len(lines(root)) == 1
    assert lines(root) != before
    assert (root / vault.FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert await secrets_of(root) == USERS


async def test_older_keys_can_be_kept(root: Path):
    """Kept keys stay behind the new one, nothing is sealed with them, and the next rotation adds another."""
    (old,) = lines(root)
    done = await rotate(root, keep_older=True)
    assert (done.keys_removed, lines(root)[1:]) == (0, [old])
    again = await rotate(root)
    assert (again.secrets, again.keys_removed, again.resumed) == (len(USERS), 2, False)
    assert await secrets_of(root) == USERS


@pytest.mark.parametrize("where", ["key added", "one secret sealed", "all sealed", "before the old keys go"])
async def test_a_killed_rotation_loses_nothing(root: Path, where: str):
    """Killed after any step, every secret still opens, and the next run leaves one key that opens them all."""
    ended = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, where, str(root)], check=False, env=os.environ
    )
    assert ended.returncode == -signal.SIGKILL
    assert len(lines(root)) == 2
    assert await secrets_of(root) == USERS
    await rotate(root)
    assert len(lines(root)) == 1
    assert await secrets_of(root) == USERS


async def test_a_run_that_was_cut_short_is_finished_without_another_key(root: Path):
    """While secrets of an older key are left, the key that is there is used."""
    vault.add_key(root / vault.FILE_NAME)
    newest = lines(root)[0]
    done = await rotate(root)
    assert (done.secrets, done.keys_removed, done.resumed, lines(root)) == (len(USERS), 1, True, [newest])


async def test_a_lost_key_is_told_and_nothing_is_changed(root: Path):
    """Without the key that sealed them no secret is touched, and none is made in its place."""
    path = root / vault.FILE_NAME
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(vault.VaultUnusable, match="is missing"):
        await rotate(root)
    assert not path.exists()
    other = vault.Vault.load(path)
    with pytest.raises(vault.SecretUnreadable, match="restore the file"):
        await rotate(root)
    assert other
    path.write_bytes(kept)
    assert await secrets_of(root) == USERS


def test_the_file_has_room_for_so_many_keys(tmp_path: Path):
    """A file that is full takes no further key."""
    path = tmp_path / vault.FILE_NAME
    vault.Vault.load(path)
    for _ in range(vault.MAX_KEYS - 1):
        vault.add_key(path)
    with pytest.raises(vault.VaultUnusable, match="without keeping"):
        vault.add_key(path)
    assert vault.drop_older(path) == vault.MAX_KEYS - 1
    assert vault.drop_older(path) == 0


async def test_a_directory_in_use_is_not_taken(root: Path):
    """Many may use a directory; who wants it alone is refused meanwhile, and the other way round."""
    with in_use(root), in_use(root), pytest.raises(DirectoryInUse, match="stop it"), alone(root):
        pass
    with alone(root), pytest.raises(DirectoryInUse, match="being changed"), in_use(root):
        pass
    with alone(root):
        pass


def test_the_command_works_on_a_stopped_server_alone(tmp_path: Path):
    """Under a running server it is refused; after it, users sign in as before, and so do their service accounts."""
    data = tmp_path / "data"
    line = [lakeshare(), "state", "rotate-key", str(data), "--json"]
    with running(data) as server:
        made = Client.root(server).ok("POST", "/users", {"name": "annie"})
        Client.root(server).ok("PUT", "/users/annie/policies/readwrite")
        own = Client(server, "annie", made["secret_key"]).ok("POST", "/access-keys", {})
        refused = subprocess.run(line, capture_output=True, text=True, check=False)
        assert refused.returncode == 1
        assert "stop it, and try again" in refused.stderr
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"status": "rotated", "secrets": 2, "keys_removed": 1, "resumed": False}
    with running(data) as server:
        assert Client(server, "annie", made["secret_key"]).raw("PUT", "/annies").status == 200
        assert Client(server, own["access_key"], own["secret_key"]).raw("HEAD", "/annies").status == 200
