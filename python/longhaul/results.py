"""The result of one run: its summary, its time series as polars frames, and the ways to look at it."""

from __future__ import annotations

import io
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import forked
from .errors import ResultError, explain_os_error
from .keeping import Kept, files_in, put_into
from .outputs import damage_of, kind_of
from .values import folder, numbers

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from .drawing import Drawing
    from .plots.paper import Paper

#: Columns by which a table is known for what it is.
_COLUMNS = {
    "flows.parquet": ("time_s", "flow", "cwnd_bytes", "goodput_bps"),
    "links.parquet": ("time_s", "link", "queue_packets", "utilisation"),
    "events.parquet": ("time_s", "kind", "flow", "link"),
    "runs.parquet": ("run_id", "cell", "seed"),
    "cells.parquet": ("cell", "metric", "mean"),
}


class Result:
    """A finished run.

    `summary` holds one number per metric and object, in base units (bit/s, s, bytes, packets); `definitions` says
    what each metric is. `flows`, `links`, `events` and `segments` are read from the result directory on request.
    """

    def __init__(
        self,
        summary: dict[str, Any],
        path: Path | None = None,
        keep: Kept | None = None,
        scenario: str | None = None,
    ) -> None:
        """A result from its summary; `path` is its directory, `keep` one that goes away with this object.

        `scenario` is the resolved scenario of a run that is held by the log of a sweep: `path` is a name for it then.
        """
        if scenario is not None:
            self.scenario = scenario
        self._held = scenario
        self.summary = summary
        self._path = None if path is None else folder(path, "path")
        self._keep = keep
        self._carried: dict[str, bytes] | None = None

    @property
    def path(self) -> Path | None:
        """Its directory, as an absolute path, if it has one."""
        if self._carried is not None:
            self._keep, files, self._carried = Kept(), self._carried, None
            self._path = self._keep.path
            put_into(self._path, files)
        return self._path

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: with the files of a directory that only this one keeps."""
        files = files_in(self._keep.path) if self._keep is not None else self._carried
        path = None if files is not None else self._path
        return {"summary": self.summary, "path": path, "files": files, "scenario": self._held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what came; its files are written when they are first read."""
        self.__init__(state["summary"], state["path"], scenario=state["scenario"])  # type: ignore[misc]
        self._carried = state["files"]

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.summary["name"])

    @property
    def is_kept(self) -> bool:
        """Whether its directory stays, and so is a name for it."""
        return self._path is not None and self._keep is None

    @property
    def run_id(self) -> str:
        """Hash of the resolved scenario, the seed and Longhaul's version."""
        return str(self.summary["run_id"])

    @property
    def metrics(self) -> dict[str, float | None]:
        """The metrics of the run as a whole."""
        return dict(self.summary["run"])

    @property
    def definitions(self) -> dict[str, dict[str, str]]:
        """Unit, title and definition of every metric."""
        return dict(self.summary["definitions"])

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Warnings of what silently limits a flow, or makes a number doubtful: `code`, `object`, `message`."""
        return list(self.summary.get("warnings", []))

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario (TOML): every default written out."""
        file = self._file("scenario.toml")
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise ResultError(explain_os_error(error, "read", file)) from None
        except UnicodeDecodeError as error:
            raise ResultError(f"{file} is damaged: not a text in UTF-8 (byte {error.start} cannot be read)") from None

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Time series per flow and sample: cwnd, ssthresh, flight, srtt, RTO, throughput, goodput, retransmissions."""
        return self._table("flows.parquet")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Time series per link direction and sample: queue, utilisation, throughput, arrivals, drops, marks."""
        return self._table("links.parquet")

    @cached_property
    def monitors(self) -> pl.DataFrame:
        """Time series per monitored link, flow and sample: packets and bytes offered and dropped (`run.monitor`)."""
        return self._table("monitors.parquet")

    @cached_property
    def middleboxes(self) -> pl.DataFrame:
        """Time series per middlebox and sample: its buffer, and what it has acknowledged and not delivered."""
        return self._table("middleboxes.parquet")

    @cached_property
    def long_hops(self) -> pl.DataFrame:
        """Time series per end of a connection between the two nodes of a middlebox: cwnd, flight, throughput."""
        return self._table("long_hops.parquet")

    @cached_property
    def cc(self) -> pl.DataFrame:
        """The inside of each flow's congestion control per sample: name, unit, value (`run.inspect = true`)."""
        if not self.has_cc:
            raise ResultError(
                f"{self.path or self.name}: the inside of congestion control was not recorded; set `inspect = true` in [run], or --set run.inspect=true"
            )
        return self._table("cc.parquet")

    @property
    def has_cc(self) -> bool:
        """Whether the inside of congestion control was recorded."""
        return self.path is not None and (self.path / "cc.parquet").exists()

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events with their times: starts, recoveries, timeouts, drops, changes of a link."""
        return self._table("events.parquet")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Every segment of the flows with `trace = true`."""
        if self.path is not None and not (self.path / "segments.parquet").exists():
            raise ResultError(
                f"{self.path}: no flow was traced; set `trace = true` on a flow, or --set flow.0.trace=true"
            )
        return self._table("segments.parquet")

    @property
    def has_segments(self) -> bool:
        """Whether a flow was traced."""
        return self.path is not None and (self.path / "segments.parquet").exists()

    @property
    def has_tables(self) -> bool:
        """Whether the time series were written."""
        return self.path is not None and (self.path / "flows.parquet").exists()

    @cached_property
    def timing(self) -> dict[str, float]:
        """The cost of the run: wall-clock and CPU seconds, packets per CPU-second, peak memory. Not reproducible."""
        try:
            found = read_json(self._file("timing.json"))
        except ResultError:
            return {}
        return {key: float(value) for key, value in found.items() if isinstance(value, int | float)}

    def table(self, objects: str = "flows") -> pl.DataFrame:
        """One row per flow, link or group with its metrics (base units).

        `objects` is "flows", "links", "groups", "middleboxes" or "monitors": one row per flow and monitored link.
        """
        forked.check()
        import polars as pl

        if objects == "monitors":
            pairs = [(link["name"], flow) for link in self.summary["links"] for flow in link.get("monitor", [])]
            found = [{"link": name, "flow": flow["flow"], **flow["metrics"]} for name, flow in pairs]
            return pl.DataFrame(found, infer_schema_length=None)

        if objects not in ("flows", "links", "groups", "middleboxes"):
            raise ValueError(
                f'the tables are "flows", "links", "groups", "middleboxes" and "monitors", not {objects!r}'
            )
        rows = []
        for item in self.summary.get(objects, []):
            row = {key: value for key, value in item.items() if not isinstance(value, dict | list)}
            row |= item.get("metrics", {})
            row |= {f"limited_{key}": value for key, value in item.get("limited", {}).items()}
            row |= {f"predicted_{key}": value for key, value in item.get("predicted", {}).items()}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_pandas(self, objects: str = "flows") -> DataFrame:
        """`table(objects)` as a frame of pandas; raises `ResultError` if pandas is not installed."""
        return as_pandas(self.table(objects))

    def shared_links(self) -> list[tuple[int, dict[str, Any]]]:
        """Index and summary of the links that more than one flow uses (all, if there is none), busiest first."""
        links = list(enumerate(self.summary["links"]))
        links = [pair for pair in links if pair[1]["flows"] > 1] or links
        return sorted(links, key=lambda pair: -(pair[1]["metrics"].get("utilisation") or 0.0))

    def plot(
        self,
        kind: str = "throughput",
        *,
        flows: Sequence[int] | None = None,
        start: float | None = None,
        end: float | None = None,
        paper: Paper | None = None,
    ) -> Figure:
        """A matplotlib figure; `longhaul.plots.KINDS` lists the kinds. Times in s.

        With `paper`, a `longhaul.plots.paper.Paper`, in the form for a paper; `longhaul.plots.save` writes it."""
        from . import plots

        if flows is not None:
            flows = numbers(flows, "flows", "numbers of flows")
        return plots.draw(self, kind, plots.View(flows=flows, start=start, end=end), paper)

    def explain(self, flow: int | str | None = None, *, seconds: float = 30.0) -> str:
        """What limits the flows, as text: for each group the causes whose absence changes what its applications notice.

        Causes are tested by runs without them, for at most `seconds` of wall-clock time; where no second run is possible the text
        states so, and where the time went. `flow` is a flow's number or name, or a group. Raises `ResultError` if there is none.
        """
        from . import explain as explaining

        flows = self.summary["flows"]
        chosen = [one["id"] for one in flows if flow is None or flow in (one["id"], one["name"], one["group"])]
        if not chosen:
            raise ResultError(f"no flow {flow!r}; there are {len(flows)}, from 0 or {flows[0]['name']!r}")
        return explaining.explain_result(self, seconds, lambda _: chosen).text

    def explore(self, height: int = 720) -> Page:
        """The report with figures to explore, for the output of a notebook's cell; `height` in pixels."""
        from . import report

        with tempfile.TemporaryDirectory(prefix="longhaul-") as place:
            file = report.write_run_report(self, Path(place) / "report.html", None, explain_s=0.0)
            return Page(file.read_text(encoding="utf-8"), height)

    def _repr_html_(self) -> str:
        """Key numbers and the explanation, in a notebook."""
        from . import tables

        numbers = "".join(
            f"<tr><td>{escape(title)}</td><td><b>{escape(value)}</b></td></tr>"
            for title, value in tables.key_numbers(self)
        )
        from . import explain as explaining

        lines = [
            f"{one.name}: {one.text}"
            for one in explaining.group_texts(self.summary["flows"], explaining.content_of(self))
        ]
        text = "".join(f"<p>{escape(line)}</p>" for line in lines[:6])
        return f"<b>{escape(self.name)}</b>, seed {self.summary['seed']}<table>{numbers}</table>{text}{self.draw().image()}"

    def draw(self) -> Drawing:
        """The network with its flows, how much of each link was in use, and what limits; a notebook shows it, `save` writes SVG."""
        from . import drawing
        from . import explain as explaining

        return drawing.of_result(self, explaining.content_of(self))

    def report(
        self,
        path: str | Path,
        progress: Callable[[int, int], None] | None = None,
        *,
        force: bool = False,
        explain_s: float | None = None,
    ) -> Path:
        """Writes the report, one HTML file that needs nothing else, and returns its path.

        It begins with what limits the flows, tested for at most `explain_s` seconds of wall-clock time; without a number, if that takes
        less than 1.4 s of processor time. With 0 nothing is tested.

        `progress(done, total)` is called before each figure and at the end. `report.html` in the result's directory is not replaced,
        but by `force`, where it was changed: `OutputError`.
        """
        from . import report

        return report.write_run_report(self, Path(path), progress, force=force, explain_s=explain_s)

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return f"<Result {self.name!r} seed {self.summary['seed']}, run {self.run_id[:12]}{where}>"

    def _file(self, name: str) -> Path:
        if self.path is None:
            raise ResultError("this result was not written to a directory; run with out=DIR")
        if not self.path.is_dir():
            raise ResultError(
                f"{self.path} does not exist here: the result was moved or deleted, or is on another machine"
            )
        return self.path / name

    def _table(self, name: str) -> pl.DataFrame:
        return read_table(self._file(name))


