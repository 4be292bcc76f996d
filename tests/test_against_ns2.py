"""The same networks in ns-2 and here, at the quick scale of benches/validate.py. ns-2's answers: benches/ns2_answers.py."""

from __future__ import annotations

from pathlib import Path

import bench
import longhaul
import ns2_answers
import pytest
import validate


def run_here(scenario: bench.Scenario, _directory: Path) -> dict[str, object]:
    """The scenario in this process, as bench.RESULT_FIELDS."""
    result = longhaul.run(longhaul.Scenario.from_toml(bench.scenario_document(scenario)), tables=False)
    link = result.summary["links"][0]["metrics"]
    return {
        "utilisation": link["utilisation"],
        "drop_rate": link["drops_queue"] / link["arrivals"],
        "loss_rate": link["drops_loss"] / link["arrivals"],
        "goodput_bps": [flow["metrics"]["goodput_bps"] for flow in result.summary["flows"]],
    }


@pytest.mark.parametrize("case", validate.CASES, ids=lambda case: case.name)
def test_both_simulators_agree(case: validate.Case) -> None:
    verdict = validate.compare(case, quick=True, run_ours=run_here, run_theirs=ns2_answers.of_scenario)
    assert not verdict.misses, f"ns-2 {verdict.ns2}\nours {verdict.ours}"
