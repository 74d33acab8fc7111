"""The wire form of a batch: one binary value that Spark shuffles without looking inside.

Columns travel as Arrow IPC, Python objects as one pickle of the whole list; the times beside them
as raw numpy bytes. Every blob begins with its format version.

Pickling is safe here: a blob lives inside one micro-batch of one job, between workers that already
run the same user's code.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import ScurryError, TypeMismatchError, shorten
from scurry.common.pickling import dumps
from scurry.runtime.batch import Batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.failures import ElementFailed

_VERSION = 1
_TIMES = ("ts", "wm", "pos", "tick")


def encode_batch(batch: Batch) -> bytes:
    """``batch`` as bytes, as columns if it is held that way."""
    times = tuple(_raw(getattr(batch, name)) for name in _TIMES)
    keys = _raw(batch.key_column) or _pack_keys(batch.keys)
    if batch.columns is None:
        return _dumps((_VERSION, None, batch.rows, keys, times))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.columns.schema) as writer:
        writer.write_batch(batch.columns)
    form = "rows" if batch.codec is None else batch.codec.form
    return _dumps((_VERSION, form, sink.getvalue().to_pybytes(), keys, times))


def decode_batch(blob: bytes) -> Batch:
    """The batch behind :func:`encode_batch`'s bytes."""
    version, form, content, keys, times = pickle.loads(blob)
    if version != _VERSION:
        raise ScurryError(f"A blob of format {version} met Scurry's format {_VERSION}.")
    if form is None:
        batch = Batch(content)
    else:
        columns = next(iter(pa.ipc.open_stream(content)))
        codec = ElementCodec.of_form(form, columns.schema)
        batch = Batch(None, columns=columns, codec=codec)
    if isinstance(keys, bytes):
        batch.key_column = np.frombuffer(keys, dtype=np.int64)
    elif keys is not None:
        batch.keys = list(keys)
    for name, raw in zip(_TIMES, times, strict=True):
        if raw is not None:
            setattr(batch, name, np.frombuffer(raw, dtype=np.int64))
    return batch


def _dumps(content: tuple[Any, ...]) -> bytes:
    try:
        return dumps(content)
    except Exception:
        culprit = _unsendable(content[2] if content[1] is None else ())
        if culprit is None:
            raise
        raise ElementFailed(culprit[0]) from TypeMismatchError(
            f"{shorten(culprit[0])} of type {type(culprit[0]).__name__} cannot travel between "
            f"operators: {culprit[1]}. Emit plain data (numbers, strings, tuples, dataclasses), "
            "not open files, locks or connections."
        )


def _unsendable(rows: Iterable[Any]) -> tuple[Any, Exception] | None:
    """The first of ``rows`` that cannot be pickled, and why."""
    for row in rows:
        try:
            dumps(row)
        except Exception as reason:
            return row, reason
    return None


def _raw(column: Any) -> bytes | None:
    return None if column is None else np.ascontiguousarray(column, dtype=np.int64).tobytes()


def _pack_keys(keys: list[Any] | None) -> Any:
    """Integer keys, the common case, travel as eight bytes each."""
    if keys and type(keys[0]) is int and set(map(type, keys)) == {int}:
        try:
            return np.array(keys, dtype=np.int64).tobytes()
        except OverflowError:
            return keys
    return keys
