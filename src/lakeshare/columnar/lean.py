"""Keeping a process small: pyarrow loads pandas wherever it is installed, though nothing here needs it."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_UNWANTED = "pandas"


class _Without(MetaPathFinder):
    """Says of one package that it is not there."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - a finder's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Refuse the package, and leave every other to the next finder."""
        if fullname == _UNWANTED:
            raise ModuleNotFoundError(f"{_UNWANTED} is not loaded here", name=_UNWANTED)
        return None


def stay_lean() -> None:
    """Let this process load no pandas: half a second and sixty megabytes. For processes that are the server's own."""
    if not any(isinstance(finder, _Without) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Without())
