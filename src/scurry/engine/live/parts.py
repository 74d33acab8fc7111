"""The parts of a job that one task runs: what it reads, and its slot of every stage, in rounds.

Numbered like stages, the parts form a line: part 0 reads sources, part *n* is the slot of stage
*n*. In every round each part sends something to the parts behind it, in all tasks, and last of all
that it has ended the round. A part can run a round when all parts before it, in all tasks, have
ended it; so it has all that it gets in the round, whatever the order in which things arrive.

A part that has run the marked round of a micro-batch makes its checkpoint at once, before it runs
another round, whether other parts have come so far or not. If there is much to write, a copy of the
process writes it, and the part goes on (:mod:`scurry.engine.live.copies`).
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scurry.checkpoint.file_journal import FileJournal
from scurry.engine.live.copies import NoCopy, SlotCopy, can_be_copied
from scurry.engine.live.messages import Done, Round, Told
from scurry.runtime.envelope import CELLS, DRIVER, TICK, Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask
from scurry.runtime.report import Tick, decode_report
from scurry.runtime.specs import JobSpec

_log = logging.getLogger("scurry.engine")
#: Sends envelopes of a part to a task: the part, the round, the task, the envelopes, and whether
#: the part has ended the round with them.
Send = Callable[[int, int, int, list[Envelope], bool], None]
#: Bytes for one task after which they are sent although the round has not ended.
_MUCH = 1 << 20


class Parts:
    """All parts of task ``index`` out of ``tasks``.

    ``tell`` is called with what the driver has to know. A part of a stage is made by
    ``make_host``, together with its journal, when the first round comes. With at least
    ``copy_above`` changed records a copy of the process writes a checkpoint, with -1 never.
    """

    def __init__(
        self,
        job: JobSpec,
        index: int,
        tasks: int,
        send: Send,
        tell: Callable[[Done | Told], None],
        load: Callable[[], JobSpec],
        make_host: Callable[[int], tuple[SlotHost, FileJournal]],
        copy_above: int = -1,
    ) -> None:
        self._index = index
        self._tasks = tasks
        self._last = len(job.stages)
        self._send = send
        self._tell = tell
        self._load = load
        self._make_host = make_host
        self._copy_above = copy_above
        #: by stage: the copy that writes a checkpoint, its number, and what is to be told with it
        self._copies: dict[int, tuple[SlotCopy, int, list[Envelope]]] = {}
        self._readers: dict[int, IngressTask] = {}
        self._hosts: dict[int, tuple[SlotHost, FileJournal]] = {}
        #: rounds that are planned and not over here, by number
        self._rounds: dict[int, Round] = {}
        self._unread: deque[Round] = deque()
        #: by stage and round: what has arrived
        self._arrived: dict[tuple[int, int], list[Envelope]] = {}
        #: by part and round: how many tasks have ended it
        self._ends: Counter[tuple[int, int]] = Counter()
        #: the last round that each stage has run
        self._ran = dict.fromkeys(range(1, self._last + 1), 0)
        #: what is known of source partitions, and what the driver was told of them
        self._cells: dict[tuple[str, str], dict[str, Any]] = {}
        self._told_cells: dict[tuple[str, str], bytes] = {}
        self._news: list[bytes] = []
        self._wishes: dict[int, list[int]] = {}
        self._sent: Counter[int] = Counter()
        self._records: Counter[int] = Counter()

    def plan(self, planned: Round) -> None:
        """The driver has planned a round."""
        self._rounds[planned.number] = planned
        self._unread.append(planned)

    def take(self, part: int, number: int, envelopes: Iterable[Any], ends: bool) -> None:
        """Envelopes have arrived that a part of some task has sent in round ``number``."""
        for each in envelopes:
            envelope = each if isinstance(each, Envelope) else Envelope._make(each)
            self._arrived.setdefault((envelope.stage, number), []).append(envelope)
        if ends:
            self._ends[part, number] += 1

    def advance(self) -> bool:
        """Run one round of one part, if one can be run; whether there was one. The last stage goes
        first, so that what is under way comes to its end before more is begun."""
        for stage in range(self._last, 0, -1):
            if self._is_ready(stage):
                self._run_stage(stage)
                return True
        if self._unread:
            self._read(self._unread.popleft())
            return True
        return any(host.store.shed() for host, _ in self._hosts.values())

    def _is_ready(self, stage: int) -> bool:
        number = self._ran[stage] + 1
        return number in self._rounds and all(
            self._ends[part, number] == self._tasks for part in range(stage)
        )

    def _read(self, planned: Round) -> None:
        self._route(0, planned, self._read_all(planned))
        if planned.marked:
            told = self._checkpoint_readers(planned)
            self._tell(Told(self._index, planned.tick.batch, 0, [*told, *self._all_cells()]))
        if self._last == 0:
            self._end(planned)

    def _forget_moved(self, planned: Round) -> None:
        """Partitions have been dealt out anew: other tasks tell of those that are not read here."""
        mine = {(part.source, part.partition) for plan in planned.plans for part in plan.partitions}
        for place in self._cells.keys() - mine:
            del self._cells[place], self._told_cells[place]

    def _read_all(self, planned: Round) -> Iterator[Envelope]:
        if planned.cells_count:
            self._forget_moved(planned)
        for plan in planned.plans:
            reader = self._readers.get(plan.task)
            if reader is None:
                reader = self._readers[plan.task] = IngressTask(self._load(), plan.task)
                reader.take_states(plan.states)
            for partition in plan.partitions:
                place = partition.source, partition.partition
                known = None if planned.cells_count else self._cells.get(place)
                if known is not None:
                    partition.cells = known
            before = reader.records
            yield from reader.round(plan)
            self._records[planned.number] += reader.records - before
            self._wish(planned.number, reader.wake)

    def _checkpoint_readers(self, planned: Round) -> list[Envelope]:
        told = [e for reader in self._readers.values() for e in reader.checkpoint()]
        if planned.tick.final:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()
        return told

    def _run_stage(self, stage: int) -> None:
        number = self._ran[stage] = self._ran[stage] + 1
        planned = self._rounds[number]
        if stage not in self._hosts:
            made, journal = self._make_host(stage)
            made.begin(journal, planned.tick)
            self._hosts[stage] = made, journal
        host, journal = self._hosts[stage]
        arrived = self._arrived.pop((stage, number), [])
        self._route(stage, planned, host.round(arrived, planned.tick))
        self._wish(number, host.wake)
        if planned.marked:
            self._checkpoint(stage, planned.tick)
        if stage == self._last:
            self._end(planned)

    def _checkpoint(self, stage: int, tick: Tick) -> None:
        host, journal = self._hosts[stage]
        if tick.final or self._copy_above < 0:
            told = list(host.checkpoint(journal, tick.final))
        else:
            told = list(host.prepare())
            copy = self._copy_of(host, journal)
            if copy is not None:
                self._copies[stage] = copy, tick.batch, told
                return
            told.extend(host.finish(journal))
        self._tell(Told(self._index, tick.batch, stage, told, journal.stored))

    def _copy_of(self, host: SlotHost, journal: FileJournal) -> SlotCopy | None:
        if not can_be_copied(host, journal, self._copy_above):
            return None
        try:
            return SlotCopy(host, journal)
        except NoCopy as reason:
            _log.warning(
                "The system has not made a copy of the process of task %s (%s), so slot %s of "
                "stage %s stands still while it writes its checkpoint.",
                *(self._index, reason, host.slot, host.stage),
            )
            return None

    @property
    def copies(self) -> list[SlotCopy]:
        """The copies of this process that are at work."""
        return [copy for copy, _, _ in self._copies.values()]

    def hear_copies(self) -> None:
        """Take what copies of this process tell; raises if one has failed."""
        for stage, (copy, batch, told) in list(self._copies.items()):
            rest = copy.take()
            if rest is not None:
                del self._copies[stage]
                journal = self._hosts[stage][1]
                self._tell(Told(self._index, batch, stage, [*told, *rest], journal.stored))

    def _route(self, part: int, planned: Round, envelopes: Iterable[Envelope]) -> None:
        """Send what ``part`` makes in a round where it belongs."""
        waiting: dict[int, list[Envelope]] = {}
        sizes: Counter[int] = Counter()
        number, tasks = planned.number, self._tasks
        for envelope in envelopes:
            if envelope.stage == DRIVER:
                self._for_driver(envelope)
            elif envelope.kind != TICK:
                task, size = envelope.slot % tasks, len(envelope.payload)
                waiting.setdefault(task, []).append(envelope)
                sizes[task] += size
                self._sent[number] += size
                if sizes[task] > _MUCH:
                    self._send(part, number, task, waiting.pop(task), False)
                    sizes[task] = 0
        if part < self._last:
            for task in range(tasks):
                self._send(part, number, task, waiting.pop(task, []), True)

    def _for_driver(self, envelope: Envelope) -> None:
        """Rounds tell the driver nothing but where event time stands."""
        assert envelope.kind == CELLS, envelope
        source, partition, cells = decode_report(envelope.payload)
        place = source, partition
        self._cells[place] = cells
        if self._told_cells.get(place) != envelope.payload:
            self._told_cells[place] = envelope.payload
            self._news.append(envelope.payload)

    def _all_cells(self) -> Iterator[Envelope]:
        for payload in self._told_cells.values():
            yield Envelope(self._index, DRIVER, "", 0, "", 0, CELLS, 0, payload)

    def _wish(self, number: int, wake: int | None) -> None:
        if wake is not None:
            self._wishes.setdefault(number, []).append(wake)

    def _end(self, planned: Round) -> None:
        """A round is over in this task."""
        number = planned.number
        del self._rounds[number]
        for part in range(self._last):
            del self._ends[part, number]
        news, self._news = self._news, []
        wake = min(self._wishes.pop(number, []), default=None)
        sent, read = self._sent.pop(number, 0), self._records.pop(number, 0)
        self._tell(Done(self._index, number, wake, sent, news, read))

    def close(self) -> list[SlotHost]:
        """Close all functions, unless that is done; the hosts whose input has come to its end."""
        for copy in self.copies:
            copy.give_up()
        ended = [host for host, _ in self._hosts.values() if host.closed]
        left: list[IngressTask | SlotHost] = list(self._readers.values())
        left.extend(host for host, _ in self._hosts.values() if not host.closed)
        for each in left:
            try:
                each.close()
            except Exception:
                # whatever ended the work before this is what the job is told
                _log.warning("functions of task %s failed to close", self._index, exc_info=True)
        return ended
