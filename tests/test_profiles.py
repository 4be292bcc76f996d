"""Links like real networks: profiles, rates and delays that wander, and links that are fitted to a measurement."""

from __future__ import annotations

import json
import math
import tomllib

import longhaul
import numpy as np
import pytest
from longhaul import cli, core, document, drawing, fitting, listing
from longhaul.errors import LonghaulError
from longhaul.scenario import as_document
from longhaul.units import read_in
from longhaul.why import why

LINK = {"name": "dish", "ends": ["internet", "terminal"]}
FLOW = {"name": "download", "from": "internet", "to": "terminal"}


def over(seconds=20, **link):
    """A download over a link with these settings."""
    return {"run": {"duration": f"{seconds} s"}, "link": [LINK | link], "flow": [FLOW]}


def ordinary(steps, memory, seed=1):
    """Normal numbers, each of which resembles the one before."""
    random = np.random.default_rng(seed)
    values = [random.standard_normal()]
    for _ in range(steps - 1):
        values.append(memory * values[-1] + math.sqrt(1 - memory**2) * random.standard_normal())
    return np.array(values)


def table_of(tmp_path, name, values, step, column):
    """A table with a column of these values, so far apart."""
    file = tmp_path / name
    rows = [f"{step * number:.6f},{value:.6g}" for number, value in enumerate(values)]
    file.write_text("\n".join([f"time_s,{column}", *rows]) + "\n")
    return file


def test_a_profile_runs_and_its_numbers_are_listed():
    result = longhaul.run(longhaul.Scenario.from_dict(over(profile="starlink")))
    assert 30e6 < result.summary["run"]["goodput_bps"] < 150e6
    entries = {one["name"]: one for one in listing.catalogue("profiles")}
    assert {"starlink", "oneweb", "geo-ka", "geo-ku", "meo", "lte", "5g", "maritime-vsat", "inflight"} == set(entries)
    for entry in entries.values():
        assert entry["source"]
        assert "without" in entry["summary"]
        assert {"down.rate", "up.rate"} <= {one["name"] for one in entry["parameters"]}


def test_rates_up_and_down_are_two(tmp_path):
    """One number for both is what phuedx/pinc#5 asked to be rid of; and `delay` is one way, which sitespeedio/browsertime#1160 renamed."""
    text = core.resolve(as_document(longhaul.Scenario.from_dict(over(profile="5g"))))[0]
    link = tomllib.loads(text)["link"][0]
    assert (link["forward"]["rate"], link["reverse"]["rate"]) == ("166 Mbit/s", "21 Mbit/s")
    assert link["delay"] == "11 ms"


def test_another_seed_has_another_course():
    def course(seed):
        made = as_document(
            longhaul.Scenario.from_dict(over(profile="lte") | {"run": {"duration": "20 s", "seed": seed}})
        )
        return core.course(made, 0, [0.5 * one for one in range(40)])

    assert course(1) == course(1) != course(2)


def test_what_wanders_is_a_cause_and_is_drawn():
    """Answers that wait while the rate is low; a longer queue changes nothing."""
    wander = [{"every": "1 s", "factors": [0.02, 0.02, 1.0, 3.0]}]
    content = over(60, rate="20 Mbit/s", delay="10 ms", wander=wander)
    content["flow"][0]["app"] = {"kind": "request", "request": "400 B", "response": "100 kB", "think": "100 ms"}
    scenario = as_document(longhaul.Scenario.from_dict(content))
    assert "Limited by dish (terminal → internet), whose rate wanders at random" in why(scenario, seconds=60.0).text
    drawn = drawing.of_document(scenario)
    assert "rate at random" in drawn.network.links["dish"].ways[0].events


def test_netem_has_no_line_for_it(capfd, tmp_path):
    (tmp_path / "s.toml").write_text(longhaul.Scenario.from_dict(over(profile="starlink")).to_toml())
    assert cli.run(["link", str(tmp_path / "s.toml")]) == 2
    assert "a random course (wander)" in capfd.readouterr().err


