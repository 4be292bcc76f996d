"""scripts/real-packets: of a few tests that fail beside others, each is run once more, alone, and is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "real-packets"

#: The tests of one program in the place of cargo: those listed in FAIL fail beside others, those in FAIL_ALONE alone.
NAMES = "fine::one fine::two fleets::two sizing::one a::a b::b c::c d::d unknown::test"
CARGO = f"""#!/bin/bash
case "$*" in
    *--no-run*) exit ;;
    *--list*) [[ "$*" == *"--test pep"* ]] && printf '%s: test\\n' {NAMES} an_outage_of_75_seconds; exit ;;
    *--exact*) ;;
    *) echo "test result: ok. 1 passed; 0 failed"; exit ;;
esac
all=$*; names=${{all#*--exact}} failing=$FAIL passed=0 failed=
[[ "$*" == *"--test emu --test leaks"* ]] && alone=yes failing=$FAIL_ALONE
for name in $names; do
    if [[ " $failing " == *" $name "* ]]; then failed+=" $name"; else passed=$((passed + 1)); fi
done
[[ "$alone$names" == "yes unknown::test" ]] && passed=0
[ -z "$failed" ] && {{ echo "ran:$names"; echo "test result: ok. $passed passed; 0 failed"; exit; }}
printf 'failures:\\n\\n---- what it printed ----\\nassertion failed\\n\\n\\nfailures:\\n'
printf '    %s\\n' $failed
echo "test result: FAILED. $passed passed; some failed"
exit 101
"""


def run(
    tmp_path: Path, *arguments: str, failing: str = "", failing_alone: str = ""
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "cargo").write_text(CARGO)
    (tmp_path / "cargo").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "FAIL": failing, "FAIL_ALONE": failing_alone}
    return subprocess.run([SCRIPT, *arguments], env=environment, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize(
    ("failing", "failing_alone", "status", "unsteady"),
    [
        ("", "", 0, []),
        ("fleets::two", "", 0, ["fleets::two"]),
        ("fleets::two sizing::one", "", 0, ["fleets::two", "sizing::one"]),
        ("fleets::two sizing::one", "sizing::one", 1, []),
        ("a::a b::b c::c d::d", "", 1, []),
        ("unknown::test", "", 1, []),
    ],
)
def test_a_test_that_fails_is_run_once_more_alone_and_named(tmp_path, failing, failing_alone, status, unsteady):
    done = run(tmp_path, failing=failing, failing_alone=failing_alone)
    assert done.returncode == status, done.stdout + done.stderr
    named = [line.rsplit(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith("unsteady")]
    assert named == unsteady


def test_every_test_is_in_one_of_the_parts(tmp_path):
    parts = [run(tmp_path, f"{part}/3") for part in (1, 2, 3)]
    assert [done.returncode for done in parts] == [0, 0, 0]
    ran = [line.removeprefix("ran:").split() for done in parts for line in done.stdout.splitlines() if "ran:" in line]
    assert sorted(name for part in ran for name in part) == sorted(NAMES.split())
    assert [len(part) for part in ran] == [3, 3, 3]


@pytest.mark.parametrize("part", ["3/2", "0/2", "2", "a/b"])
def test_a_part_that_is_none_is_refused(tmp_path, part):
    done = run(tmp_path, part)
    assert done.returncode == 2
    assert done.stderr == f"a part is its number and how many there are, as 2/3: {part}\n"
