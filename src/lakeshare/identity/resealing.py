"""Moving secrets to the newest key of the key file, so that an older one can be taken out of it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from lakeshare.identity.records import (
    ACCOUNTS,
    PLACE_OF_SESSION_KEYS,
    SESSION_KEYS,
    USERS,
    place_of_account,
    place_of_user,
)
from lakeshare.identity.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Put

AT_ONCE = 500  # secrets of one commit


def reseal(view: View) -> Plan[int]:
    """Seal secrets that an older key sealed; the answer is how many. Repeat until it is none."""
    return at_once(_outdated(view))


def at_once(outdated: Iterator[Put]) -> Plan[int]:
    """Take as many changes as one commit holds; the answer is how many."""
    changes = tuple(islice(outdated, AT_ONCE))
    return Plan(changes, len(changes))


def _outdated(view: View) -> Iterator[Put]:
    newest, again = view.vault.is_newest, view.vault.seal_again
    for user in view.register.users():
        if not newest(user.sealed_secret):
            sealed = again(user.sealed_secret, place_of_user(user.name, user.uid))
            yield USERS.put(replace(user, sealed_secret=sealed), user.name)
    for account in view.register.accounts():
        if not newest(account.sealed_secret):
            sealed = again(account.sealed_secret, place_of_account(account.access_key, account.uid))
            yield ACCOUNTS.put(replace(account, sealed_secret=sealed), account.access_key)
    keys = view.register.session_keys()
    if keys is not None and not all(newest(each) for each in keys.sealed_keys):
        moved = tuple(again(each, PLACE_OF_SESSION_KEYS) for each in keys.sealed_keys)
        yield SESSION_KEYS.put(replace(keys, sealed_keys=moved), "keys")
