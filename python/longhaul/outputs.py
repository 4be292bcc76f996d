"""Output directories: never half-written, never written over what is not ours."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from . import inventory, staging
from .errors import OutputError, ResultError, explain_os_error
from .files import errors_as_output_error, json_text, sync, write_atomically
from .vouching import RUN_FILES, of_ours

#: A result's last file: without it, there is no result.
_LAST = "summary.json"
#: What stays when the same run is made again: it is as true as before.
_MADE_FROM_RESULTS = ("report.html", "plots/")
#: What a run found out.
_FOUND = frozenset(RUN_FILES) - {"timing.json"}
#: What is in a sweep's directory of runs: logs with all of them (`sweep.records`), and the ids of those with a directory.
_OF_RUNS = re.compile(r"[0-9a-f]{16,}|records(-[0-9a-f]{16}-[0-9a-f]{8})?\.log|timing\.json")
#: What a file system has in its topmost folder.
_EMPTY_DISK = frozenset({"lost+found"})


def kind_of(directory: Path) -> str | None:
    """The kind of result in a directory: a "run", a "sweep" or a "study"; `None` if it is none of them. Damage does not count."""
    listed = _listed(directory)
    if "manifest.json" in listed:
        return "sweep"
    if _LAST in listed:
        return "run"
    manifest = of_ours(directory / "manifest.json")
    if manifest is not None and manifest.get("kind") in ("study", "sweep"):
        return str(manifest["kind"])
    return "run" if of_ours(directory / _LAST) is not None else _by_what_stands_beside(directory)


def _listed(directory: Path) -> frozenset[str]:
    try:
        found = inventory.read(directory)
    except ResultError:
        return frozenset()
    return frozenset(found.files if found else ())


def _by_what_stands_beside(directory: Path) -> str | None:
    """What it was, of an older version without a list: by a `runs` directory of a sweep, or tables of a run."""
    if _holds_runs(directory / "runs"):
        return "sweep"
    if (directory / "scenario.toml").exists() and any(
        (directory / name).exists() for name in ("flows.parquet", "timing.json")
    ):
        return "run"
    return None


#: What is in a sweep's directory of runs: the ids of those with a directory, and logs with all (`sweep.records`).
_OF_RUNS = re.compile(r"[0-9a-f]{16,}|records(-[0-9a-f]{16}-[0-9a-f]{8})?\.log|timing\.json")


def is_longhaul_result(directory: Path) -> bool:
    """Whether this is the directory of a run or a sweep, damaged or not."""
    return kind_of(directory) is not None


def damage_of(directory: Path) -> str | None:
    """The damage of a run or a sweep that cannot be read; `None` if nothing is, or it is neither."""
    kind = kind_of(directory)
    return None if kind is None else _fault(directory / (_LAST if kind == "run" else "manifest.json"))


def _holds_runs(runs: Path) -> bool:
    """Whether this is the directory of a sweep's runs: logs, directories called by the ids of runs, and nothing else."""
    try:
        names = [entry.name for entry in runs.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    return bool(names) and all(_OF_RUNS.fullmatch(name) for name in names)


def _fault(file: Path) -> str | None:
    if of_ours(file) is not None:
        return None
    if not file.exists():
        return f"{file.name} is missing"
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})"
    except (ValueError, RecursionError):
        return f"{file.name} is damaged (it is not valid JSON)"
    return f"{file.name} is not one of Longhaul's"


def run_id_of(directory: Path) -> str | None:
    """The identity of the run whose result this is; `None` if it is none."""
    content = of_ours(directory / _LAST)
    return None if content is None else str(content.get("run_id", ""))


def program_of(directory: Path) -> str | None:
    """The digest of the program that made a run's result; `None` if it is not known."""
    try:
        listed = inventory.read(directory)
    except ResultError:
        listed = None
    return (listed.program if listed else None) or _program_in(_timing(directory))


def _program_in(timing: dict[str, Any]) -> str | None:
    return str(timing["program"]) if "program" in timing else None


def found_by_run(directory: Path) -> frozenset[str]:
    """The listed files of a run but its timing, report and figures."""
    return _listed(directory) & _FOUND


