"""Output directories: never half-written, never written over what is not ours."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import LonghaulError, OutputError, explain_os_error

#: What Longhaul writes into result directories, by name and by ending; anything else there is somebody else's.
_OURS = frozenset({"report.html", "plots", "runs"})
_ENDINGS = frozenset({".json", ".toml", ".parquet", ".pcapng"})


def is_longhaul_result(directory: Path) -> bool:
    """Whether this is the directory of a run or a sweep, damaged or not."""
    if any(_identity(directory / name) is not None for name in ("summary.json", "manifest.json")):
        return True
    return damage_of(directory) is not None


def damage_of(directory: Path) -> str | None:
    """What is wrong with a run or a sweep that cannot be read; `None` if nothing is, or it is neither.

    It counts as one by the files next to the damaged one: a `runs` directory of a sweep, tables of a run.
    """
    if _holds_runs(directory / "runs"):
        return _fault(directory / "manifest.json")
    if (directory / "scenario.toml").exists() and any(
        (directory / name).exists() for name in ("flows.parquet", "timing.json")
    ):
        return _fault(directory / "summary.json")
    return None


def _holds_runs(runs: Path) -> bool:
    """Whether this is the directory of a sweep's runs: one directory for each, called by its id, and nothing else."""
    try:
        names = [entry.name for entry in runs.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    return bool(names) and all(re.fullmatch(r"[0-9a-f]{16,}", name) for name in names)


def _fault(file: Path) -> str | None:
    if _identity(file) is not None:
        return None
    if not file.exists():
        return f"{file.name} is missing"
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})"
    except ValueError:
        return f"{file.name} is damaged (it is not valid JSON)"
    return f"{file.name} is not one of Longhaul's"


def run_id_of(directory: Path) -> str | None:
    """The identity of the run whose result this is; `None` if it is none."""
    return _identity(directory / "summary.json")


def program_of(directory: Path) -> str | None:
    """The digest of the program that made a run's result; `None` if it is not known."""
    content = _timing(directory)
    return str(content["program"]) if "program" in content else None


def seconds_of(directory: Path) -> float:
    """CPU time that a run took, in seconds; 0 if it is not known."""
    value = _timing(directory).get("cpu_s", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def add_timing(directory: Path, **values: float) -> None:
    """Adds what a run cost to its `timing.json`."""
    with errors_as_output_error(directory):
        (directory / "timing.json").write_text(json_text(_timing(directory) | values), encoding="utf-8")


def _timing(directory: Path) -> dict[str, Any]:
    try:
        content = json.loads((directory / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _identity(file: Path) -> str | None:
    content = _content(file)
    return None if content is None else str(content.get("run_id", ""))


def _is_emulated(file: Path) -> bool:
    return bool((_content(file) or {}).get("emulation"))


def _content(file: Path) -> dict[str, Any] | None:
    """What a summary or a manifest of Longhaul's has in it; `None` if it is neither."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and "longhaul" in content else None


def check_free(out: Path, *, run_id: str | None = None, force: bool = False) -> None:
    """Raises unless `out` is absent, empty, the result of the same run, or (with `force`) any Longhaul result.

    What was emulated is not the same as what is simulated, although it is the same scenario.
    """
    try:
        if not out.exists():
            return
        if not out.is_dir():
            raise OutputError(f"{out} is a file; the output must be a directory")
        if not any(out.iterdir()):
            return
    except OSError as error:
        raise OutputError(explain_os_error(error, "use", out)) from None
    emulated = _is_emulated(out / "summary.json")
    if run_id is not None and run_id_of(out) == run_id and not emulated:
        return
    if not is_longhaul_result(out):
        raise OutputError(f"{out} is not empty and not a Longhaul result; choose another directory with --out")
    if not force:
        damage = damage_of(out)
        other = "a result of the emulator" if emulated else "another result"
        what = f"a result whose {damage}" if damage else other
        raise OutputError(f"{out} contains {what}; choose another directory with --out, or replace it with --force")


def report_of(directory: Path) -> Path:
    """Where the report of a result is, or would be."""
    return directory / "report.html"


def clear(out: Path) -> None:
    """Removes from a result directory what Longhaul wrote there; what others put there stays."""
    with errors_as_output_error(out):
        for entry in out.iterdir():
            if _is_ours(entry.name):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(".") or Path(name).suffix in _ENDINGS


@contextmanager
def complete_or_absent(out: Path, *, same: bool = False) -> Iterator[Path]:
    """A directory to write into, which takes the place of `out` when the block ends well and vanishes when not.

    What others put into `out` stays, and its figures too if the new result is the `same` run.
    """
    # The name is fixed before the directory exists: a signal may arrive as soon as it does.
    partial = out.with_name(f".{out.name}.{secrets.token_hex(4)}.partial")
    try:
        with errors_as_output_error(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            partial.mkdir()
        yield partial
        with errors_as_output_error(out):
            _take_place(partial, out, {"plots"} if same else set())
    except OutputError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise OutputError(str(error).replace(str(partial), str(out))) from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _take_place(partial: Path, out: Path, kept: set[str]) -> None:
    if not out.exists():
        partial.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
    old = aside / out.name
    out.rename(old)
    try:
        partial.rename(out)
    except OSError:
        old.rename(out)
        aside.rmdir()
        raise
    for entry in list(old.iterdir()):
        if not _is_ours(entry.name) or entry.name in kept:
            entry.rename(out / entry.name)
    shutil.rmtree(aside, ignore_errors=True)


def write_atomically(file: Path, content: str | bytes) -> None:
    """Writes a file whole: it has its old content or its new one, whatever happens."""
    data = content.encode() if isinstance(content, str) else content
    with errors_as_output_error(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("xb") as stream:
                stream.write(data)
            os.replace(temporary, file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def json_text(content: Any) -> str:
    """JSON as Longhaul writes it into files: indented, in the given order, one line at the end."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


@contextmanager
def errors_as_output_error(path: Path) -> Iterator[None]:
    """Turns operating system errors (disk full, no permission) into one clear line."""
    try:
        yield
    except LonghaulError:
        raise
    except OSError as error:
        raise OutputError(explain_os_error(error, "write", path)) from None
