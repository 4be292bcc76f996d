"""The files of a directory that are Longhaul's: `longhaul-files.json` lists each with its size and digest.

Only what is listed is ever replaced or removed, one file at a time; a listed file that somebody changed only by `force`, and a file
that is not listed never. So a result can stand among a user's own files, whatever their names are.

    put(directory, name, content)       write a file, and list it
    claim(directory, *names)            list files that are written bit by bit, as a log: theirs is the name, without a digest
    note(directory, *names)             list files as they are now, on the disk before they are listed
    remove(directory)                   remove what is listed
    faults(directory)                   what of the listed is missing or has another content

Several processes may do so at once in one directory. docs/guide.md has the file's format; the emulator writes the same
(`crates/emu/src/inventory.rs`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from .errors import OutputError, ResultError, explain_os_error
from .files import errors_as_output_error, json_text, sync, write_atomically, written_beside

#: The list's name. Nothing else is likely to be called so.
FILE = "longhaul-files.json"
#: The format of the list, and of the directory that it describes.
FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """A file of Longhaul's. One without a digest is known by its name alone."""

    bytes: int | None = None
    sha256: str | None = None
    #: The digest that it has until it is replaced by what is listed: a kill may come between both.
    before: str | None = None


@dataclass(frozen=True)
class Inventory:
    """The list of a directory's files."""

    files: Mapping[str, Entry]
    #: The build of the simulator that made the result.
    program: str | None = None


def read(directory: Path) -> Inventory | None:
    """The directory's list; `None` if it has none. Raises `ResultError` if it is damaged, or not Longhaul's."""
    file = directory / FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ResultError(explain_os_error(error, "read", file)) from None
    except (ValueError, RecursionError):
        raise ResultError(f"{file} is damaged: not valid JSON") from None
    found = _read(content)
    if found is None:
        raise ResultError(f"{file} is damaged: not a list of Longhaul's files")
    if content["format"] > FORMAT:
        raise ResultError(f"{file} is of a newer Longhaul ({content.get('longhaul')}): format {content['format']}")
    return found


def _read(content: Any) -> Inventory | None:
    if not isinstance(content, dict) or content.get("kind") != "files" or type(content.get("format")) is not int:
        return None
    files, program = content.get("files"), content.get("program")
    if not isinstance(files, dict) or not (program is None or isinstance(program, str)):
        return None
    entries = {name: _entry(value) for name, value in files.items() if _is_inside(name)}
    if len(entries) < len(files) or None in entries.values():
        return None
    return Inventory({name: entry for name, entry in entries.items() if entry}, program)


def _entry(value: Any) -> Entry | None:
    if not isinstance(value, dict):
        return None
    size, digest, before = value.get("bytes"), value.get("sha256"), value.get("before")
    if not (size is None or type(size) is int) or not all(
        text is None or isinstance(text, str) for text in (digest, before)
    ):
        return None
    return Entry(size, digest, before)


