"""The notebooks of the documentation run, and what stands last in a cell can be shown."""

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three_and_they_are_up_to_date():
    assert len(NOTEBOOKS) == 3
    made = subprocess.run([sys.executable, ROOT / "scripts/make-notebooks", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_code_is_no_wider_than_the_page_of_the_site(file):
    """Lines of up to 120 characters went on beyond the edge."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    assert [line for line in code if len(line) > 88] == []


SLOW = [pytest.mark.slow("20 seconds of processor time")]
CASES = [pytest.param(file, id=file.stem, marks=SLOW if file.stem == "what-to-change" else []) for file in NOTEBOOKS]


@pytest.mark.parametrize("file", CASES)
def test_a_notebook_runs(file):
    names: dict[str, object] = {}
    shown = 0
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file.name, "eval"), names)
            if hasattr(value, "_repr_html_"):
                assert "<" in value._repr_html_()
                shown += 1
    assert shown >= 1


def test_a_page_has_what_the_cells_print_and_show(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# A title\n", "A text."]},
        {"cell_type": "code", "source": ["print('a < b')"]},
        {"cell_type": "code", "source": ["import matplotlib.figure\n", "figure = matplotlib.figure.Figure()"]},
        {"cell_type": "code", "source": ["1 + 1"]},
    ]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    page = runpy.run_path(str(ROOT / "scripts/show-notebooks"))["page"](tmp_path / "one.ipynb", tmp_path)
    assert page.startswith("# A title\n\nA text.\n\n[The notebook](one.ipynb)")
    for shown in ("<pre>a &lt; b</pre>", '<img src="one-2-0.svg"', "<pre>2</pre>"):
        assert f'<div class="cell-output">\n{shown}' in page
    assert (tmp_path / "one-2-0.svg").is_file()
