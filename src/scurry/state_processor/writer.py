"""Writing savepoints: from data, and from savepoints that there are."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

import msgspec

from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.layout import Layout
from scurry.checkpoint.manifest import Generation, Manifest, ManifestFile, this_writer
from scurry.checkpoint.savepoints import complete_written, draft_for
from scurry.common.any_paths import path_of, write_whole
from scurry.common.errors import ProgramError, StateError
from scurry.common.options.execution import KEY_GROUPS
from scurry.functions.history import Branch
from scurry.runtime.report import encode_report
from scurry.state.journal import Group
from scurry.state.states import StateDescriptor
from scurry.state_processor.building import StateBuilder
from scurry.state_processor.existing import ExistingSavepoint, Tables
from scurry.state_processor.states import write_table, write_transformed
from scurry.state_processor.transformation import BootstrapTransformation

#: Writes something into a savepoint that is being built.
_Step = Callable[[StateBuilder], None]


class SavepointWriter:
    """Builds a savepoint. Calls describe it; :meth:`write` does the work.

    Names are Flink's. A job that starts from the savepoint takes state over by uid, as from any
    savepoint, and with any parallelism; its max parallelism must be that of the savepoint.
    """

    def __init__(self, max_parallelism: int, existing: ExistingSavepoint | None = None) -> None:
        self._max_parallelism = max_parallelism
        self._existing = existing
        self._tables = Tables()
        self._steps: list[_Step] = []
        self._positions: dict[str, tuple[Any, int | None]] = {}

    @classmethod
    def new_savepoint(cls, max_parallelism: int = KEY_GROUPS) -> SavepointWriter:
        """A savepoint out of nothing but what is given here; ``max_parallelism`` is that of the
        job that will start from it."""
        if not 1 <= max_parallelism <= 1 << 15:
            raise ProgramError(
                f"max_parallelism is {max_parallelism}; it is a whole number from 1 to {1 << 15}."
            )
        return cls(max_parallelism)

    @classmethod
    def from_existing_savepoint(cls, path: str, session: Any = None) -> SavepointWriter:
        """A savepoint like that in ``path``, a savepoint or checkpoint, but for what is changed
        here. Spark opens its state stores; it is the session given, the active one, or a new one.
        The one in ``path`` stays as it is."""
        existing = ExistingSavepoint(path, session)
        return cls(existing.max_parallelism, existing)

    def __enter__(self) -> SavepointWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was copied for reading; called by :meth:`write`."""
        if self._existing is not None:
            self._existing.close()

    def with_operator(self, uid: str, transformation: BootstrapTransformation) -> SavepointWriter:
        """Add an operator, with the state that ``transformation`` makes."""
        if not isinstance(transformation, BootstrapTransformation):
            raise ProgramError(
                f"with_operator({uid!r}, ...) needs what transform(...) returns, as in "
                "OperatorTransformation.bootstrap_with(data).key_by(...).transform(...), got "
                f"{transformation!r}."
            )
        self._refuse_known(uid)
        self._steps.append(lambda builder: builder.run(uid, transformation))
        return self

    def with_keyed_state(self, uid: str, descriptor: StateDescriptor, data: Any) -> SavepointWriter:
        """Add a keyed state out of a table as :meth:`SavepointReader.read` gives it, or dicts: the
        columns are ``key`` and, by kind of state, ``value``, ``elements`` or ``entries``; with a
        time to live also ``written``. It may be a DataFrame of pandas or Spark."""
        self._refuse_known(uid, descriptor.name)
        self._steps.append(lambda builder: write_table(builder, uid, descriptor, data))
        return self

    def transform_keyed_state(
        self, uid: str, descriptor: StateDescriptor, function: Callable[[Any, Any], Any]
    ) -> SavepointWriter:
        """Change a state key by key: ``function`` is given the key and what the state has for it
        (a value, a list, or a dict), and returns what it is to have, None to drop the key. Values
        are those that ``descriptor`` describes, which the state must fit."""
        existing = self._of_existing("transform_keyed_state")
        rows = existing.rows(uid, descriptor)
        self._tables.drop(uid, descriptor.name)
        self._steps.append(
            lambda builder: write_transformed(
                builder, self._tables.renamed(uid), descriptor, rows, function
            )
        )
        return self

    def remove_state(self, uid: str, name: str) -> SavepointWriter:
        """Leave a state of an operator out."""
        self._of_existing("remove_state").check_state(uid, name)
        self._tables.drop(uid, name)
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave an operator or source out, with all its state."""
        self._of_existing("remove_operator").check_operator(uid)
        self._tables.drop_operator(uid)
        return self

    def change_operator_identifier(self, old: str, new: str) -> SavepointWriter:
        """Give an operator or source another uid."""
        existing = self._of_existing("change_operator_identifier")
        existing.check_operator(old)
        if new in existing.uids and not self._tables.is_dropped(new):
            raise StateError(f"There is an operator with the uid {new!r} already.")
        self._tables.rename(old, new)
        return self

    def with_source_position(
        self, uid: str, position: Any, parallelism: int | None = None
    ) -> SavepointWriter:
        """Have the source ``uid`` begin at ``position``, in the form that ``scurry savepoint show
        --json`` gives for it. A source that cuts its input into as many parts as it has tasks is
        cut into ``parallelism`` of them, whatever the parallelism of the job; None leaves that to
        the job."""
        self._positions[uid] = position, parallelism
        return self

    def write(self, path: str) -> str:
        """Write the savepoint to ``path``, which must not exist; returns the path."""
        target = path_of(str(path))
        place = draft_for(target)
        try:
            self._write_into(Layout(place))
            return str(complete_written(place, target))
        finally:
            shutil.rmtree(place, ignore_errors=True)
            self.close()

    def _write_into(self, layout: Layout) -> None:
        home = layout.home(0)
        for part in home.needed:
            part.mkdir(parents=True)
        existing = self._existing
        with StateBuilder(home, self._max_parallelism) as builder:
            notes: dict[str, Any] = {"gates": {}, "cells": {}, "stage": 1}
            base, entry = 0, list[Group]()
            if existing is not None:
                notes, base, entry = existing.copy(builder, self._tables)
            for step in self._steps:
                step(builder)
            records = builder.finish(encode_report(notes), base, entry)
        epoch = _new_epoch() if existing is None else existing.epoch_after(self._tables)
        for uid, record in records.items():
            held = epoch.inventory.setdefault(uid, record)
            if held is not record:
                held.add(1, record.states)
                held.sizes.update(record.sizes)
        for uid, (position, parallelism) in self._positions.items():
            _place_source(epoch, uid, position, parallelism)
        write_whole(home.epoch(epoch.batch), msgspec.json.encode(epoch))
        generation = Generation(
            *(0, 1),
            first=epoch.batch,
            stages=1,
            written=True,
            max_parallelism=self._max_parallelism,
        )
        name = "" if existing is None else existing.name
        checkpoint_id = uuid.uuid4().hex if existing is None else existing.checkpoint_id
        ManifestFile(layout.manifest).create(
            Manifest(
                *(checkpoint_id, self._max_parallelism, 1, [generation]),
                writer=this_writer(),
                name=name,
            )
        )
        if existing is not None:
            existing.copy_rooms(layout.rooms, self._tables)

    def _of_existing(self, method: str) -> ExistingSavepoint:
        if self._existing is None:
            raise ProgramError(
                f"{method} changes a savepoint that there is. Begin with "
                "SavepointWriter.from_existing_savepoint(path)."
            )
        return self._existing

    def _refuse_known(self, uid: str, name: str | None = None) -> None:
        """State that there is already is not written a second time."""
        existing = self._existing
        if existing is None or uid not in existing.uids or self._tables.is_dropped(uid, name):
            return
        if name is None:
            raise StateError(
                f"The savepoint has an operator with the uid {uid!r} already. Call "
                "remove_operator first, or change single states with transform_keyed_state."
            )
        if name in existing.states(uid):
            raise StateError(
                f"Operator {uid!r} of the savepoint has a state {name!r} already. Call "
                "remove_state first, or change it with transform_keyed_state."
            )


def _place_source(epoch: Epoch, uid: str, position: Any, parallelism: int | None) -> None:
    """Let a source begin at ``position``, as if it had not been read."""
    epoch.positions[uid] = position
    epoch.finished = [each for each in epoch.finished if each != uid]
    epoch.partitions = [each for each in epoch.partitions if each.source != uid]
    epoch.splits.pop(uid, None)
    if parallelism is not None:
        epoch.splits[uid] = parallelism


def _new_epoch() -> Epoch:
    return Epoch(0, {}, [], splits={}, inventory={}, history=[Branch(uuid.uuid4().hex[:15], 0)])
