"""Finding a study, and parts of one, by name; the error for an unknown name suggests the nearest."""

from __future__ import annotations

from collections.abc import Sequence

from longhaul import study as lab
from longhaul.errors import LonghaulError, UnknownName
from longhaul.naming import only

from .model import Study

__all__ = ["UnknownName", "experiments", "find", "scale"]


def find(name: str) -> Study:
    """The study of this name, if it is one of this package's form."""
    study = lab.find(name)
    if not isinstance(study, Study):
        raise LonghaulError(f"the study {name} is not made of experiments and targets")
    return study


def scale(study: Study, name: str) -> str:
    """A scale of the study."""
    return only(name, list(study.scales), f"scale of the study {study.name}")


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
        only(
            key,
            list(by_name),
            f"experiment, figure or target of the study {study.name}",
            given=name,
            shown=_shown(study),
            spelled=spelled,
        )
        wanted += by_name[key]
    return [experiment.id for experiment in study.experiments if experiment.id in wanted]


def _shown(study: Study) -> list[str]:
    return [experiment.id for experiment in study.experiments] + [f"figure {figure.id}" for figure in study.figures]