@pytest.mark.parametrize(("memory", "spread"), [(0.0, 0.1), (0.9, 0.3)])
def test_a_rate_with_one_memory_is_found_again(memory, spread):
    """Log-normal steps with a known mean, deviation and memory."""
    sigma = math.sqrt(math.log1p(spread**2))
    values = 50e6 * np.exp(sigma * ordinary(6000, memory) - sigma**2 / 2)
    series = fitting.Series(values, 0.1)
    found = fitting.fit(fitting.Measured(down=series), like="starlink")
    score = found.scores[0]
    assert score.in_sample < 0.05
    lag, (seen, made) = next(iter(score.memory.items()))
    assert lag == 0.1
    assert abs(seen - memory) < 0.06
    assert abs(made - memory) < 0.08
    assert abs(read_in(found.link["forward"]["rate"], "bit/s") / values.mean() - 1) < 1e-3


def test_a_slow_and_a_fast_part_are_found_again():
    """0.7 of the variance with a time constant of 5 s, the rest without memory."""
    slow, fast = ordinary(24_000, math.exp(-0.1 / 5.0)), ordinary(24_000, 0.0, seed=2)
    values = 1e7 * np.exp(0.2 * (math.sqrt(0.7) * slow + math.sqrt(0.3) * fast))
    part, slow_s, fast_s = fitting.memories(fitting.Series(values, 0.1))
    assert abs(part - 0.7) < 0.08
    assert 3.0 < slow_s < 8.0
    assert fast_s < 0.1
    score = fitting.fit(fitting.Measured(down=fitting.Series(values, 0.1)), like="lte").scores[0]
    assert all(abs(seen - made) < 0.12 for seen, made in score.memory.values())


def test_slots_and_their_phase_are_found_again():
    """Delays of 15 s each with a phase of 6 s, and noise."""
    random = np.random.default_rng(3)
    levels = np.repeat(0.02 + 0.01 * random.random(81), 15)[9 : 9 + 1200]
    values = levels + 0.001 * random.random(1200)
    series = fitting.Series(values, 1.0)
    assert fitting.slot_phase(series, 15.0) == 6
    base, (slow, fast) = fitting.fit_delay(series, 15.0)
    assert abs(base - 0.02) < 1e-3
    assert (slow["every"], slow["at"], fast["every"]) == ("15 s", "6 s", "1 s")
    assert fitting.fit(fitting.Measured(delay=series), 15.0, like="starlink").scores[0].in_sample < 0.12


def test_a_dishs_means_are_taken_apart(tmp_path):
    """A mean of the last 15 s goes straight from level to level."""
    random = np.random.default_rng(4)
    levels = np.repeat(20 + 20 * random.random(101), 15)
    logged = np.convolve(levels, np.full(15, 1 / 15), "valid")[:1480]
    file = table_of(tmp_path, "dish.csv", logged, 1.0, "pop_ping_latency_ms")
    out = tmp_path / "o.toml"
    arguments = ["profile", "--delay", f"{file},column=pop_ping_latency_ms,scale=0.5", "--like", "starlink"]
    assert cli.run([*arguments, "-o", str(out)]) == 0
    link = tomllib.loads(out.read_text())["link"][0]
    values = [read_in(one, "s") for one in link["forward"]["wander"][-1]["delay"]["values"]]
    assert abs(read_in(link["delay"], "s") - 0.01) < 5e-4
    assert abs(values[-1] - 0.01) < 1e-3
    assert "means of the last slot" in out.read_text()


