"""Figures for papers: of a given size, in the font of the text, with the legend inside, told apart in grey.

`Paper` holds what is asked for; `fit` brings a drawn figure into that form.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from ..errors import PlotError
from . import margins, style

#: Inches of each unit. A `pt` is TeX's, of 1/72.27 inch, since `\the\columnwidth` prints widths in it.
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
#: The least and the largest width and height in inches, and the sizes of text in points.
_WIDTHS, _HEIGHTS, _SIZES = (1.0, 20.0), (0.7, 20.0), (4.0, 24.0)
#: Height of a figure by its width, if none is given; one of several panels is taller.
_RATIO, _RATIO_OF_PANELS = 0.62, 0.9


@dataclass(frozen=True)
class Style:
    """What the class of a publisher prescribes: the width of a column in inches, the font, its size in points."""

    width: float
    font: str
    size: float


#: IEEEtran: a column of 21 pc, 252 pt. acmart (sigconf): 241.15 pt, Libertine.
STYLES = {"ieee": Style(252 / 72.27, "Times", 8.0), "acm": Style(241.14749 / 72.27, "Libertine", 8.0)}

#: Names that people give to fonts, and families of the same widths or the same look, the nearest first. The last of
#: each comes with matplotlib.
_ALIKE = {
    "times": ("Times New Roman", "Times", "Liberation Serif", "Tinos", "Nimbus Roman", "TeX Gyre Termes", "STIXGeneral"),
    "helvetica": ("Helvetica", "Arial", "Liberation Sans", "Arimo", "Nimbus Sans", "TeX Gyre Heros", "DejaVu Sans"),
    "libertine": ("Linux Libertine", "Linux Libertine O", "Libertinus Serif", "Libertinus", "STIXGeneral"),
    "computer modern": ("CMU Serif", "Latin Modern Roman", "cmr10"),
    "courier": ("Courier New", "Courier", "Liberation Mono", "Cousine", "Nimbus Mono PS", "DejaVu Sans Mono"),
}  # fmt: skip
_NAMES = {
    "times new roman": "times", "times roman": "times", "arial": "helvetica", "linux libertine": "libertine",
    "libertinus": "libertine", "libertinus serif": "libertine", "cm": "computer modern", "latin modern": "computer modern",
    "courier new": "courier",
}  # fmt: skip
#: Where the font has no glyph for a character, these have one.
_OTHERS = ("DejaVu Sans",)


@dataclass(frozen=True)
class Paper:
    """The form of a figure for a paper. Width and height in inches, size of all texts in points; `None` is the default.

    Raises `PlotError` for what is out of range, and for a font that is not there and has none like it.
    """

    width: float = STYLES["ieee"].width
    height: float | None = None
    font: str | None = None
    size: float = 8.0
    title: bool = True

    def __post_init__(self) -> None:
        """Checks the ranges."""
        _within("width", self.width, _WIDTHS, "in")
        if self.height is not None:
            _within("height", self.height, _HEIGHTS, "in")
        _within("size", self.size, _SIZES, "pt")
        self.families  # noqa: B018 (a font that is not there is an error here, not when the first figure is drawn)

    @classmethod
    def of(
        cls,
        style: str | None = None,
        width: str | None = None,
        height: str | None = None,
        font: str | None = None,
        size: float | None = None,
        title: bool | None = None,
    ) -> Paper:
        """The form by its options: lengths are texts as "3.4in", "86 mm", "8.6cm", "241pt"; what is not given is the style's.

        With a style there is no title, unless it is asked for."""
        if style is not None and style not in STYLES:
            raise PlotError(f"--style {style!r}: the styles are {', '.join(STYLES)}")
        base = STYLES[style or "ieee"]
        return cls(
            width=base.width if width is None else length(width, "--width"),
            height=None if height is None else length(height, "--height"),
            font=font or (base.font if style else None),
            size=base.size if size is None else size,
            title=style is None if title is None else title,
        )

    @property
    def families(self) -> tuple[str, ...]:
        """The families that texts are set in: the font, then those for characters that it lacks."""
        found = ("DejaVu Sans",) if self.font is None else (_family(self.font),)
        return tuple(dict.fromkeys((*found, *_OTHERS)))

    @property
    def note(self) -> str | None:
        """A line for people where another font stands in for the one that was asked for."""
        used = self.families[0]
        if self.font is None or used.lower() == self.font.lower():
            return None
        return f"the font {self.font!r} is not installed; {used!r}, which looks like it, is used"

    def settings(self) -> dict[str, Any]:
        """Settings of matplotlib."""
        thin = self.size / 8
        return {
            "font.family": list(self.families),
            "font.size": self.size,
            "axes.titlesize": self.size,
            "legend.fontsize": self.size,
            "lines.linewidth": thin,
            "axes.linewidth": 0.6 * thin,
            "grid.linewidth": 0.4 * thin,
            "xtick.major.width": 0.6 * thin,
            "ytick.major.width": 0.6 * thin,
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
        }


def length(text: str, option: str = "--width") -> float:
    """A length in inches; raises `PlotError` where it is none.

    >>> [round(length(text), 3) for text in ("3.4in", "25.4 mm", "2.54cm", "252pt")]
    [3.4, 1.0, 1.0, 3.487]
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2] not in _UNITS:
        raise PlotError(f"{option} {text!r}: write a number and in, cm, mm or pt, as 3.4in or 86mm")
    return float(match[1]) * _UNITS[match[2]]


