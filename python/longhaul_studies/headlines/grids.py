"""The headlines in their order, and their runs at each scale."""

from __future__ import annotations

from . import asymmetry, losses, measured, start_up

SCALES = {
    "tiny": "the short ones without chance, for continuous integration",
    "quick": "every headline, five seeds where something is drawn at random",
    "full": "every headline, twenty seeds where something is drawn at random",
}
HEADLINES = (*start_up.HEADLINES, *losses.HEADLINES, *asymmetry.HEADLINES, *measured.HEADLINES)
EXPERIMENTS = tuple(one.experiment for one in HEADLINES)
