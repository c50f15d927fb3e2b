"""What an error is called on the wire, whatever the dialect around it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """An error code and its status."""

    code: str
    status: int
