"""Runs of a study with real packets: by `longhaul-emu`, between kernels, in real time; and the same scenarios simulated.

A run is a scenario whose flows real TCP plays, or a scenario and a command that runs behind its path. What a run gave is kept in
a directory of its own, under a name that follows from all that it was asked to do, so that the same is not done twice. Flows whose
congestion control this machine's kernel lacks are played inside a second kernel, by the same emulator.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul import core, outputs
from longhaul.errors import LonghaulError
from longhaul.files import json_text, write_atomically
from longhaul.results import flat_metrics, read_json
from longhaul.running import run_document
from longhaul.scenario import Scenario

from . import second_kernel
from .chance import draws
from .model import Study
from .results import Results, Row

#: Exit status of an INVALID run; its result is kept.
_INVALID = 3
#: File of the metrics measured in a run.
_MEASURED = "measured.json"
#: Seconds beyond a run's duration after which a hanging program is ended.
_PATIENCE = 120.0
#: Parameters of congestion controls that have the same meaning in Linux's modules.
_OF_MODULES = {"vegas": ("alpha", "beta", "gamma")}


@dataclass(frozen=True)
class Behind:
    """A command behind a scenario's path, and how its output is read."""

    #: A line for `sh -c`.
    command: str
    #: The node where it runs.
    at: str
    #: Metrics from what it prints.
    read: Callable[[str], Mapping[str, float]]
    #: Commands at other nodes meanwhile, by node.
    serve: Mapping[str, str] = field(default_factory=dict)
    #: Approximate duration in seconds.
    seconds: float = 30.0
    #: Programs that it needs.
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RealCase:
    """One point: the values that tell it from others, the scenario, and a command, if the scenario's own flows are not what is run."""

    experiment: str
    parameters: Mapping[str, Any]
    scenario: Scenario
    behind: Behind | None = None
    #: Which run of the point it is, from 1: kernels have no seeds, and a run differs from the one before.
    number: int = 1

    @property
    def identity(self) -> str:
        """A name that identifies the whole case, wherever this package is installed."""
        what = [self.scenario.to_toml()]
        if self.number > 1:
            what.append(f"run {self.number}")
        if self.behind:
            commands = [self.behind.command, self.behind.at, json.dumps(dict(self.behind.serve), sort_keys=True)]
            what += [text.replace(str(Path(__file__).parent), "") for text in commands]
        return hashlib.sha256("\0".join(what).encode()).hexdigest()[:32]

    def foreign(self) -> dict[str, dict[str, Any]]:
        """Congestion controls of its flows that this machine's kernel does not have, or has with other parameters; with the parameters that they are to have."""
        if self.behind is not None:
            return {}
        known, found = available_congestion_controls(), {}
        for flow in self.scenario.content.get("flow", []):
            name, parameters = _congestion(flow.get("tcp", {}).get("congestion", "reno"))
            if name not in known or any(_of_module(name, key) != str(value) for key, value in parameters.items()):
                found[name] = parameters
        return found

    def missing(self) -> str | None:
        """Requirements of the case that this machine does not meet."""
        absent = [name for name in (self.behind.programs if self.behind else ()) if shutil.which(name) is None]
        if absent:
            return f"{', '.join(absent)} not installed (scripts/install-packages --pages)"
        foreign = self.foreign()
        lacks = second_kernel.missing(list(foreign)) if foreign else []
        if lacks:
            return (
                f"this kernel has no congestion control {_named(foreign)}, and for a second kernel: {'; '.join(lacks)}"
            )
        return None


@dataclass(frozen=True)
class Emulated:
    """The experiments of a study that are run with real packets: their targets and figures, and their points at a scale."""

    study: Study
    cases: Callable[[str], list[RealCase]]
    #: Scales by name, with what each is for.
    scales: Mapping[str, str]
    #: Further tables for the document, in Markdown, by heading.
    tables: Mapping[str, Callable[[Results], str]] = field(default_factory=dict)


def _congestion(given: Any) -> tuple[str, dict[str, Any]]:
    """The name of a flow's congestion control, and those of its parameters that a module has."""
    if not isinstance(given, Mapping):
        return str(given), {}
    name = str(given["kind"])
    return name, {key: given[key] for key in _OF_MODULES.get(name, ()) if key in given}


