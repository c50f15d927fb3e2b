"""What can be wrong with a policy, and the refusal that policies lead to."""

from lakeshare.errors import Kind, LakeshareError


class PolicyError(LakeshareError):
    """The root of what is wrong with a policy document."""

    kind = Kind.INVALID


class MalformedPolicy(PolicyError):
    """The document breaks the policy grammar; `place` says where, such as `Statement[0].Action[2]`."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


class PolicyTooLarge(PolicyError):
    """The document is larger than its bound."""

    kind = Kind.TOO_LARGE

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"the policy has {size_bytes} bytes, and at most {limit_bytes} are allowed")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
