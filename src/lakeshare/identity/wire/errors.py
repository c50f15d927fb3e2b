"""What can be wrong with the form that asks STS for something."""

from lakeshare.errors import Kind, LakeshareError


class FormError(LakeshareError):
    """The root of what STS's wire refuses."""

    kind = Kind.INVALID


class NotAForm(FormError):
    """The body is no form of bounded size."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the request is no form: {reason}")


class UnknownAction(FormError):
    """STS has no such action here."""

    def __init__(self, action: str) -> None:
        super().__init__(f"could not find operation {action[:64]!r}: there are AssumeRole and GetCallerIdentity")
        self.action = action


class UnknownVersion(FormError):
    """The form is of another version of STS."""

    def __init__(self, version: str) -> None:
        super().__init__(f"version {version[:32]!r} is not served: send Version=2011-06-15")


class BadParameter(FormError):
    """A parameter has a value that it cannot have, or is one that is not served."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"parameter {name[:64]!r}: {reason}")
        self.name = name


class BodyNotSigned(FormError):
    """A request that changes or gives away identities is not covered whole by its signature."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the signature does not cover the whole request: {reason}")
        self.reason = reason
