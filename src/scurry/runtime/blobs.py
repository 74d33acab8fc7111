"""Blobs: a batch as one binary value, which Spark shuffles without looking inside.

A router calls :func:`encode_batch` for the records that it has gathered for a slot; the host of the
slot calls :func:`decode_batch`. Records that are held as columns are written as Arrow IPC, Python
objects as one pickle of the whole list. Keys and times are packed by
:mod:`scurry.runtime.packed_longs`; the kinds of changes are a byte each, if they are not all
insertions. The first value in a blob is the version of its format.

Reading a pickle runs code that the pickle names. That is safe here: a blob exists within one
micro-batch of one job, and its sender and receiver run the same user's code anyway.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import ScurryError, TypeMismatchError, shorten
from scurry.common.pickling import dumps
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columns import ElementCodec
from scurry.runtime.failures import ElementFailed
from scurry.runtime.kinds import only_changes
from scurry.runtime.packed_longs import LongsPacker, LongsReader, pack_fields, unpack_fields

_VERSION = 3
_KEYS = "key_column"
_TIMES = ("ts", "wm", "pos", "tick")


def encode_batch(batch: Batch) -> bytes:
    """``batch`` as a blob. Raises :class:`ElementFailed` with the first record that cannot be
    pickled."""
    longs = LongsPacker(batch.columns)
    column = batch.key_column
    if column is None:
        column = _whole_numbers(batch.keys)
    keys = batch.keys if column is None else None
    times = longs.pack(_KEYS, column), *(longs.pack(name, getattr(batch, name)) for name in _TIMES)
    kinds = only_changes(batch.kind_column)
    beside = keys, times, None if kinds is None else kinds.tobytes()
    if batch.columns is None:
        return _dumps((_VERSION, None, batch.rows, *beside))
    steps, rest = pack_fields(batch.columns)
    content = steps, batch.columns.schema.serialize().to_pybytes(), _ipc(rest)
    form = "rows" if batch.codec is None else batch.codec.form
    return _dumps((_VERSION, form, content, *beside))


def decode_batch(blob: bytes) -> Batch:
    """The batch that :func:`encode_batch` made ``blob`` of."""
    version, *rest = pickle.loads(blob)
    if version != _VERSION:
        raise ScurryError(f"A blob of format {version} met Scurry's format {_VERSION}.")
    form, content, keys, times, packed_kinds = rest
    kinds = None if packed_kinds is None else np.frombuffer(packed_kinds, dtype=np.int8)
    if form is None:
        batch = Batch(content, kinds=kinds)
    else:
        steps, schema, others = content
        plain = next(iter(pa.ipc.open_stream(others)))
        columns = unpack_fields(pa.ipc.read_schema(pa.py_buffer(schema)), steps, plain)
        codec = ElementCodec.of_form(form, columns.schema)
        batch = Batch(None, columns=columns, codec=codec, kinds=kinds)
    if keys is not None:
        batch.keys = list(keys)
    longs = LongsReader(batch.columns)
    for name, packed in zip((_KEYS, *_TIMES), times, strict=True):
        found = longs.read(name, packed)
        if found is not None:
            setattr(batch, name, found)
    return batch


def _ipc(columns: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as writer:
        writer.write_batch(columns)
    return bytes(sink.getvalue().to_pybytes())


def _dumps(content: tuple[Any, ...]) -> bytes:
    try:
        return dumps(content)
    except Exception:
        culprit = _unsendable(content[2] if content[1] is None else ())
        if culprit is None:
            raise
        advice = "not open files, locks or connections."
        if isinstance(culprit[0], GeneratorType):
            advice = "not a generator: a function that yields its results is one for flat_map."
        raise ElementFailed(culprit[0]) from TypeMismatchError(
            f"{shorten(culprit[0])} of type {type(culprit[0]).__name__} cannot travel between "
            f"operators: {culprit[1]}. Emit plain data (numbers, strings, tuples, dataclasses), "
            f"{advice}"
        )


def _unsendable(rows: Iterable[Any]) -> tuple[Any, Exception] | None:
    """The first of ``rows`` that cannot be pickled, and the error; None if all can."""
    for row in rows:
        try:
            dumps(row)
        except Exception as reason:
            return row, reason
    return None


def _whole_numbers(keys: list[Any] | None) -> Longs | None:
    """``keys`` as a column of 64-bit numbers; None if not all of them are such integers."""
    if keys and type(keys[0]) is int and set(map(type, keys)) == {int}:
        try:
            return np.array(keys, dtype=np.int64)
        except OverflowError:
            return None
    return None
