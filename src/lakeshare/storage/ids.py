"""Names that the store gives: pins and upload ids. Both sort by the time they were made."""

import os

RANDOM_BYTES = 8
PIN_BYTES = 8 + RANDOM_BYTES


def new_pin(modified_at_ns: int) -> bytes:
    """Name one write: its time, then enough chance that no two writes share a name."""
    return modified_at_ns.to_bytes(8, "big") + os.urandom(RANDOM_BYTES)


def new_upload_id(created_at_ns: int) -> str:
    """Name one multipart upload; ids of one key sort by the time the upload began."""
    return new_pin(created_at_ns).hex()


def parse_pin(text: str) -> bytes | None:
    """Read a pin as clients carry it; None if no write can have that name."""
    try:
        pin = bytes.fromhex(text)
    except ValueError:
        return None
    return pin if len(pin) == PIN_BYTES else None
