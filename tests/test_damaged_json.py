"""JSON files of results that are damaged, of another version or somebody else's: one message, with the file and the key, from every command."""

from __future__ import annotations

import itertools
import json
import random
import shlex
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import longhaul
import pytest
from conftest import SMALL
from longhaul import LonghaulError, schemas, serving

#: Every command that reads the result of a run; DIR is the damaged one, GOOD another.
OF_A_RUN = (
    "report DIR --out OUT.html", "plot DIR --kind limits,throughput --out OUT", "explain DIR", "explain DIR --json", "compare DIR GOOD",
    "diff DIR GOOD", "diff GOOD DIR", "verify DIR", "report DIR --out OUT.html",
)  # fmt: skip
OF_A_SWEEP = (
    "report DIR --out OUT.html",
    "plot DIR --kind goodput_bps --out OUT",
    "diff DIR GOOD",
    "diff GOOD DIR",
    "verify DIR --sample 1",
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is in JSON: the keys and numbers that lead to it."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        content = content[part]
    return content


def put(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    at(content, path[:-1])[path[-1]] = value
    return content


def taken_out(content: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return {}
    del at(content, path[:-1])[path[-1]]
    return content


#: What becomes of a value somewhere in the file.
VALUES: dict[str, Callable[[Any, tuple[Any, ...]], Any]] = {
    "taken out": taken_out,
    "null": lambda content, path: put(content, path, None),
    "a word": lambda content, path: put(content, path, "word"),
    "an empty word": lambda content, path: put(content, path, ""),
    "a number in quotes": lambda content, path: put(content, path, "12"),
    "true": lambda content, path: put(content, path, True),
    "zero": lambda content, path: put(content, path, 0),
    "less than zero": lambda content, path: put(content, path, -1),
    "a fraction": lambda content, path: put(content, path, 0.5),
    "very large": lambda content, path: put(content, path, 1e300),
    "a large whole number": lambda content, path: put(content, path, 10**30),
    "not a number": lambda content, path: put(content, path, float("nan")),
    "infinite": lambda content, path: put(content, path, float("inf")),
    "an empty list": lambda content, path: put(content, path, []),
    "an empty object": lambda content, path: put(content, path, {}),
    "a list of it": lambda content, path: put(content, path, [at(content, path)]),
    "an object of it": lambda content, path: put(content, path, {"value": at(content, path)}),
    "markup": lambda content, path: put(content, path, "<script>alert(1)</script>"),
    "half a character": lambda content, path: put(content, path, "\ud800"),
}
#: What becomes of the file as a whole.
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "twice": lambda data: data + data,
    "zeros": lambda data: bytes(len(data)),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a mark before it": lambda data: b"\xef\xbb\xbf" + data,
    "not UTF-8": lambda data: data.replace(b'"name"', b'"n\xe4me"', 1),
    "a conflict of git": lambda data: b"<<<<<<< HEAD\n" + data + b"=======\n" + data + b">>>>>>> other\n",
    "a pointer of git-lfs": lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "an app's": lambda _: b'{"name": "app", "icons": [], "start_url": "/"}',
    "a list": lambda _: b"[1, 2, 3]",
    "deep": lambda _: b'{"a":' * 100_000,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a traced flow and a sweep, each twice."""
    root = tmp_path_factory.mktemp("whole")
    for name, seed in (("run", 1), ("good-run", 2)):
        longhaul.run(traced(root), out=root / name, seed=seed)
    for name, seed in (("sweep", 1), ("good-sweep", 5)):
        longhaul.sweep(
            traced(root), root / name, grid={"link.satellite.delay": ["10 ms", "20 ms"]}, replications=2, seed=seed
        )
    return root


def traced(root: Path) -> Path:
    file = root / "scenario.toml"
    file.write_text(
        SMALL.replace('duration = "20 s"', 'duration = "4 s"\ninspect = true\nmonitor = ["satellite"]').replace(
            "count = 3", "count = 2\ntrace = true"
        )
    )
    return file


def damages(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Every damage to the whole, and `count` of each kind to a value, at places drawn at random."""
    draw = random.Random(seed)
    yield from ((name, damage(data)) for name, damage in WHOLE.items())
    content = json.loads(data)
    found = [path for path in places(content) if path and path[0] != "definitions"]
    for name, damage in VALUES.items():
        for path in draw.sample(found, min(count, len(found))):
            changed = damage(json.loads(data), path)
            yield f"{name} at {path}", json.dumps(changed).encode("utf-8", "surrogatepass")


class Damaged:
    """One file of a result in many states of damage, with the commands and the page that read it."""

    def __init__(self, command: Any, served: serving.Server, file: Path, directory: Path, good: Path) -> None:
        self.command, self.served, self.file, self.directory, self.good = command, served, file, directory, good
        self.refused = 0

    def check(self, lines: tuple[str, ...], seed: int, each: int = 1) -> None:
        """Every damage to the whole, one of each kind to a value; for each some of the commands, and a page."""
        data, draw = self.file.read_bytes(), random.Random(seed)
        pages = itertools.cycle(("report?id={0}", "follow?id={0}", "state?id={0}", "compare?a={0}&b={1}"))
        for (what, damaged), page in zip(damages(data, 1, seed), pages, strict=False):
            self.file.write_bytes(damaged)
            for line in draw.sample(lines, min(each, len(lines))):
                self.run(what, line)
            self.look(what, page)
        self.file.write_bytes(data)

    def run(self, what: str, line: str) -> None:
        out = self.directory.parent / "out"
        named = {"DIR": self.directory, "GOOD": self.good, "OUT": out, "OUT.html": out / "report.html"}
        outcome = self.command(*[named.get(word, word) for word in shlex.split(line)])
        where = f"{what}: {line}: {outcome.err}"
        assert outcome.code in (0, 1, 2), where
        if outcome.code == 2:
            assert outcome.err.startswith("error: "), where
            assert outcome.err.count("\n") == 1, where
            assert str(self.directory) in outcome.err, where
            self.refused += 1
        else:
            assert "error" not in outcome.err, where

    def look(self, what: str, page: str) -> None:
        """The list is there whatever happens; a page is shown, or states why not."""
        self.served._scanned = (0.0, [])
        ids = {found.name: found.id for found in self.served.results()}
        for address in ("", page.format(ids.get(self.directory.name, "0"), ids.get(self.good.name, "0"))):
            try:
                with urllib.request.urlopen(self.served.address + address, timeout=60) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                if error.code not in (404, 422):
                    pytest.fail(f"{what}: {address}: {error.read().decode()}")
            except OSError as error:
                pytest.fail(f"{what}: {address}: no answer ({error})")


@pytest.fixture
def damaged(command: Any, whole: Path, tmp_path: Path) -> Iterator[Callable[[str, str], Damaged]]:
    """A copy of a result with a file to damage, by the names of both."""
    with serving.Server(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()

        def make(directory: str, name: str) -> Damaged:
            shutil.copytree(whole / directory, tmp_path / directory)
            shutil.copytree(whole / f"good-{directory}", tmp_path / "good")
            return Damaged(command, server, tmp_path / directory / name, tmp_path / directory, tmp_path / "good")

        yield make
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_summary_is_one_message_from_every_command_and_page(damaged, seed):
    run = damaged("run", "summary.json")
    run.check(OF_A_RUN, seed)
    assert run.refused > 10


def test_a_damaged_manifest_is_one_message_from_every_command_and_page(damaged):
    sweep = damaged("sweep", "manifest.json")
    sweep.check(OF_A_SWEEP, 1)
    assert sweep.refused > 5


@pytest.mark.slow("hundreds of damaged files")
@pytest.mark.parametrize("seed", range(100, 103))
@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("run", "summary.json"),
        ("run", "timing.json"),
        ("run", "longhaul-files.json"),
        ("sweep", "manifest.json"),
        ("sweep", "definitions.json"),
        ("sweep", "longhaul-files.json"),
    ],
)
def test_many_damaged_files(damaged, directory, name, seed):
    damaged(directory, name).check(OF_A_RUN if directory == "run" else OF_A_SWEEP, seed, each=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("groups"), "is damaged: groups is missing"),
        (lambda content: content["links"][0]["metrics"].update(utilisation="x"), "is damaged: links[0].metrics.utilisation has to be a valid number, not 'x'"),
        (lambda content: content["flows"][1].update(data_path=[7]), "is damaged: flows[1].data_path names link 7; there are 2"),
        (lambda content: content.pop("longhaul"), "is not one of Longhaul's: longhaul is missing"),
        (lambda content: (content.update(longhaul="0.0.7"), content.pop("work")), "is of Longhaul 0.0.7, and this is 0.1.0: work is missing"),
    ],
)  # fmt: skip
def test_the_message_names_the_key_and_the_version(whole, tmp_path, change, message):
    file = tmp_path / "summary.json"
    content = json.loads((whole / "run" / "summary.json").read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(LonghaulError) as raised:
        schemas.read_summary(file)
    assert str(raised.value) == f"{file} {message}"


def test_every_key_that_a_summary_has_is_named_in_the_schema(whole):
    """What is not named is not checked: a new key of the simulator's goes into the schema too."""

    def unnamed(content: Any, kind: Any, path: str) -> Iterator[str]:
        names = getattr(kind, "__annotations__", None)
        if isinstance(content, list):
            for item in content[:1]:
                yield from unnamed(item, kind, path)
        elif isinstance(content, dict) and names is not None:
            for key, value in content.items():
                if key not in names and key not in ("from", "name"):
                    yield f"{path}.{key}"
                inner = [one for one in kinds if one.__name__ in str(names.get(key))]
                for one in inner[-1:]:
                    yield from unnamed(
                        list(value.values()) if one is schemas.Definition else value, one, f"{path}.{key}"
                    )

    kinds = (
        schemas.Link,
        schemas.Group,
        schemas.Flow,
        schemas.PathUse,
        schemas.MonitoredFlow,
        schemas.Node,
        schemas.Warned,
        schemas.Definition,
    )
    content = schemas.read_summary(whole / "run" / "summary.json")
    assert list(unnamed(content, schemas.Summary, "")) == []
