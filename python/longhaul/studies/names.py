"""Finding a study, and parts of one, by name; the error for an unknown name suggests the nearest."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping, Sequence

from ..errors import LonghaulError
from .model import Study

#: Every study with the module that defines it as `STUDY`; imported on demand.
STUDIES = {
    "asymmetric": "longhaul.studies.asymmetric",
    "highspeed": "longhaul.studies.highspeed",
    "premature-ack": "longhaul.studies.premature_ack",
    "satellite-objectives": "longhaul.studies.satellite_objectives",
    "split-pep": "longhaul.studies.split_pep",
    "sttp": "longhaul.studies.sttp",
}


class UnknownName(LonghaulError):
    """A study, scale, experiment, figure or target that does not exist."""


def find(name: str) -> Study:
    """The study of this name."""
    nearest(name, list(STUDIES), "study")
    study: Study = importlib.import_module(STUDIES[name]).STUDY
    return study


def scale(study: Study, name: str) -> str:
    """A scale of the study."""
    return nearest(name, list(study.scales), f"scale of the study {study.name}")


def experiments(study: Study, names: Sequence[str]) -> list[str]:
    """The requested experiments: by their own names, or those of figures, tables and targets that need them.

    Names may be separated by commas, and `figure 6.2` is `6.2`.
    """
    by_name: dict[str, tuple[str, ...]] = {}
    ids = [*(t.id for t in study.targets), *(f.id for f in study.figures), *(e.id for e in study.experiments)]
    spelled = {name.lower(): name for name in ids}
    for target in study.targets:
        by_name[target.id.lower()] = target.experiments
    for figure in study.figures:
        by_name[figure.id.lower()] = figure.experiments
    for experiment in study.experiments:
        by_name[experiment.id.lower()] = (experiment.id,)
    wanted: list[str] = []
    for name in (part.strip() for text in names for part in text.split(",")):
        key = name.lower().removeprefix("figure").removeprefix("table").strip()
        nearest(
            key,
            list(by_name),
            f"experiment, figure or target of the study {study.name}",
            given=name,
            shown=_shown(study),
            spelled=spelled,
        )
        wanted += by_name[key]
    return [experiment.id for experiment in study.experiments if experiment.id in wanted]


def nearest(
    name: str,
    known: Sequence[str],
    what: str,
    *,
    given: str | None = None,
    shown: Sequence[str] | None = None,
    spelled: Mapping[str, str] | None = None,
) -> str:
    """The name itself if it is known; otherwise an error that lists the known names and suggests the nearest.

    >>> nearest("quick", ["quick", "full"], "scale")
    'quick'
    """
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"; did you mean {(spelled or {}).get(close[0], close[0])!r}?" if close else ""
    raise UnknownName(f"no {what} is called {given or name!r}; there are {', '.join(shown or known)}{hint}")


def _shown(study: Study) -> list[str]:
    return [experiment.id for experiment in study.experiments] + [f"figure {figure.id}" for figure in study.figures]
