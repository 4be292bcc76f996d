"""Numbers for people: SI prefixes, and the reading of quantities such as "50 Mbit/s" for plot axes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

_PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
_TIMES = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
_SHARES = {"share", "fraction", "%"}
_PLAIN = {"", "1", "ratio", "index", "dimensionless"}
_SCALED = {
    "bit/s": "bit/s",
    "bytes": "B",
    "byte": "B",
    "B": "B",
    "byte/s": "B/s",
    "B/s": "B/s",
    "packets/s": "packets/s",
}


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where that is readable.

    >>> [significant(x) for x in (0.98765, 12345.0, 0.000123, 0.0, 100.0)]
    ['0.988', '12,345', '0.000123', '0', '100']
    """
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude < -5:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - magnitude)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """A value with its unit, scaled to a readable prefix. `None` (not defined) is a dash.

    >>> quantity(93_412_000, "bit/s")
    '93.4 Mbit/s'
    >>> quantity(0.25, "s"), quantity(0.0123, "share"), quantity(None, "s"), quantity(1500, "packets")
    ('250 ms', '1.23 %', '–', '1,500 packets')
    >>> quantity(1460, "B"), quantity(65536, "B"), quantity(1.0, "packets")
    ('1460 B', '65.5 kB', '1 packet')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit in _SHARES:
        return f"{significant(value * 100, digits)} %"
    if unit in _PLAIN:
        return significant(value, digits)
    if unit == "s":
        scale, name = scaled_unit(value, "s")
        return f"{significant(value / scale, digits)} {name}"
    if unit in _SCALED:
        if _SCALED[unit] == "B" and 1000 <= abs(value) < 10_000:  # sizes of packets, which are given to the byte
            return f"{value:.0f} B"
        scale, name = scaled_unit(value, unit)
        return f"{significant(value / scale, digits)} {name}"
    if unit == "packets" and abs(value) < 0.01:  # a hundredth of a packet means nothing
        value = 0.0
    number = significant(value, digits)
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


#: With more digits than these two numbers are as good as equal.
_MOST_DIGITS = 9


def digits_apart(values: Iterable[float], unit: str, least: int = 3) -> int:
    """So many digits that values which differ differ in their texts too, at least `least`.

    >>> digits_apart([7.3e6, 7.302e6], "B"), digits_apart([0.3, 0.298], "s"), digits_apart([5.0, 5.0], "s")
    (4, 3, 3)
    """
    different = sorted(set(values))
    for digits in range(least, _MOST_DIGITS):
        if len({quantity(value, unit, digits) for value in different}) == len(different):
            return digits
    return _MOST_DIGITS


def apart(values: Sequence[float], unit: str) -> list[str]:
    """Values that one sentence compares, with the digits that tell them apart.

    >>> apart([7.3e6, 7.302e6], "B"), apart([1.0, 1.0004], "s")
    (['7.3 MB', '7.302 MB'], ['1 s', '1.0004 s'])
    """
    digits = digits_apart(values, unit)
    return [quantity(value, unit, digits) for value in values]


def plus_minus(value: float | None, half: float | None, unit: str) -> str:
    """A mean with the half width of its interval, in one unit: two digits of the interval, but no more than four of the mean.

    >>> plus_minus(95.41e6, 0.17e6, "bit/s"), plus_minus(0.981, None, "share")
    ('95.41 ± 0.17 Mbit/s', '98.1 %')
    >>> plus_minus(0.93476798, 5e-8, "share"), plus_minus(1.98821e6, 1600, "bit/s")
    ('93.48 ± <0.01 %', '1.988 ± 0.002 Mbit/s')
    """
    if value is None or half is None:
        return quantity(value, unit)
    scale, name = scaled_unit(max(abs(value), half), unit)
    if half <= 1e-9 * abs(value):  # what is left of equal values after rounding
        return f"{significant(value / scale, 4)} ± 0 {name}".rstrip()
    decimals = min(6, max(0, 1 - math.floor(math.log10(half / scale))))
    if value:
        decimals = min(decimals, max(0, 3 - math.floor(math.log10(abs(value) / scale))))
    shown = f"{half / scale:,.{decimals}f}"
    if not float(shown.replace(",", "")):
        shown = f"<{10.0**-decimals:.{decimals}f}"
    return f"{value / scale:,.{decimals}f} ± {shown} {name}".rstrip()


def difference(mean: float, low: float | None, high: float | None, unit: str) -> str:
    """A difference with its sign and its 95 % interval, in one unit.

    >>> difference(0.4, 0.23, 0.57, "s"), difference(-1.2e6, None, None, "bit/s")
    ('+400 ms (+230 to +570)', '−1.2 Mbit/s')
    >>> difference(0.0, 0.0, 0.0, "s"), difference(1.6741, 1.6741, 1.6741, "")
    ('equal', '+1.674 (each seed)')
    """
    if not mean and not low and not high:
        return "equal"
    scale, name = scaled_unit(max(abs(one) for one in (mean, low or 0.0, high or 0.0)), unit)
    if low is None or high is None:
        return f"{'−' if mean < 0 else '+'}{significant(abs(mean) / scale, 3)} {name}".rstrip()
    if high - low <= 1e-6 * abs(mean):
        return f"{'−' if mean < 0 else '+'}{significant(abs(mean) / scale, 4)} {name}".rstrip() + " (each seed)"
    half = max((high - low) / 2, 1e-3 * abs(mean), 1e-12 * scale)
    decimals = min(6, max(0, 1 - math.floor(math.log10(half / scale))))
    texts = [f"{one / scale:+,.{decimals}f}".replace("-", "−") for one in (mean, low, high)]
    unit_text = f" {name}" if name else ""
    return f"{texts[0]}{unit_text} ({texts[1]} to {texts[2]})"


def alike(values: Sequence[float | None], unit: str, digits: int = 4) -> list[str]:
    """Values that stand side by side, in one unit and with the decimals of the largest; one that these would round to zero, or to
    less than two digits, has its own.

    >>> alike([41.3e6, 0.5e6], "bit/s"), alike([0.01049, 0.0], "packets"), alike([310.25, 0.01], "packets")
    (['41.3 Mbit/s', '0.5 Mbit/s'], ['0.01 packets', '0 packets'], ['310.2 packets', '0 packets'])
    >>> alike([0.05, 1.2e-6], "share"), alike([12.0, None], "")
    (['5 %', '0.00012 %'], ['12', '–'])
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    if not largest:
        return [quantity(value, unit, digits) for value in values]
    scale, name = scaled_unit(largest, unit)
    decimals = max(0, digits - 1 - math.floor(math.log10(largest / scale)))
    if unit == "packets":  # a hundredth of a packet means nothing
        decimals = min(decimals, 2)
    texts = []
    for value in values:
        text = f"{value / scale:,.{decimals}f}" if value is not None and math.isfinite(value) else ""
        text = text.rstrip("0").rstrip(".") if "." in text else text
        few = value and sum(char.isdigit() for char in text.lstrip("-0.,")) < 2 and abs(value) < largest / 100
        if not text or (few and unit != "packets"):
            texts.append(quantity(value, unit, digits))
        else:
            texts.append(f"{text} {'' if name in _PLAIN else name}".rstrip())
    return texts


