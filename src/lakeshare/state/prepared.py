"""A transaction checked against the port's rules and encoded: what every implementation starts from."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lakeshare.state import limits
from lakeshare.state.errors import BadKey, BadTransaction, OverLimit
from lakeshare.state.keys import decode_key, encode_key, encode_prefix
from lakeshare.state.port import Changed, Empty, Expectation, Put, Receipt, Transaction

_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Prepared:
    """Expectations and changes beside their encoded keys; a change to None deletes."""

    expect: tuple[tuple[Expectation, bytes], ...]
    changes: tuple[tuple[bytes, bytes | None], ...]
    receipt: Receipt | None
    note: bytes


def prepare(transaction: Transaction) -> Prepared:
    """Check and encode. Raises BadKey, BadTransaction, OverLimit."""
    within("changes in a transaction", len(transaction.changes), limits.MAX_CHANGES)
    within("expectations in a transaction", len(transaction.expect), limits.MAX_EXPECTATIONS)
    within("bytes of a note", len(transaction.note), limits.MAX_NOTE_BYTES)
    if transaction.receipt is not None:
        _check_receipt(transaction.receipt)
    expect = tuple([(one, _key_of(one)) for one in transaction.expect])
    changes = tuple([(encode_key(one.key), one.value if isinstance(one, Put) else None) for one in transaction.changes])
    _check_changes(transaction, changes)
    return Prepared(expect, changes, transaction.receipt, transaction.note)


def within(what: str, found: int, limit: int) -> None:
    """Raise OverLimit when there is too much of something."""
    if found > limit:
        raise OverLimit(what, found, limit)


def check_page(limit: int) -> None:
    """Check how much a reader asks for at once. Raises BadTransaction, OverLimit."""
    if limit < 1:
        raise BadTransaction("a page holds at least one record")
    within("records in a page", limit, limits.MAX_PAGE_ROWS)


def check_receipt_name(name: str) -> None:
    """Check a receipt's owner or key. Raises BadKey, OverLimit."""
    try:
        within("bytes of a receipt's name", len(name.encode()), limits.MAX_RECEIPT_NAME_BYTES)
    except UnicodeEncodeError:
        raise BadKey((name,), "it holds half a surrogate pair") from None
    if "\x00" in name:
        raise BadKey((name,), "a receipt's name holds no NUL")


def pack_changes(changes: tuple[tuple[bytes, bytes | None], ...]) -> bytes:
    """Write changed keys as the feed keeps them: a sign, a length and a key each."""
    return b"".join(
        [(b"-" if value is None else b"+") + len(key).to_bytes(_LENGTH_BYTES, "big") + key for key, value in changes]
    )


def unpack_changes(packed: bytes) -> Iterator[Changed]:
    """Read what pack_changes wrote."""
    start = 0
    while start < len(packed):
        key_start = start + 1 + _LENGTH_BYTES
        stop = key_start + int.from_bytes(packed[start + 1 : key_start], "big")
        yield Changed(decode_key(packed[key_start:stop]), deleted=packed[start : start + 1] == b"-")
        start = stop


def _key_of(expectation: Expectation) -> bytes:
    if isinstance(expectation, Empty):
        return encode_prefix(expectation.prefix)
    return encode_key(expectation.key)


def _check_changes(transaction: Transaction, changes: tuple[tuple[bytes, bytes | None], ...]) -> None:
    total = 0
    for key, value in changes:
        size = len(value) if value is not None else 0
        within("bytes of a value", size, limits.MAX_VALUE_BYTES)
        total += len(key) + size
    within("bytes of a transaction", total, limits.MAX_TRANSACTION_BYTES)
    if len({key for key, _ in changes}) < len(changes):
        [(twice, _)] = Counter(one.key for one in transaction.changes).most_common(1)
        raise BadTransaction(f"{twice!r:.200} changes twice in one transaction")


def _check_receipt(receipt: Receipt) -> None:
    check_receipt_name(receipt.owner)
    check_receipt_name(receipt.key)
    within("bytes of a receipt's digest", len(receipt.digest), limits.MAX_DIGEST_BYTES)
    within("bytes of a receipt's answer", len(receipt.answer), limits.MAX_ANSWER_BYTES)
    within("seconds of a receipt's life", receipt.lifetime_seconds, limits.MAX_RECEIPT_SECONDS)
    if receipt.lifetime_seconds < 1:
        raise BadTransaction("a receipt lives at least a second")