def faults_of_run(directory: Path) -> list[str]:
    """What of a run's files is missing or has another content than was written; nothing of its report, figures and timing."""
    try:
        return inventory.faults(directory, found_by_run(directory))
    except ResultError as error:
        return [str(error)]


def are_as_listed(directory: Path, names: Iterable[str]) -> bool:
    """Whether a directory's list has these files, and they are as they were written."""
    try:
        wanted = list(names)
        return _listed(directory).issuperset(wanted) and not inventory.faults(directory, wanted)
    except ResultError:
        return False


def seconds_of(directory: Path) -> float:
    """CPU time that a run took, in seconds; 0 if it is not known."""
    value = _timing(directory).get("cpu_s", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def add_timing(directory: Path, **values: float) -> None:
    """Adds what a run cost to its `timing.json`, while the result is not complete yet."""
    with errors_as_output_error(directory):
        (directory / "timing.json").write_text(json_text(_timing(directory) | values), encoding="utf-8")


def _timing(directory: Path) -> dict[str, Any]:
    try:
        content = json.loads((directory / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def check_free(out: Path, *, run_id: str | None = None, names: Iterable[str] = RUN_FILES, force: bool = False) -> None:
    """Raises unless a result can be written to `out`: nothing is there, or a result of the same run, or (with `force`) any of Longhaul's.

    What was emulated is not the same as what is simulated, although it is the same scenario. A file that is not Longhaul's is in the
    way if it has one of the `names`, and one that was changed unless `force` is given.
    """
    place = staging.place_of(out)
    try:
        if not os.path.lexists(place):
            _require_writable(out, next(parent for parent in place.parents if os.path.lexists(parent)))
            return
        if not place.is_dir():
            raise OutputError(f"{out} is a file; the output must be a directory")
        _require_writable(out, place)
        if all(one.name in _EMPTY_DISK or staging.is_one(one) for one in place.iterdir()):
            return
    except OSError as error:
        raise OutputError(explain_os_error(error, "use", out)) from None
    _require_same(out, run_id, force)
    _require_replaceable(out, names, run_id, force)


def _require_writable(out: Path, folder: Path) -> None:
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {out}: nothing can be created in {folder}")
    if not folder.is_dir():
        raise OutputError(f"cannot write {out}: {folder} is a file, not a directory")


def _require_same(out: Path, run_id: str | None, force: bool) -> None:
    """Raises unless it is a result of Longhaul's: of this run, if it is not to be replaced by `force`."""
    content = of_ours(out / _LAST) or {}
    emulated = bool(content.get("emulation"))
    if run_id is not None and content.get("run_id") == run_id and not emulated:
        return
    if not is_longhaul_result(out):
        raise OutputError(f"{out} is not empty and not a Longhaul result; choose another directory with --out")
    if not force:
        damage = damage_of(out)
        other = "a result of the emulator" if emulated else "another result"
        what = f"a result whose {damage}" if damage else other
        raise OutputError(f"{out} contains {what}; choose another directory with --out, or replace it with --force")


def _require_replaceable(out: Path, names: Iterable[str], run_id: str | None, force: bool) -> None:
    """Raises if files of others have these names, or ours were changed."""
    try:
        with inventory.changing(out) as known:
            gone = known.keys() - _kept(out, known, run_id)
            inventory.require_free(out, sorted({*names, *gone}), known, force=force)
    except OSError as error:
        raise OutputError(explain_os_error(error, "use", out)) from None
    except ResultError as error:
        raise OutputError(f"{error}; choose another directory with --out") from None


def report_of(directory: Path) -> Path:
    """Where the report of a result is, or would be."""
    return directory / "report.html"


def has_report(directory: Path) -> bool:
    """Whether a report of Longhaul's is there, to be made again with the result."""
    report = report_of(directory)
    return report.name in inventory.known_files(directory) and report.exists()


def write(path: Path, content: str | bytes, *, force: bool = False) -> Path:
    """Writes a file that is made from results to a path that somebody named; returns the path.

    Is it a result's own (its report, a figure in its `plots`), the result lists it: then `OutputError` is raised if a file that is not
    Longhaul's, or was changed since (`force` replaces that), has the name.
    """
    for directory, name in ((path.parent, path.name), (path.parent.parent, f"{path.parent.name}/{path.name}")):
        if name.startswith(_MADE_FROM_RESULTS) and kind_of(directory) is not None:
            return inventory.put(directory, name, content, force=force)
    write_atomically(path, content)
    return path


def clear(out: Path, *, force: bool = True) -> None:
    """Removes from a result directory what Longhaul wrote there, runs of a sweep among it; what others put there stays."""
    runs = out / "runs"
    if runs.is_dir() and not runs.is_symlink():
        for run in list(runs.iterdir()):
            if run.is_dir() and re.fullmatch(r"[0-9a-f]{16,}", run.name):
                inventory.remove(run, force=force)
                _remove_if_empty(run)
        from .sweep.records import remove_logs

        remove_logs(runs)
        staging.remove_left(runs)
        _remove_if_empty(runs)
    inventory.remove(out, force=force)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def complete_or_absent(out: Path, *, run_id: str | None = None, force: bool = False) -> Iterator[Path]:
    """A directory to write a run's result into: its files take their place in `out` when the block ends well, and vanish when not.

    They are on the disk before they are listed. What others put into `out` stays; of the same run (`run_id`) its report and figures
    too. Raises `OutputError`; if something came into the way meanwhile, it names the directory where the result is kept.
    """
    place = staging.place_of(out)
    partial: Path | None = None
    try:
        with errors_as_output_error(out):
            partial = staging.make(place)
        yield partial
        with errors_as_output_error(out):
            (partial / staging.OWNER).unlink()
            _list_all(partial)
            if partial.parent == place.parent and not os.path.lexists(place):
                partial.rename(place)
                sync(place.parent)
            else:
                _move_into(partial, place, run_id, force)
    except OutputError as error:
        if partial is None:
            raise
        shutil.rmtree(partial, ignore_errors=True)
        raise OutputError(str(error).replace(str(partial), str(out))) from None
    except BaseException:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        raise


def _list_all(directory: Path) -> None:
    """Lists all files of a directory, which are on the disk then."""
    names = sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file() and path.name not in (inventory.FILE, "live.json")
    )
    # What a run cost is no part of what it found: it differs each time, and the list does not.
    files = {
        name: inventory.Entry() if name == "timing.json" else inventory.entry_of(directory / name) for name in names
    }
    for folder in {(directory / name).parent for name in names}:
        sync(folder)
    inventory.write_list(directory, files, _program_in(_timing(directory)))


def _move_into(partial: Path, place: Path, run_id: str | None, force: bool) -> None:
    """Moves the files of a complete result to where older ones, and those of others, may be."""
    new = inventory.read(partial)
    assert new is not None
    try:
        if any(not staging.is_one(one) and one != partial and one.name not in _EMPTY_DISK for one in place.iterdir()):
            _require_same(place, run_id, force)
        with inventory.changing(place) as known:
            kept = {name: known[name] for name in _kept(place, known, run_id) - new.files.keys()}
            gone = known.keys() - kept.keys() - new.files.keys()
            inventory.require_free(place, sorted({*new.files, *gone}), known, force=force)
            both = {
                name: inventory.Entry(entry.bytes, entry.sha256, inventory.digest_of(place / name))
                for name, entry in new.files.items()
            }
            inventory.write_list(place, {**known, **both}, new.program)
            inventory.unlink(place, _LAST)
            for name in sorted(new.files, key=lambda name: name == _LAST):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(partial / name, place / name)
            for name in gone:
                inventory.unlink(place, name)
            for folder in {(place / name).parent for name in new.files}:
                sync(folder)
            inventory.write_list(place, {**kept, **new.files}, new.program)
    except (OutputError, ResultError) as error:
        raise _set_aside(partial, place, error) from None
    shutil.rmtree(partial, ignore_errors=True)


def _kept(place: Path, known: Iterable[str], run_id: str | None) -> set[str]:
    """Files that stay when a run is made again: report and figures, if it is the same one."""
    same = run_id is not None and run_id_of(place) == run_id
    return {name for name in known if same and name.startswith(_MADE_FROM_RESULTS)}


def _set_aside(partial: Path, place: Path, error: Exception) -> OutputError:
    """A result that cannot take its place is not thrown away: it stays beside."""
    kept = partial.with_name(f"{place.name}-{partial.name[-16:-8]}")
    partial.rename(kept)
    return OutputError(f"{error}; the result that was made meanwhile is kept in {kept}")
