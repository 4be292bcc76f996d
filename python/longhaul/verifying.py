"""Running results again and comparing every byte: the same scenario, seed and version give the same files."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import core, document, inventory, outputs
from .errors import ResultError
from .results import load_run, require_directory
from .sweep import SweepResult
from .sweep.records import Record, recorded
from .values import folder, whole

#: What a run may write differently each time.
NOT_COMPARED = frozenset({"timing.json", inventory.FILE})


@dataclass(frozen=True)
class Check:
    """One result that was run again, and the files that came out different."""

    path: Path
    files: int
    different: tuple[str, ...]
    #: Whether another build of the same version made it.
    other_build: bool = False

    @property
    def same(self) -> bool:
        """Whether every file is the same."""
        return not self.different


def targets(directory: Path, sample: int | None) -> list[Path]:
    """The run directories to check: the one, or `sample` of a sweep's finished runs, evenly spread (all, if `None`)."""
    if outputs.kind_of(directory) != "sweep":
        load_run(directory)
        return [directory]
    runs = list(dict.fromkeys(SweepResult(directory).finished["run_id"].to_list()))
    if not runs:
        raise ResultError(f"{directory}: no run of this sweep is finished")
    count = len(runs) if sample is None else min(sample, len(runs))
    return [directory / "runs" / runs[i * len(runs) // count] for i in range(count)]


def verify(result: str | Path, sample: int | None = None) -> list[Check]:
    """Runs a result again, or of a sweep `sample` runs (all, if `None`), evenly spread, and compares every byte.

    Raises `ResultError` if it cannot be read or is of another version.
    """
    directory = folder(result, "result")
    require_directory(directory)
    if sample is not None:
        whole(sample, "sample", 1)
    return [check(path) for path in targets(directory, sample)]


def check(path: Path, progress: core.ProgressCallback | None = None) -> Check:
    """Runs one result again from its resolved scenario and compares."""
    summary = load_run(path).summary
    if summary.get("emulation"):
        raise ResultError(
            f"{path} was made by the emulator: real packets and real kernels never repeat exactly, so there is nothing to verify"
        )
    if summary["longhaul"] != core.version():
        raise ResultError(
            f"{path} was made by Longhaul {summary['longhaul']}, this is {core.version()}: a difference would not prove an error."
            f" Verify it with {summary['longhaul']}, or run {path / 'scenario.toml'} again and compare both results"
        )
    held = recorded(path)
    if held is not None and not held.has_directory:
        return _check_held(path, held, progress)
    listed = outputs.found_by_run(path)
    old = {file.name: file for file in sorted(path.iterdir()) if file.is_file() and _compared(file.name)}
    with tempfile.TemporaryDirectory(prefix="longhaul-verify-") as again:
        core.run(
            document.read(path / "scenario.toml"),
            out=Path(again),
            tables="flows.parquet" in old or "flows.parquet" in listed,
            progress=progress,
        )
        new = {file.name: file for file in Path(again).iterdir() if file.is_file() and _compared(file.name)}
        different = {name for name in new if name not in old or not _same(old[name], new[name])}
        different |= {name for name in listed if name not in new and name not in old}
    made_by = held.program if held is not None else outputs.program_of(path)
    return Check(path, len(new), tuple(sorted(different)), made_by not in (None, core.program()))


def _check_held(path: Path, held: Record, progress: core.ProgressCallback | None) -> Check:
    """As `check`, of a run whose scenario and summary are in the log of a sweep."""

    def told(_index: int, now: float, duration: float, events: int, _delivered: list[int]) -> bool | None:
        return progress(now, duration, events) if progress else None

    seed = json.loads(held.summary)["seed"]
    made = core.run_seeds(document.parse(held.scenario.decode(), f"{path}/scenario.toml"), (), [seed], progress=told)[0]
    pairs = {"scenario.toml": (held.scenario, made.scenario), "summary.json": (held.summary, made.summary)}
    different = [name for name, (old, new) in pairs.items() if old != new]
    return Check(path, len(pairs), tuple(different), held.program != core.program())


def _compared(name: str) -> bool:
    return name not in NOT_COMPARED and not name.startswith(".")


def _same(a: Path, b: Path) -> bool:
    try:
        return a.read_bytes() == b.read_bytes()
    except OSError as error:
        raise ResultError(f"{a} cannot be read ({error.strerror})") from None
