"""scripts/real-packets: of a few tests that fail beside others, each is run once more, alone, and is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "real-packets"

#: In the place of cargo: tests fail beside others if they are listed in FAIL, and alone if they are listed in FAIL_ALONE.
CARGO = """#!/bin/bash
case "$*" in
    *--no-run*) exit ;;
    *an_outage*75*) [[ "$*" == *--skip* ]] || { echo "test result: ok. 1 passed; 0 failed"; exit; } ;;
esac
failed=$FAIL
if [[ "$*" == *--exact* ]]; then
    failed=
    for name in $FAIL_ALONE; do [[ "$*" == *"$name"* ]] && failed=$name; done
    [[ "$*" == *unknown* ]] && { echo "test result: ok. 0 passed; 0 failed"; exit; }
fi
[ -z "$failed" ] && { echo "test result: ok. 1 passed; 0 failed"; exit; }
printf 'failures:\\n\\n---- what it printed ----\\nassertion failed\\n\\n\\nfailures:\\n'
printf '    %s\\n' $failed
echo "test result: FAILED. 70 passed; some failed"
exit 101
"""


@pytest.mark.parametrize(
    ("failing", "failing_alone", "status", "unsteady"),
    [
        ("", "", 0, []),
        ("fleets::two", "", 0, ["fleets::two"]),
        ("fleets::two sizing::one", "", 0, ["fleets::two", "sizing::one"]),
        ("fleets::two sizing::one", "sizing::one", 1, []),
        ("a::a b::b c::c d::d", "", 101, []),
        ("unknown::test", "", 1, []),
    ],
)
def test_a_test_that_fails_is_run_once_more_alone_and_named(tmp_path, failing, failing_alone, status, unsteady):
    (tmp_path / "cargo").write_text(CARGO)
    (tmp_path / "cargo").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "FAIL": failing,
        "FAIL_ALONE": failing_alone,
    }
    done = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == status, done.stdout + done.stderr
    named = [line.rsplit(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith("unsteady")]
    assert named == unsteady