def test_a_gap_in_a_dishs_log_keeps_the_phase_of_its_slots(tmp_path):
    """The slot of 15 s was known only after the log was read: a gap was cut out without a view to slots."""
    random = np.random.default_rng(4)
    levels = np.repeat(20 + 20 * random.random(101), 15)
    logged = np.convolve(levels, np.full(15, 1 / 15), "valid")[:1480]
    kept = np.concatenate([np.arange(700), np.arange(767, 1480)])
    rows = [f"{time},{logged[time]:.6g}" for time in kept]
    file = tmp_path / "dish.csv"
    file.write_text("time_s,pop_ping_latency_ms\n" + "\n".join(rows) + "\n")
    arguments = ["profile", "--delay", f"{file},column=pop_ping_latency_ms,scale=0.5", "--like", "starlink", "-o"]
    assert cli.run([*arguments, str(tmp_path / "by-itself.toml")]) == 0
    assert cli.run([*arguments, str(tmp_path / "given.toml"), "--slot", "15 s"]) == 0
    found = (tmp_path / "by-itself.toml").read_text()
    assert "is cut out, 60 s in all" in found
    assert found == (tmp_path / "given.toml").read_text()


def test_gaps_at_the_borders_of_slots_become_outages():
    """Nothing for 0.1 s each 15 s, 4 s after the begin."""
    values = np.full(1800, 4e7) * (1 + 0.05 * ordinary(1800, 0.5))
    values[40::150] = 0.0
    link = fitting.link_of(fitting.Measured(down=fitting.Series(values, 0.1)), 15.0, False, "starlink")
    [outage] = link["forward"]["outages"]
    assert (outage["start"], outage["every"], outage["mode"]) == ("4 s", "15 s", "hold")
    assert abs(read_in(outage["duration"], "s") - 0.1) < 0.01


def ping_text(lost):
    """The text of ping with these of 2000 probes lost, 0.2 s apart."""
    lines = ["PING a (192.0.2.1) 56(84) bytes of data."]
    for number in range(1, 2001):
        if number not in lost:
            stamp, ms = 1_700_000_000 + 0.2 * number, 40 + number % 7
            lines.append(f"[{stamp:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=60 time={ms}.0 ms")
    return "\n".join(lines) + "\n"


def test_losses_in_bursts_stay_bursts(tmp_path):
    """40 of 2000 probes in ten bursts of four: 0.8 s each, 1 % one way. Correlated losses as independent ones would be others."""
    lost = {begin + place for begin in range(100, 2000, 190) for place in range(4)}
    (tmp_path / "ping.txt").write_text(ping_text(lost))
    found, mean = fitting.losses(str(tmp_path / "ping.txt"))
    assert mean is None
    assert (found.lost, found.bursts, found.burst) == (40, 10, 4.0)
    loss = fitting.fit_losses(found, None)
    good, bad = (read_in(loss[key], "s") for key in ("good", "bad"))
    assert loss["kind"] == "gilbert_elliott_time"
    assert abs(bad - 0.8) < 0.01
    assert abs(bad / (good + bad) - (1 - math.sqrt(0.98))) < 1e-4
    # Each alone: random losses.
    (tmp_path / "ping.txt").write_text(ping_text(set(range(50, 2000, 50))))
    assert fitting.fit_losses(fitting.losses(str(tmp_path / "ping.txt"))[0], None) == "0.98 %"


def test_the_command_writes_a_scenario_that_runs(tmp_path, capfd):
    (tmp_path / "ping.txt").write_text(ping_text(set()))
    rates = 30 * np.exp(0.2 * ordinary(300, 0.8))
    down = table_of(tmp_path, "down.csv", rates, 0.5, "rate_mbps")
    out, figure = tmp_path / "mine.toml", tmp_path / "fit.png"
    arguments = ["profile", str(tmp_path / "ping.txt"), str(down), "-o", str(out), "--figure", str(figure)]
    assert cli.run(arguments) == 0
    printed = capfd.readouterr()
    assert f"longhaul run {out} --report" in printed.out
    assert "distance (Kolmogorov, Smirnov)" in printed.err
    assert figure.read_bytes().startswith(b"\x89PNG")
    text = out.read_text()
    assert "fitted by" in text
    assert "a tenth of that down is assumed" in text
    result = longhaul.run(longhaul.Scenario.from_toml(text))
    assert 15e6 < result.summary["run"]["goodput_bps"] < 40e6
    assert cli.run(arguments) == 2
    assert "--force" in capfd.readouterr().err