def _within(name: str, value: float, span: tuple[float, float], unit: str) -> None:
    if not span[0] <= value <= span[1]:
        cm = f" ({span[0] * 2.54:g} to {span[1] * 2.54:g} cm)" if unit == "in" else ""
        raise PlotError(f"--{name} {value:g} {unit}: it is from {span[0]:g} to {span[1]:g} {unit}{cm}")


def _family(font: str) -> str:
    """The installed family for a name; raises `PlotError` with the nearest names where nothing looks like it.

    Fonts with outlines of PostScript (CFF) are left out: matplotlib embeds them in PDF files in a form that checks reject.
    """
    installed: dict[str, str] = {}
    for entry in font_manager.fontManager.ttflist:
        if entry.name.lower() not in installed and _is_truetype(entry.fname):
            installed[entry.name.lower()] = entry.name
    wanted = font.strip().lower()
    candidates = [wanted, *(name.lower() for name in _ALIKE.get(_NAMES.get(wanted, wanted), ()))]
    for name in candidates:
        if name in installed:
            return installed[name]
    near = difflib.get_close_matches(wanted, installed, 3, 0.5)
    meant = (
        f"did you mean {' or '.join(installed[name] for name in near)}?" if near else "`fc-list : family` lists fonts"
    )
    raise PlotError(f"--font {font!r} is not installed as TrueType, and no font is known that looks like it; {meant}")


def _is_truetype(file: str) -> bool:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(4) in (b"\x00\x01\x00\x00", b"true")
    except OSError:
        return False


def fit(figure: Figure, paper: Paper) -> None:
    """Brings a figure into the form of a paper; to be called with the paper's settings in force."""
    panels = list(figure.axes)
    labels = [_entries(axes) for axes in panels]
    for axes in panels:
        if (old := axes.get_legend()) is not None:
            old.remove()
        _title(axes, paper)
        _tell_apart(axes, paper.size)
        for text in axes.texts:
            text.set_fontsize(min(float(text.get_fontsize()), paper.size))
    above: dict[int, float] = {}
    # A legend may lift the end of an axis, which changes the widths of its labels: the second pass sees those that are drawn.
    for last in (False, True):
        _place(figure, paper, above)
        for number, (axes, (handles, names)) in enumerate(zip(panels, labels, strict=True)):
            if handles:
                above[number] = _legend(axes, handles, names, paper, above.get(number, 0.0))
                if not last and (drawn := axes.get_legend()) is not None:
                    drawn.remove()
    _place(figure, paper, above)
    # Ticks are made when they are drawn, with the settings of that moment.
    figure.draw_without_rendering()


