"""Figures as PGF code for `\\input` in a LaTeX document, whose fonts set the texts; no LaTeX is needed to write it.

Matplotlib's own writer asks a running LaTeX for the width of each text, and leaves `_`, `#` and `&` for LaTeX to stumble over.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure

from .. import latex
from ..errors import PlotError

_HEAD = r"""%% A figure by Longhaul, as PGF code. In the preamble: \usepackage{pgf}
%% In the text: \input{NAME.pgf}
\begingroup%
\makeatletter%
\begin{pgfpicture}%
"""
_END = r"""\end{pgfpicture}%
\makeatother%
\endgroup%
"""


class _Renderer(RendererPgf):
    """Matplotlib's, with widths of texts by its own fonts, and texts in the font of the document."""

    def __init__(self, figure: Figure, file: io.StringIO) -> None:
        super().__init__(figure, file)  # type: ignore[no-untyped-call]
        wide, high = figure.get_size_inches() * figure.dpi
        self._measuring: Any = RendererAgg(wide, high, figure.dpi)  # type: ignore[no-untyped-call]

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        wide, high, below = self._measuring.get_text_width_height_descent(s, prop, ismath)
        return wide, high, below

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False, mtext: Any = None
    ) -> None:
        size = prop.get_size_in_points()
        bold = r"\bfseries" if prop.get_weight() in ("bold", "heavy", "black") else ""
        # Anchored as it was meant: the document's font has other widths than the one that was measured with.
        anchor, at = "left,base", (x, y)
        if mtext is not None and (not angle or mtext.get_rotation_mode() == "anchor"):
            at = mtext.get_transform().transform(mtext.get_unitless_position())
            across = {"center": ""}.get(mtext.get_horizontalalignment(), mtext.get_horizontalalignment())
            up = {"top": "top", "bottom": "bottom", "baseline": "base"}.get(mtext.get_verticalalignment(), "")
            anchor = ",".join(filter(None, (across, up)))
        elif mtext is not None and mtext.get_verticalalignment() == "top":
            # Words that stand upright below an axis end at it.
            at, anchor = mtext.get_transform().transform(mtext.get_unitless_position()), "right"
        place = f"x={at[0] / self.dpi:f}in,y={at[1] / self.dpi:f}in"
        turned = f"rotate={angle:f}" if angle else ""
        colour = ",".join(f"{part:.3f}" for part in gc.get_rgb()[:3])
        self.fh.write(
            r"\begin{pgfscope}%" "\n"
            rf"\definecolor{{textcolor}}{{rgb}}{{{colour}}}%" "\n"
            rf"\pgftext[{','.join(filter(None, (place, anchor, turned)))}]"
            rf"{{\color{{textcolor}}\fontsize{{{size:.2f}}}{{{1.2 * size:.2f}}}\selectfont{bold} {latex.escaped(s)}}}%" "\n"
            r"\end{pgfscope}%" "\n"
        )  # fmt: skip

    def draw_image(self, *_: Any, **__: Any) -> None:
        raise PlotError("this figure has a heat map, which PGF code cannot hold: write it as pdf, or show fewer flows")


def code(figure: Figure) -> str:
    """A figure as PGF code. Raises `PlotError` for a figure with an image in it."""
    file = io.StringIO()
    wide, high = figure.get_size_inches()
    file.write(_HEAD)
    file.write(rf"\pgfpathrectangle{{\pgfpointorigin}}{{\pgfqpoint{{{wide:f}in}}{{{high:f}in}}}}%" "\n")
    file.write(r"\pgfusepath{use as bounding box, clip}%" "\n")
    figure.draw(_Renderer(figure, file))
    return file.getvalue() + _END