class Page:
    """A page of HTML that a notebook shows in a frame of its own."""

    def __init__(self, html: str, height: int) -> None:
        """`height` in pixels."""
        self.html = html
        self._height = height

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html, quote=True)}" style="width:100%;height:{self._height}px;border:0"></iframe>'


def load_run(directory: Path) -> Result:
    """Reads the result directory of one run; raises `ResultError` if it is not one (a sweep holds several), or damaged."""
    file = directory / "summary.json"
    if not file.exists():
        from .sweep.records import recorded

        if (held := recorded(directory)) is not None:
            return Result(held.content(), directory, scenario=held.scenario.decode())
    require_directory(directory)
    if kind_of(directory) == "sweep":
        raise ResultError(f"{directory} is a sweep; name one of its runs, in {directory / 'runs'}")
    if not file.exists():
        damage = damage_of(directory)
        what = f"a result whose {damage}" if damage else "not the result of a run: it has no summary.json"
        raise ResultError(f"{directory} is {what}")
    return Result(read_summary(file), directory)


def read_summary(file: Path) -> dict[str, Any]:
    """The summary of a run, with all that it has to hold; raises `ResultError`."""
    from . import schemas  # what it is made with takes longer to load than a short run

    return schemas.read_summary(file)


def require_directory(path: Path) -> None:
    """Raises `ResultError` unless there is such a directory."""
    if not path.is_dir():
        raise ResultError(f"{path} is not a directory" if path.exists() else f"{path} does not exist{_meant(path)}")