def spans_decades(values: Iterable[float]) -> bool:
    """Whether values are so far apart that a linear axis would hide the small ones: all above zero, and a factor of 30 between them.

    >>> spans_decades([380e3, 40e6]), spans_decades([1.0, 5.0]), spans_decades([0.0, 5.0])
    (True, False, False)
    """
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) > 30


def counted(number: int, what: str, several: str | None = None) -> str:
    """A number of things, in the singular where it is one; `several` is a plural that is not formed with an s.

    >>> counted(1, "flow"), counted(1500, "flow")
    ('1 flow', '1,500 flows')
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def scaled_unit(largest: float, unit: str) -> tuple[float, str]:
    """The factor and the name of the unit in which `largest` reads well: the one axis label needs.

    >>> scaled_unit(93e6, "bit/s"), scaled_unit(0.25, "s"), scaled_unit(0.4, "share")
    ((1000000.0, 'Mbit/s'), (0.001, 'ms'), (0.01, '%'))
    """
    largest = abs(largest)
    if unit in _SHARES:
        return 0.01, "%"
    if unit == "s":
        for factor, name in _TIMES:
            if largest >= factor:
                return factor, name
        return (1.0, "s") if largest == 0 else _TIMES[-1]
    if unit in _SCALED:
        for factor, prefix in _PREFIXES:
            if largest >= factor:
                return factor, f"{prefix} packets/s".strip() if unit == "packets/s" else prefix + _SCALED[unit]
        return 1.0, _SCALED[unit]
    return 1.0, unit


_QUANTITY = re.compile(r"\s*([0-9][0-9_]*\.?[0-9_]*)\s*(\D.*?)?\s*")
_FACTORS = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12,
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    "packets": 1.0, "packet": 1.0, "bdp": 1.0, "BDP": 1.0, "": 1.0,
}  # fmt: skip


def read_quantity(value: object) -> tuple[float, str] | None:
    """A parameter's value in base units and the unit's name; `None` if it is not a quantity.

    >>> read_quantity("50 Mbit/s"), read_quantity("250 ms"), read_quantity(10), read_quantity("cubic")
    ((50000000.0, 'bit/s'), (0.25, 's'), (10.0, ''), None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    unit = match[2] or ""
    if unit not in _FACTORS:
        return None
    number = float(match[1].replace("_", "")) * _FACTORS[unit]
    return number, _base_unit(unit)


def read_in(value: object, unit: str) -> float | None:
    """A quantity in this unit, one of those that `read_quantity` returns; `None` if it has another one.

    >>> read_in("250 ms", "s"), read_in("250 ms", "bit/s")
    (0.25, None)
    """
    read = read_quantity(value)
    return read[0] if read and read[1] == unit else None


def read_bytes(value: object, mss: int = 1460) -> float | None:
    """A size or a limit in bytes, of packets with `mss` bytes each; `None` if it is neither ("unlimited", a rate).

    >>> read_bytes("64 kB"), read_bytes("10 packets", 1200), read_bytes("unlimited"), read_bytes("1 s")
    (64000.0, 12000.0, None, None)
    """
    read = read_quantity(value)
    return read[0] * {"bytes": 1, "packets": mss}[read[1]] if read and read[1] in ("bytes", "packets") else None


def read_limit(value: object, packet: int, rate_bps: float, rtt_s: float) -> float | None:
    """A queue's limit in bytes, of packets with `packet` bytes each, at a link of this rate (bit/s) on paths of this base
    round trip (s); `None` if it is no limit.

    >>> read_limit("10 packets", 1500, 8e6, 0.1), read_limit("64 kB", 1500, 8e6, 0.1)
    (15000.0, 64000.0)
    >>> read_limit("50 ms", 1500, 8e6, 0.1), read_limit("2 bdp", 1500, 8e6, 0.1), read_limit("1 Mbit/s", 1500, 8e6, 0.1)
    (50000.0, 200000.0, None)
    """
    read = read_quantity(value)
    factors = {"packets": packet, "": packet, "bytes": 1.0, "s": rate_bps / 8, "bdp": rate_bps * rtt_s / 8}
    return read[0] * factors[read[1]] if read and read[1] in factors else None


def _base_unit(unit: str) -> str:
    if unit.endswith("bit/s"):
        return "bit/s"
    if unit in ("ns", "us", "µs", "ms", "s", "min", "h"):
        return "s"
    if unit.endswith("B"):
        return "bytes"
    return "packets" if unit.startswith("packet") else unit.lower() if unit == "BDP" else unit
