"""The figures a TCP person looks for first, one module each; all are matplotlib figures, to be changed at will."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PlotError
from ..outputs import write
from ..results import Result
from .view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .paper import Paper

__all__ = ["KINDS", "View", "draw", "figure_bytes", "finished", "kinds_for", "save"]

#: Every kind of figure of one run, in the order of the report, with its module and function; these are imported when
#: drawn, since matplotlib takes longer to load than many a run.
KINDS = {
    "throughput": ("throughput", "draw_throughput"),
    "goodput": ("throughput", "draw_goodput"),
    "cwnd": ("cwnd", "draw"),
    "utilisation": ("links", "draw_utilisation"),
    "queue": ("links", "draw_queue"),
    "rtt": ("rtt", "draw"),
    "propagation": ("propagation", "draw"),
    "cc": ("cc", "draw"),
    "limits": ("limits", "draw"),
    "fairness": ("fairness", "draw"),
    "completion": ("fairness", "draw_completion"),
    "timeseq": ("timeseq", "draw"),
}
FORMATS = ("png", "pdf", "svg", "pgf")


def draw(result: Result, kind: str, view: View | None = None, paper: Paper | None = None) -> Figure:
    """Draws one figure, in the form of `paper` if it is given.

    Raises `PlotError` if the kind is unknown, the result does not hold what it takes, or the paper has no room for it.
    """
    if kind not in KINDS:
        raise PlotError(f"no figure {kind!r}; the figures are {', '.join(KINDS)}")
    module, function = KINDS[kind]
    drawing = getattr(importlib.import_module(f".{module}", __package__), function)
    return finished(lambda: drawing(result, view or View()), paper)


def finished(drawing: Callable[[], Figure], paper: Paper | None = None) -> Figure:
    """What `drawing` returns, with its margins, or in the form of a paper."""
    from . import margins, style

    # Names may have dollar signs.
    plain = {"text.parse_math": False}
    if paper is None:
        with style.styled(plain):
            figure = drawing()
            margins.place(figure)
            return figure
    from .paper import fit

    with style.styled(plain | paper.settings()), warnings.catch_warnings():
        # Computer Modern has no minus sign; the font after it in the list has one.
        warnings.filterwarnings("ignore", "cmr10 font should ideally")
        figure = drawing()
        fit(figure, paper)
        return figure


def kinds_for(result: Result) -> list[str]:
    """The kinds that this result can fill."""
    from .. import propagation

    kinds = list(KINDS) if result.has_tables else ["limits", "fairness", "completion"]
    if len(result.summary["flows"]) < 2:
        kinds.remove("fairness")
    if sum(flow["metrics"].get("completion_time_s") is not None for flow in result.summary["flows"]) < 2:
        kinds.remove("completion")
    if all(flow["variant"] == "udp" for flow in result.summary["flows"]):
        # Datagrams have neither a window nor round trips.
        kinds = [kind for kind in kinds if kind not in ("cwnd", "rtt")]
    if "timeseq" in kinds and not result.has_segments:
        kinds.remove("timeseq")
    if "propagation" in kinds and not propagation.delays(result):
        kinds.remove("propagation")
    if "cc" in kinds and not result.has_cc:
        kinds.remove("cc")
    return kinds


def figure_bytes(figure: Figure, format: str, dpi: int = 160, *, text: bool = False) -> bytes:
    """A figure as the bytes of a PNG, PDF, SVG or PGF file; the same figure gives the same bytes.

    With `text` an SVG has its text as text, in the reader's font: a third of the size and half of the work. Otherwise it
    has outlines, which look the same everywhere.
    """
    stamps = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
    if format not in FORMATS:
        raise PlotError(f"a figure cannot be saved as {format!r}; the formats are {', '.join(FORMATS)}")
    from . import style

    if format == "pgf":
        from .pgf import code

        with style.styled():
            return code(figure).encode()
    buffer = io.BytesIO()
    with style.styled({"svg.fonttype": "none" if text else "path"}):
        figure.savefig(buffer, format=format, dpi=dpi, metadata=stamps[format])
    return buffer.getvalue()


def save(figure: Figure, path: Path, dpi: int = 160, *, force: bool = False) -> Path:
    """Saves a figure in the format of the file's ending.

    One in the `plots` of a result is not replaced, but by `force`, where it is not Longhaul's or was changed: `OutputError`.
    """
    return write(path, figure_bytes(figure, path.suffix.lstrip(".").lower(), dpi), force=force)
