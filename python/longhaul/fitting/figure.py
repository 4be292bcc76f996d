"""A fit beside its measurement, as a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .distributions import autocorrelation, normal_scores
from .judged import Fit


def draw(found: Fit, file: Path) -> None:
    """Model beside measurement: distribution, course and autocorrelation of each quantity."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.9 * len(found.scores)), layout="constrained")
    axes = figure.subplots(len(found.scores), 3, squeeze=False)
    for row, one, series, model in zip(axes, found.scores, found.series(), found.models, strict=True):
        scale, unit = (1e3, "ms") if one.what == "delay" else (1e-6, "Mbit/s")
        shown = min(len(series.values), max(int(120 / series.step_s), 200))
        for values, label in ((series.values, "measured"), (model, "model")):
            row[0].plot(scale * np.sort(values), np.linspace(0, 1, len(values)), label=label)
            row[1].plot(series.times[:shown], scale * values[:shown], label=label, linewidth=0.8)
            lags = np.unique(np.round(np.geomspace(1, max(len(series.values) // 4, 2), 40)).astype(int))
            scores = normal_scores(values[: 4 * len(series.values)])
            row[2].plot(lags * series.step_s, [autocorrelation(scores, int(lag)) for lag in lags], label=label)
        row[0].set(xlabel=f"{one.what} ({unit})", ylabel="share below")
        row[1].set(xlabel="time (s)", ylabel=f"{one.what} ({unit})")
        row[2].set(xlabel="lag (s)", ylabel="autocorrelation", xscale="log")
        for ax in row:
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)
    figure.savefig(file, dpi=130)
