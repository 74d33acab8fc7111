"""The checkpoint of a :class:`~scurry.testing.local.LocalJob`: a ledger and journals in memory.

Everything is kept as bytes, as it would be on disk, so that nobody holds on to an object that the
job goes on changing. What the tasks write to their journals counts from the commit of the
micro-batch on; :meth:`MemoryCheckpoint.roll_back` is what a crash before it does.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scurry.checkpoint.epochs import Epoch, decode_epoch
from scurry.checkpoint.ledger import Pledge, Promises
from scurry.engine.standing import CarriedOver
from scurry.runtime.ingress import TaskPlan, decode_plan, encode_plan
from scurry.state.journal import MemoryJournal
from scurry.state.rescaling import Place


class MemoryCheckpoint:
    """A :class:`~scurry.checkpoint.ledger.Ledger`, and the journals of all slots."""

    def __init__(self) -> None:
        #: what the tasks write to
        self.journals: dict[Place, MemoryJournal] = {}
        self._durable: dict[Place, MemoryJournal] = {}
        self._last = -1
        #: whether an epoch commits its micro-batch, as in the live engine
        self.commits_with_epoch = False
        self._epochs: dict[int, bytes] = {}
        #: for each planned micro-batch, what its tasks read, and where the sources stand after it
        self._plans: dict[int, tuple[list[bytes], bytes]] = {}
        #: by micro-batch: what sinks have prepared and not committed
        self._promises: dict[int, Promises] = {}
        #: that of the driver before, and its last plan when it was taken over
        self._before: MemoryCheckpoint | None = None
        self._pledge = b""
        #: whether another driver has taken over
        self._sealed = False
        self._cut = -1

    def last_epoch(self) -> Epoch | None:
        return None if self._last < 0 else decode_epoch(self._epochs[self._last])

    def draft_epoch(self, epoch: Epoch) -> None:
        pass

    def write_epoch(self, epoch: Epoch) -> None:
        self._epochs[epoch.batch] = msgspec.json.encode(epoch)
        if self.commits_with_epoch:
            self.commit(epoch.batch)

    def write_plan(self, batch: int, tasks: Sequence[TaskPlan], after: Epoch) -> None:
        self._plans[batch] = [encode_plan(task) for task in tasks], msgspec.json.encode(after)

    def pending_plan(self, after: int) -> tuple[int, Epoch] | None:
        found = self._plans.get(after + 1)
        return None if found is None else (after + 1, decode_epoch(found[1]))

    def tasks_of_plan(self, batch: int) -> list[TaskPlan]:
        return [decode_plan(line) for line in self._plans[batch][0]]

    def revise_plan(self, batch: int, tasks: Sequence[TaskPlan]) -> None:
        self._plans[batch] = [encode_plan(task) for task in tasks], self._plans[batch][1]

    def write_pledge(self, pledge: Pledge) -> None:
        if self._sealed:
            raise FileNotFoundError("another driver has taken over")
        self._pledge = msgspec.msgpack.encode(pledge)

    def pledge_of(self, batch: int) -> dict[str, list[Any]]:
        if not self._pledge:
            return {}
        found = msgspec.msgpack.decode(self._pledge, type=Pledge)
        return found.messages if found.batch == batch else {}

    def drop_plans_after(self, batch: int) -> None:
        self._plans = {at: plan for at, plan in self._plans.items() if at <= batch + 1}

    def write_promises(self, batch: int, prepared: Promises) -> None:
        self._promises = {batch: {uid: list(messages) for uid, messages in prepared.items()}}

    def promises(self, batch: int) -> Promises:
        return self._promises.get(batch, {})

    def drop_promises(self, batch: int) -> None:
        self._promises.pop(batch, None)

    @property
    def _last_plan(self) -> int:
        return max(self._last, *self._plans, -1)

    def after(self) -> MemoryCheckpoint:
        """The checkpoint of a driver that takes over from this one's, which may go on."""
        made = MemoryCheckpoint()
        made._before = self
        made.take_over()
        return made

    def take_over(self) -> None:
        """Begin with what the driver before has left, as it is now."""
        before = self._before
        assert before is not None
        self._cut, self._last = before._last_plan, before._last
        self._epochs, self._plans = dict(before._epochs), dict(before._plans)
        self._promises = dict(before._promises)
        before._sealed, self._pledge = True, before._pledge
        self._durable = _copies(before._durable)
        self.roll_back()

    def sync(self) -> None:
        pass

    def outrun(self) -> bool:
        return self._before is not None and self._before._last_plan > self._cut

    def settle(self) -> None:
        self._before = None

    def journal(self, place: Place) -> MemoryJournal:
        """The journal of a slot."""
        return self.journals.setdefault(place, MemoryJournal())

    def commit(self, batch: int) -> None:
        """Micro-batch ``batch`` is durable, with its epoch and with all that journals hold."""
        self._last = batch
        self._durable = _copies(self.journals)
        self._epochs = {batch: self._epochs[batch]}
        self._plans.pop(batch, None)

    def roll_back(self) -> None:
        """Lose all that was not committed."""
        self.journals = _copies(self._durable)

    def move(self, journals: Mapping[Place, MemoryJournal], carried: CarriedOver) -> None:
        """Go on with another parallelism: with these journals, and with what was carried over."""
        self._durable = dict(journals)
        self.roll_back()
        if carried.epoch is not None:
            self.write_epoch(carried.epoch)
        if carried.planned is not None:
            self.write_plan(carried.planned.batch, carried.tasks, carried.planned)

    def copied(self) -> MemoryCheckpoint:
        """A copy, as somebody would make it of a directory on disk."""
        made = copy.copy(self)
        made._epochs, made._plans = dict(self._epochs), dict(self._plans)
        made._promises = dict(self._promises)
        made._sealed = False
        made._durable = _copies(self._durable)
        made.roll_back()
        return made


def _copies(journals: Mapping[Place, MemoryJournal]) -> dict[Place, MemoryJournal]:
    return {place: journal.copied() for place, journal in journals.items()}
