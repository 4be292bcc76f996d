"""Findings beyond single targets: paragraphs of the study's document.

Measured numbers are in its tables, which are made from the runs. Here are those of the thesis, computed from its tables, and of settings.
"""

from __future__ import annotations

from .comparisons import NAMES, TCPS
from .tables import APPENDIX_1, APPENDIX_2, TABLE_4_4, saving


def _reno_loses() -> float:
    """What all sources of Reno lose in table 4.4, in per cent."""
    return 100 * sum(drops[0] for _, drops, _ in TABLE_4_4["reno"]) / sum(sent[0] for sent, _, _ in TABLE_4_4["reno"])


def _first_two() -> float:
    """How many times the others' packets the first two sources of STTP send in table 4.4."""
    packets = [sent[0] for sent, _, _ in TABLE_4_4["sttp"]]
    return sum(packets[:2]) / 2 / (sum(packets[2:]) / 4)


_SAVED = "; ".join(
    f"{what} {' and '.join(f'{saving(table, p):.1f} % ({NAMES[p]})' for p in TCPS)}"
    for what, table in (("transfers", APPENDIX_1), ("films", APPENDIX_2))
)

FINDINGS: dict[str, str] = {
    "The thesis's own numbers": (
        f'Several claims of the thesis do not follow from its tables. "Up to 20 % fewer packets": the largest savings in the appendix are: {_SAVED}. "Lower in all cases": Vegas sends less than STTP with 10 and'
        " 20 transfers and with 10 films, and drops less with 20 transfers and with 10 films. Equal goodput is that of a full link. The first two sources of experiment 1 keep"
        f" {_first_two():.1f} times the rate of the others, and Reno loses {_reno_loses():.0f} % there: both follow from table 4.4 and are not in the text."
    ),
    "Which STTP the thesis simulated": (
        "The thesis prints the scaling factor in three forms that exclude each other. Experiment 2 separates them (table *Readings of the factor, the bucket and the timeout*). With the worked example (R1)"
        " rates drift down, until more than half of the link is unused with 50 sources. The printed formula (R3) floods the queue. With last/new (R2) the link is full. The losses depend on the rate after a"
        " timeout: a factor of 0.9 gives several times the appendix's, 0.5 is near them. That version (`sttp half`: R2, tokens by a timer, 5:5, loss 0.9, timeout 0.5) was chosen by three points of"
        " experiment 2. The other rows test the choice (table *Which version of STTP the thesis ran*): it is near the films too, which have another rate and buffer; it loses too much of many transfers."
        " Tokens fed by ACKs fit the three points as well, but the thesis says that a timer fed them."
    ),
    "Readings of packets, buffers, ACKs and starts": (
        "Seven readings of the network of experiments 2 and 4 were tried with 20, 50 and 100 sources (tables *Readings of the network*), with ns-2's timer. Where a buffer is counted hardly changes what Reno"
        " and Vegas send. Headers beside the 1000 bytes make transfers lose more, and films less. STTP's small losses depend on the starts: the closer together, the fewer of 100 transfers' bytes are lost,"
        " and with a start every second films of 100 sources lose less than in the thesis. No reading fits all rows, so that the one taken stays; those of the section *Readings* are compared row by row."
    ),
    "Interactive use today": (
        "At 50 Mbit/s in both directions and 600 ms (experiment `modern`, targets M1 and M2, figures C and D) STTP has the shortest echo times of keystrokes, and slow pages. With 5 Mbit/s up (experiment"
        " `people`, table *Page and echo times*) the small probes of strict STTP measure the return link: its files leave most of the link to the pages. In competition with files of CUBIC or BBR, users"
        " experience the rival's queue."
    ),
    "The effect of each addition": (
        "The tables of the same name have the numbers.\n\n"
        "* **Retry** opens every flow, on every path. What else changes follows from these flows.\n"
        "* **Trains** of probes alone make more flows fail, since more probes can be lost. With data they measure the satellite link, which small probes do not.\n"
        "* **Measuring at the receiver** does the same. Pages become slower, since files then take more of the link.\n"
        "* **Re-probing** fills the satellite link. It loses more on the thesis's paths, where each train measures the whole link, however many flows share it.\n"
        "* **Growth and draining by the level** of the round trip (`level`) has the largest effect. Losses are negligible, queues are short from 0.5 Mbit/s on, and flows that open share the link equally. In"
        " competition with a rival a flow's share falls to nothing, and pages take longest.\n"
        "* **Competitive mode** addresses that, and does harm without rivals. With 10 to 50 flows on slow paths it mistakes their own queue for a rival's, and loses several per cent of its packets, as Reno does. Many flows with a"
        " packet each in flight keep a queue that none of them can drain, and CUBIC's window keeps it full permanently: a defect. One remedy was tried and rejected: to ignore a queue in which a flow has less"
        " than a packet, and to end a long contest at a loss as a test. It reduces the losses of all additions together. But `competitive` then starves in competition with Reno at 2 Mbit/s, and pages become"
        " slower still.\n"
        "* **All together**: every flow opens, and flows share equally. Losses and queues on slow paths are Reno's. Keystrokes are echoed sooner than with CUBIC or BBR; pages are slower than with"
        " `competitive`, if there is no rival.\n\n"
        "Pages with all additions are slow for two reasons. Both files measure the whole link at their start and fill the queue, until some of the readers' connections time out; each timeout halves rho,"
        " which recovers slowly over 600 ms. And rho is limited to 1.25 times the rate delivered in the last ten round trips in which there was enough to send.\n\n"
        "First in, first out, no variant gets an equal share against every rival. With all additions STTP takes most from Reno at 2 Mbit/s and gets less than half in competition with CUBIC and BBR on the"
        " satellite. Strict STTP does not starve in competition with Reno, but does on the satellite. With round robin, all additions get about half."
    ),
    "Packet pairs and fair queueing": (
        "With deficit round robin or weighted fair queueing STTP (`sttp half`) is fairer than first in, first out, and loses more (targets S5c and S5d, figure B). The cause is the rule of the round trip. A"
        " flow's own queue is short, so that its round trips swing beyond the dead band. R2 drifts up with every swing, and only losses bring the rate down again. With losses alone, without that rule, a"
        " third of that or less is lost."
    ),
}
