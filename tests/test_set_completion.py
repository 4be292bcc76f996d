"""A shell offers the settings of the scenario for `--set`; a result that is given as a scenario is recognized."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from longhaul.cli import options


def test_settings_of_the_named_scenario_are_offered(scenario):
    context = SimpleNamespace(params={"scenario": scenario})
    offered = options.setting_paths(context, "link.satellite.")
    assert "link.satellite.rate=" in offered or "link.satellite.forward.rate=" in offered
    assert all(path.startswith("link.satellite.") for path in offered)
    assert "run.duration=" in options.setting_paths(context, "run.d")


def test_without_a_scenario_that_can_be_read_nothing_is_offered(tmp_path):
    assert options.setting_paths(SimpleNamespace(params={}), "") == []
    assert options.setting_paths(SimpleNamespace(params={"scenario": tmp_path / "none.toml"}), "") == []


def test_a_result_given_as_a_scenario_is_told_so(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    outcome = command("run", out)
    assert outcome.code != 0
    assert "it is a result: its scenario is " in outcome.err
    assert "longhaul explain" in outcome.err


@pytest.mark.parametrize(
    ("words", "current"),
    [
        (["run", "FILE", "--set", "link.satellite."], 4),
        # Bash splits words at the equals sign.
        (["run", "FILE", "--set", "=", "link.satellite."], 5),
        (["run", "FILE", "--set=link.satellite."], 3),
        (["run", "--set", "link.satellite.", "FILE"], None),
        (["advise", "FILE", "--set", "link.satellite."], 4),
    ],
)
def test_bash_completes_settings_however_it_splits_them(scenario, words, current):
    """The function is run as `--show-completion bash` prints it."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    program = Path(sys.executable).parent / "longhaul"
    if not program.exists():
        pytest.skip("needs the installed command")
    words = [str(scenario) if word == "FILE" else word for word in words]
    if current is None:
        # What stands behind the word is not looked at.
        words, current = words[:-1], 3
    script = (
        'eval "$(longhaul --show-completion bash)"\n'
        f"COMP_WORDS=(longhaul {' '.join(words)}); COMP_CWORD={current}\n"
        "_longhaul_completion longhaul\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [bash, "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    offered = done.stdout.split()
    if str(scenario) in words:
        assert offered, done.stderr
        assert all("link.satellite." in word for word in offered)
    else:
        assert offered == []
