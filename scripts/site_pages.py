"""Pages of the documentation site that are not in docs/: the start page from README.md, what else lies at the root, and a gallery of reports
that the build has made (`make gallery`). Links between them are turned into links of the site.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "out" / "gallery"

#: Files outside docs/ that are pages, and their names on the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benches/ns2/README.md": "ns2.md",
}
#: Pictures that stand for pages of the site: on the site, links go to these.
SHOWN = {"docs/images/report-1400.png": "gallery.md"}
#: What a link to a file leads to that is no page: its text alone remains.
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and the gallery's files."""
    for source, name in PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_relinked(content, Path(source).parent, Path())))
    for page in files.documentation_pages():
        if page.generated_by is None:
            text = Path(str(page.abs_src_path)).read_text(encoding="utf-8")
            here = Path(page.src_uri).parent
            page.content_string = _relinked(text, Path("docs") / here, here)
    files.append(File.generated(config, "gallery.md", content=_gallery(files, config)))
    return files


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
        if page == "STATUS.md" or page is None or not (ROOT / place).is_file():
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
            text += [f"[![{scenario['name']}](gallery/{name}.png)](gallery/{name}.html)", ""]
        text += [f"[The report](gallery/{name}.html), from `examples/{name}.toml`", ""]
    if len(text) == 4:
        text.append("No report has been made yet: run `make gallery`.")
    return "\n".join(text)
