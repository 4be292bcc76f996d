"""Pages of the documentation site that are not in docs/: the front page, what lies at the root, the notebooks with their outputs, and a
gallery of reports that the build has made (`make gallery`). Links between them are turned into links of the site.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from longhaul import usage
from longhaul.plots import lines
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "out" / "gallery"
#: What `make notebooks` has written.
NOTEBOOKS = ROOT / "out" / "notebooks"
#: The front page, the style and the mark.
FRONT = ROOT / "site"

#: Files outside docs/ that are pages, and their names on the site.
PAGES = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benches/ns2/README.md": "ns2.md",
}
#: Pictures that stand for pages of the site: on the site, links go to these.
SHOWN = {"docs/images/report-1400.png": "gallery.md"}
#: What a link to a file leads to that is no page: its text alone remains.
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages, the style and the gallery's files."""
    files.append(File.generated(config, "index.md", content=_front()))
    for file in (*FRONT.glob("*.svg"), *FRONT.glob("*.css")):
        files.append(File.generated(config, f"site/{file.name}", abs_src_path=str(file)))
    for source, name in PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_relinked(content, Path(source).parent, Path())))
    for file in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        made = NOTEBOOKS / f"{file.stem}.md"
        text = made.read_text(encoding="utf-8") if made.is_file() else f"# {file.stem}\n\nRun `make notebooks`.\n"
        files.append(File.generated(config, f"notebooks/{made.name}", content=text))
    for picture in NOTEBOOKS.glob("*.svg"):
        files.append(File.generated(config, f"notebooks/{picture.name}", abs_src_path=str(picture)))
    for page in files.documentation_pages():
        if page.generated_by is None:
            text = Path(str(page.abs_src_path)).read_text(encoding="utf-8")
            here = Path(page.src_uri).parent
            page.content_string = _relinked(text, Path("docs") / here, here)
    files.append(File.generated(config, "gallery.md", content=_gallery(files, config)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Puts the reference of scenarios before other pages that have the word that is searched for."""
    if page.file.src_uri.startswith("reference/scenario-"):
        page.meta["search"] = {"boost": 4}
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Short options do not break behind their dashes."""
    return re.sub(r"<code>(-[^<]{1,28})</code>", r'<code class="option">\1</code>', html)


def _front() -> str:
    """The front page: its text with what README.md and the report beside it have."""
    text = _relinked((FRONT / "index.md").read_text(encoding="utf-8"), Path("site"), Path())
    return text.replace("{{compared}}", compared()).replace("{{measured}}", _measured("geo-one-flow"))


def compared() -> str:
    """The table of other programs in README.md, with links of the site."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## Compared with other programs\n.*?^(\|.*?)\n\n", readme, re.MULTILINE | re.DOTALL)
    if not found:
        raise PluginError('README.md has no table under "Compared with other programs"; the front page shows it')
    return _relinked(found[1], Path(), Path())


def _measured(name: str) -> str:
    """What the first flow of a report in the gallery has, and what limited it, as a part of a sentence."""
    summary = GALLERY / name / "summary.json"
    if not summary.is_file():
        return "what the report has"
    flow = json.loads(summary.read_text(encoding="utf-8"))["flows"][0]
    most = sorted(usage.by_time(flow).items(), key=lambda item: -item[1])[:3]
    shares = ", ".join(f"{usage.NAMES.get(limit, limit)} {share:.0%}".replace("%", " %") for limit, share in most)
    return f"{flow['metrics']['goodput_bps'] / 1e6:.1f} Mbit/s. Its time: {shares}"


def _relinked(text: str, source: Path, target: Path) -> str:
    """The text with links that lead, from a file in the folder `source`, to where things are on the site for a page in `target`."""

    def replace(match: re.Match[str]) -> str:
        image, words, link = match.groups()
        path, _, anchor = link.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        place = _normal(source / path)
        page = PAGES.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else None)
        if not image and place in SHOWN:
            return f"[{words}]({'../' * len(target.parts)}{SHOWN[place]})"
        if page is None or not (ROOT / place).is_file():
            return words if (ROOT / place).exists() and not image else match[0]
        up = "../" * len(target.parts)
        return f"{image}[{words}]({up}{page}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else LINK.sub(replace, part) for index, part in enumerate(parts))


def _normal(path: Path) -> str:
    """The path without `..`, from the root."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _gallery(files: Files, config: Any) -> str:
    """The page of the gallery, and its files: a report and a figure for each example."""
    text = [
        "# Gallery",
        "",
        "Each report is one HTML file, made by `longhaul run examples/NAME.toml --report` with this version.",
        "",
    ]
    for folder in sorted(GALLERY.glob("*/report.html")):
        name = folder.parent.name
        scenario = tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8"))
        files.append(File.generated(config, f"gallery/{name}.html", abs_src_path=str(folder)))
        text += [f"## {scenario['name']}", "", scenario.get("description", ""), ""]
        for figure in sorted(folder.parent.glob("plots/*.png"))[:1]:
            files.append(File.generated(config, f"gallery/{name}.png", abs_src_path=str(figure)))
            flows = json.loads((folder.parent / "summary.json").read_text(encoding="utf-8"))["flows"]
            # Of many flows the figure is a map, which is not turned over in the dark.
            kind = "{ .map }" if len(flows) > lines.FEW else ""
            text += [f"[![{scenario['name']}](gallery/{name}.png){kind}](gallery/{name}.html)", ""]
        text += [f"[The report](gallery/{name}.html), from `examples/{name}.toml`", ""]
    if len(text) == 4:
        text.append("No report has been made yet: run `make gallery`.")
    return "\n".join(text)
