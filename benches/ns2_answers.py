"""What ns-2 answers, recorded: tests compare with it in no time, and where ns-2 is not installed.

`ns2/answers.json` holds one answer for each command, with ns-2's version and a digest of each script. The environment variable
LONGHAUL_NS2 says where an answer comes from: `recorded` (the default) from the file; `check` from ns-2, and it must equal
what is recorded; `record` from ns-2, and it is put into the file (`make ns2-answers`). `make validate` checks.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bench

SCRIPTS = bench.HERE / "ns2"
ANSWERS = SCRIPTS / "answers.json"
RENEW = "make ns2-answers"
#: What ns-2 says of the machine rather than of the network.
OF_THE_MACHINE = {"setup_cpu_s", "run_cpu_s", "peak_memory_bytes"}


def answer(script: str, arguments: Mapping[str, object], files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object that a script in `ns2/` prints last. Of `files`, by argument, the content is written to a file first.

    Raises `BenchError` if the answer is not recorded, or was by another version of the script, or ns-2 cannot be run.
    """
    source = os.environ.get("LONGHAUL_NS2", "recorded")
    if source not in ("recorded", "check", "record"):
        raise bench.BenchError(f"LONGHAUL_NS2={source}: it is recorded, check or record")
    key = _key(script, arguments, files or {})
    if source == "record":
        fresh = _lasting(ask(script, arguments, files))
        _record(script, key, fresh)
        return fresh
    book = _read()
    if key not in book["answers"]:
        raise bench.BenchError(f"no answer of ns-2 is recorded for {key}: run {RENEW}")
    if book["scripts"].get(script) != _digest(script):
        raise bench.BenchError(f"benches/ns2/{script} is not the one whose answers are recorded: run {RENEW}")
    recorded: dict[str, Any] = book["answers"][key]
    if source == "check" and (fresh := _lasting(ask(script, arguments, files))) != recorded:
        raise bench.BenchError(f"ns-2 no longer answers what is recorded for {key}:\n{fresh}\nrecorded:\n{recorded}")
    return recorded


def ask(script: str, arguments: Mapping[str, object], files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Runs ns-2 and gives the JSON object that the script prints last; arguments and errors are those of `answer`."""
    files = files or {}
    with tempfile.TemporaryDirectory(prefix="longhaul-ns2-") as scratch:
        places = {name: Path(scratch, name) for name in files}
        for name, place in places.items():
            place.write_text(files[name])
        words = [f"{name}={value}" for name, value in {**arguments, **places}.items()]
        command = ["ns", str(SCRIPTS / script), *words]
        try:
            made = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
        except FileNotFoundError:
            raise bench.BenchError("ns-2 is not installed: run scripts/install-packages (Debian's package `ns2`)") from None
    # The Linux agent chats on the same stream.
    found = [line for line in made.stdout.splitlines() if line.startswith("{")]
    if made.returncode or not found:
        raise bench.BenchError(f"{' '.join(command)}\nended with {made.returncode}: {(made.stderr or made.stdout)[-500:]}")
    result: dict[str, Any] = json.loads(found[-1])
    return result


def of_scenario(scenario: bench.Scenario, _directory: Path) -> dict[str, Any]:
    """What ns-2 says of a scenario of the benchmark, as `bench.run_ns2` asks it."""
    return answer("dumbbell.tcl", bench.ns2_arguments(scenario), {"starts": bench.starts_file(scenario)})


def _key(script: str, arguments: Mapping[str, object], files: Mapping[str, str]) -> str:
    digests = {name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}" for name, text in files.items()}
    return " ".join([script, *(f"{name}={value}" for name, value in {**arguments, **digests}.items())])


def _lasting(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in OF_THE_MACHINE}


def _record(script: str, key: str, fresh: dict[str, Any]) -> None:
    book = _read()
    if book["scripts"].get(script) != _digest(script):
        stale = [known for known in book["answers"] if known.split(" ", 1)[0] == script]
        book["answers"] = {known: value for known, value in book["answers"].items() if known not in stale}
        book["scripts"][script] = _digest(script)
    book["answers"][key] = fresh
    book["ns2"] = subprocess.run(["ns"], input="puts [ns-version]", capture_output=True, text=True).stdout.strip()
    ordered = {
        "made_by": RENEW,
        "ns2": book["ns2"],
        "scripts": dict(sorted(book["scripts"].items())),
        "answers": dict(sorted(book["answers"].items())),
    }
    partial = ANSWERS.with_suffix(".partial")
    # An answer a line: a difference shows which one changed.
    text = json.dumps({**ordered, "answers": {}}, indent=1)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in ordered["answers"].items())
    partial.write_text(text.replace('"answers": {}', f'"answers": {{\n{lines}\n }}') + "\n")
    partial.replace(ANSWERS)


def _read() -> dict[str, Any]:
    if not ANSWERS.exists():
        return {"scripts": {}, "answers": {}}
    book: dict[str, Any] = json.loads(ANSWERS.read_text())
    return book


def _digest(script: str) -> str:
    return hashlib.sha256((SCRIPTS / script).read_bytes()).hexdigest()[:16]
