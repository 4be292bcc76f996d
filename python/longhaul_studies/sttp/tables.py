"""The thesis's tables with numbers."""

from __future__ import annotations

from collections.abc import Mapping

#: Protocols of experiments 2 and 4.
PROTOCOLS = ("reno", "vegas", "sttp")
#: STTP with a timeout that leaves nine tenths of sigma and rho, as a loss does, or half (decision 7).
VERSIONS = ("sttp", "sttp half")
#: The version that targets are judged with: each row of the thesis counts once. Which version fits is a finding (`outcomes`).
CHOSEN = "sttp half"
#: Bytes transmitted and dropped at the entrance of the bottleneck.
Counted = tuple[int, int]

#: Appendix, table 1: experiment 2, bulk transfers; by number of sources.
APPENDIX_1: Mapping[int, Mapping[str, Counted]] = {
    10: {"reno": (226345000, 1264000), "vegas": (225025000, 0), "sttp": (225064800, 0)},
    20: {"reno": (230285000, 5190000), "vegas": (225370000, 283000), "sttp": (225520600, 435000)},
    30: {"reno": (234791000, 9696000), "vegas": (230131000, 5043000), "sttp": (225997400, 904080)},
    40: {"reno": (239531000, 14436000), "vegas": (236000000, 10911000), "sttp": (226253200, 1161160)},
    50: {"reno": (241044000, 15954000), "vegas": (241185000, 16096000), "sttp": (227099000, 2005120)},
    60: {"reno": (243972000, 18880000), "vegas": (244975000, 19888000), "sttp": (226860800, 1767680)},
    70: {"reno": (247247000, 22165000), "vegas": (248030000, 22948000), "sttp": (227146600, 2054360)},
    80: {"reno": (250221000, 25126000), "vegas": (250684000, 25595000), "sttp": (227614400, 2518360)},
    90: {"reno": (253429000, 28334000), "vegas": (253156000, 28079000), "sttp": (227507200, 2412560)},
    100: {"reno": (255582000, 30487000), "vegas": (255914000, 30825000), "sttp": (227681000, 2585840)},
    110: {"reno": (257234000, 32142000), "vegas": (258223000, 33135000), "sttp": (227537800, 2442600)},
    120: {"reno": (258980000, 33890000), "vegas": (259093000, 34004000), "sttp": (227872600, 2777280)},
    130: {"reno": (261137000, 36042000), "vegas": (262281000, 37192000), "sttp": (228831400, 3737800)},
    140: {"reno": (262140000, 37046000), "vegas": (262223000, 37138000), "sttp": (228737200, 3641840)},
    150: {"reno": (262968000, 37873000), "vegas": (264653000, 39564000), "sttp": (228412000, 3315920)},
    160: {"reno": (264286000, 39195000), "vegas": (266033000, 40946000), "sttp": (229956800, 4861520)},
    170: {"reno": (264828000, 39733000), "vegas": (267471000, 42382000), "sttp": (229206600, 4111640)},
    180: {"reno": (265320000, 40225000), "vegas": (268390000, 43302000), "sttp": (229552400, 4456400)},
    190: {"reno": (265871000, 40776000), "vegas": (269193000, 44105000), "sttp": (228915200, 3819680)},
    200: {"reno": (265593000, 40501000), "vegas": (268748000, 43660000), "sttp": (229738000, 4641920)},
}
#: Appendix, table 2: experiment 4, video.
APPENDIX_2: Mapping[int, Mapping[str, Counted]] = {
    10: {"reno": (57884000, 1608000), "vegas": (56302000, 3000), "sttp": (56895800, 598000)},
    20: {"reno": (60352000, 4063000), "vegas": (58348000, 2044000), "sttp": (56770600, 469000)},
    30: {"reno": (61939000, 5642000), "vegas": (61468000, 5165000), "sttp": (56989400, 688000)},
    40: {"reno": (63661000, 7356000), "vegas": (63087000, 6785000), "sttp": (57251200, 949120)},
    50: {"reno": (65407000, 9102000), "vegas": (64992000, 8687000), "sttp": (57503000, 1200040)},
    60: {"reno": (67252000, 10962000), "vegas": (66076000, 9772000), "sttp": (57719800, 1416160)},
    70: {"reno": (68611000, 12306000), "vegas": (67666000, 11363000), "sttp": (57931600, 1629160)},
    80: {"reno": (69429000, 13128000), "vegas": (68590000, 12287000), "sttp": (58255400, 1952040)},
    90: {"reno": (70152000, 13855000), "vegas": (69982000, 13680000), "sttp": (58596200, 2291000)},
    100: {"reno": (70927000, 14623000), "vegas": (70463000, 14159000), "sttp": (58798000, 2494040)},
}
#: Tables 5.2 and 5.3: 40 bulk transfers over 200 and 300 s.
LONG_RUNS: Mapping[int, Mapping[str, Counted]] = {
    200: {"reno": (22407000, 2613000), "sttp": (21187120, 1429640)},
    300: {"reno": (33244000, 3451000), "sttp": (30167600, 416240)},
}
#: Table 4.4: experiment 1; for each node the mean and the standard deviation over intervals of packets sent and dropped and of the
#: round trip in seconds.
TABLE_4_4: Mapping[str, tuple[tuple[tuple[float, float], tuple[float, float], tuple[float, float]], ...]] = {
    "reno": (
        ((34.56, 19.52), (24.89, 38.17), (1.89, 3.00)), ((39.00, 15.99), (14.11, 23.05), (2.13, 3.43)),
        ((28.33, 20.27), (3.89, 8.54), (2.67, 2.81)), ((23.89, 15.52), (11.44, 17.15), (4.09, 4.95)),
        ((21.67, 16.31), (5.22, 11.11), (3.61, 4.73)), ((12.56, 17.30), (1.44, 3.74), (1.05, 2.23)),
    ),
    "sttp": (
        ((37.89, 17.55), (0.0, 0.0), (3.71, 1.9)), ((37.56, 17.08), (0.0, 0.0), (3.71, 1.9)),
        ((13.13, 2.48), (0.0, 0.0), (2.66, 1.19)), ((12.77, 2.95), (0.0, 0.0), (3.12, 1.95)),
        ((13.07, 2.97), (0.0, 0.0), (3.11, 2.49)), ((13.22, 1.63), (0.0, 0.0), (1.75, 1.65)),
    ),
}  # fmt: skip
#: Table 4.5: experiment 3; packets transmitted and dropped by each source.
TABLE_4_5: Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]] = {
    ("reno", 1): ((31980,), (0,)),
    ("sttp 9:1", 1): ((31980,), (0,)),
    ("sttp 5:5", 1): ((31980,), (0,)),
    ("sttp 1:9", 1): ((31985,), (0,)),
    ("reno", 2): ((16093, 15924), (0, 0)),
    ("sttp 9:1", 2): ((22899, 9108), (0, 0)),
    ("sttp 5:5", 2): ((16084, 15918), (0, 0)),
    ("sttp 1:9", 2): ((16081, 15919), (0, 0)),
    ("reno", 4): ((7773, 8156, 8244, 8124), (77, 73, 67, 70)),
    ("sttp 9:1", 4): ((13790, 5464, 6079, 6699), (0, 0, 0, 2)),
    ("sttp 5:5", 4): ((8181, 7146, 7943, 8754), (0, 0, 0, 0)),
    ("sttp 1:9", 4): ((7118, 6949, 9440, 8517), (0, 0, 0, 0)),
}


def saving(table: Mapping[int, Mapping[str, Counted]], rival: str) -> float:
    """What STTP sends less than a TCP in a table of the appendix, in per cent: the largest of its rows."""
    return max(100 * (1 - row["sttp"][0] / row[rival][0]) for row in table.values())
