"""Line breaks of Markdown prose."""

from __future__ import annotations

import re
import textwrap

WIDTH = 120
#: Lines that keep their breaks: tables, headings, images, HTML.
_AS_IT_IS = ("|", "#", "![", "<")
#: How a line of code begins, outside of lists.
_CODE = "    "
_ITEM = re.compile(r"(?P<indent> *)(?P<marker>[*+-]|\d+[.)]) +")
#: A space before a word that would begin a list, a heading, a quotation or a table at the beginning of a line.
_BEFORE_MARKER = re.compile(r" (?=(?:[*+>|-]|#+|\d+[.)])(?: |$))")
#: The space between a number and its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|m?s|min|h|[kM]?B(?:/s)?|[kMG]?bit(?:/s)?)(?![\w/]))")


def wrapped(markdown: str, width: int = WIDTH, *, refill: bool = True) -> str:
    """The document with paragraphs and list items broken at `width` characters; tables, headings, images and code stay.

    Without `refill`, paragraphs whose lines all fit keep their breaks. Wrapping a wrapped document changes nothing.

    >>> print(wrapped("* **A1**: it rises with the watermark\\n\\n| a | table that is wider |", 24))
    * **A1**: it rises with
      the watermark
    <BLANKLINE>
    | a | table that is wider |
    """
    found: list[str] = []
    paragraph: list[str] = []
    fenced = in_item = False

    def end_paragraph() -> None:
        fits = not refill and all(len(line) <= width for line in paragraph)
        found.extend(paragraph if fits else _broken(paragraph, width))
        paragraph.clear()

    for line in markdown.split("\n"):
        fence = line.lstrip().startswith("```")
        is_code = line.startswith(_CODE) and not in_item and not paragraph
        if fenced or fence or is_code or not line.strip() or line.startswith(_AS_IT_IS):
            end_paragraph()
            found.append(line)
            fenced ^= fence
            in_item = in_item and (not line.strip() or line.startswith(" "))
            continue
        if _ITEM.match(line):
            end_paragraph()
            in_item = True
        elif not paragraph:
            in_item = in_item and line.startswith(" ")
        paragraph.append(line)
    end_paragraph()
    return "\n".join(found)


def _broken(lines: list[str], width: int) -> list[str]:
    if not lines:
        return []
    item = _ITEM.match(lines[0])
    first = item.group() if item else " " * (len(lines[0]) - len(lines[0].lstrip()))
    text = " ".join(word for line in lines for word in line.split())
    text = text.removeprefix(first.strip()).lstrip()
    kept = _BEFORE_UNIT.sub("\0", _BEFORE_MARKER.sub("\0", text))
    found = textwrap.wrap(
        kept,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in found]
