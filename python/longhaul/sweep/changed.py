"""Results from another build of the simulator: the version may be the same, the numbers need not be."""

from __future__ import annotations

from ..errors import OutputError
from ..units import counted
from .store import Store

#: What can be done with such results.
POLICIES = ("refuse", "check", "rerun")
#: How many are made again before the others are accepted.
SAMPLE = 5


def settle(store: Store, policy: str) -> None:
    """Refuses runs from another program, leaves them to be made again, or accepts them if a sample comes out the same.

    The sample is spread evenly over them; one byte that differs is an `OutputError`.
    """
    foreign = store.foreign()
    if not foreign or policy == "rerun":
        return
    what = f"{counted(len(foreign), 'finished run')} in {store.runs}"
    if policy == "refuse":
        raise OutputError(
            f"{what} {'was' if len(foreign) == 1 else 'were'} made by another build of the simulator, whose results may differ;"
            f" --changed check makes {min(SAMPLE, len(foreign))} of them again and keeps all if every byte is equal,"
            " --changed rerun makes all of them again"
        )
    _check(store, what)


def _check(store: Store, what: str) -> None:
    from .. import verifying

    foreign = store.foreign()
    count = min(SAMPLE, len(foreign))
    for run in (foreign[i * len(foreign) // count] for i in range(count)):
        check = verifying.check(store.run_path(run))
        if not check.same:
            raise OutputError(
                f"{what} are from another build, and run {run.run_id} differs with this one"
                f" ({', '.join(check.different)}); --changed rerun makes all of them again"
            )
    store.accept({str(store.made_by(run)) for run in foreign}, count)