def _entries(axes: Axes) -> tuple[list[Any], list[str]]:
    """What the legend explains: all that is drawn. A limit above the axis is not, so it has no entry."""
    pairs = [
        pair for pair in zip(*axes.get_legend_handles_labels(), strict=True) if not pair[1].endswith(style.OFF_SCALE)
    ]
    return [handle for handle, _ in pairs], [name for _, name in pairs]


def _title(axes: Axes, paper: Paper) -> None:
    text = axes.get_title("left")
    if not text:
        return
    room = paper.width * 72 * 0.8
    axes.set_title("" if not paper.title else "\n".join(_lines(text, room, paper.size)), y=1.0)


#: Lines in points, at texts of 8 pt: examples of many, which have no markers, and the widest.
_THIN, _THICK = 0.7, 1.5


def _tell_apart(axes: Axes, size: float) -> None:
    """Open markers on lines of several colours, at different places, so that noisy lines are told apart without colour too."""
    for line in axes.lines:
        line.set_linewidth(min(line.get_linewidth(), _THICK * size / 8))
    lines = [
        line
        for line in axes.lines
        if line.get_color() in style.COLOURS
        and not str(line.get_label()).startswith("_")
        and line.get_marker() in ("None", None, "")
        and line.get_linewidth() > _THIN * size / 8
        and len(line.get_xdata()) > 1  # type: ignore[arg-type]
    ]
    if len(lines) < 2:
        return
    low, high = sorted(axes.get_xlim())
    for number, line in enumerate(lines):
        x = np.asarray(line.get_xdata(), dtype=float)
        wanted = low + (high - low) * (np.arange(6) + (number + 0.5) / len(lines)) / 6
        places = np.unique(np.clip(np.searchsorted(x, wanted), 0, len(x) - 1))
        line.set_marker("os^Dv<>p"[number % 8])
        line.set_markevery(places.tolist())
        line.set_markersize(size * 0.45)
        line.set_markerfacecolor("white")
        line.set_markeredgewidth(size * 0.09)


def _place(figure: Figure, paper: Paper, above: dict[int, float]) -> None:
    ratio = _RATIO if len(figure.axes) == 1 else _RATIO_OF_PANELS
    # Where no height is asked for, a legend above a panel takes nothing from it.
    high = paper.height or paper.width * ratio + sum(above.values()) / 72
    figure.set_size_inches(paper.width, high)
    size = figure.get_size_inches()
    for axes in figure.axes:
        _wrap_labels(axes, paper.size)
    margins.place(figure, beside=False, above=above)
    panels = [axes.get_position() for axes in figure.axes]
    height, width = min(box.height for box in panels) * size[1] * 72, min(box.width for box in panels) * size[0] * 72
    if height < 4 * paper.size or width < 8 * paper.size:
        raise PlotError(
            f"a figure of {size[0]:.2f} by {size[1]:.2f} in has no room for its lines beside texts of {paper.size:g} pt:"
            " give a larger --height or --width, or a smaller --size"
        )
    for axes in figure.axes:
        _thin_out(axes, paper.size)
        _fewer_rows(axes, paper.size)


def _wrap_labels(axes: Axes, size: float) -> None:
    """The label of the vertical axis in lines that are no longer than the panel is high."""
    figure = axes.figure
    room = axes.get_position().height * figure.get_size_inches()[1] * 72  # type: ignore[union-attr]
    text = axes.get_ylabel().replace("\n", " ")
    axes.set_ylabel("\n".join(_lines(text, max(room, 5 * size), size)))
    for child in axes.child_axes:
        child.set_ylabel("\n".join(_lines(child.get_ylabel().replace("\n", " "), max(room, 5 * size), size)))