def _named(controls: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(
        " ".join([repr(name), *(f"{key} {value}" for key, value in of.items())]) for name, of in controls.items()
    )


def available_congestion_controls() -> list[str]:
    """Those of this machine's kernel."""
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return file.read_text().split() if file.exists() else []


def _of_module(control: str, parameter: str) -> str | None:
    """Value of a congestion control's parameter in this machine's kernel."""
    file = Path(f"/sys/module/tcp_{control}/parameters/{parameter}")
    return file.read_text().strip() if file.exists() else None


def find_emulator(given: Path | None = None) -> Path:
    """The emulator's program: as given, in LONGHAUL_EMU, built in this source tree, or on the PATH; raises if there is none."""
    root = Path(__file__).resolve().parents[2]
    places = [
        given,
        Path(os.environ["LONGHAUL_EMU"]) if "LONGHAUL_EMU" in os.environ else None,
        root / "target/release/longhaul-emu",
        root / "target/quick/longhaul-emu",
    ]
    found = shutil.which("longhaul-emu")
    places.append(Path(found) if found else None)
    for place in places:
        if place is not None and place.exists():
            return place
        if place is not None and place == given:
            raise LonghaulError(f"there is no emulator at {given}")
    raise LonghaulError("the emulator is not built: run make emu, or give its path with --emulator")


def check_permitted() -> None:
    """Raises unless this is Linux, and root."""
    if not sys.platform.startswith("linux"):
        raise LonghaulError("the emulator needs Linux")
    if os.geteuid() != 0:
        raise LonghaulError("the emulator creates network namespaces: run this command as root")


@dataclass(frozen=True)
class Bench:
    """Directory and execution of runs."""

    directory: Path
    emulator: Path
    #: A run is INVALID if 1 % of its packets are later than this.
    max_lateness: str = "5 ms"
    jobs: int = 4
    #: Second kernels that were started, running or over.
    _guests: list[second_kernel.Guest] = field(default_factory=list, init=False, repr=False)

    def path(self, case: RealCase) -> Path:
        """The directory of a run."""
        return self.directory / case.identity

    def done(self, case: RealCase) -> bool:
        """Whether the run is finished."""
        return (self.path(case) / _MEASURED).exists()

    def run(self, cases: Sequence[RealCase], tell: Callable[[str], None]) -> dict[str, str]:
        """Makes the missing runs, several at once; returns the messages of failed ones, by identity."""
        failures: dict[str, str] = {}
        wanted = list({case.identity: case for case in cases if not self.done(case)}.values())
        self.directory.mkdir(parents=True, exist_ok=True)

        def make(case: RealCase) -> None:
            why = case.missing()
            begun = time.monotonic()
            try:
                if why is None:
                    self._make(case)
            except LonghaulError as error:
                why = str(error)
            if why is not None:
                failures[case.identity] = why
            text = f"{case.experiment} {', '.join(f'{k} {v}' for k, v in case.parameters.items())}"
            text += f", run {case.number}" if case.number > 1 else ""
            tell(f"{text}: {why or f'{time.monotonic() - begun:.0f} s'}")

        with ThreadPoolExecutor(max(1, self.jobs)) as pool:
            under_way = {pool.submit(make, case) for case in wanted}
            try:
                while under_way:
                    # Not without end: where another thread was given a signal, this one learns of it when it wakes.
                    done, under_way = wait(under_way, timeout=1, return_when=FIRST_EXCEPTION)
                    for finished in done:
                        finished.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                # Ctrl-C reaches the emulators of this kernel by itself.
                for guest in self._guests:
                    guest.end()
                raise
        return failures

    def _make(self, case: RealCase) -> None:
        # Absolute: the second kernel does not have this working directory.
        path = self.path(case).resolve()
        partial = path.with_name(f".{path.name}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        file = partial / "given.toml"
        file.write_text(case.scenario.to_toml())
        measured = self._behind(case.behind, file, partial) if case.behind else self._flows(case, file, partial)
        measured["load"] = os.getloadavg()[0]
        write_atomically(partial / _MEASURED, json_text(measured))
        shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)

    def _flows(self, case: RealCase, file: Path, partial: Path) -> dict[str, Any]:
        # A directory of its own: a result is not written among other things.
        out = partial / "result"
        call = ["run", str(file), "--out", str(out), "--quiet", "--until-done", "--max-lateness", self.max_lateness]
        seconds = _seconds(case.scenario.content["run"]["duration"])
        foreign = case.foreign()
        if foreign:
            self._call_inside(foreign, call, seconds, partial)
        else:
            self._call(call, seconds, (0, _INVALID))
        for entry in out.iterdir():
            entry.rename(partial / entry.name)
        out.rmdir()
        summary = read_json(partial / "summary.json")
        return {"metrics": flat_metrics(summary), "emulation": summary.get("emulation")}

    def _behind(self, behind: Behind, file: Path, partial: Path) -> dict[str, Any]:
        stats = partial / "stats.json"
        serve = [part for node, command in behind.serve.items() for part in ("--serve", f"{node}={command}")]
        call = ["shell", str(file), "--at", behind.at, *serve, "--quiet", "--stats", str(stats)]
        # As the scenario has it, under whatever account this runs.
        call += ["--tcp", "scenario", "--user", str(os.geteuid())]
        call += ["--max-lateness", self.max_lateness, "--"]
        said = self._call([*call, "sh", "-c", behind.command], behind.seconds, (0,))
        (partial / "output.txt").write_text(said)
        found = read_json(stats)
        return {"metrics": dict(behind.read(said)), "emulation": {"metrics": found, "invalid": found.pop("invalid")}}

    def _call(self, arguments: Sequence[str], seconds: float, good: Sequence[int]) -> str:
        call = [str(self.emulator), *arguments]
        try:
            done = subprocess.run(
                call, capture_output=True, text=True, check=False, timeout=seconds + _PATIENCE, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise LonghaulError(f"not done after {seconds + _PATIENCE:.0f} s") from None
        return _output(done, good)

    def _call_inside(
        self, controls: Mapping[str, Mapping[str, Any]], arguments: Sequence[str], seconds: float, partial: Path
    ) -> None:
        """In a second kernel with these congestion controls; `partial` is where it can write."""
        modules = [second_kernel.with_parameters(f"tcp_{name}", of) for name, of in controls.items()]
        with second_kernel.Guest(["tun", *modules]) as guest:
            self._guests.append(guest)
            call = [str(self.emulator.resolve()), *arguments]
            _output(guest.run(call, seconds + _PATIENCE, writable=partial), (0, _INVALID))

    def measured(self, case: RealCase) -> dict[str, Any] | None:
        """What a run gave, its `emulation` and the `load` of the machine among it, if it was made."""
        return read_json(self.path(case) / _MEASURED) if self.done(case) else None

    def results(self, cases: Sequence[RealCase], scale: str) -> Results:
        """The results so far."""
        rows: list[Row] = []
        read: set[str] = set()
        for case in cases:
            measured = self.measured(case)
            metrics = None if measured is None else measured["metrics"] | _emulation(measured["emulation"])
            random, path = draws(case.scenario.document()), self.path(case)
            rows.append(
                Row(
                    case.experiment,
                    case.parameters,
                    case.number,
                    case.identity,
                    path,
                    metrics,
                    random=random,
                    read=read,
                )
            )
        return Results(scale, rows)


def _output(done: subprocess.CompletedProcess[str], good: Sequence[int]) -> str:
    """The output of a program; raises `LonghaulError` with its last lines if it failed."""
    if done.returncode not in good:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()
        raise LonghaulError(said[-1])
    return done.stdout


def _emulation(found: Mapping[str, Any]) -> dict[str, float | None]:
    numbers = {f"emulation.{name}": value for name, value in found["metrics"].items() if isinstance(value, int | float)}
    return {**numbers, "emulation.invalid": float(len(found["invalid"]))}


def simulated(cases: Sequence[RealCase], directory: Path, scale: str) -> Results:
    """The same scenarios by the simulator, once each; those with a command have no counterpart there."""
    rows: list[Row] = []
    read: set[str] = set()
    for case in cases:
        if case.behind is not None or case.number > 1:
            continue
        path = directory / case.identity
        document = case.scenario.document()
        _, run_id = core.resolve(document)
        if outputs.run_id_of(path) != run_id or outputs.damage_of(path):
            run_document(document, out=path, force=True)
        metrics = flat_metrics(read_json(path / "summary.json"))
        seconds, random = outputs.seconds_of(path), draws(document)
        rows.append(Row(case.experiment, case.parameters, 1, run_id, path, metrics, seconds, random=random, read=read))
    return Results(scale, rows)


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3}[unit]
