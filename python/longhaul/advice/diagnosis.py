"""What remedies are made for: the parts of a scenario that they act on, and the causes that were proven by runs without them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..units import read_quantity, significant
from ..why.case import Case, crossed
from ..why.waterfall import Waterfall

#: The IP and TCP headers of a data packet without options, in bytes.
HEADERS = 40
#: A link that is in use more is full.
_FULL = 0.9


@dataclass
class Diagnosis:
    """What was found, and the parts of the scenario that remedies act on."""

    summary: Mapping[str, Any]
    #: The resolved scenario.
    content: Mapping[str, Any]
    #: Names of the groups whose applications are to be served.
    groups: Sequence[str]
    #: Where the scenario has the settings of each group of flows: by its name, or by its number if it has none.
    keys: Mapping[str, str]
    #: What limits the groups, each with what changes without it; the strongest first. Remedies aim at these.
    findings: dict[str, str] = field(default_factory=dict)
    #: What was taken away and made no difference.
    absent: dict[str, str] = field(default_factory=dict)
    #: What the budget had no run for.
    untested: dict[str, str] = field(default_factory=dict)
    #: Causes one behind the other, of each group.
    chains: list[list[str]] = field(default_factory=list)
    #: The largest factor that was measured without each cause.
    factors: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flows = [flow for flow in self.summary["flows"] if flow["group"] in self.groups]
        self.sections = [flow for flow in self.content.get("flow", ()) if flow["name"] in self.groups]
        self.data = self._links(back=False)
        self.acks = self._links(back=True)
        self.bottleneck = max(self.data, key=_use, default=None)
        self.thin = max(self.acks, key=_use, default=None)
        self.long = max(self.data, key=lambda link: float(link["delay_s"]), default=None)
        cases = [Case(self.content, self.summary, name) for name in self.groups]
        # A path that grew while flows were active needs what its longest round trip needs.
        self.rtt = max((case.rtt for case in cases if case.flows), default=0.0)
        #: Directions of links that are full of data, and have dropped or marked some: each is a queue in which shares are decided.
        self.full = [
            link
            for link in self.data
            if any(case.use(link) >= _FULL for case in cases) and (_count(link, "drops_queue") or _count(link, "marks"))
        ]
        self.mss = min((int(flow["mss_bytes"]) for flow in self.flows), default=1460)

    @property
    def proven(self) -> set[str]:
        """What the waterfall took away first, for each group."""
        return {chain[0] for chain in self.chains if chain}

    @property
    def present(self) -> set[str]:
        """What remedies are tried for: what was found, and what may be the case since it was not tested."""
        return {*self.findings, *self.untested}

    def take(self, found: Sequence[Waterfall]) -> None:
        """Takes over what was proven by runs without each thing: one table is behind explanations and advice.

        What the budget had no run for may be a cause, so that its remedies are tried.
        """
        for one in found:
            # A step of the waterfall has the number that `explain` prints.
            for step in one.steps:
                if len(step.causes) == 1:
                    (cause,) = step.causes
                    text = f"{cause.clause}: without it × {significant(step.effect.factor, 3)}"
                    self.findings.setdefault(cause.cause, text)
            strongest = sorted(one.effects, key=lambda tried: -tried.effect.factor)
            for tried in strongest:
                if tried.is_cause:
                    self.findings.setdefault(tried.cause, tried.text)
                    known = self.factors.get(tried.cause, 1.0)
                    self.factors[tried.cause] = max(known, tried.effect.factor)
                else:
                    self.absent.setdefault(tried.cause, f"{tried.clause}: without it × {tried.effect.factor:.2f}")
            for cause in one.causes:
                self.findings.setdefault(cause.cause, f"{cause.clause}: together with others")
            for cause_name, clause in one.not_run:
                self.untested.setdefault(cause_name, clause)
            # Where the budget ended behind the first cause, the first that was not tested may be what that one hid.
            hidden = [name for name, _ in one.not_run][:1] if len(one.causes) == 1 else []
            self.chains.append(list(dict.fromkeys([*(cause.cause for cause in one.causes), *hidden])))
        self.absent = {name: text for name, text in self.absent.items() if name not in self.present}

    @property
    def pipe_packets(self) -> int:
        """Packets that fill the path: the bottleneck's rate times the longest base RTT; at least 2."""
        if self.bottleneck is None:
            return 2
        size = (self.mss + HEADERS) * 8
        return max(2, math.ceil(float(self.bottleneck["rate_bps"]) * self.rtt / size))

    def place(self, link: Mapping[str, Any]) -> str:
        """The path of one direction of a link in the scenario, as `--set` takes it."""
        name, direction = str(link["name"]).rsplit(".", 1)
        named = [one["name"] for one in self.content.get("link", ())]
        return f"link.{name}.{direction}" if name in named else f"dumbbell.{name}.{direction}"

    def setting(self, link: Mapping[str, Any], key: str) -> Any:
        """A setting of one direction of a link."""
        spec, direction = self._spec(link)
        return (spec.get(direction) or {}).get(key, spec.get(key))

    def path(self, links: Sequence[Mapping[str, Any]], key: str) -> list[str]:
        """The paths by which a setting of several directions of links is changed, as `--set` takes them.

        A setting of a whole link that both directions override is an error: it is changed where it is written if no direction that
        keeps it is left.
        """
        named = {str(link["name"]) for link in links}
        paths = []
        for link in links:
            spec, direction = self._spec(link)
            other = "reverse" if direction == "forward" else "forward"
            own, others = (key in (spec.get(side) or {}) for side in (direction, other))
            taken = others or f"{str(link['name']).rsplit('.', 1)[0]}.{other}" in named
            place = self.place(link)
            paths.append(f"{place.rpartition('.')[0] if key in spec and taken and not own else place}.{key}")
        return paths

    def _spec(self, link: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        name, direction = str(link["name"]).rsplit(".", 1)
        spec = next((one for one in self.content.get("link", ()) if one["name"] == name), None)
        return spec or (self.content.get("dumbbell") or {}).get(name) or {}, direction

    def inner(self, name: str) -> bool:
        """Whether a node is no end of any of the flows: a place for a proxy."""
        return all(name not in (flow["from"], flow["to"]) for flow in self.flows)

    def _links(self, back: bool) -> list[dict[str, Any]]:
        numbers: dict[int, None] = {}
        for flow in self.flows:
            numbers |= dict.fromkeys(crossed(flow, "ack_path" if back else "data_path"))
        return [self.summary["links"][number] for number in numbers]


def uses_tcp(section: Mapping[str, Any]) -> bool:
    """Whether a section's flows are of TCP: only those have its settings.

    >>> uses_tcp({"transport": "quic", "quic": {}}), uses_tcp({"tcp": {}})
    (False, True)
    """
    return "tcp" in section and section.get("transport", "tcp") == "tcp"


def packets(value: object) -> int | None:
    """A queue's limit in packets, if it is given so.

    >>> packets("300 packets"), packets("1 MB")
    (300, None)
    """
    read = read_quantity(value)
    return round(read[0]) if read and read[1] == "packets" else None


def _count(link: Mapping[str, Any], key: str) -> float:
    return float(link["metrics"].get(key) or 0.0)


def _use(link: Mapping[str, Any]) -> float:
    return float(link["metrics"].get("utilisation") or 0.0)
