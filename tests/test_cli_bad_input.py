"""Every mistake is one clear message on stderr and exit code 2: no traceback, nothing left behind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import SMALL, SWEEP
from synthetic import write_result

BAD_SCENARIOS = {
    "unknown key": (SMALL.replace("delay =", "dealy ="), ["dealy", "delay", "bad.toml"]),
    "unit missing": (SMALL.replace('"2 Mbit/s"', '"2"'), ["unit", "Mbit/s"]),
    "unknown unit": (SMALL.replace('"2 Mbit/s"', '"2 furlongs"'), ["furlongs"]),
    "negative": (SMALL.replace('"100 ms"', '"-100 ms"'), ["-100 ms"]),
    "rate of 0": (SMALL.replace('"2 Mbit/s"', '"0 bit/s"'), ["rate"]),
    "queue of 0": (SMALL.replace('"30 packets"', '"0 packets"'), ["0 packets"]),
    "delay of years": (SMALL.replace('"100 ms"', '"20000 h"'), ["delay"]),
    "dangling name": (SMALL.replace('to = "remote"', 'to = "remoat"'), ["remoat", "remote"]),
    "not TOML": (SMALL + "\n[[[", ["bad.toml"]),
    "cut off": (SMALL[: SMALL.index("Mbit/s")], ["bad.toml"]),
    "empty": ("", ["bad.toml: the file is empty", "[[flow]]"]),
    "nothing but comments": ("# to do\n", ["only comments"]),
    "disconnected": (
        SMALL + '\n[[link]]\nname = "island"\nends = ["a", "b"]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n\n[[flow]]\nfrom = "hub"\nto = "b"\n',
        ["hub", "b"],
    ),
    "sweep is no table": ("sweep = 3\n" + SMALL, ["sweep"]),
}  # fmt: skip


def clear(outcome, *words):
    """One screen on stderr, nothing that looks like a crash, and the words that matter."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert len(outcome.err.splitlines()) <= 20
    for crash in ("Traceback", "panicked", "RUST_BACKTRACE"):
        assert crash not in outcome.err
    for word in words:
        assert word in outcome.err, outcome.err


@pytest.mark.parametrize(("text", "words"), BAD_SCENARIOS.values(), ids=BAD_SCENARIOS.keys())
def test_bad_scenarios(command, tmp_path, text, words):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    clear(command("run", file, "--out", tmp_path / "r"), *words)
    assert not (tmp_path / "r").exists()