def test_mahimahis_and_iperf3s_files_are_rates(tmp_path):
    # 20 and 40 Mbit/s by turns of 1 s.
    times = [round(second * 1000 + 0.6 * one) for second in range(60) for one in range(0, 1666, 1 + second % 2)]
    (tmp_path / "trace.txt").write_text("\n".join(map(str, sorted(times))) + "\n")
    series, _ = fitting.read(str(tmp_path / "trace.txt"), "rate")
    assert fitting.kind_of(str(tmp_path / "trace.txt")) == "rate"
    assert series.step_s == pytest.approx(0.1)
    intervals = [{"sum": {"start": 0.5 * one, "bits_per_second": 1e6 * (one + 1)}} for one in range(60)]
    (tmp_path / "i.json").write_text(json.dumps({"intervals": intervals}))
    assert fitting.kind_of(str(tmp_path / "i.json")) == "rate"
    # iperf3 counts at first what fits into the sender's buffers (esnet/iperf#692): it can be skipped.
    skipped, _ = fitting.read(str(tmp_path / "i.json"), "rate", 2.0)
    assert skipped.values[0] == 5e6


def test_a_rate_that_was_not_asked_for_is_called_so(tmp_path):
    """A file in bursts: what was sent, not what the link carries."""
    values = np.where(np.arange(400) % 10 < 4, 5e7, 5e5)
    found = fitting.fit(fitting.Measured(down=fitting.Series(values, 1.0)), like="5g")
    assert any("what was sent" in note for note in found.measured.notes)


def refusal(*arguments, capfd):
    assert cli.run(["profile", *map(str, arguments)]) == 2
    return capfd.readouterr().err


def test_bad_input_is_one_clear_message(tmp_path, capfd):
    ping = tmp_path / "ping.txt"
    ping.write_text(ping_text(set()))
    assert "name a file" in refusal(capfd=capfd)
    # Delays alone are no link (clarkzjw/mmsys24-starlink-livestreaming#3).
    assert "the rate down is not measured" in refusal(ping, capfd=capfd)
    assert "the profiles are starlink" in refusal(ping, "--like", "starlnk", capfd=capfd)
    assert "after the file's name come" in refusal("--delay", f"{ping},colum=x", capfd=capfd)
    assert "scale is a number above 0" in refusal("--delay", f"{ping},scale=-0.5", capfd=capfd)
    assert '"15 s"' in refusal(ping, "--slot", "15", "--like", "lte", capfd=capfd)
    assert "both have the delay" in refusal(ping, ping, "--like", "lte", capfd=capfd)
    assert "cannot be read" in refusal(tmp_path / "none.txt", "--like", "lte", capfd=capfd)
    assert ".png, .pdf or .svg" in refusal(ping, "--like", "lte", "--figure", "x.gif", capfd=capfd)
    assert "--mean goes with --slot" in refusal(ping, "--like", "lte", "--mean", capfd=capfd)
    short = table_of(tmp_path, "short.csv", [1, 2, 3], 1.0, "rate_mbps")
    assert "a fit needs 30" in refusal("--down", short, capfd=capfd)
    with pytest.raises(LonghaulError, match="rates are 0"):
        fitting.fit_rate(fitting.Series(np.zeros(40), 1.0))