def _lines(text: str, room: float, size: float) -> list[str]:
    """A text in lines of at most so many points, broken at blanks."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if not lines[-1] or margins.width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _thin_out(axes: Axes, size: float) -> None:
    """Words under an axis that would run into each other stand upright, numbers are left out."""
    axis = axes.xaxis
    places = [float(place) for place in axis.get_majorticklocs()]
    names = axis.get_major_formatter().format_ticks(places)
    shown = [(p, n) for p, n in zip(places, names, strict=True) if n]
    if len(shown) < 2 or not axes.get_xlabel():
        return
    box = axes.get_position()
    scale = box.width * axes.figure.get_size_inches()[0] * 72  # type: ignore[union-attr]
    at = (
        axes.transAxes.inverted().transform(axes.transData.transform([(p, axes.get_ylim()[0]) for p, _ in shown]))[:, 0]
        * scale
    )
    widths = [margins.width(name, size) for _, name in shown]
    if not any(b - a < (w + v) / 2 + size / 2 for a, b, w, v in zip(at, at[1:], widths, widths[1:], strict=False)):
        return
    formatter = axis.get_major_formatter()
    if isinstance(formatter, style.Scaled | PercentFormatter):
        kept: list[float] = []
        end = -np.inf
        for (place, _), middle, wide in zip(shown, at, widths, strict=True):
            if middle - wide / 2 > end + size / 2:
                kept.append(place)
                end = middle + wide / 2
        axes.set_xticks(kept)
    else:
        axes.tick_params(axis="x", labelrotation=90)


def _fewer_rows(axes: Axes, size: float) -> None:
    """Counts on the vertical axis at distances of at least two lines of text."""
    locator = axes.yaxis.get_major_locator()
    if type(locator) is MaxNLocator:
        room = axes.get_position().height * axes.figure.get_size_inches()[1] * 72  # type: ignore[union-attr]
        locator.set_params(nbins=int(np.clip(room / (2 * size), 2, 10)))


#: Corners first, then the middles of the edges; as shares of what the legend leaves free of the panel's width and height.
_SPOTS = ((1, 1), (0, 1), (1, 0), (0, 0), (0.5, 1), (0.5, 0), (1, 0.5), (0, 0.5), (0.75, 1), (0.25, 1), (0.75, 0), (0.25, 0))  # fmt: skip
#: So much of a panel's height a legend may add at the top.
_MOST_ADDED = 0.45


def _legend(axes: Axes, handles: Sequence[Any], names: Sequence[str], paper: Paper, reserved: float) -> float:
    """Puts the legend where it hides nothing: in a free spot of the panel, in room that is added at its top, or above it.

    Returns the height in points that it takes above the panel.
    """
    figure = axes.figure
    assert isinstance(figure, Figure)
    box = axes.get_position()
    size = figure.get_size_inches() * 72
    wide, high = box.width * size[0], box.height * size[1]
    taken = None if reserved else _taken(axes)
    forms = list(_forms(axes, handles, names, paper, wide))
    if taken is not None:
        for form, (w, h) in forms:
            if w > 0.97 * wide or h > 0.9 * high:
                continue
            for right, up in _SPOTS:
                left, bottom = right * (1 - w / wide), up * (1 - h / high)
                if not _any(taken, left, bottom, left + w / wide, bottom + h / high):
                    _put(axes, form, (left, bottom))
                    return 0.0
    form, (_, h) = min(forms, key=lambda one: one[1][1])
    share = (h + 2) / high
    if taken is not None and share <= _MOST_ADDED and _can_grow(axes):
        rows = np.flatnonzero(taken.any(axis=1))
        free = 1 - (rows[-1] + 1) / len(taken) if len(rows) else 1.0
        used = 1 - free
        _grow(axes, used / (1 - share) if used > 1 - share else 1.0)
        _put(axes, form, (0.5 * (1 - _width_of(forms, form) / wide), 1 - h / high))
        return 0.0
    _put(axes, form, (0.0, 1 + 2 / high))
    return h + 2


def _width_of(forms: Sequence[tuple[dict[str, Any], tuple[float, float]]], form: dict[str, Any]) -> float:
    return next(size[0] for one, size in forms if one is form)


def _forms(
    axes: Axes, handles: Sequence[Any], names: Sequence[str], paper: Paper, wide: float
) -> Iterator[tuple[dict[str, Any], tuple[float, float]]]:
    """The legend in one to four columns, with its width and height in points; entries that are too wide are broken."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    room = 0.95 * wide - 3.4 * paper.size
    whole = tuple(" ".join(name.split("\n")) for name in names)
    found: list[tuple[int, tuple[str, ...]]] = []
    for columns in range(1, min(4, len(names)) + 1):
        each = (room - (columns - 1) * 4.4 * paper.size) / columns
        broken = tuple("\n".join(_lines(name, each, paper.size)) for name in whole)
        found += dict.fromkeys([(columns, whole), (columns, broken)] if each > 5 * paper.size else [(columns, whole)])
    narrowest = [one for one in found if one[0] == 1][-1]
    for columns, texts in found:
        form = {"handles": list(handles), "labels": list(texts), "ncols": columns}
        legend = _put(axes, form, (0.0, 0.0))
        extent = legend.get_window_extent(renderer)
        legend.remove()
        size = (extent.width * 72 / figure.dpi, extent.height * 72 / figure.dpi)
        if size[0] <= wide or (columns, texts) == narrowest:
            yield form, size


