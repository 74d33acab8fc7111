"""State that no job has made: a savepoint that was written as files.

Whoever writes a savepoint (:mod:`scurry.state_processor`) does not know the program that will start
from it: how many slots it has, and in which stages its operators run. So all state is written as if
there were one slot, in the form in which slots begin with state
(:mod:`scurry.checkpoint.initial_state`), and the generation is marked as *written*. A job that
starts from it deals the state out to its own slots, as after a change of the parallelism.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scurry.checkpoint.initial_state import InitialState, Shares
from scurry.checkpoint.layout import Home
from scurry.checkpoint.manifest import Generation
from scurry.runtime.rescaling import redeal
from scurry.state.codecs.schemas import Renumbering
from scurry.state.journal import Head
from scurry.state.rescaling import Deal, Gathered, Place, Splitter
from scurry.state.stored_tables import StoredJournal

#: Where all state of a written generation is.
ONLY = Place(1, 0)


def written_journal(home: Home) -> StoredJournal:
    """The state of a written generation, for reading."""
    state = InitialState(home.initial_state_of(*ONLY))
    entries = list(state.entries(state.start()))
    return StoredJournal(_head(home), lambda seq: entries[seq], home.runs(*ONLY))


def _head(home: Home) -> Head:
    """What the head of its journal would be."""
    state = InitialState(home.initial_state_of(*ONLY))
    start = state.start()
    count = sum(1 for _ in state.entries(start))
    return Head(b"written", 0, count, 0, 0, start.notes, number=start.base)


def deal_out_written(old: Home, new: Home, deal: Deal, before: Generation) -> None:
    """Deal the state of the written generation in ``old`` out to the slots of the one in ``new``;
    one entry at a time is in memory."""
    head = _head(old)

    def split(renumbering: Mapping[Place, Renumbering]) -> dict[Place, Gathered]:
        with Shares(new, ONLY) as shares:
            splitter = Splitter(ONLY, deal, shares.append, renumbering.get(ONLY), head.counts)
            for seq, blob in enumerate(_entries(old)):
                splitter.take(seq, blob)
            splitter.finish()
        return {ONLY: splitter.gathered}

    for place, start in redeal({ONLY: head}, split, deal, before.operators).items():
        InitialState(new.initial_state_of(*place)).write_start(start)


def _entries(home: Home) -> Iterator[bytes]:
    state = InitialState(home.initial_state_of(*ONLY))
    return state.entries(state.start())
