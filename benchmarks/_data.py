"""The input of the benchmarks: the same rows for everyone, made once.

Row *i* is ``(key = i * 7919 mod keys, value = i mod 1000, ts = i)``: every key occurs once in any
``keys`` consecutive rows, so each micro-batch touches all of the state. The rows lie in Parquet
files of 200 000, in row groups of 100 000; an input of fewer events consists of the first of the
very same files, by hard link.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

FILE_ROWS = 200_000
GROUP_ROWS = 100_000
_STEP = 7919
#: Rows of a key in one of its turns, and turns until it is the same keys' again.
BURST = 10
_TURNS = 20


def keys_of(first: int, rows: int, keys: int) -> npt.NDArray[np.int64]:
    """The key column of ``rows`` rows from row ``first`` on."""
    return (np.arange(first, first + rows, dtype=np.int64) * _STEP) % keys


def bursts_of(first: int, rows: int, keys: int) -> npt.NDArray[np.int64]:
    """The same where a twentieth of the keys take turns, each with :data:`BURST` rows a turn."""
    at = np.arange(first, first + rows, dtype=np.int64)
    active = keys // _TURNS
    turn = at // (active * BURST) % _TURNS
    return at * _STEP % active + turn * active


def bursts(events: int, keys: int) -> int:
    """How many turns of a key there are in the first ``events`` rows."""
    active = keys // _TURNS
    whole, rest = divmod(events, active * BURST)
    return whole * active + min(rest, active)


def table(first: int, rows: int, keys: int, bursts: bool = False) -> pa.Table:
    """``rows`` rows from row ``first`` on."""
    at = np.arange(first, first + rows, dtype=np.int64)
    key = (bursts_of if bursts else keys_of)(first, rows, keys)
    return pa.table({"key": key, "value": at % 1000, "ts": at})


def values(events: int) -> int:
    """What the values of the first ``events`` rows add up to."""
    whole, rest = divmod(events, 1000)
    return whole * 499_500 + rest * (rest - 1) // 2


def whole_files(events: int) -> int:
    """``events``, rounded up to whole files."""
    return -(-events // FILE_ROWS) * FILE_ROWS


def parquet(root: Path, events: int, keys: int, bursts: bool = False) -> Path:
    """A directory of Parquet files with the first ``events`` rows."""
    kind = "bursts" if bursts else "keyed"
    pool = root / f"{kind}-{keys}-keys-{FILE_ROWS}-a-file"
    view = root / f"{kind}-{keys}-keys-{events}-events"
    pool.mkdir(parents=True, exist_ok=True)
    view.mkdir(exist_ok=True)
    for first in range(0, events, FILE_ROWS):
        file = pool / f"part-{first // FILE_ROWS:05d}.parquet"
        if not file.exists():
            draft = file.with_suffix(".draft")
            pq.write_table(table(first, FILE_ROWS, keys, bursts), draft, row_group_size=GROUP_ROWS)
            draft.replace(file)
        if not (view / file.name).exists():
            os.link(file, view / file.name)
    return view


def csv(root: Path, events: int, keys: int, bursts: bool = False) -> Path:
    """The same rows as CSV without a header, for engines that have no Parquet reader; ``events``
    may be anything here."""
    kind = "bursts" if bursts else "keyed"
    view = root / f"{kind}-{keys}-keys-{events}-events-csv"
    view.mkdir(parents=True, exist_ok=True)
    bare = pyarrow.csv.WriteOptions(include_header=False)
    files = sorted(parquet(root, whole_files(events), keys, bursts).iterdir())
    for number, file in enumerate(files):
        target = view / f"{file.stem}.csv"
        if not target.exists():
            draft = view / f".{target.name}"
            rows = pq.read_table(file).slice(0, events - number * FILE_ROWS)
            pyarrow.csv.write_csv(rows, draft, bare)
            draft.replace(target)
    return view


def small_files(root: Path, files: int, rows: int, groups: int, keys: int) -> Path:
    """``files`` Parquet files of ``rows`` rows in ``groups`` row groups each, in one directory."""
    view = root / f"small-{keys}-keys-{files}-files-{rows}-rows-{groups}-groups"
    view.mkdir(parents=True, exist_ok=True)
    for at in range(files):
        target = view / f"part-{at:05d}.parquet"
        if not target.exists():
            draft = target.with_suffix(".draft")
            rows_of_group = -(-rows // groups)
            pq.write_table(table(at * rows, rows, keys), draft, row_group_size=rows_of_group)
            draft.replace(target)
    return view


def checksum(events: int, keys: int) -> int:
    """What the counts of a running count per key add up to, over ``events`` events."""
    total = np.zeros(keys, dtype=np.int64)
    for first in range(0, events, FILE_ROWS):
        rows = min(FILE_ROWS, events - first)
        total += np.bincount(keys_of(first, rows, keys), minlength=keys)
    return int((total * (total + 1) // 2).sum())
