"""How a figure looks in a paper: its size, its font, a legend inside the axes, no title."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..errors import PlotError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Lengths as papers have them, in inches.
_UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72.27}
#: Fonts that stand for one that is not installed. The last of each comes with matplotlib.
_LIKE = {
    "times": ("Times", "Times New Roman", "Nimbus Roman", "Liberation Serif", "TeX Gyre Termes", "STIXGeneral"),
    "times new roman": (
        "Times New Roman",
        "Times",
        "Nimbus Roman",
        "Liberation Serif",
        "TeX Gyre Termes",
        "STIXGeneral",
    ),
    "libertine": ("Linux Libertine O", "Libertinus Serif", "Linux Libertine", "STIXGeneral"),
    "helvetica": ("Helvetica", "Arial", "Nimbus Sans", "Liberation Sans", "DejaVu Sans"),
    "computer modern": ("CMU Serif", "Latin Modern Roman", "cmr10"),
}


#: With more names than these, a legend inside has the main ones.
_NAMES = 5


@dataclass(frozen=True)
class Look:
    """What differs from a figure of a report; lengths in inches, the font's size in points."""

    width: float | None = None
    height: float | None = None
    font: str = ""
    size: float | None = None
    title: bool = True
    #: Whether the legend stands inside of the axes.
    inside: bool = False
    #: The height of each panel, where none of the whole figure is given.
    panel: float | None = None
    #: Fonts to take, the first that is installed.
    fonts: tuple[str, ...] = field(default=())

    def settings(self) -> dict[str, Any]:
        """Settings of matplotlib."""
        found: dict[str, Any] = {}
        if self.fonts:
            found["font.family"] = list(self.fonts)
        if self.size:
            found |= {"font.size": self.size, "axes.titlesize": self.size, "legend.fontsize": 0.9 * self.size}
            found |= {
                "axes.labelsize": self.size,
                "xtick.labelsize": 0.95 * self.size,
                "ytick.labelsize": 0.95 * self.size,
            }
        if self.width and self.width < 5:
            found |= {"lines.linewidth": 1.0, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
        return found

    @property
    def changes(self) -> bool:
        """Whether anything differs."""
        return self != Look()

    def applied(self, figure: Figure) -> None:
        """Gives a finished figure its size, takes its title away, and brings its legend inside, above what is drawn."""
        width, height = figure.get_size_inches()
        panels = self.panel * len(figure.axes) if self.panel else height * (self.width or width) / width
        figure.set_size_inches(self.width or width, self.height or panels)
        points = self.size or 9.0
        # About what is left of the figure's height for a panel.
        high = (figure.get_figheight() * 72 - 4 * points) / max(1, len(figure.axes)) - 2 * points
        for axes in figure.axes:
            if not self.title:
                axes.set_title("")
            for one in (axes, *axes.child_axes):
                label = one.yaxis.label
                label.set_text("\n".join(textwrap.wrap(label.get_text(), max(12, int(high / (0.52 * points))))))
            if self.inside and axes.get_legend() is not None:
                self._inside(axes, high, points)

    def _inside(self, axes: Axes, high: float, points: float) -> None:
        """The legend in rows at the top of a panel, whose axis goes on above the data to make room."""
        legend = axes.get_legend()
        assert legend is not None
        names = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
        handles = [handle for handle in legend.legend_handles if handle is not None]
        if len(names) > _NAMES:
            # Of groups of flows the medians are named; bands and thin lines of their colours are understood.
            kept = [number for number, name in enumerate(names) if not name.endswith(" flows") or ": " not in name]
            names, handles = [names[number] for number in kept], [handles[number] for number in kept]
        # Signs in a column, with the line in front of each name.
        room = axes.figure.get_window_extent().width / axes.figure.dpi * 72 / (0.5 * points)
        columns = max(1, min(3, len(names), int(room // (max(map(len, names)) + 8))))
        made = axes.legend(
            handles, names, loc="upper left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1, ncols=columns, handlelength=2.2,
            frameon=False, borderpad=0.1, labelspacing=0.2, columnspacing=1.0,
        )  # fmt: skip
        # What stands inside takes no room beside the axes.
        made.set_gid("inside")
        rows = -(-len(names) // columns)
        share = min(0.6, rows * 1.25 * points / max(high, 1.0))
        low, top = axes.get_ylim()
        if axes.get_yscale() == "linear":
            axes.set_ylim(low, low + (top - low) / (1 - share))
        else:
            axes.set_ylim(low, low * (top / low) ** (1 / (1 - share)))


#: The look of figures that are being drawn.
_CURRENT: ContextVar[Look | None] = ContextVar("look", default=None)


def current() -> Look:
    """The look of what is being drawn."""
    return _CURRENT.get() or Look()


@contextmanager
def drawn_with(chosen: Look | None) -> Iterator[None]:
    """The context in which figures of a look are made and saved."""
    token = _CURRENT.set(chosen)
    try:
        yield
    finally:
        _CURRENT.reset(token)


#: Columns of the usual classes: IEEEtran, 3.5 in, 8 pt; acmart (sigconf), 240 pt.
STYLES = {
    "ieee": {"width": "3.5in", "height": "2.1in", "font": "Times", "size": 8.0},
    "acm": {"width": "240pt", "height": "2.0in", "font": "Libertine", "size": 8.0},
}


def look(
    style: str = "",
    width: str = "",
    height: str = "",
    font: str = "",
    size: float | None = None,
    title: bool | None = None,
) -> Look:
    """A look from what a user names; what is named takes the place of what the style has. Raises `PlotError`.

    >>> found = look("ieee", height="50mm")
    >>> (found.width, round(found.height or 0, 3), found.size, found.title, found.inside)
    (3.5, 1.969, 8.0, False, True)
    """
    if style and style not in STYLES:
        near = get_close_matches(style, STYLES, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise PlotError(f"no style {style!r}; the styles are {', '.join(STYLES)}{hint}")
    usual: dict[str, Any] = STYLES.get(style, {})
    name = font or usual.get("font", "")
    points = size or usual.get("size")
    if points is not None and not 4 <= points <= 30:
        raise PlotError(f"a size of {points:g} points: figures have 4 to 30")
    return Look(
        _length("width", width or usual.get("width", "")),
        _length("height", height),
        name,
        points,
        title if title is not None else not style,
        bool(style or width),
        None if height else _length("height", usual.get("height", "")),
        _installed(name),
    )


def _length(what: str, text: str) -> float | None:
    if not text:
        return None
    found = re.fullmatch(r"([0-9.]+) *(in|mm|cm|pt)", text.strip())
    try:
        inches = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        inches = 0.0
    if not 1 <= inches <= 30:
        raise PlotError(f'{what} {text!r}: write a length from 1 in to 30 in, as in "3.4in", "86mm" or "240pt"')
    return inches


def _installed(name: str) -> tuple[str, ...]:
    """The first font of those that stand for a name, and one for signs that it lacks; raises `PlotError` if there is none."""
    if not name:
        return ()
    from matplotlib import font_manager

    known = {one.name for one in font_manager.fontManager.ttflist}
    for one in (*_LIKE.get(name.lower(), ()), name):
        if one in known:
            return (one, "DejaVu Sans") if one != "DejaVu Sans" else (one,)
    near = get_close_matches(name, [*known, *_LIKE], 1, 0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise PlotError(f"no font {name!r} is installed here{hint}")