def test_line_numbers_are_those_of_the_file_also_after_a_sweep_table(command, tmp_path):
    first, rest = SWEEP.split("[[flow]]")
    sweep = '[sweep]\nreplications = 2\ngrid = { "flow.users.count" = [\n  1,\n  3,\n] }\n\n'
    text = first + sweep + "[[flow]]" + rest.split("\n[sweep]")[0].replace("count = 3", 'count = "three"')
    file = tmp_path / "bad.toml"
    file.write_text(text)
    line = text[: text.index('"three"')].count("\n") + 1
    clear(command("run", file, "--out", tmp_path / "r"), f"{file}:{line}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.toml"], ["missing.toml", "No such file"]),
        (["run", "."], ["directory"]),
        (["run", "{scenario}", "--set", "link.satellite.rate"], ["--set"]),
        (["run", "{scenario}", "--set", "link.satelite.rate=1 Mbit/s"], ["satelite"]),
        (["run", "{scenario}", "--set", "link.satellite.rate=fast"], ["fast"]),
        (["run", "{scenario}", "--out", "{scenario}"], ["is a file"]),
        (["run", "{scenario}", "--out", "{full}"], ["not empty"]),
        (["run", "{binary}"], ["UTF-8"]),
        (["run", "{json}"], ["not valid JSON"]),
        (["sweep", "{scenario}"], ["nothing to sweep"]),
        (["sweep", "{scenario}", "--grid", "flow.users.count=3"], ["--grid"]),
        (["sweep", "{scenario}", "--grid", "flow.users.count=[1, 1]"], ["twice"]),
        (["sweep", "{scenario}", "--grid", "run.duration=[1 s]", "--grid", "run.duration=[2 s]"], ["run.duration is given twice"]),
        (["sweep", "{scenario}", "--grid", "flow.users.count=[0]"], ["error: sweep, at flow.users.count=0:"]),
        (["sweep", "{scenario}", "--grid", "flow.users.count=[1, 2]", "--shard", "3/2"], ["--shard"]),
        (["sweep", "{scenario}", "--grid", "run.seed=[1, 2]"], ["replications"]),
        (["sweep", "{scenario}", "--grid", "flow.users.count=[1, 2]", "--out", "{full}"], ["not empty"]),
        (["plot", "{full}"], ["neither summary.json"]),
        (["plot", "{missing}"], ["does not exist"]),
        (["plot", "{result}", "--kind", "cwnd,pie"], ["'pie'", "throughput"]),
        (["plot", "{result}", "--kind", "pie"], ["pie", "throughput"]),
        (["plot", "{result}", "--kind", "cwnd", "--flows", "99"], ["no flow 99"]),
        (["plot", "{result}", "--kind", "cwnd", "--flows", "a-b"], ["--flows"]),
        (["plot", "{result}", "--kind", "cwnd", "--from", "90", "--to", "10"], ["--from"]),
        (["plot", "{result}", "--kind", "timeseq"], ["trace"]),
        (["plot", "{one}", "--kind", "fairness"], ["at least two"]),
        (["report", "{full}"], ["neither summary.json"]),
        (["verify", "{missing}"], ["does not exist"]),
        (["verify", "{full}"], ["full is not the result of a run: it has no summary.json"]),
        (["explain", "{full}"], ["full is not the result of a run: it has no summary.json"]),
        (["explain", "{missing}"], ["does not exist"]),
        (["explain", "{scenario}", "--budget", "5 runs"], ["write a time"]),
    ],
)  # fmt: skip
def test_bad_arguments(command, scenario, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    (full / "x").write_text("mine")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "bad.json").write_text("{")
    write_result(tmp_path / "result", 3, duration=100)
    write_result(tmp_path / "one", 1, duration=100)
    places = {
        "scenario": scenario, "full": full, "missing": tmp_path / "nowhere", "result": tmp_path / "result",
        "one": tmp_path / "one", "binary": tmp_path / "binary.toml", "json": tmp_path / "bad.json",
    }  # fmt: skip
    clear(command(*(argument.format(**places) for argument in arguments)), *words)


@pytest.mark.parametrize("name", ["summary.json", "flows.parquet", "links.parquet"])
@pytest.mark.parametrize("keep", [0, 0.5])
def test_truncated_results(command, tmp_path, name, keep):
    write_result(tmp_path / "r", 3, duration=50)
    file = tmp_path / "r" / name
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * keep)])
    clear(command("plot", tmp_path / "r"), name)


def test_truncated_manifest(command, sweep_file, tmp_path):
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "-q").code == 0
    file = tmp_path / "s" / "manifest.json"
    file.write_text(file.read_text()[:100])
    clear(command("report", tmp_path / "s"), "manifest.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_output(command, scenario, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    clear(command("run", scenario, "--out", locked / "r"), "Permission denied")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
@pytest.mark.parametrize("out", ["/proc/x", "/proc/x/y"])
def test_output_where_no_file_can_be_made(command, scenario, sweep_file, out):
    clear(command("run", scenario, "--out", out), f"cannot write {out}: nothing can be created in /proc")
    clear(command("sweep", sweep_file, "--out", out), f"cannot write {out}: nothing can be created in /proc")


def test_output_below_a_file(command, scenario, tmp_path):
    (tmp_path / "file").write_text("x")
    clear(command("run", scenario, "--out", tmp_path / "file" / "r"), "file")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line_and_leaves_no_result(command, scenario, tmp_path, monkeypatch):
    import longhaul.core

    def full(*_args, out, **_kwargs):
        (out / "flows.parquet").write_text("half")
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr(longhaul.core, "run", full)
    clear(command("run", scenario, "--out", tmp_path / "r"), "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_result_of_another_version_is_not_compared(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    file = out / "summary.json"
    file.write_text(
        file.read_text().replace('"longhaul": "', '"longhaul": "99.').replace('"longhaul":"', '"longhaul":"99.')
    )
    clear(command("verify", out), "99.")
    shutil.rmtree(out)