def _put(axes: Axes, form: dict[str, Any], corner: tuple[float, float]) -> Legend:
    legend = axes.legend(
        form["handles"], form["labels"], ncols=form["ncols"], loc="lower left", bbox_to_anchor=corner, borderaxespad=0.0,
        borderpad=0.3, labelspacing=0.25, handlelength=2.6, handletextpad=0.5, columnspacing=1.0, frameon=True,
        facecolor="white", edgecolor="none", framealpha=1.0, fancybox=False,
    )  # fmt: skip
    # Lines of the grid end at the legend; no line of the data reaches it.
    legend.set_zorder(4)
    return legend


def _taken(axes: Axes) -> NDArray[np.bool_]:
    """Which parts of a panel are drawn on, as rows from the bottom: without its axes and grid, and without marks from the bottom
    to the top, which no legend can avoid everywhere."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    hidden = [one for one in (*axes.lines, *axes.patches) if one.get_visible() and _spans_height(axes, one)]
    others = [one for one in figure.axes if one is not axes and one.get_visible()]
    on, patch = axes.axison, axes.patch.get_visible()
    try:
        for artist in (*hidden, *others):
            artist.set_visible(False)
        axes.set_axis_off()
        axes.patch.set_visible(False)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        pixels: NDArray[np.bool_] = np.asarray(canvas.buffer_rgba())[::-1, :, :3].min(axis=2) < 250
    finally:
        for artist in (*hidden, *others):
            artist.set_visible(True)
        axes.axison = on
        axes.patch.set_visible(patch)
    box = axes.get_position()
    high, wide = pixels.shape
    return pixels[round(box.y0 * high) : round(box.y1 * high), round(box.x0 * wide) : round(box.x1 * wide)]


def _spans_height(axes: Axes, artist: Any) -> bool:
    """Whether something has its place along the horizontal axis alone, as the mark of an outage."""
    of_x, of_y = artist.get_transform().contains_branch_seperately(axes.transData)
    return bool(of_x and not of_y)


def _any(taken: NDArray[np.bool_], left: float, bottom: float, right: float, top: float) -> bool:
    rows, columns = taken.shape
    edge = 2
    part = taken[
        max(0, int(bottom * rows) - edge) : int(np.ceil(top * rows)) + edge,
        max(0, int(left * columns) - edge) : int(np.ceil(right * columns)) + edge,
    ]
    return bool(part.any())


def _can_grow(axes: Axes) -> bool:
    """Whether the vertical axis may show more than it does: not one of shares that end at 100 %, or of names."""
    low, high = axes.get_ylim()
    formatter = axes.yaxis.get_major_formatter()
    share = isinstance(formatter, PercentFormatter) or (
        isinstance(formatter, style.Scaled) and formatter.unit == "%" and high > 0.9
    )
    return high > low and not share and not axes.images


def _grow(axes: Axes, factor: float) -> None:
    """Makes the vertical axis longer at its top, by this factor of what is drawn on a linear or logarithmic scale."""
    transform = axes.yaxis.get_transform()
    low, high = (float(value) for value in transform.transform(np.asarray(axes.get_ylim(), dtype=float)))
    top = float(transform.inverted().transform(np.asarray([low + (high - low) * factor]))[0])
    axes.set_ylim(top=top)
