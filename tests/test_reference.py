"""docs/reference/ says what the program says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_reference_is_up_to_date() -> None:
    made = subprocess.run([sys.executable, ROOT / "scripts/make-reference", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr


REFERENCE = ROOT / "docs" / "reference"


def test_the_scenario_reference_is_in_pages_of_a_readable_length() -> None:
    lengths = {file.name: file.read_text(encoding="utf-8").count("\n") for file in REFERENCE.glob("scenario*.md")}
    assert len(lengths) > 10
    assert {name: lines for name, lines in lengths.items() if lines > 600} == {}


def test_addresses_into_the_reference_as_one_page_still_lead_to_each_table() -> None:
    index = (REFERENCE / "scenario.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((scenario-[a-z]+\.md)#([^)]+)\)", index.partition("\n## [")[2])
    parts = {re.sub(r"\W+", "-", title.lower()) for title in re.findall(r"^## \[([^\]]+)\]", index, re.MULTILINE)}
    assert len(links) > 80
    assert {name for _, name in links} == set(re.findall(r'<a id="([^"]+)">', index)) | {
        name for _, name in links if name in parts
    }
    for name in ("queue", "loss", "trace", "udp", "middlebox", "tcp", "link", "quantities"):
        assert name in {anchor for _, anchor in links}


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("starlink", "links"),
        ("duplex", "links"),
        ("voip", "applications"),
        ("bufferbloat", "queues"),
        ("pep", "middleboxes"),
    ],
)
def test_a_word_that_people_look_for_is_on_the_page_that_has_it(word: str, part: str) -> None:
    found = {
        file.stem.removeprefix("scenario-")
        for file in REFERENCE.glob("scenario-*.md")
        if re.search(rf"other words.*?\b{word}\b.*?\n\n", file.read_text(encoding="utf-8"), re.IGNORECASE | re.DOTALL)
    }
    assert found >= {part}
