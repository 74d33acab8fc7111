"""What a checkpoint holds, for people: read from its JSON files alone.

Nothing is unpickled, decompressed or executed, and nothing is written, so that it is safe to look
at a directory that somebody else has made, and at one in which a job is running. State itself is
not read: how many records and bytes each state has, the epochs say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.lease import Holder, World
from scurry.checkpoint.stored import (
    CheckpointContents,
    StoredOperator,
    StoredSink,
    StoredSource,
    StoredState,
)
from scurry.common.any_paths import AnyPath, ObjectPath
from scurry.common.errors import StateError
from scurry.common.object_store import StoreSettings
from scurry.functions.history import History
from scurry.runtime.sinks import SinkOperator
from scurry.state.codecs.schema import name_of
from scurry.state.inventory import OperatorRecord


def read_contents(location: str, store: StoreSettings | None = None) -> CheckpointContents:
    """What the checkpoint in ``location`` holds; raises :class:`StateError` if there is none.
    ``store`` says how the object store of a URL is reached."""
    directory = JobDirectory(location, store)
    root = directory.root
    if not directory.manifest.checkpoint_id:
        raise StateError(
            f"{root} is neither a checkpoint nor a savepoint: there is no job.json in it. Give the "
            "directory that execution.checkpointing.dir names, or the path that `scurry savepoint "
            "create` printed."
        )
    manifest, generation = directory.manifest, directory.generation
    epoch = directory.last_epoch()
    batch = -1 if epoch is None else epoch.batch
    pending = directory.pending_plan(batch)
    known = epoch if epoch is not None else Epoch(-1, {}, [])
    records = known.inventory
    lease, holder = directory.holder() or (None, None)
    history = History(known.history, batch)
    return CheckpointContents(
        directory=str(root),
        checkpoint_id=manifest.checkpoint_id,
        job=manifest.name,
        format=manifest.version,
        writer=manifest.writer,
        parallelism=generation.parallelism,
        max_parallelism=generation.max_parallelism,
        stages=generation.stages,
        generation=generation.number,
        batch=batch,
        now=None if epoch is None else epoch.now,
        pending=None if pending is None else pending[0],
        sources=list(_sources(known)),
        operators=[
            _operator(uid, record, generation.operators.get(uid))
            for uid, record in records.items()
            if uid not in known.positions and not _is_sink(record)
        ],
        sinks=[
            StoredSink(uid=uid, name=record.name, batch=batch, branch=history.token(batch))
            for uid, record in records.items()
            if _is_sink(record)
        ],
        branches=history.branches,
        lease=lease,
        holder=holder,
        held=is_held(directory.holder()),
        disk=disk_usage(root),
    )


def is_held(lease: tuple[int, Holder] | None) -> bool:
    """Whether somebody holds a lease, as far as can be told from here."""
    return lease is not None and not lease[1].released and not World().ended(lease[1])


def _sources(epoch: Epoch) -> Iterator[StoredSource]:
    for uid, position in epoch.positions.items():
        record = epoch.inventory.get(uid)
        yield StoredSource(
            uid=uid,
            name=uid if record is None else record.name,
            position=position,
            finished=uid in epoch.finished,
            partitions={p.partition: p.cells for p in epoch.partitions if p.source == uid},
        )


def _operator(uid: str, record: OperatorRecord, parallelism: int | None) -> StoredOperator:
    sizes, types = record.sizes, record.types
    return StoredOperator(
        uid=uid,
        name=record.name,
        location=record.location,
        uid_is_automatic=bool(record.family),
        layout=record.layout,
        parallelism=parallelism,
        stages=record.stages,
        states=[
            StoredState(
                name=name,
                kind=kind,
                entries=sizes[name][0] if name in sizes else None,
                bytes=sizes[name][1] if name in sizes else None,
                type=name_of(types[name].schema) if name in types else "",
                schema=types[name].schema if name in types else None,
                version=types[name].version if name in types else 0,
            )
            for name, kind in record.states.items()
        ],
    )


def _is_sink(record: OperatorRecord) -> bool:
    layout = record.layout
    return (layout if isinstance(layout, str) else layout.kind) == SinkOperator.state_kind


def disk_usage(root: AnyPath) -> dict[str, int]:
    """Bytes of files below ``root`` by the entry of ``root`` they are in; links are not followed.
    Files that disappear meanwhile, because a job is running, do not count."""
    found: dict[str, int] = {}
    if isinstance(root, ObjectPath):
        for key, size in sorted(root.store.find(root.key).items()):
            first = key.removeprefix(f"{root.key}/").partition("/")[0]
            found[first] = found.get(first, 0) + size
        return found
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        held = _size(entry)
        if held is not None:
            found[entry.name] = held
    return found


def _size(entry: os.DirEntry[str]) -> int | None:
    try:
        if entry.is_dir(follow_symlinks=False):
            return sum(_size(inner) or 0 for inner in os.scandir(entry.path))
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return None
