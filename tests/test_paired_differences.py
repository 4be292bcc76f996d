"""Points of a sweep are compared seed by seed, the best is named, and what shows nothing is left out."""

from __future__ import annotations

import longhaul
import pytest
from conftest import SMALL
from longhaul import tables
from longhaul.errors import ResultError
from longhaul.sweep.differences import baseline_of, best_of, differences

#: Each seed has another loss pattern and other starts, so that seeds differ more than points.
NOISY = SMALL.replace('name = "users"', 'name = "users"\napp = { kind = "bulk", size = "200 kB" }')
GRID = (
    '\n[sweep]\nreplications = 4\ngrid = { "link.satellite.delay" = ["100 ms", "110 ms", "90 ms"],'
    ' "flow.users.tcp.timestamps" = [true, false] }\n'
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    out = tmp_path_factory.mktemp("paired")
    file = out / "s.toml"
    file.write_text(NOISY + GRID)
    return longhaul.sweep(file, out / "s")


def test_a_difference_is_the_mean_of_those_of_equal_seeds(swept):
    base = baseline_of(swept)
    assert set(base.values()) == {0}
    found = differences(swept, "completion_time_mean_s", base)
    assert 0 not in found
    by_seed = {
        cell: dict(swept.runs.filter(swept.runs["cell"] == cell).select("seed", "completion_time_mean_s").iter_rows())
        for cell in (0, 2)
    }
    pairs = [by_seed[2][seed] - by_seed[0][seed] for seed in by_seed[0]]
    assert found[2].mean == pytest.approx(sum(pairs) / 4)
    assert found[2].pairs == 4
    assert found[2].low < found[2].mean < found[2].high


def test_a_baseline_of_one_parameter_leaves_the_others_equal(swept):
    base = baseline_of(swept, {"delay": "110 ms"})
    assert base == {0: 2, 1: 3, 2: 2, 3: 3, 4: 2, 5: 3}
    assert baseline_of(swept, {"link.satellite.delay": "90 ms", "timestamps": "false"}) == dict.fromkeys(range(6), 5)


def test_a_wrong_baseline_is_refused_before_anything_runs(command, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(NOISY + GRID)
    for given, words in (
        ("delay=1 s", "no point has that; the values are 100 ms, 110 ms, 90 ms"),
        ("delai=1 s", "not a swept parameter"),
        ("delay", "write PATH=VALUE"),
    ):
        outcome = command("sweep", file, "--out", tmp_path / "s", "--baseline", given)
        assert outcome.code != 0
        assert words in outcome.err.replace("\n", " ")
        assert not (tmp_path / "s").exists()


def test_the_best_point_has_the_smallest_time_and_the_largest_goodput(swept):
    means = dict(
        swept.cells.filter(swept.cells["metric"] == "completion_time_mean_s").select("cell", "mean").iter_rows()
    )
    best = best_of(swept, "completion_time_mean_s")
    assert best.mean == min(means.values())
    assert best_of(swept, "goodput_bps").mean == max(
        swept.cells.filter(swept.cells["metric"] == "goodput_bps")["mean"].to_list()
    )
    text = tables.best_point(swept, "completion_time_mean_s")
    assert text.startswith("Best, the smallest mean completion time: ")
    assert "delay 90 ms" in text


def test_tables_and_reports_have_the_paired_interval(command, swept, tmp_path):
    out = command(
        "sweep", swept.path.parent / "s.toml", "--out", swept.path, "--resume", "--baseline", "delay=110 ms"
    ).out
    out = out.replace("\u00a0", " ")
    assert "beside 110 ms" in out
    assert " to " in out
    assert "Best, the smallest mean completion time" in out
    page = swept.report(tmp_path / "r.html").read_text()
    assert "beside delay 100 ms, timestamps true" in page
    assert "overlap" not in page
    assert command("report", swept.path, "--baseline", "delay=110 ms", "-o", tmp_path / "b.html").code == 0
    assert "beside 110 ms" in (tmp_path / "b.html").read_text()


def test_what_is_the_same_at_every_point_has_no_column_and_no_figure(command, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        NOISY.replace('"0.1 %"', "0").replace("200 kB", "20 kB")
        + '\n[sweep]\nreplications = 1\ngrid = { "link.satellite.rate" = ["1 Mbit/s", "2 Mbit/s"], "run.warmup" = ["0 s"] }\n'
    )
    out = command("sweep", file, "--out", tmp_path / "s").out
    head = out.split("The same at every point")[0]
    assert "warmup" not in head
    assert "Loss rate" not in head
    assert "Loss rate 0 %" in out.split("The same at every point")[1]
    page = longhaul.load(tmp_path / "s").report(tmp_path / "r.html").read_text()
    assert "Mean completion time over" in page
    assert "Loss rate over" not in page


def test_a_long_table_is_folded(command, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SMALL.replace('duration = "', 'duration = "1 s" #'))
    delays = ", ".join(f'"{number} ms"' for number in range(1, 71))
    out = command(
        "sweep", file, "--out", tmp_path / "s", "-n", 1, "--set", "run.duration=1 s", "--set", "run.warmup=0 s",
        "--set", 'flow.users.start="0 s"', "--grid", f"link.satellite.delay=[{delays}]", "--report",
    )  # fmt: skip
    assert out.code == 0, out.err
    assert "40 points are not shown" in out.out
    assert "10 more points" in (tmp_path / "s" / "report.html").read_text()


def test_a_baseline_that_is_none_of_a_sweeps_parameters_is_an_error_in_python(swept, tmp_path):
    with pytest.raises(ResultError, match="not a swept parameter"):
        swept.report(tmp_path / "r.html", baseline={"delai": "1 s"})
