"""The figures a TCP person looks for first, one module each; all are matplotlib figures, to be changed at will."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PlotError
from ..outputs import write
from ..results import Result
from .look import Look, drawn_with
from .view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "Look", "View", "draw", "figure_bytes", "kinds_for", "looking", "save"]

#: Every kind of figure of one run, in the order of the report, with its module and function; these are imported when
#: drawn, since matplotlib takes longer to load than many a run.
KINDS = {
    "throughput": ("throughput", "draw_throughput"),
    "goodput": ("throughput", "draw_goodput"),
    "cwnd": ("cwnd", "draw"),
    "utilisation": ("links", "draw_utilisation"),
    "queue": ("links", "draw_queue"),
    "rtt": ("rtt", "draw"),
    "cc": ("cc", "draw"),
    "limits": ("limits", "draw"),
    "fairness": ("fairness", "draw"),
    "timeseq": ("timeseq", "draw"),
}
FORMATS = ("png", "pdf", "svg", "pgf")


def draw(result: Result, kind: str, view: View | None = None, look: Look | None = None) -> Figure:
    """Draws one figure; raises `PlotError` if the kind is unknown or the result does not hold what it takes."""
    if kind not in KINDS:
        raise PlotError(f"no figure {kind!r}; the figures are {', '.join(KINDS)}")
    module, function = KINDS[kind]
    return looking(
        lambda: getattr(importlib.import_module(f".{module}", __package__), function)(result, view or View()), look
    )


def looking(drawing: Callable[[], Figure], look: Look | None = None) -> Figure:
    """A figure in the look of papers, if one is given, with its panels where their texts leave room."""
    from . import margins, style

    with drawn_with(look), style.styled():
        figure = drawing()
        if look is not None and look.changes:
            look.applied(figure)
        margins.place(figure)
        return figure


def kinds_for(result: Result) -> list[str]:
    """The kinds that this result can fill."""
    kinds = list(KINDS) if result.has_tables else ["limits", "fairness"]
    if len(result.summary["flows"]) < 2:
        kinds.remove("fairness")
    if "timeseq" in kinds and not result.has_segments:
        kinds.remove("timeseq")
    if "cc" in kinds and not result.has_cc:
        kinds.remove("cc")
    return kinds


def figure_bytes(figure: Figure, format: str, dpi: int = 160, *, text: bool = False, look: Look | None = None) -> bytes:
    """A figure as the bytes of a PNG, PDF, SVG or PGF file; the same figure gives the same bytes. PGF needs LaTeX.

    With `text` an SVG has its text as text, in the reader's font: a third of the size and half of the work. Otherwise it
    has outlines, which look the same everywhere.
    """
    stamps: dict[str, dict[str, Any]] = {
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
        "png": {},
        "pgf": {},
    }
    if format not in stamps:
        raise PlotError(f"a figure cannot be saved as {format!r}; the formats are {', '.join(FORMATS)}")
    from . import style

    buffer: Any = io.BytesIO()
    try:
        with drawn_with(look), style.styled(svg_fonttype="none" if text else "path"):
            extra: Any = {} if format == "pgf" else {"metadata": stamps[format]}
            figure.savefig(buffer, format=format, dpi=dpi, **extra)
    except (FileNotFoundError, RuntimeError) as error:
        if format != "pgf":
            raise
        raise PlotError(
            f"PGF needs LaTeX (xelatex) to measure its texts, which is not installed here ({error})"
        ) from None
    return bytes(buffer.getvalue())


def save(figure: Figure, path: Path, dpi: int = 160, *, force: bool = False) -> Path:
    """Saves a figure in the format of the file's ending.

    One in the `plots` of a result is not replaced, but by `force`, where it is not Longhaul's or was changed: `OutputError`.
    """
    return write(path, figure_bytes(figure, path.suffix.lstrip(".").lower(), dpi), force=force)
