"""Commands `longhaul ...` that stand in documents, examples and messages."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Where a command in the text of a message or an example ends.
_END = re.compile(r"`|;|\)|, |\n|\s\(|\. |\.$| # | {3,}| does it| shows what")
_INLINE = re.compile(r"`(longhaul [a-z-][^`]*)`")


def in_documents() -> Iterator[tuple[str, str]]:
    """Of the README, the front page and docs/: file and command. The reference of commands is made from the commands themselves."""
    for file in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "site/index.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]:
        if file.parent.name == "reference":
            continue
        yield from ((file.relative_to(ROOT).as_posix(), command) for command in of_markdown(file.read_text("utf-8")))


def of_markdown(text: str) -> Iterator[str]:
    """The commands of a document: those of its blocks of code, with their continued lines, and those within a sentence."""
    fenced, block = False, ""
    prose: list[str] = []
    for line in re.sub(r" \\\n\s*", " ", text).split("\n"):
        if line.lstrip().startswith("```"):
            fenced, block = not fenced, line.strip().removeprefix("```") if not fenced else ""
            continue
        code = (fenced and block in ("", "console", "sh", "bash")) or (not fenced and line.startswith("    "))
        prose.append("" if code or fenced else line)
        if code and (found := re.match(r"\s*(?:\$ |sudo )*(longhaul [a-z-].*)$", line)):
            yield found.group(1)
    # A command goes on in the next line within a paragraph.
    for paragraph in "\n".join(prose).split("\n\n"):
        yield from (" ".join(command.split()) for command in _INLINE.findall(paragraph.replace("\n", " ")))


def in_examples() -> Iterator[tuple[str, str]]:
    """Of the comments of example files."""
    for file in sorted((ROOT / "python/longhaul/examples").glob("*.toml")):
        text = re.sub(r"\\\n#\s*", " ", file.read_text("utf-8"))
        for line in re.findall(r"^#\s+(longhaul [a-z-].*)$", text, re.MULTILINE):
            yield file.relative_to(ROOT).as_posix(), re.split(r"\s{2,}\(", line)[0]


def in_messages() -> Iterator[tuple[str, str]]:
    """Of the texts in the Python sources; what a message fills in is `RESULT`."""
    for file in sorted((ROOT / "python").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
        pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in (node for node in nodes if id(node) not in pieces):
            for found in re.finditer(r"longhaul [a-z-]+", text := _text(node)):
                if text[: found.start()].endswith(("import ", "from ", "python -m ", "called ")):
                    continue
                command = _END.split(text[found.start() :], maxsplit=1)[0]
                yield file.relative_to(ROOT).as_posix(), command.strip(" '\"")


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "RESULT" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def words(command: str) -> list[str]:
    """The arguments behind `longhaul`, up to a pipe, a redirection or a comment."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found = []
    for word in lexer:
        if word[:1] in "|&;<>":
            break
        if word not in ("…", "..."):
            found.append(word)
    return found[1:]
