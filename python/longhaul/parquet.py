"""Parquet files for the compiled simulator, which has no library for them: time series out, traces in."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Name; numpy's name of the type, or `text`; the bytes; for numbers of which some are missing the bytes of a mask, 1 where there is one;
#: for text, whose numbers (uint32) are positions in it, the list of words.
Column = tuple[str, str, bytes, bytes | None, Sequence[str]]


def write(columns: Sequence[Column]) -> bytes:
    """The content of the Parquet file of a table, compressed with snappy."""
    import polars as pl

    content = io.BytesIO()
    pl.DataFrame([_series(column) for column in columns]).write_parquet(content, compression="snappy")
    return content.getvalue()


def _series(column: Column) -> pl.Series:
    import numpy as np
    import polars as pl

    name, kind, content, mask, words = column
    if kind == "text":
        positions = pl.Series(np.frombuffer(content, dtype="uint32"))
        return pl.Series(name, words, dtype=pl.String).gather(positions)
    series = pl.Series(name, np.frombuffer(content, dtype=kind))
    if mask is None:
        return series
    there = pl.Series(np.frombuffer(mask, dtype="uint8")).cast(pl.Boolean)
    return pl.select(pl.when(there).then(series).alias(name)).to_series()


def read(content: bytes) -> list[tuple[str, list[float | None] | None, str]]:
    """The columns of a Parquet file by name: numbers, or `None` and the name of the type of what they hold instead.

    Raises `ValueError` with the reason, in one line, if it is no whole Parquet file.
    """
    import polars as pl

    try:
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(str(error).splitlines()[0]) from None
    return [
        (series.name, series.cast(pl.Float64).to_list() if series.dtype.is_numeric() else None, str(series.dtype))
        for series in table
    ]
