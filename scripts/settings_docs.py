"""Write the table of docs/settings.md from the settings themselves: run it after a setting was changed."""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from lakeshare.settings import Secret, Settings, default_of, env_names, flag_name, seconds, size_bytes, span

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = "| flag | environment | default | live | what |\n|---|---|---|---|---|"
SPANS = ((86_400, "d"), (3_600, "h"), (60, "m"))
SIZES = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def render() -> str:
    """Return the table: a line for every setting, in the order of their definition."""
    return "\n".join([HEAD, *(_line(item) for item in fields(Settings))])


def _line(item: "Field[Any]") -> str:
    names = ", ".join(f"`{name}`" for name in env_names(item))
    live = "yes" if item.metadata["live"] else ""
    return (
        f"| `{flag_name(item)}` | {names} | {_default(item)} | {live} | {item.metadata['help'].replace('<', '&lt;')} |"
    )


def _default(item: "Field[Any]") -> str:
    default, read = default_of(item), item.metadata["read"]
    if isinstance(default, Secret) or default in ("", ()):
        return "unset"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if read is seconds or read.__qualname__.startswith(span.__name__):
        return f"`{_in_units(default, SPANS, 's')}`"
    if read is size_bytes:
        return f"`{_in_units(default, SIZES, '')}`"
    return f"`{default}`"


def _in_units(number: int, units: tuple[tuple[int, str], ...], plain: str) -> str:
    for size, name in units:
        if number and number % size == 0:
            return f"{number // size}{name}"
    return f"{number}{plain}"


def main() -> None:
    """Put the table where the page has one."""
    before, _, rest = PAGE.read_text().partition(HEAD)
    _, _, after = rest.partition("\n\n")
    PAGE.write_text(before + render() + "\n\n" + after)


if __name__ == "__main__":
    main()
