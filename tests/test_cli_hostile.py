"""What nobody would do on purpose: devices, pipes, other tables, narrow terminals, a million flows, SIGTERM."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import longhaul
import longhaul.core
import longhaul.document
import pytest
from conftest import SMALL, Outcome
from longhaul import cli, core, inventory, large, outputs, run
from longhaul.document import LARGEST, read
from longhaul.errors import LonghaulError
from longhaul.sweep.records import Records
from synthetic import write_result
from test_cli_bad_input import clear


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("drop_rate", ["'drop_rate'; did you mean link.satellite.forward.drop_rate or link.satellite.reverse.drop_rate?"]),
        ("queue_delay_p95_s", ["link.satellite.forward.queue_delay_p95_s"]),
        ("link.satellite.drop_rate", ["link.satellite.forward.drop_rate"]),
        ("link.satelite.forward.drop_rate", ["link.satellite.forward.drop_rate"]),
        ("goodput_bsp", ["did you mean goodput_bps"]),
        ("group.web.timeouts", ["did you mean group.users.timeouts"]),
        ("goodput_bps,xyzzy", ["'xyzzy'; `longhaul list metrics` explains all"]),
        (",", ["write names of metrics"]),
    ],
)  # fmt: skip
def test_a_metric_that_no_run_has_is_refused_before_the_sweep_with_the_nearest(
    command, sweep_file, tmp_path, metrics, words
):
    outcome = command("sweep", sweep_file, "--metrics", metrics, "--out", tmp_path / "s")
    clear(outcome, *words)
    assert len(outcome.err) < 400
    assert not (tmp_path / "s").exists()


def test_a_metric_of_one_point_only_is_a_column(command, scenario, tmp_path):
    grid = 'link.satellite.serial=[{ framing = "ppp" }, { framing = "ppp", vj = {} }]'
    name = "link.satellite.reverse.vj_compressed_packets"
    outcome = command("sweep", scenario, "--grid", grid, "--metrics", name, "--out", tmp_path / "s")
    assert outcome.code == 0, outcome.err
    assert "–" in outcome.out


@pytest.mark.parametrize("name", ["flows", "links"])
def test_another_table_in_place_of_one_is_named(command, tmp_path, name):
    write_result(tmp_path / "r", 3, duration=50)
    other = {"flows": "links", "links": "flows"}[name]
    shutil.copy(tmp_path / "r" / f"{other}.parquet", tmp_path / "r" / f"{name}.parquet")
    for subcommand in ("plot", "report"):
        clear(command(subcommand, tmp_path / "r"), f"{name}.parquet is damaged: it is another table")


def test_figures_without_their_table_are_an_error(command, tmp_path):
    write_result(tmp_path / "r", 3, duration=50, tables=False)
    clear(command("plot", tmp_path / "r"), "flows.parquet is missing", "--kind limits,fairness")
    assert command("plot", tmp_path / "r", "--kind", "limits").code == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_utf_8_gets_other_characters(scenario, sweep_file, tmp_path, monkeypatch, encoding):
    text = SMALL.replace('name = "small"', 'name = "Übertragung → 日本 \U0001f6f0"')
    scenario.write_text(text)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert cli.run(["run", str(scenario), "--out", str(tmp_path / "r")]) == 0
    assert cli.run(["run", str(scenario), "--out", str(tmp_path / "r"), "--json"]) == 0
    assert cli.run(["sweep", str(sweep_file), "--out", str(tmp_path / "s")]) == 0
    assert cli.run(["list", "metrics"]) == 0
    assert cli.run(["run", str(tmp_path / "日本")]) == 2
    out.flush()
    err.flush()
    # click takes a stream in ASCII for one that was set up wrongly, and writes UTF-8 into it.
    printed = out.buffer.getvalue().decode("utf-8" if encoding == "ascii" else encoding)
    assert " -> " in printed
    assert "\\u65e5\\u672c" in printed
    assert "\\u65e5\\u672c" in err.buffer.getvalue().decode(encoding)
    summary, _ = json.JSONDecoder().raw_decode(printed[printed.index("{\n") :])
    assert "\u65e5\u672c" in summary["name"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = 1\0", ["not a text file", "NUL"]),
        (SMALL.encode("utf-16"), ["not a text file"]),
        (b"\xff\xfe", ["UTF-8"]),
        (b" " * (LARGEST + 1), ["larger than 16 MB"]),
        (b"a = " + b"[" * 100_000, ["bad.toml"]),
        (b"a = " + b"{a=" * 10_000, ["bad.toml"]),
        (b"a." * 10_000 + b"b = 1", ["bad.toml"]),
        (SMALL.replace("count = 3", f"count = {'9' * 5000}").encode(), ["bad.toml"]),
        (SMALL.replace("count = 3", "count = nan").encode(), ["bad.toml"]),
        (SMALL.replace("count = 3", "count = -3").encode(), ["bad.toml"]),
        (SMALL.replace("count = 3", "count = 3\ncount = 4").encode(), ["duplicate key"]),
        (SMALL.replace("count = 3", 'count = 3\n"\\u202e" = 4').encode(), ["unknown field"]),
        ((SMALL + '[[middlebox]]\nkind = "accelerator"\nat = "hub"\n').encode(), ["accelerator", "split"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else repr(value[:12]),
)
def test_files_that_are_no_scenarios_are_refused_in_a_few_lines(command, tmp_path, content, words):
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    outcome = command("run", file, "--out", tmp_path / "r")
    clear(outcome, *words)
    assert len(outcome.err) < 3000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[" * 100_000, ["nested too deeply"]),
        ('{"a": ' * 100_000, ["nested too deeply"]),
        ('{"name": "\\ud800", "run": {}}', ["surrogate"]),
        ('{"run": {"seed": NaN}}', ["NaN is no number"]),
        ('{"run": {"seed": 1e999}}', ["bad.json"]),
        ("9" * 5000, ["bad.json"]),
    ],
)
def test_json_that_is_no_scenario_is_refused(command, tmp_path, content, words):
    file = tmp_path / "bad.json"
    file.write_text(content)
    clear(command("run", file, "--out", tmp_path / "r"), *words)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices")
def test_devices_directories_and_pipes_end_at_once(command, scenario, tmp_path):
    clear(command("run", "/dev/zero"), "/dev/zero: larger than 16 MB")
    clear(command("run", "/dev/null"), "the file is empty")
    clear(command("run", tmp_path), "irectory")
    os.mkfifo(tmp_path / "pipe")
    clear(command("run", tmp_path / "pipe"), "a pipe without a writer")
    reader, writer = os.pipe()
    os.write(writer, scenario.read_bytes())
    os.close(writer)
    assert command("run", f"/dev/fd/{reader}", "--out", tmp_path / "r", "-q").code == 0
    os.close(reader)


def test_a_byte_order_mark_is_no_part_of_the_scenario(command, scenario, tmp_path):
    scenario.write_bytes(b"\xef\xbb\xbf" + scenario.read_bytes())
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0


def test_a_result_of_gigabytes_is_announced_and_made_on_request_only(command, scenario, tmp_path, monkeypatch):
    million = ("--set", "flow.users.count=1000000")
    clear(
        command("run", scenario, *million, "--out", tmp_path / "r"),
        "1,000,000 flows take about 19.8 GB of memory",
        "summary.json 1.65 GB",
        "--large",
    )
    clear(command("sweep", scenario, *million, "-n", 2, "--out", tmp_path / "r"), "--large")
    clear(command("run", scenario, "--set", "run.sample=2 us", "--out", tmp_path / "r"), "time series", "run.sample")
    with pytest.raises(LonghaulError, match=r"summary\.json 1\.65 GB"):
        run(scenario, set={"flow.users.count": 1_000_000})
    assert not (tmp_path / "r").exists()
    monkeypatch.setattr(large, "NOTABLE", 1000)
    monkeypatch.setattr(large, "LARGEST", 2000)
    clear(command("run", scenario, "--out", tmp_path / "r"), "3 flows")
    outcome = command("run", scenario, "--large", "--out", tmp_path / "r")
    assert outcome.code == 0
    assert "note: 3 flows take about" in outcome.err
    assert command("sweep", scenario, "-n", 2, "--large", "--out", tmp_path / "s").code == 0


def test_the_estimate_of_a_summary_is_near_its_size(command, scenario, tmp_path):
    command("run", scenario, "--set", "flow.users.count=300", "--out", tmp_path / "r", "-q")
    size = (tmp_path / "r" / "summary.json").stat().st_size
    expected = large.estimate((tmp_path / "r" / "scenario.toml").read_text()).summary
    assert 0.5 < expected / size < 1.5


GEO = Path(large.__file__).parent / "examples" / "geo-one-flow.toml"
TRACED = {
    "one flow": (GEO, []),
    "fifty": (GEO.with_name("dumbbell-50-flows.toml"), ["flow.0.trace=true", "run.duration=60 s"]),
    "short": (GEO.with_name("satellite-pep.toml"), ["flow.without.trace=true"]),
    "long series": (GEO, ["run.sample=1 ms", "flow.download.trace=false"]),
    "constant rate": (GEO, ['flow.download.app={ kind = "cbr", rate = "2 Mbit/s" }']),
}  # fmt: skip


@pytest.mark.parametrize(("file", "settings"), TRACED.values(), ids=TRACED)
def test_the_estimate_of_tables_is_near_their_size(command, tmp_path, file, settings):
    out = tmp_path / "r"
    assert command("run", file, *(part for one in settings for part in ("--set", one)), "--out", out, "-q").code == 0
    expected = large.estimate((out / "scenario.toml").read_text())
    segments = out / "segments.parquet"
    if segments.exists():
        assert 0.5 < expected.segments / segments.stat().st_size < 2
    else:
        tables = sum((out / name).stat().st_size for name in ("flows.parquet", "links.parquet"))
        assert 0.5 < expected.series / tables < 3


def test_long_traces_and_short_samples_are_made_on_request_only(command, tmp_path):
    out = ("--out", tmp_path / "r")
    day = ("--set", "run.duration=24 h")
    clear(
        command("run", GEO, *day, *out),
        "86.9 GB of memory",
        "segments of traced flows 6.48 GB",
        "flow.NAME.trace=false",
        "--large",
    )
    clear(command("run", GEO, "--set", "run.sample=20 us", *out), "more than 4 GB of memory", "a longer run.sample")
    assert large.check(large.estimate(_resolved("run.duration=24 h"), tables=False), wanted=False) is None
    clear(command("sweep", GEO, *day, "-n", 2, "--tables", *out), "segments of traced flows")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_the_estimate_of_a_capture_is_near_its_size(command, tmp_path, transport):
    settings = ["run.duration=10 s", 'link.satellite.delay="10 ms"', 'run.capture=["satellite"]']
    settings.append(f'flow.download.transport="{transport}"')
    out = tmp_path / "r"
    assert command("run", GEO, *(part for one in settings for part in ("--set", one)), "--out", out, "-q").code == 0
    expected = large.estimate((out / "scenario.toml").read_text())
    assert 0.5 < expected.captured / (out / "packets.pcapng").stat().st_size < 2


def test_an_hour_of_captured_packets_is_made_on_request_only(command, tmp_path):
    hour = ["--set", "run.duration=1 h", "--set", 'run.capture=["satellite"]', "--set", "flow.download.trace=false"]
    clear(command("run", GEO, *hour, "--out", tmp_path / "r"), "packets.pcapng 1.98 GB", "run.capture=[]", "--large")
    assert not (tmp_path / "r").exists()


def test_what_one_flow_of_many_writes_is_its_share():
    alone = large.estimate(_resolved())
    shared = large.estimate(
        _resolved("flow.download.count=1") + '[[flow]]\nfrom = "server"\nto = "terminal"\ncount = 9\n'
    )
    assert shared.segments == pytest.approx(alone.segments / 10, rel=0.01)
    back = large.estimate(_resolved('flow.download.from="terminal"', 'flow.download.to="server"'))
    assert back.segments == pytest.approx(alone.segments / 10, rel=0.01)  # 5 Mbit/s, not 50


def _resolved(*settings: str) -> str:
    changes = [(path, value) for path, _, value in (one.partition("=") for one in settings)]
    return core.resolve(read(GEO), changes)[0]


def test_messages_hold_no_control_characters(command, scenario, tmp_path):
    scenario.write_text(SMALL.replace("count = 3", 'count = 3\n"\\u001b[31m\\u202e" = 4'))
    outcome = command("run", scenario, "--out", tmp_path / "r")
    clear(outcome, "unknown field `\\u001b[31m\\u202e`")
    assert outcome.err.replace("\n", "").isprintable()


def _process(*arguments: object) -> subprocess.Popen[str]:
    code = "from longhaul.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    # Under nohup, SIGHUP is ignored by what it starts.
    usual = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=usual)


def _wait_for(happened, process):
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)


def test_a_signal_while_the_directory_of_a_result_is_made_leaves_nothing(tmp_path, monkeypatch):
    usual = Path.mkdir

    def made_and_stopped(self, *arguments, **options):
        usual(self, *arguments, **options)
        if self.name.endswith(".partial"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", made_and_stopped)
    with pytest.raises(KeyboardInterrupt), outputs.complete_or_absent(tmp_path / "r"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_ends_a_run_as_ctrl_c_does(tmp_path, scenario, number):
    out = tmp_path / "out"
    process = _process("run", scenario, "--set", "run.duration=80000 h", "--set", "run.sample=1 h", "--out", out / "r")
    _wait_for(lambda: list(out.glob(".r.*.partial/*")) or list(out.glob(".r.*.partial")), process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert errors.strip().endswith("longhaul: interrupted")
    assert not list(out.iterdir())


def test_sigterm_ends_a_sweep_and_keeps_finished_runs(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    process = _process("sweep", sweep_file, "--set", "run.duration=5000 s", "--out", out, "--jobs", "1")
    _wait_for(lambda: len(Records(out / "runs")), process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors
    assert "--resume" in errors
    assert not list((out / "runs").glob(".*"))


def test_many_flow_sections_cost_no_more_than_each_its_share():
    def cost(sections):
        head, flow = SMALL.split("[[flow]]")
        text = head + "".join(f"[[flow]]{flow.replace('users', f'users{i}')}" for i in range(sections))
        document = cli.running.Document(text, "many.toml")
        began = time.process_time()
        core.resolve(document)
        return time.process_time() - began

    few, many = (min(cost(sections) for _ in range(2)) for sections in (500, 4000))
    assert many < 16 * few, (few, many)


def test_a_link_that_loses_everything_is_named(command, scenario, tmp_path):
    lossy = ("--set", "link.satellite.loss.probability=1", "--set", "run.warmup=0 s")
    outcome = command("run", scenario, *lossy, "--out", tmp_path / "r")
    explained = command("explain", tmp_path / "r").out
    assert "delivered nothing" in outcome.out
    assert "random loss on satellite (hub → remote), 100 % of the packets" in explained


def test_verify_of_another_version_or_build_says_what_to_do(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    listed = json.loads((out / inventory.FILE).read_text())
    (out / inventory.FILE).write_text(json.dumps(listed | {"program": "0123456789abcdef"}))
    assert command("verify", out).code == 0
    (out / "flows.parquet").write_bytes(b"")
    outcome = command("verify", out)
    assert outcome.code == 1
    assert "made by another build of this version" in outcome.out
    assert json.loads(command("verify", out, "--json").out)[0]["other_build"] is True
    summary = json.loads((out / "summary.json").read_text())
    (out / "summary.json").write_text(json.dumps(summary | {"longhaul": "99.0"}))
    clear(command("verify", out), "was made by Longhaul 99.0", f"run {out / 'scenario.toml'} again")


def test_no_error_number_of_the_system_is_shown(command, scenario, tmp_path):
    app = 'app = { kind = "trace", file = "nowhere.csv" }\ncount = 3'
    scenario.write_text(SMALL.replace("count = 3", app))
    outcome = command("run", scenario, "--out", tmp_path / "r")
    clear(outcome, "nowhere.csv cannot be read: No such file or directory")
    write_result(tmp_path / "w", 3, duration=50)
    (tmp_path / "w" / "scenario.toml").unlink()
    report = command("report", tmp_path / "w")
    clear(report, "scenario.toml: No such file or directory")
    for message in (outcome.err, report.err):
        assert "rrno" not in message
        assert "os error" not in message


def test_short_forms_of_the_python_guide_work_in_files_and_overrides(command, scenario, tmp_path):
    text = SMALL.replace('queue = { kind = "droptail", limit = "30 packets" }', 'queue = "30 packets"')
    text = text.replace('loss = { kind = "random", probability = "0.1 %" }', 'loss = "0.1 %"')
    identity = longhaul.core.resolve(longhaul.document.parse(SMALL, "long"))[1]
    assert longhaul.core.resolve(longhaul.document.parse(text, "short"))[1] == identity
    changed = ("--set", "link.satellite.queue=9 packets", "--set", "link.satellite.loss=1 %")
    assert command("run", scenario, *changed, "--out", tmp_path / "r", "-q").code == 0
    resolved = (tmp_path / "r" / "scenario.toml").read_text()
    assert 'limit = "9 packets"' in resolved
    assert "probability = 0.01" in resolved
    clear(command("run", scenario, "--set", "link.satellite.queue=9"), 'is not a limit, as in "1000 packets"')


def test_a_scenario_may_come_on_standard_input(tmp_path):
    def longhaul_run(text: bytes) -> subprocess.CompletedProcess[bytes]:
        code = "import sys; from longhaul import cli; sys.exit(cli.run(['run', '-', '--out', 'r', '--no-tables', '--force']))"
        return subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, cwd=tmp_path)

    done = longhaul_run(SMALL.encode())
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["flows"]
    wrong = longhaul_run(SMALL.replace("2 Mbit/s", "2 Mbits").encode())
    assert wrong.returncode == 2
    assert b"standard input:" in wrong.stderr


def test_a_result_without_the_id_of_its_run_is_found(command, scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("run", scenario, "-q").code == 0
    (made,) = (tmp_path / "results").iterdir()
    named = made.name.rpartition("-")[0]
    outcome = command("explain", Path("results") / named)
    clear(outcome, f"results/{named} does not exist; did you mean results/{made.name}?")
    clear(command("explain", Path("results") / "none"), "results/none does not exist")


def test_a_table_that_does_not_fit_is_an_output_error_of_the_directory_asked_for(scenario, tmp_path):
    """With files limited to 32 kB: the tables are larger, the other files are not."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (32_000, 32_000)); from longhaul.cli import main; main()"
    arguments = ["run", str(scenario), "--set", "run.sample=0.01 s", "--out", str(tmp_path / "r")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    clear(
        Outcome(done.returncode, done.stdout, done.stderr), f"cannot write {tmp_path / 'r'}/", ".parquet", "too large"
    )
    assert ".partial" not in done.stderr
    assert not list(tmp_path.glob(".r.*"))


def test_a_signal_waits_until_an_import_is_over(tmp_path):
    (tmp_path / "slow_to_import.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.1)\ndone = 1\n"
    )
    code = (
        "import sys; from longhaul.cli import terminal\n"
        "try:\n"
        "    with terminal.stopped_by_signals():\n"
        "        import slow_to_import, time\n"
        "        time.sleep(30)\n"
        "except KeyboardInterrupt:\n"
        "    print(sys.modules['slow_to_import'].done)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals end no process here")
@pytest.mark.parametrize("module", ["longhaul.advice", "longhaul.core", "longhaul.verifying", "typer", "longhaul.cli"])
def test_ctrl_c_while_the_command_is_imported_prints_no_traceback(tmp_path, module):
    (tmp_path / "longhaul").write_text(
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from longhaul.command import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "longhaul", "list"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_while_another_program_imports_the_package_is_its_own_affair(tmp_path):
    code = "import signal, longhaul; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_the_module_is_the_command_too():
    done = subprocess.run([sys.executable, "-m", "longhaul", "examples"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "geo-one-flow" in done.stdout


def test_the_name_of_an_example_is_recognised(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clear(command("run", "geo-one-flow"), "No such file", "`longhaul examples geo-one-flow` copies")
    (tmp_path / "mine.toml").write_text("")
    clear(command("run", "mine"), "did you mean mine.toml?")


def test_redirected_tables_have_no_trailing_blanks(command):
    lines = command("list", "queues").out.splitlines()
    assert len(lines) > 10
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("arguments", [(), ("run",), ("list",)])
def test_help_shows_switches_without_a_value(command, arguments):
    shown = command(*arguments, "--help").out
    assert "--help" in shown
    assert "<bool>" not in shown


def test_a_result_below_a_file_names_the_file(command, scenario, tmp_path):
    (tmp_path / "file").write_text("")
    clear(command("run", scenario, "--out", tmp_path / "file" / "r"), f"{tmp_path / 'file'} is a file, not a directory")