def levels_and_noise(many=1500, seed=5):
    """Delays one way as of a ping each 200 ms: one of five levels for 15 s, and exponential noise above it."""
    random = np.random.default_rng(seed)
    levels = 15 + 2.5 * ((np.arange(many) // 75 * 7) % 5)
    return (levels + random.exponential(2.0, many)) / 1e3


@pytest.mark.parametrize("slot_s", [None, 15.0])
def test_a_model_is_never_below_the_least_measured_delay(slot_s):
    """A rare low value in a slot took the base to half of what was measured."""
    series = fitting.Series(levels_and_noise(), 0.2)
    found = fitting.fit(fitting.Measured(delay=series), slot_s, like="starlink")
    least = float(series.values.min())
    assert found.models[0].min() >= least - 1e-6
    assert least - 1e-6 <= read_in(found.link["delay"], "s") < least + 1e-3
    assert found.scores[0].in_sample < 0.1


def test_gaps_are_cut_out_and_stated(tmp_path):
    """A day's pause was taken as a day of the value before it."""
    values = levels_and_noise()
    file = tmp_path / "gap.csv"
    times = 0.2 * np.arange(1500) + np.where(np.arange(1500) < 700, 0.0, 86_400.0)
    rows = [f"{time:.6f},{1e3 * value:.6g}" for time, value in zip(times, values, strict=True)]
    file.write_text("time_s,delay_ms\n" + "\n".join(rows) + "\n")
    notes = []
    series, _ = fitting.read(str(file), "delay", notes=notes)
    assert abs(len(series.values) - 1500) <= 1
    assert fitting.distance(series.values, values) < 0.01
    assert "1 gap in the delay" in notes[0]
    assert "is cut out, 86,400 s in all" in notes[0]
    # Of slots whole ones: the phase stays.
    whole, _ = fitting.read(str(file), "delay", slot_s=11.0)
    assert 1500 <= len(whole.values) < 1500 + 11 / 0.2
    # Without a gap nothing is cut out.
    file.write_text("time_s,delay_ms\n" + "\n".join(f"{one},5" for one in range(60)) + "\n")
    assert len(fitting.read(str(file), "delay", notes=notes)[0].values) == 60
    assert len(notes) == 1


def test_a_fit_that_is_far_off_warns_on_the_screen_and_in_the_file(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("longhaul.fitting.judged.distance", lambda one, other: 0.9)
    (tmp_path / "ping.txt").write_text(ping_text(set()))
    out = tmp_path / "o.toml"
    assert cli.run(["profile", str(tmp_path / "ping.txt"), "--like", "lte", "-o", str(out)]) == 0
    printed = capfd.readouterr().err
    assert "WARNING: the model of the delay is 0.900" in printed
    assert printed.splitlines()[-1].startswith("the fit is poor")
    assert "# WARNING: the model of the delay is 0.900" in out.read_text()


def test_times_are_written_without_exponents():
    """`1.00227e+06 s` is no time, and a table begins earlier than `every` later."""
    link = fitting.link_of(fitting.Measured(down=fitting.Series(np.full(100, 1e7), 1.0)), None, False, "starlink")
    assert 'duration = "1002270 s"' in fitting.scenario_text(link, seconds=1.00227e6)
    lost = fitting.Losses(1_000_000, 20, 2, 0.2)
    assert "e+" not in fitting.fit_losses(lost, None)["good"]
    assert fitting.fit_losses(None, 1e-7) == "0.000005 %"
    table = fitting.of_delay(15.0, levels_and_noise(60), at_s=14.96)
    assert "at" not in table
    assert fitting.of_delay(15.0, levels_and_noise(60), at_s=14.2)["at"] == "14 s"


def test_delays_in_whole_ms_are_compared_so():
    """Equal values that differ in their last bits were 0.29 apart."""
    random = np.random.default_rng(6)
    values = np.round(8 + 3 * random.random(3000)) * 1e-3 + 1e-18 * random.integers(0, 3, 3000)
    assert fitting.distance_at(np.round(8 + 3 * random.random(3000)) / 1000, values) < 0.05
    score = fitting.fit(fitting.Measured(delay=fitting.Series(values, 0.01)), like="starlink").scores[0]
    assert score.in_sample < 0.06


def test_spikes_that_a_model_leaves_out_are_counted_and_placed():
    random = np.random.default_rng(7)
    values = 0.01 + 0.002 * random.random(9000)
    for begin in range(900, 9000, 1500):
        values[begin : begin + 5] = 0.06
    found = fitting.fit(fitting.Measured(delay=fitting.Series(values, 0.01)), 15.0, like="starlink")
    [note] = [one for one in found.measured.notes if "leaves out" in one]
    assert "30 of the 9,000 values of the delay" in note
    assert "up to 60 ms" in note
    assert "30 of them lie within 750 ms from 9 s on of each 15 s" in note


def test_a_loss_that_contradicts_the_rate_is_noted():
    """Mathis: 1460 B, 40 ms and 0.5 % are 4.6 to 5.1 Mbit/s, not 100."""
    measured = fitting.Measured(
        down=fitting.Series(np.full(100, 1e8), 1.0),
        delay=fitting.Series(np.full(100, 0.02), 1.0),
        losses=fitting.Losses(10_000, 100, 100, 0.2),
    )
    found = fitting.fit(measured)
    [note] = [one for one in found.measured.notes if "Mathis" in one]
    assert "about 5.05 Mbit/s" in note
    assert "100 Mbit/s down was measured" in note
    assert tomllib.loads(found.text())["flow"][0]["tcp"]["variant"] == "linux"
    measured.losses = fitting.Losses(10_000_000, 1, 1, 0.2)
    assert not fitting.contradictions(found.link, measured)


def test_what_came_from_a_profile_is_listed(tmp_path, capfd):
    down = table_of(tmp_path, "down.csv", 30 * np.exp(0.2 * ordinary(300, 0.8)), 0.5, "rate_mbps")
    assert cli.run(["profile", "--down", str(down), "--like", "starlink"]) == 0
    [line] = [one for one in capfd.readouterr().out.splitlines() if "not measured, and so of" in one]
    assert all(one in line for one in ("delay", "jitter", "the rate up", "loss", "outages"))
    assert line.startswith("# note: not measured")


def test_a_print_has_one_way_and_ends_with_a_verdict(tmp_path, capfd):
    (tmp_path / "ping.txt").write_text(ping_text(set()))
    assert cli.run(["profile", str(tmp_path / "ping.txt"), "--like", "lte", "-o", str(tmp_path / "o.toml")]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("delay one way: least")
    assert lines[-1].startswith("the fit is good: delay good")


@pytest.mark.parametrize(
    ("in_sample", "of_halves", "word"),
    [
        (0.05, 0.0, "good"),
        (0.1, 0.2, "good"),
        (0.16, 0.6, "fair"),
        (0.1, 0.0, "fair"),
        (0.2, 0.1, "poor"),
        (0.31, 0.9, "poor"),
    ],
)
def test_verdicts_have_documented_bounds(in_sample, of_halves, word):
    assert fitting.Score("delay", (), (), in_sample, 0.0, of_halves, {}).verdict() == word


def test_a_skip_or_a_clock_that_does_not_fit_is_named(tmp_path, capfd):
    ping = tmp_path / "ping.txt"
    ping.write_text(ping_text(set()))
    assert "--skip 36,000 s is longer than" in refusal(ping, "--like", "lte", "--skip", "10 h", capfd=capfd)
    # The clock is set back by an hour while ping runs.
    ping.write_text("\n".join(ping_text(set()).splitlines()[:900]).replace("[17000001", "[16999965") + "\n")
    assert "is before the line above" in refusal(ping, "--like", "lte", capfd=capfd)


def test_names_in_brackets_stay_in_a_help(capfd):
    assert cli.run(["suite", "--help"]) == 0
    printed = capfd.readouterr().out
    assert "[tcp]" in printed
    assert "[queue]" in printed


def test_a_constant_rate_and_delay_do_not_wander():
    measured = fitting.Measured(
        down=fitting.Series(np.full(100, 1e7), 1.0), delay=fitting.Series(np.full(100, 0.02), 1.0)
    )
    found = fitting.fit(measured)
    assert "wander" not in found.link
    assert "wander" not in found.link["forward"]
    assert core.course(document.parse(found.text(), "fit"), 0, [1.0]) == [(1e7, 0.02)]
