"""Output directories: never half-written, never written over what is not ours."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import LonghaulError, OutputError, explain_os_error


def is_longhaul_result(directory: Path) -> bool:
    """Whether this is the directory of a run or a sweep."""
    return any(_identity(directory / name) is not None for name in ("summary.json", "manifest.json"))


def run_id_of(directory: Path) -> str | None:
    """The identity of the run whose result this is; `None` if it is none."""
    return _identity(directory / "summary.json")


def program_of(directory: Path) -> str | None:
    """The digest of the program that made a run's result; `None` if it is not known."""
    content = _timing(directory)
    return str(content["program"]) if "program" in content else None


def seconds_of(directory: Path) -> float:
    """Wall-clock time that a run took, in seconds; 0 if it is not known."""
    value = _timing(directory).get("wall_s", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _timing(directory: Path) -> dict[str, Any]:
    try:
        content = json.loads((directory / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _identity(file: Path) -> str | None:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or "longhaul" not in content:
        return None
    return str(content.get("run_id", ""))


def check_free(out: Path, *, run_id: str | None = None, force: bool = False) -> None:
    """Raises unless `out` is absent, empty, the result of the same run, or (with `force`) any Longhaul result."""
    try:
        if not out.exists():
            return
        if not out.is_dir():
            raise OutputError(f"{out} is a file; the output is a directory")
        if not any(out.iterdir()):
            return
    except OSError as error:
        raise OutputError(explain_os_error(error, "use", out)) from None
    if run_id is not None and run_id_of(out) == run_id:
        return
    if not is_longhaul_result(out):
        raise OutputError(f"{out} is not empty and not a Longhaul result; choose another directory with --out")
    if not force:
        raise OutputError(
            f"{out} holds another result; choose another directory with --out, or replace it with --force"
        )


@contextmanager
def complete_or_absent(out: Path) -> Iterator[Path]:
    """A directory to write into, which takes the place of `out` when the block ends well and vanishes when not."""
    with errors_as_output_error(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
        partial.chmod(0o777 & ~_umask())
    try:
        yield partial
        with errors_as_output_error(out):
            _take_place(partial, out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _take_place(partial: Path, out: Path) -> None:
    if not out.exists():
        partial.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
    out.rename(old / out.name)
    try:
        partial.rename(out)
    except OSError:
        (old / out.name).rename(out)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def write_atomically(file: Path, content: str | bytes) -> None:
    """Writes a file whole: it has its old content or its new one, whatever happens."""
    data = content.encode() if isinstance(content, str) else content
    with errors_as_output_error(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
