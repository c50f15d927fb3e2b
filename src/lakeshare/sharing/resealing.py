"""Moving sharing's secrets to the newest key of the key file, so that an older one can be taken out of it."""

from collections.abc import Iterator
from dataclasses import replace

from lakeshare.identity.resealing import at_once
from lakeshare.sharing.model.sources import place_of_source
from lakeshare.sharing.records import KEYS, PLACE_OF_KEYS, SOURCES
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan
from lakeshare.state.port import Put


def reseal(view: View) -> Plan[int]:
    """Seal secrets that an older key sealed; the answer is how many. Repeat until it is none."""
    return at_once(_outdated(view))


def _outdated(view: View) -> Iterator[Put]:
    newest, again = view.vault.is_newest, view.vault.seal_again
    for source in view.sources:
        if not newest(source.sealed_secret):
            sealed = again(source.sealed_secret, place_of_source(source.name, source.uid))
            yield SOURCES.put(replace(source, sealed_secret=sealed), source.name)
    keys = view.keys
    if keys is not None and not newest(keys.sealed):
        yield KEYS.put(replace(keys, sealed=again(keys.sealed, PLACE_OF_KEYS)), "root")
