"""The page of docs/ that shows what the benches found: one section each, with a plot."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
Figures = TypeVar("Figures")
BLUE, ORANGE, GREY = "#2b6cb0", "#c05621", "#a0aec0"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a plot."""

    name: str
    value: float
    text: str
    colour: str = BLUE


@dataclass(frozen=True, slots=True)
class Goal(Generic[Figures]):
    """What a figure must be at least, or at most."""

    what: str
    figure: Callable[[Figures], float | None]
    bound: float
    unit: str
    at_least: bool = False

    def verdict(self, figures: Figures) -> tuple[float | None, bool | None]:
        """Return what was found, and whether it is enough."""
        found = self.figure(figures)
        if found is None:
            return None, None
        return found, found >= self.bound if self.at_least else found <= self.bound


def goal_lines(goals: Sequence[Goal[Figures]], figures: Figures, shown: Callable[[float], str]) -> list[str]:
    """Write the goals that were measured as a table."""
    lines = ["| goal | | |", "|---|---|---|"]
    for goal in goals:
        found, met = goal.verdict(figures)
        if found is not None:
            sign, word = "≥" if goal.at_least else "≤", "met" if met else "MISSED"
            lines.append(f"| {goal.what} | {shown(found)} {goal.unit} | {sign} {shown(goal.bound)}: {word} |")
    return lines


def draw(bars: Sequence[Bar], label: str, path: Path, mark: float | None = None) -> None:
    """Draw bars on a scale of powers of ten, with a line at `mark`; the same bars make the same file."""
    import matplotlib as mpl  # noqa: PLC0415 - only for a plot

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = path.stem
    drawing, axes = plt.subplots(figsize=(8.8, 0.34 * len(bars) + 1.2))
    axes.barh([bar.name for bar in bars], [bar.value for bar in bars], color=[bar.colour for bar in bars])
    if bars:
        axes.set_xscale("log")
    if mark is not None:
        axes.axvline(mark, color=ORANGE, linewidth=1)
    axes.set_xlabel(label)
    axes.invert_yaxis()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for place, bar in enumerate(bars):
        axes.text(bar.value * 1.05, place, bar.text, va="center", fontsize=8)
    drawing.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, metadata={"Date": None})


def write_section(heading: str, *paragraphs: str) -> None:
    """Write one section of the page anew, and leave the rest as it is."""
    page = PAGE.read_text()
    before, found, after = page.partition(f"{heading}\n")
    rest = after[after.find("\n## ") + 1 :] if found and "\n## " in after else ""
    section = "\n\n".join([heading, *paragraphs])
    PAGE.write_text(f"{before.rstrip()}\n\n{section}\n" + (f"\n{rest}" if rest else ""))


def image(path: Path, text: str) -> str:
    """Return the line that shows a plot."""
    return f'<img src="images/{path.name}" alt="{text}" width="880">'


def cores() -> int:
    """Say how many processors there are."""
    return os.cpu_count() or 1
