"""A study of nothing: small enough to be run by tests in a moment, with a target of every kind and one for every verdict."""

from __future__ import annotations

import longhaul
from longhaul_studies import Case, Claim, Decision, Experiment, Figure, Results, Study, Target, drawing, verdict

RATE = 2e6


def scenario(flows: int, limit: int) -> longhaul.Scenario:
    """A few flows over a slow satellite."""
    return (
        longhaul.Scenario(f"{flows} flows", duration="20 s", warmup="2 s")
        .link("satellite", "hub", "remote", rate="2 Mbit/s", delay="100 ms", queue=f"{limit} packets")
        .flow("hub", "remote", name="users", count=flows)
    )


def flows_cases(scale: str) -> list[Case]:
    """One to four flows; three at the small scale."""
    counts = (1, 2, 3) if scale == "tiny" else (1, 2, 3, 4)
    return [Case({"n": n}, scenario(n, 30), 1 if scale == "tiny" else 2, weight=n) for n in counts]


def queue_cases(scale: str) -> list[Case]:
    """Two queues, one of them that of the other experiment; not at the small scale."""
    return [] if scale == "tiny" else [Case({"limit": limit}, scenario(2, limit), 2) for limit in (10, 30)]


def utilisation_over_n(results: Results) -> dict[int, float]:
    """Medians over the number of flows."""
    return results["F1"].series("utilisation", "n")


def draw(results: Results) -> object:
    """Utilisation over the number of flows."""
    figure, (axes,) = drawing.panels()
    drawing.line(axes, results["F1"].spread("utilisation", "n"), "all", 0)
    return figure


def draw_queues(results: Results) -> object:
    """Utilisation over the limit of the queue."""
    figure, (axes,) = drawing.panels()
    drawing.line(axes, results["F2"].spread("utilisation", "limit"), "all", 1)
    return figure


STUDY = Study(
    name="fake",
    title="A study of nothing",
    source="nobody: nothing, 2020",
    about="For tests.",
    scales={"tiny": "three runs", "quick": "ten runs"},
    experiments=[
        Experiment("F1", "Number of flows", "1.1", flows_cases),
        Experiment("F2", "Length of the queue", "1.2", queue_cases),
    ],
    targets=[
        Target("F0.1", "section 1", "one is one", "exact", lambda _: verdict.number(1.0, 1.0, 0.0)),
        Target(
            "F1.1", "section 1.1", "the link is used", "band",
            lambda r: verdict.band(r["F1"].median("utilisation", n=2), 0.5, 1.0), ("F1",),
        ),
        Target(
            "F1.2", "section 1.1", "more flows use less", "trend",
            lambda r: verdict.trend(utilisation_over_n(r), rising=False), ("F1",), reason="since more flows use more",
        ),
        Target(
            "F2.1", "section 1.2", "the longer queue is used more", "ordering",
            lambda r: verdict.holds(
                {"30 > 10": r["F2"].median("utilisation", limit=30) >= r["F2"].median("utilisation", limit=10)}
            ), ("F2",),
        ),
    ],
    figures=[
        Figure("1.1", "Utilisation", "It rises.", draw, ("F1",)),
        Figure("1.2", "Queues", "It rises.", draw_queues, ("F2",)),
    ],
    decisions=[Decision("A1", "How many?", "Four.")],
    findings={"What was found": "Nothing."},
    claims=[
        Claim("A link is used by anybody.", ("F1.1",)),
        Claim("More flows use less, and longer queues are used more.", ("F1.2", "F2.1"), "More flows use more."),
    ],
    leading=["1.2"],
    gap="there is none.",
    smoke=("tiny", "quick"),
)  # fmt: skip
