"""Documents: every link leads somewhere, and prose is broken at 120 characters."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WRAP = ROOT / "scripts" / "wrap-markdown"
#: Without the repository's list there is nothing to check.
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout of git")


def documents() -> list[Path]:
    """The Markdown files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def prose(file: Path) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(file: Path) -> set[str]:
    """The anchors of a document's headings, as forges make them."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(file), flags=re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = "".join(c for c in text if c.isalnum() or c in " -_").replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


def broken(file: Path) -> list[str]:
    """Links of a document that lead nowhere, or have not the form of an address."""
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(file)):
        if re.match(r"https?://", link):
            if not re.fullmatch(r"https?://[\w.-]+\.\w+(/[\w./~%?=&#+-]*)?", link):
                wrong.append(link)
            continue
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(file.parent / path)) if path else file
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


def test_every_link_leads_somewhere():
    assert {file.name: links for file in documents() if (links := broken(file))} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# One\n\n# One\n")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#one-1) [b](other.md#two) [c](none.md) [d](https://a.org/b) [e](https://a,org)\n")
    assert broken(page) == ["other.md#two", "none.md", "https://a,org"]


def test_no_line_of_prose_is_too_long():
    done = subprocess.run([sys.executable, WRAP, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""


def test_wrapping_leaves_code_tables_and_lists(tmp_path):
    long = "word " * 30
    text = f"Text.\n\n    {long}\n\n* {long}\n\n  {long}\n\n| {long} |\n\n```\n{long}\n```\n\nshort\nlines\n"
    page = tmp_path / "page.md"
    page.write_text(text)
    subprocess.run([sys.executable, WRAP, page], check=True, capture_output=True)
    item = " ".join(["word"] * 23)
    rest = " ".join(["word"] * 7)
    folded = f"* {item}\n  {rest}\n\n  {item}\n  {rest}\n"
    assert page.read_text() == text.replace(f"* {long}\n\n  {long}\n", folded)


def rows_of(file: Path, heading: str = "") -> list[list[str]]:
    """The cells of the tables of a document, of one section or of all; without their heads."""
    text = file.read_text(encoding="utf-8")
    if heading:
        text = text.partition(f"## {heading}\n")[2].partition("\n#")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


STUDIES = sorted(ROOT.glob("docs/studies/*.md"))


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_no_cell_of_a_study_is_longer_than_120_characters(file):
    # A link's address and marks of emphasis are not read.
    shown = [re.sub(r"\]\([^)]*\)|[*`\[]", "", cell) for row in rows_of(file) for cell in row]
    assert [cell for cell in shown if len(cell) > 120] == []


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_each_claim_has_a_verdict_and_a_whole_sentence(file):
    claims = rows_of(file, "What was claimed, and what held")[1:]
    verdicts = {"confirmed", "**refuted**", "*depends*", "not run"}
    assert [row for row in claims if row[1] not in verdicts or any("…" in cell for cell in row)] == []


def packed() -> dict[str, list[str]]:
    """The documents that `make deb` packs, by package."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    shared = re.search(r"^DEB_DOCUMENTS := (.*)$", recipe, flags=re.MULTILINE)[1].split()
    lines = re.findall(r"scripts/package-documents (\S+) (.*) \$\(DEB_DOCUMENTS\)$", recipe, flags=re.MULTILINE)
    return {folder.rpartition("/")[2]: [*expanded(own), *shared] for folder, own in lines}


def expanded(words: str) -> list[str]:
    """The names of files, with those that a shell finds for a pattern."""
    return [file.relative_to(ROOT).as_posix() for word in words.split() for file in sorted(ROOT.glob(word))]


@pytest.mark.parametrize("package", ["longhaul-emu", "longhaul-pep"])
def test_links_of_packed_documents_lead_somewhere(package, tmp_path):
    script = ROOT / "scripts/package-documents"
    subprocess.run([sys.executable, script, tmp_path, *packed()[package]], cwd=ROOT, check=True)
    files = sorted(tmp_path.glob("*.md"))
    assert len(files) >= 3
    assert {file.name: links for file in files if (links := broken(file))} == {}


def test_a_link_to_what_a_package_lacks_becomes_its_text(tmp_path):
    (tmp_path / "two.md").write_text("# Two\n")
    page = tmp_path / "one.md"
    page.write_text("[a](two.md#two) [b](three.md) [![c](d.png)](https://a.org/b) [`e`](https://a.org)\n")
    script = ROOT / "scripts/package-documents"
    subprocess.run([sys.executable, script, tmp_path / "out", page, tmp_path / "two.md"], check=True)
    assert (tmp_path / "out/one.md").read_text() == "[a](two.md#two) b [c](https://a.org/b) [`e`](https://a.org)\n"
    absent = subprocess.run([sys.executable, script, tmp_path, tmp_path / "no.md"], capture_output=True, text=True)
    assert absent.returncode == 1
    assert absent.stderr == f"error: {tmp_path / 'no.md'}: no such document\n"


FIGURES = ROOT / "scripts/make-figures"


def test_figures_that_stand_twice_are_those_of_the_file():
    done = subprocess.run([sys.executable, FIGURES, "--check"], capture_output=True, text=True)
    assert done.stdout + done.stderr == ""


def test_the_speed_against_ns2_is_the_range_of_its_table():
    ratios = [
        float(row[5].split()[0])
        for row in rows_of(ROOT / "docs/benchmarks.md", "Speed and memory")
        if re.match(r"\d", row[5])
    ]
    assert len(ratios) == 10
    with open(ROOT / "docs/measured.toml", "rb") as file:
        stated = tomllib.load(file)["speed-against-ns2"]["value"]
    assert stated == f"{min(ratios)} to {max(ratios)}"


def test_another_figure_is_found_and_put_right(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/measured.toml").write_text(
        '[speed]\nvalue = "7"\nmeasured = "a table"\ncommand = "make bench"\n'
        'places = [["a.md", "it is {} times faster"], ["b.md", "it is {} times"]]\n'
    )
    (tmp_path / "a.md").write_text("# A\n\nWe say it is 6\ntimes faster.\n")
    (tmp_path / "b.md").write_text("Nothing of it.\n")
    write = runpy.run_path(str(FIGURES))["write"]
    wrong = [
        "a.md has '6' where docs/measured.toml has '7' (speed): run scripts/make-figures",
        "b.md: 0 places have the words 'it is {} times'; there should be one (speed of docs/measured.toml)",
    ]
    assert write(tmp_path, check=True) == wrong
    assert write(tmp_path, check=False) == wrong[1:]
    assert (tmp_path / "a.md").read_text() == "# A\n\nWe say it is 7\ntimes faster.\n"
