"""Which states the functions of a job ask for, found out by opening them, without running the job.

A function says which states it has when it is opened, on a worker. Here the functions of the stages
are opened in this process, each with an empty slot of its own, and closed again. What they open
besides, such as connections, they open here as well. Writers of sinks are not made.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from scurry.checkpoint.changes import DeclaredState
from scurry.engine.unpicklable import pickled
from scurry.runtime.host import SlotHost
from scurry.runtime.report import Tick
from scurry.runtime.specs import JobSpec
from scurry.state.journal import MemoryJournal

#: By uid and name.
Declared = dict[str, dict[str, DeclaredState]]


def declared_states(job: JobSpec) -> tuple[Declared, dict[str, str]]:
    """The states that functions ask for when they are opened, and why that failed, by the uids of
    the operators of which it is not known."""
    found: Declared = {}
    failures: dict[str, str] = {}
    for stage in range(1, len(job.stages) + 1):
        uids = [uid for uid, runs_in in job.hosted.items() if runs_in == stage]
        try:
            opened = _opened(job, stage)
        except Exception as failure:
            lines = str(failure).strip().splitlines() or [type(failure).__name__]
            failures.update(dict.fromkeys(uids, lines[0]))
        else:
            found.update({uid: opened.get(uid, {}) for uid in uids})
    return found, failures


def _opened(job: JobSpec, stage: int) -> Declared:
    made: Declared = {}
    own: JobSpec = pickled(job).load()[0]
    with tempfile.TemporaryDirectory(prefix="scurry-preview-") as place:
        local = own.state.local_store(Path(place))
        store = own.state.slot_store(local, own.max_parallelism)
        host = SlotHost(own, stage, 0, store)
        try:
            host.begin(MemoryJournal(), Tick())
            for table, kind, schema, converts in store.schemas.declared():
                uid, _, name = table.partition("\x1f")
                made.setdefault(uid, {})[name] = DeclaredState(kind, schema, converts)
        finally:
            with suppress(Exception):
                host.close()
            local.close(erase=True)
    return made