def _is_inside(name: str) -> bool:
    """Whether a name is that of a file in the directory: a list may come from anywhere."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and not {"..", "\0"} & {*parts, *name} and "\\" not in name


def put(directory: Path, name: str, content: str | bytes, *, force: bool = False) -> Path:
    """Writes a file of a directory whole, and lists it; returns its path.

    Raises `OutputError` if a file that is not Longhaul's has the name, or one that was changed since (`force` replaces that), or it
    cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    target = directory / name
    with errors_as_output_error(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with changing(directory) as known:
            require_free(directory, [name], known, force=force)
            old, new = digest_of(target), Entry(len(data), hashlib.sha256(data).hexdigest())
            if old == new.sha256 and known.get(name) == new:
                return target
            temporary = written_beside(target, data, None if old is None else target.stat().st_mode)
            try:
                # A kill may come at any moment: what is there is listed before and after.
                write_list(directory, known | {name: replace(new, before=old)})
                os.replace(temporary, target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            sync(target.parent)
            if old is not None:
                write_list(directory, known | {name: new})
    return target


def claim(directory: Path, *names: str) -> None:
    """Lists files by their names, which are then free to be written in any way.

    Raises `OutputError` if a file that is not Longhaul's has one of them.
    """
    with errors_as_output_error(directory), changing(directory) as known:
        require_free(directory, names, known, force=True)
        if any(known.get(name) != Entry() for name in names):
            known.update(dict.fromkeys(names, Entry()))
            write_list(directory, known)


def note(directory: Path, *names: str) -> None:
    """Lists files as they are now. Raises `OutputError` if one cannot be read."""
    with errors_as_output_error(directory), changing(directory) as known:
        known.update({name: entry_of(directory / name) for name in names})
        sync(directory)
        write_list(directory, known)


def entry_of(path: Path) -> Entry:
    sync(path)
    return Entry(path.stat().st_size, digest_of(path))


def remove(directory: Path, *, keep: Iterable[str] = (), force: bool = False) -> None:
    """Removes the listed files but those to `keep`, then folders that are empty, and the list if it is.

    Raises `OutputError`, and removes nothing, if one was changed (`force` removes it as well).
    """
    kept = set(keep)
    with errors_as_output_error(directory), changing(directory) as known:
        gone = [name for name in known if name not in kept]
        require_free(directory, gone, known, force=force)
        for name in gone:
            unlink(directory, name)
            del known[name]
        if known:
            write_list(directory, known)
        else:
            (directory / FILE).unlink(missing_ok=True)


def unlink(directory: Path, name: str) -> None:
    """Removes a file, and the folders of the directory that are empty then."""
    path = directory / name
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    for folder in path.relative_to(directory).parents:
        try:
            (directory / folder).rmdir() if folder.parts else None
        except OSError:
            return


def faults(directory: Path, names: Iterable[str] | None = None) -> list[str]:
    """What of the listed files, or of `names` among them, is not as it was written: a sentence for each; reads them whole."""
    listed = read(directory)
    if listed is None:
        return []
    wanted = listed.files if names is None else {name: listed.files[name] for name in names if name in listed.files}
    return [fault for name, entry in wanted.items() if (fault := _fault(directory / name, entry))]


def _fault(path: Path, entry: Entry) -> str | None:
    try:
        size = path.stat().st_size
        if entry.bytes is not None and size != entry.bytes:
            return f"{path.name} has {size:,} bytes instead of {entry.bytes:,}"
        if entry.sha256 is not None and digest_of(path) != entry.sha256:
            return f"{path.name} has another content than was written"
    except FileNotFoundError:
        return f"{path.name} is missing"
    except OSError as error:
        return f"{path.name} cannot be read ({error.strerror})"
    return None


def require_free(directory: Path, names: Iterable[str], known: Mapping[str, Entry], *, force: bool) -> None:
    """Raises `OutputError` unless each of these files may be written or removed by what is `known` to be Longhaul's."""
    for name in names:
        path = directory / name
        if not os.path.lexists(path):
            continue
        entry = known.get(name)
        if entry is None or (path.is_dir() and not path.is_symlink()):
            raise OutputError(
                f"{path} is not Longhaul's ({FILE} does not list it), and stays as it is: move it away, or choose another"
                " directory with --out"
            )
        if not force and not _is_as_written(path, entry):
            raise OutputError(
                f"{path} was changed since Longhaul wrote it; --force replaces it, --out chooses another directory"
            )


def _is_as_written(path: Path, entry: Entry) -> bool:
    if entry.sha256 is None:
        return True
    try:
        if entry.before is None and path.stat().st_size != entry.bytes:
            return False
        return digest_of(path) in (entry.sha256, entry.before)
    except FileNotFoundError:  # a link to nothing
        return False


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a file; `None` if there is none."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return None


@contextmanager
def changing(directory: Path) -> Iterator[dict[str, Entry]]:
    """What is known of the directory's files, while no other process changes its list."""
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        yield known_files(directory)


def known_files(directory: Path) -> dict[str, Entry]:
    """The files of a directory that are Longhaul's: what its list states, or what an older version is known to have written."""
    from .vouching import vouched

    listed = read(directory)
    return dict(listed.files) if listed else vouched(directory)


def write_list(directory: Path, files: Mapping[str, Entry], program: str | None = None) -> None:
    """Writes the list; without `program` it states the one that it stated."""
    from . import core

    if program is None:
        listed = read(directory)
        program = listed.program if listed else None
    content: dict[str, Any] = {"longhaul": core.version(), "kind": "files", "format": FORMAT}
    if program:
        content["program"] = program
    content["files"] = {
        name: {key: value for key, value in asdict(entry).items() if value is not None}
        for name, entry in sorted(files.items())
    }
    write_atomically(directory / FILE, json_text(content))


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
