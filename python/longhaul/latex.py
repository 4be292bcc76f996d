"""Texts and tables for LaTeX: special characters escaped, units in the heads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

#: What LaTeX takes for a command, and characters that the fonts of an old LaTeX lack.
_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\u00a0": "~",
    "\u202f": r"\,",
    "–": "--",
    "—": "---",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "→": r"\ensuremath{\rightarrow}",
    "←": r"\ensuremath{\leftarrow}",
    "↑": r"\ensuremath{\uparrow}",
    "↓": r"\ensuremath{\downarrow}",
    "≥": r"\ensuremath{\geq}",
    "≤": r"\ensuremath{\leq}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
    "µ": r"\ensuremath{\mu}",
    "μ": r"\ensuremath{\mu}",
    "°": r"\ensuremath{^\circ}",
    "…": r"\ldots{}",
    "’": "'",
}
_NUMBER = r"[+−-]?\d[\d.,]*(?:e[+-]?\d+)?"
#: A number with a unit after it, or with half an interval between.
_QUANTITY = re.compile(rf"^({_NUMBER})(?: ± (<?)({_NUMBER}))?[ \u00a0]([^\d\s][^\s]*)$")
#: Units that differ in their prefix.
_PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SCALES = {f"{prefix}{base}": (base, scale) for base in ("bit/s", "B", "s") for prefix, scale in _PREFIXES.items()}


def escaped(text: str) -> str:
    """A text as LaTeX prints it, with any engine.

    >>> escaped("95 % of link_a & b: 10–90 ±1")
    '95 \\\\% of link\\\\_a \\\\& b: 10--90 \\\\ensuremath{\\\\pm}1'
    """
    return "".join(_CHARACTERS.get(character, character) for character in text)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> str:
    """A `tabular` with the rules of booktabs; the first `names` columns are left-aligned words, the others right-aligned.

    A unit that all values of a column share stands in its head.

    >>> print(table(["queue_limit", "Goodput"], [["10", "1.5 Mbit/s"], ["30", "2.25 Mbit/s"]]))
    % \\usepackage{booktabs}
    \\begin{tabular}{lr}
    \\toprule
    queue\\_limit & Goodput (Mbit/s) \\\\
    \\midrule
    10 & 1.5 \\\\
    30 & 2.25 \\\\
    \\bottomrule
    \\end{tabular}
    """
    heads, cells = units_in_heads(headings, rows)
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(heads) - names)}}}",
        r"\toprule",
        _row(heads),
        r"\midrule",
        *map(_row, cells),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def units_in_heads(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Headings with the unit that all values of a column have, and the cells without it. A dash is no value.

    >>> units_in_heads(["x", "Loss"], [["a", "1 %"], ["b", "–"]])
    (['x', 'Loss (%)'], [['a', '1'], ['b', '–']])
    >>> units_in_heads(["Rate"], [["1.5 Mbit/s"], ["800 ± 20 kbit/s"]])
    (['Rate (Mbit/s)'], [['1.5'], ['0.800 ± 0.020']])
    """
    heads, cells = list(headings), [list(row) for row in rows]
    for column in range(len(heads)):
        values = [row[column] for row in cells if row[column] not in ("–", "")]
        matches = [_QUANTITY.match(value) for value in values]
        units = [_singular(match[4]) for match in matches if match]
        if not values or not all(matches) or (unit := _common(units)) is None:
            continue
        heads[column] = f"{heads[column]} ({unit})".strip()
        for row in cells:
            if match := _QUANTITY.match(row[column]):
                factor = _SCALES[match[4]][1] / _SCALES[unit][1] if _singular(match[4]) != unit else 1.0
                parts = [_scaled(match[1], factor), *([match[2] + _scaled(match[3], factor)] if match[3] else [])]
                row[column] = " ± ".join(parts)
    return heads, cells


def _singular(unit: str) -> str:
    return "packets" if unit == "packet" else unit


def _common(units: Sequence[str]) -> str | None:
    """The unit of all, or the largest of those that differ in their prefix."""
    if len(set(units)) == 1:
        return units[0]
    if not all(unit in _SCALES for unit in units) or len({_SCALES[unit][0] for unit in units}) != 1:
        return None
    return max(units, key=lambda unit: _SCALES[unit][1])


def _scaled(number: str, factor: float) -> str:
    """A number in another unit, with the digits that it has."""
    if factor == 1:
        return number
    value = Decimal(number.replace(",", "").replace("−", "-")) * Decimal(str(factor))
    return f"{value:f}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
