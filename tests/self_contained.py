"""What a page would load from elsewhere."""

from __future__ import annotations

import re

#: Names of XML, which nobody loads.
NAMES = ("http://www.w3.org/2000/svg",)


def addresses(html: str) -> list[str]:
    """Addresses in a page, as they stand or with escaped characters; none of a page that needs nothing else."""
    found = re.findall(r"https?(?::|%3A)//?[^\s\"'`<>)]*", html, re.IGNORECASE)
    return [address for address in found if address.replace("%3A", ":") not in NAMES]
