"""Does the simulation notice when something is lost?

``python -m tests.faults.mutations 30`` leaves out, one after the other, things that an attempt goes
on with, and says after how many seeds, of so many, results were wrong or a job failed that should
not have.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.faults.test_interleaved import RUNS

from scurry.engine.live.conductor import Conductor
from scurry.engine.live.parts import Parts
from scurry.engine.planner import BatchPlanner
from scurry.engine.protocol import CommitProtocol
from scurry.engine.rounds import RoundProtocol
from scurry.engine.spark.local_stores import LocalStores
from scurry.runtime.host import SlotHost
from scurry.runtime.input_gate import InputGate
from scurry.state.local.disk import LocalStore
from scurry.state.local.store import Commit
from scurry.state.slot_store import SlotStore


def after(method: Any, then: Callable[..., None]) -> Callable[..., Any]:
    """``method``, and what is to happen after it."""

    def changed(self: Any, *arguments: Any, **named: Any) -> Any:
        found = method(self, *arguments, **named)
        then(self, *arguments)
        return found

    return changed


def no_gates(host: SlotHost, notes: bytes) -> None:
    host._gates = {uid: InputGate() for uid in host._heads}


def no_cells(planner: BatchPlanner, epoch: Any) -> None:
    for state in planner._partitions.values():
        state.cells = {}


def older_cells(told: Any) -> Any:
    """Each epoch gets the cells of the one before it."""

    def changed(self: Any, envelopes: Any, epoch: Any) -> Any:
        found = told(self, envelopes, epoch)
        for each in epoch.partitions:
            place = each.source, each.partition
            kept = self.__dict__.setdefault("_cells_before", {})
            before, kept[place] = kept.get(place), each.cells
            each.cells = each.cells if before is None else before
        return found

    return changed


def older_journal(gather: Any) -> Any:
    """Each epoch gets one of the journals of the one before it."""

    def changed(self: Any, batch: int, envelopes: Any, journals: Any) -> Any:
        before = self.__dict__.get("_journals_before", journals)
        self._journals_before = dict(journals)
        given = dict(journals)
        name = random.choice(sorted(given))
        given[name] = before.get(name, given[name])
        return gather(self, batch, envelopes, given)

    return changed


def without_a_timer(write: Any) -> Any:
    """Now and then the local store does not get a timer."""

    def changed(self: Any, commit: Commit) -> bool:
        def kept(group: Any) -> Any:
            table, keys, records = group
            if not table.endswith("#event-timers") or random.random() < 0.8:
                return group
            found = [at for at, record in enumerate(records) if record is not None][:1]
            left = [at for at in range(len(keys)) if at not in found]
            return table, [keys[at] for at in left], [records[at] for at in left]

        return bool(write(self, replace(commit, changes=list(map(kept, commit.changes)))))

    return changed


def round_without_moves(send: Any) -> Any:
    """Tasks are not told that partitions have moved."""
    return lambda self, tasks, mark, moved: send(self, tasks, mark, False)


NOTHING = lambda *_: None  # noqa: E731
Change = tuple[type, str, Any]
GATES: Change = (SlotHost, "_restore", after(SlotHost._restore, no_gates))
CELLS: Change = (BatchPlanner, "_resume", after(BatchPlanner._resume, no_cells))
MUTATIONS: dict[str, list[Change]] = {
    "restored gates": [GATES],
    "restored cells": [CELLS],
    "restored gates and cells": [GATES, CELLS],
    "cells of the epoch before": [(RoundProtocol, "_told", older_cells(RoundProtocol._told))],
    "cells of moved partitions": [(Parts, "_forget_moved", NOTHING)],
    "that partitions have moved": [
        (Conductor, "_send_round", round_without_moves(Conductor._send_round))
    ],
    "cells at a move": [(BatchPlanner, "refresh", NOTHING)],
    "a journal's last entry": [(RoundProtocol, "gather", older_journal(RoundProtocol.gather))],
    "a start without promises of attempts before": [(RoundProtocol, "start", CommitProtocol.start)],
    "a timer in the local store": [(LocalStore, "_write", without_a_timer(LocalStore._write))],
    "stores of one process each": [
        (LocalStores, "keep_others_out", NOTHING),
        (SlotStore, "read_on", lambda store: store.local.begin()),
    ],
}


@contextmanager
def without(name: str) -> Iterator[None]:
    """While it lasts, what is called ``name`` is left out."""
    with ExitStack() as stack:
        for owner, method, changed in MUTATIONS[name]:
            stack.enter_context(patch.object(owner, method, changed))
        yield


def noticed(name: str, seeds: int) -> str:
    """After how many seeds it is noticed that something is left out, and by which job."""
    with without(name):
        for seed in range(seeds):
            for run in reversed(RUNS):
                with tempfile.TemporaryDirectory(prefix="scurry-mutated-") as place:
                    try:
                        run(Path(place) / "job", seed)
                    except Exception as failure:
                        # a job that fails has something to say, results that differ have not
                        said = str(failure).strip().splitlines() or ["other results"]
                        return f"seed {seed}, {run.__name__}: {said[-1]}"
    return "not noticed"


if __name__ == "__main__":
    chosen = sys.argv[2:] or list(MUTATIONS)
    for each in chosen:
        print(f"{each}: {noticed(each, int(sys.argv[1]))}", flush=True)
