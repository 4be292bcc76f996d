"""`longhaul check`: scenario files without a run."""

from __future__ import annotations

import json

import pytest
from longhaul import examples
from longhaul.cli import run

WRONG = """name = "x"

[run]
duration = "10 s"
bogus = 3

[[link]]
name = "a"
ends = ["l", "r"]
rate = "10 Mbit"
delay = "10 ms"
loss = 3

[[flow]]
from = "l"
to = "q"
tcp = { congestion = "cubik" }
"""

#: Warned of: Prague without accurate feedback, a slow start that BBR does not use, a link that nobody uses.
WARNED = """
[run]
duration = "10 s"

[[link]]
name = "a"
ends = ["l", "r"]
rate = "10 Mbit/s"
delay = "10 ms"

[[link]]
name = "b"
ends = ["r", "s"]
rate = "10 Mbit/s"
delay = "10 ms"

[[flow]]
name = "one"
from = "l"
to = "r"
tcp = { congestion = "prague" }

[[flow]]
name = "two"
from = "l"
to = "r"
tcp = { congestion = "bbr", slow_start = "hystart" }
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.toml").write_text(WRONG)
    (tmp_path / "warned.toml").write_text(WARNED)
    return tmp_path


def test_all_errors_of_a_file_are_there_at_once(files, capsys):
    assert run(["check", "wrong.toml"]) == 1
    found = capsys.readouterr()
    lines = [line for line in found.err.splitlines() if line.startswith("error: ")]
    assert [line.split(":")[2] for line in lines] == ["5", "10", "12", "17"]
    for part in ("`bogus`", '"Mbit" is not a unit', "a probability lies between", 'unknown congestion control "cubik"'):
        assert part in found.err
    assert 'help: did you mean "cubic"?' in found.err


def test_errors_of_what_settings_make_together_are_all_there(files, capsys):
    text = WARNED.replace('to = "r"', 'to = "nowhere"').replace('ends = ["r", "s"]', 'ends = ["r", "r"]')
    (files / "together.toml").write_text(text)
    assert run(["check", "together.toml"]) == 1
    err = capsys.readouterr().err
    assert err.count("error: ") == 3
    assert "both ends are" in err
    assert err.count('"nowhere"') >= 2


def test_a_line_that_cannot_be_read_makes_no_errors_elsewhere(files, capsys):
    """Without its rate a link has none, which is not what is wrong with it."""
    (files / "one.toml").write_text(WARNED.replace('rate = "10 Mbit/s"', 'rate = "fast"', 1))
    assert run(["check", "one.toml"]) == 1
    assert capsys.readouterr().err.count("error: ") == 1


def test_a_list_over_several_lines_that_cannot_be_read_is_one_error(files, capsys):
    (files / "list.toml").write_text(
        WRONG.replace("[[link]]", "other = [\n  1,\n  2,\n]\n[[link]]", 1).replace("cubik", "cubic")
    )
    assert run(["check", "list.toml"]) == 1
    assert "expected `=`" not in capsys.readouterr().err


def test_warnings_are_those_of_a_run(files, capsys):
    assert run(["check", "warned.toml"]) == 0
    found = capsys.readouterr()
    assert "warned.toml: nothing is wrong" in found.out
    warnings = [line.removeprefix("warning: warned.toml: ") for line in found.err.splitlines()]
    assert len(warnings) == 3
    assert run(["run", "warned.toml", "--json", "--out", "r"]) == 0
    made = {f"{one['object']}: {one['message']}" for one in json.loads(capsys.readouterr().out)["warnings"]}
    assert set(warnings) <= made
    assert run(["check", "warned.toml", "--strict"]) == 1


def test_nothing_is_written(files, capsys):
    before = sorted(path.name for path in files.iterdir())
    run(["check", "wrong.toml", "warned.toml"])
    assert sorted(path.name for path in files.iterdir()) == before


def test_of_many_files_one_wrong_one_is_an_exit_code(files, capsys):
    assert run(["check", "warned.toml", "wrong.toml", "missing.toml"]) == 1
    found = capsys.readouterr()
    assert "2 of 3 files are wrong" in found.out
    assert "missing.toml: No such file" in found.err
    assert run(["check", "warned.toml", "wrong.toml", "--json"]) == 1
    listed = json.loads(capsys.readouterr().out)["files"]
    assert [(one["file"], len(one["errors"]), len(one["warnings"])) for one in listed] == [
        ("warned.toml", 0, 3),
        ("wrong.toml", 4, 0),
    ]


def test_each_point_of_a_sweep_is_checked(files, capsys):
    sweep = WARNED + '\n[sweep]\ngrid = { "link.a.rate" = ["1 Mbit/s", "0 bit/s"] }\n'
    (files / "sweep.toml").write_text(sweep)
    assert run(["check", "sweep.toml"]) == 1
    assert "link.a.rate" in capsys.readouterr().err
    (files / "sweep.toml").write_text(sweep.replace('"0 bit/s"', '"2 Mbit/s"'))
    assert run(["check", "sweep.toml"]) == 0
    assert "at each of 2 points" in capsys.readouterr().out


def test_a_changed_setting_is_checked(files, capsys):
    assert run(["check", "warned.toml", "--set", "link.a.rate=0 bit/s"]) == 1
    assert "--set link.a.rate=0 bit/s" in capsys.readouterr().err


def test_nothing_is_wrong_with_the_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = examples.names()
    assert run(["examples", *names]) == 0
    assert run(["check", *sorted(str(path) for path in tmp_path.glob("*.toml"))]) == 0