def _meant(path: Path) -> str:
    """For a directory that does not exist: the newest one next to it with this name and the id of a run."""
    try:
        found = [one for one in path.parent.iterdir() if one.is_dir() and one.name.startswith(f"{path.name}-")]
        newest = max(found, key=lambda one: one.stat().st_mtime, default=None)
    except OSError:
        return ""
    return "" if newest is None else f"; did you mean {newest}?"


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object with anything in it; raises `ResultError`."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(explain_os_error(error, "read", file)) from None
    except RecursionError:
        raise ResultError(f"{file} is damaged: not valid JSON (too many brackets in each other)") from None
    except ValueError as error:
        raise ResultError(f"{file} is damaged: not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise ResultError(f"{file} is damaged: not a JSON object")
    return content


def read_table(file: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A Parquet table from a result directory, or some of its columns.

    Raises `ResultError` if it cannot be read, also in a process without polars' threads.
    """
    forked.check()
    import polars as pl

    if not file.exists():
        series = file.name in ("flows.parquet", "links.parquet", "events.parquet")
        raise ResultError(
            f"{file} is missing" + (": the run was made without time series, or the file was deleted" if series else "")
        )
    try:
        # polars takes no name that Python cannot encode.
        source = file if str(file).isascii() else io.BytesIO(file.read_bytes())
        frame = pl.read_parquet(source, glob=False, columns=list(columns) if columns else None)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ResultError(f"{file} is damaged: not a whole Parquet file ({reason})") from None
    missing = [name for name in _COLUMNS.get(file.name, ()) if name not in frame.columns]
    if missing:
        raise ResultError(f"{file} is damaged: it is another table, without the column {missing[0]!r}")
    return frame


def as_pandas(frame: pl.DataFrame) -> DataFrame:
    """A frame of polars as one of pandas, without pyarrow; raises `ResultError` if pandas is not installed.

    Time series have it too: `as_pandas(result.links)`."""
    try:
        import pandas
    except ImportError:
        raise ResultError("pandas is not installed: pip install pandas, or take the frames of polars") from None
    return pandas.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


def flat_metrics(summary: dict[str, Any]) -> dict[str, float | None]:
    """A run's metrics under flat names: `goodput_bps`, `link.<name>.utilisation`, `group.<name>.goodput_bps`."""
    metrics: dict[str, float | None] = dict(summary["run"])
    for kind, objects in (("link", "links"), ("group", "groups"), ("middlebox", "middleboxes")):
        for item in summary.get(objects, []):
            metrics |= {f"{kind}.{item['name']}.{key}": value for key, value in item["metrics"].items()}
    return metrics


def unit_of(metric: str, definitions: dict[str, dict[str, str]]) -> str:
    """A metric's unit for people: ratios that are shares of something are shown in per cent."""
    unit = definitions.get(metric, {}).get("unit", "")
    return "share" if unit == "" and (metric == "utilisation" or metric.endswith(("_rate", "_share"))) else unit


def number(value: float | None) -> float:
    """A metric as a float; `nan` where it is not defined."""
    return math.nan if value is None else float(value)
