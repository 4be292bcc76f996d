"""From a measurement to a link that behaves like it: rates and delays that wander, losses in bursts, and how well that fits.

A rate is a mean and two processes of first order, a slow and a fast one, whose time constants follow from the autocorrelation. A delay
is its least value, what each slot adds, and what each sample adds within the slot. Both keep the distribution that was measured, as far
as products and sums of two parts can; both forget everything beyond their slowest time constant, so that hours of the day, weather and
what happens at the borders of slots are not in them.
"""

from __future__ import annotations

from .distributions import autocorrelation, distance, distance_at, memories, normal_scores
from .figure import draw
from .judged import Fit, Score, contradictions, fit, lines_of
from .link import link_of, scenario_text
from .measured import Losses, Measured, Series, kind_of, losses, read, seconds_of, settings_of
from .processes import bend_levels, fit_delay, fit_losses, fit_rate, of_delay, slot_phase

__all__ = [
    "Fit", "Losses", "Measured", "Score", "Series", "autocorrelation", "bend_levels", "contradictions", "distance", "distance_at", "draw",
    "fit", "fit_delay", "fit_losses", "fit_rate", "kind_of", "lines_of", "link_of", "losses", "memories", "normal_scores", "of_delay",
    "read", "scenario_text", "seconds_of", "settings_of", "slot_phase",
]  # fmt: skip
