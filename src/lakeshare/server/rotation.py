"""A new key for the secrets of a data directory that nobody serves.

The new key is put in front of the file, the secrets are sealed with it some at a time, and only when it alone opens
every one of them do the older keys go. Each step is whole or not at all, and at each the file opens every secret: what
was cut short anywhere is finished by the next run.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from lakeshare.admin.operations.state import check_secrets
from lakeshare.identity import resealing as of_identity
from lakeshare.identity import vault
from lakeshare.identity.directory import Directory
from lakeshare.identity.view import RootKey
from lakeshare.server.opened import open_state
from lakeshare.settings import Secret
from lakeshare.sharing import resealing as of_sharing
from lakeshare.sharing.directory import ShareDirectory
from lakeshare.state.export import export_state
from lakeshare.state.sqlite import SqliteState

_NO_ROOT = RootKey("", Secret(""))


@dataclass(frozen=True, slots=True)
class Rotation:
    """What was done: secrets sealed anew, older keys taken out of the file, and whether an earlier run was finished."""

    secrets: int
    keys_removed: int
    resumed: bool


async def rotate(root: Path, *, keep_older: bool = False) -> Rotation:
    """Seal every secret with a new key, or finish a run that was cut short. Nobody may use the directory meanwhile."""
    path = root / vault.FILE_NAME
    if not path.exists():
        raise vault.VaultUnusable(
            f"{path} is missing: bring the key file back, or start the server once to have one made"
        )
    state = open_state(root)
    try:
        finished = await _seal_all(state, vault.Vault.load(path))
        if not finished:
            vault.add_key(path)
        newest = vault.Vault.load(path)
        sealed = finished + await _seal_all(state, newest)
        await _check(state, newest.newest_alone())
    finally:
        await state.close()
    return Rotation(sealed, 0 if keep_older else vault.drop_older(path), resumed=finished > 0)


async def _seal_all(state: SqliteState, secrets: vault.Vault) -> int:
    """Seal with the newest key what an older one sealed, and return how many secrets that were."""
    identities, shares = Directory(state, secrets, _NO_ROOT), ShareDirectory(state, secrets)
    sealed = 0
    while of_identity.reseal(await identities.current()).answer:  # ends: each round leaves fewer
        sealed += await identities.change(of_identity.reseal)
    while of_sharing.reseal(await shares.current()).answer:
        sealed += await shares.change(of_sharing.reseal)
    return sealed


async def _check(state: SqliteState, newest: vault.Vault) -> None:
    """Open every secret with the newest key. Raises SealedOtherwise."""
    with TemporaryFile() as file:
        await export_state(state, file)
        check_secrets(file, newest)
