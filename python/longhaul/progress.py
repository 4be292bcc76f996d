"""Progress bars: simulated time, speed and time left of a run; runs done, running and time left of a sweep; figures of a report; runs of advice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from . import core
from .sweep import SweepProgress
from .sweep.execute import Observer
from .units import counted

#: Called with the number of figures that are drawn and of all.
Drawing = Callable[[int, int], None]

#: A run that is over before this shows no bar.
_PATIENCE_S = 0.3
#: Without a terminal, a line appears every so many seconds.
_LINE_S = 10.0


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=console,
        transient=True,
    )


@contextmanager
def of_run(console: Console, shown: bool, label: str) -> Iterator[tuple[core.ProgressCallback | None, Drawing | None]]:
    """A bar for one run: simulated time, simulated seconds per second, events per second. And one for its report's figures."""
    if not shown:
        yield None, None
        return
    began = time.monotonic()
    if not console.is_terminal:
        last = began

        def noted(now: float, duration: float, _events: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_S:
                last = time.monotonic()
                console.print(f"{label}: {now:,.0f} of {duration:,.0f} s after {last - began:.0f} s", markup=False)

        yield noted, None
        return
    with _bar(console) as bar:
        task = bar.add_task(label, total=1.0, state="", visible=False)

        def told(now: float, duration: float, events: int) -> None:
            elapsed = time.monotonic() - began
            state = (
                f"{now:,.0f} of {duration:,.0f} s   {now / elapsed:,.0f} s/s   {events / elapsed / 1e6:.2f} M events/s"
            )
            bar.update(task, completed=now / duration, state=state, visible=elapsed > _PATIENCE_S)

        yield told, _figures(bar)


@contextmanager
def of_sweep(
    console: Console, shown: bool, label: str, before: str | None = None
) -> Iterator[tuple[Observer | None, Drawing | None]]:
    """A bar for a sweep: runs done, running, failed, events per second, and the time left. And one for its report's figures.

    `before` is what happens until the first run can begin, if that takes seconds.
    """
    if not shown:
        yield None, None
        return
    if not console.is_terminal:
        if before:
            console.print(before, markup=False)
        yield _lines(console, label), None
        return
    with _bar(console) as bar:
        task = bar.add_task(before or label, total=1.0, state="")
        began = time.monotonic()

        def observe(progress: SweepProgress) -> None:
            speed = progress.events / (time.monotonic() - began) / 1e6
            state = f"{progress.finished} of {progress.total} runs, {len(progress.running)} running   {speed:.2f} M events/s"
            if progress.again:
                state += f", {progress.again} tried again"
            if progress.failed:
                state += f", {progress.failed} failed"
            bar.update(task, description=label, completed=progress.fraction, state=state)

        yield observe, _figures(bar)


def _lines(console: Console, label: str) -> Observer:
    """For logs: a line every ten seconds with how many runs are done."""
    began = last = time.monotonic()

    def observe(progress: SweepProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _LINE_S:
            return
        last = now
        left = (now - began) * (1 / progress.fraction - 1) if progress.fraction > 0.01 else None
        rest = f", about {left:,.0f} s left" if left is not None else ""
        failed = f", {progress.failed} failed" if progress.failed else ""
        console.print(f"{label}: {progress.finished} of {progress.total} runs{failed}{rest}", markup=False)

    return observe


@contextmanager
def of_advice(
    console: Console, shown: bool, label: str = "trying remedies"
) -> Iterator[Callable[[int, str], None] | None]:
    """How many runs were made, and the last one: in a line that vanishes, or, for logs, in a line every ten seconds."""
    if not shown:
        yield None
        return
    if console.is_terminal:
        with console.status(label) as status:
            yield lambda runs, title: status.update(f"{label}: {counted(runs, 'run')}, {escape(title[:70])}")
        return
    began = last = time.monotonic()

    def noted(runs: int, title: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_S:
            last = time.monotonic()
            console.print(f"{label}: {counted(runs, 'run')} after {last - began:.0f} s, {title[:70]}", markup=False)

    yield noted


@contextmanager
def of_report(console: Console, shown: bool) -> Iterator[Drawing | None]:
    """A bar for the figures of a report."""
    if not (shown and console.is_terminal):
        yield None
        return
    with _bar(console) as bar:
        yield _figures(bar)


def _figures(bar: Progress) -> Drawing:
    """Counts the figures of a report in a line of their own, from the first one on."""
    tasks: list[TaskID] = []

    def drawing(done: int, total: int) -> None:
        if not tasks:
            tasks.append(bar.add_task("drawing", total=total, state=""))
        bar.update(tasks[0], completed=done, state=f"{done} of {total} figures")

    return drawing
