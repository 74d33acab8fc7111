"""Sessions of event time with the default trigger, the fast way.

The sessions of a key lie in the order of time, so most elements only make its last session longer.
There are no timers. Instead the agenda has one entry for each key: a time before which no session
of the key can fire or end. A session that grows leaves the entry where it is. When the watermark
reaches the entry, the sessions of the key are looked at, and the entry moves to the next such time.

Whether a session has fired is not stored: it has if the watermark has passed its end.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from scurry.common.keys import thaw
from scurry.common.values import Combined
from scurry.common.windows import TimeWindow
from scurry.functions.panes import PaneInfo, PaneTiming
from scurry.functions.windows import ProcessAllWindowFunction, ProcessWindowFunction
from scurry.runtime.batch import Batch
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_state import store_of
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.calls import combining, merging, overrides_clear
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.session_table import (
    EMPTY,
    NEVER,
    SESSION_SPANS,
    SESSION_VALUES,
    KeySessions,
    Session,
    SessionTable,
    over,
)
from scurry.state.tables.key_scope import NO_KEY
from scurry.state.tables.table import MISSING
from scurry.windowing.session_windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SessionWindows,
)
from scurry.windowing.spec import WindowSpec


def runs_sessions(windowing: WindowSpec) -> bool:
    """Whether :class:`SessionOperator` can run a windowing."""
    return (
        type(windowing.assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
        and windowing.plain
    )


class SessionOperator(WindowingOperator):
    """Runs sessions of event time."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        self._lateness = windowing.allowed_lateness
        self._combining = windowing.incremental is not None
        #: one entry per key: when to look at it, its place in the order of keys, the key
        self._agenda: list[tuple[int, bytes, object]] = []

    @classmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        return SESSION_SPANS if windowing.incremental is None else SESSION_VALUES

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, windowing = store_of(context), self._windowing
        name = f"{self.spec.uid}\x1f{self.content_table}"
        self._table = store.part(name, lambda: SessionTable(self.spec.uid, store, self._combining))
        if self._combining:
            self._combine = combining(windowing)
            self._merge = merging(windowing)
        self._clears = windowing.has_context and overrides_clear(windowing.function)

    def begin(self, watermark: int) -> None:
        """Reads from the store which sessions are open, if that is not in memory."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        if self._table.load():
            self._agenda = []
            for sessions in self._table.keys.values():
                sessions.due = sessions.next_from(watermark + 1, self._lateness)
                self._agenda.append((sessions.due, sessions.prefix, sessions.key))
            heapify(self._agenda)

    def process(self, batch: Batch, port: int = 0) -> None:
        batch = self._without_unstamped(batch, 1)
        output = self._emissions()
        try:
            late = self._add_all(batch, output)
        except Exception as failure:
            cause = explained(failure, self._windowing.function)
            raise self.failed(cause, self._working) from failure
        self.emit_tagged(output.batch(batch))
        if late:
            self._emit_late(batch, late)
        if self._guard is not None:
            self._guard.emit(batch)

    def _add_all(self, batch: Batch, output: Emissions) -> list[int]:
        """Put elements into their sessions; returns those that came too late."""
        assert batch.keys is not None
        clock, table, agenda, lateness = self._clock, self._table, self._agenda, self._lateness
        keys, assigner = table.keys, self._windowing.assigner
        assert isinstance(assigner, SessionWindows)
        gap_of, fixed = assigner.gap_of, getattr(assigner, "session_gap", None)
        combine = self._combine if self._combining else None
        late: list[int] = []
        guard = self._guard
        stamps, watermarks = self.stamps(batch, 1).tolist(), self.watermarks(batch).tolist()
        for at, (key, row, stamp, watermark) in enumerate(
            zip(batch.keys, batch.rows, stamps, watermarks, strict=True)
        ):
            if watermark > clock.watermark:
                if agenda and agenda[0][0] <= watermark:
                    self._pass(watermark, output)
                clock.watermark = watermark
            self._working = came = row
            if guard is not None:
                row = guard.as_it_came(row)
            try:
                end = stamp + (gap_of(row) if fixed is None else fixed)
                sessions = keys.get(key)
                if sessions is not None:
                    last = sessions.order[-1]
                    if last.changed and last.start <= stamp <= last.end > watermark + 1:
                        # by far the most frequent case, all of it in one place
                        if combine is None:
                            last.fresh.append(row)
                        else:
                            held = last.held
                            last.held = combine(MISSING if held is EMPTY else held, row)
                        if end > last.end:
                            last.end = min(end, NEVER)
                        continue
                end = min(end, NEVER)
                session = None if sessions is None else self._joined(sessions, stamp, end)
                if session is None:
                    if min(end - 1 + lateness, NEVER - 1) <= watermark:
                        late.append(at)
                        continue
                    value = () if combine is None else combine(MISSING, row)
                    sessions = table.of(key)
                    place = sessions.ending_from(stamp)
                    session = table.begin(sessions, place, stamp, end, value)
                elif combine is not None:
                    held = session.held
                    session.held = combine(MISSING if held is EMPTY else held, row)
                if combine is None:
                    session.fresh.append(row)
            except Exception as failure:
                self._refuse(at, came, stamp, failure)
                continue
            assert sessions is not None
            due = session.end - 1
            if due <= watermark:
                self._fire(sessions, session, at, PaneTiming.LATE, False)
                due = over(session, lateness)
            if due < sessions.due:
                sessions.due = due
                heappush(agenda, (due, sessions.prefix, key))
        return late

    def _joined(self, sessions: KeySessions, start: int, end: int) -> Session | None:
        """The session that an element becomes part of, after all those that it brings together have
        become one; None if it touches none."""
        table, order = self._table, sessions.order
        if order[-1].end < start:
            return None
        place = last = sessions.ending_from(start - 1)
        while last < len(order) and order[last].start <= end:
            last += 1
        if place == last:
            return None
        session, others = order[place], order[place + 1 : last]
        if not session.changed:
            table.change(sessions, session)
        if self._combining:
            table.contents(sessions, session)
        if not others and session.start <= start and end <= session.end:
            return session
        start, end = min(start, session.start), max(end, order[last - 1].end)
        value = session.held
        if self._combining:
            for other in others:
                value = self._both(value, table.contents(sessions, other))
        for other in others:
            table.absorb(sessions, session, other, value)
        del order[place + 1 : last]
        session.start, session.end = start, end
        return session

    def _both(self, one: Combined, other: Combined) -> Combined:
        if one is EMPTY or other is EMPTY:
            return other if one is EMPTY else one
        return self._merge(one, other)

    def advance(self, watermark: int) -> None:
        if watermark <= self._clock.watermark:
            return
        output = self._emissions()
        try:
            self._pass(watermark, output)
        except Exception as failure:
            cause = explained(failure, self._windowing.function)
            raise self.failed(cause, self._working) from failure
        self._clock.watermark = watermark
        self.emit_tagged(output.batch(None))

    def _pass(self, until: int, output: Emissions) -> None:
        """Time passes: fire sessions that have reached their end, forget those past lateness."""
        clock, before, agenda = self._clock, self._clock.watermark, self._agenda
        keys, lateness = self._table.keys, self._lateness
        reached: int | None = None
        while agenda and agenda[0][0] <= until:
            time, prefix, key = heappop(agenda)
            sessions = keys.get(key)
            if sessions is None or sessions.due != time:
                continue
            due = sessions.next_from(time, lateness)
            if due == time:
                if time != reached:
                    reached = time
                    clock.watermark = max(clock.watermark, time)
                    output.fired_at(time, before)
                self._due(sessions, time, -len(output.fired))
                if key not in keys:
                    continue
                due = sessions.next_from(time + 1, lateness)
            sessions.due = due
            heappush(agenda, (due, prefix, key))

    def _due(self, sessions: KeySessions, time: int, cause: int) -> None:
        """Fire the session of a key that ends at ``time``, forget those that are over then."""
        order, lateness, first = sessions.order, self._lateness, sessions.first
        if len(order) == 1 and not lateness:
            # most keys have one session, and it ends when it fires
            self._fire(sessions, order[0], cause, PaneTiming.ON_TIME, True)
            self._end(sessions, order[0])
            del self._table.keys[sessions.key]
            return
        while (
            first < len(order) and order[first].end <= time and over(order[first], lateness) <= time
        ):
            self._end(sessions, order[first])
            first += 1
        place = sessions.ending_from(time)
        if place < len(order) and order[place].end - 1 == time:
            session = order[place]
            last = over(session, lateness) == time
            self._fire(sessions, session, cause, PaneTiming.ON_TIME, last)
            if last:
                self._end(sessions, session)
                first = place + 1
        if first > sessions.first:
            self._table.retire(sessions, first)

    def _fire(
        self, sessions: KeySessions, session: Session, cause: int, timing: PaneTiming, last: bool
    ) -> None:
        held = self._table.contents(sessions, session)
        if held is EMPTY:
            return
        window = TimeWindow(session.start, session.end)
        output, key = self._output, sessions.key
        self._firing._window = window
        self._scope.key = key
        if self._tracks_panes:
            self._firing._pane = PaneInfo(timing, session.index, session.index == 0, last)
            session.index += 1
            if not session.changed and not last:
                self._table.change(sessions, session)
        try:
            results = self._call(key, window, held if last else self._shown(held))
            if results is not None:
                self._take_results(output.values, results)
            if self._guard is not None and self._guard.spoiled and not last:
                self._table.empty(sessions, session)
        except Exception:
            if cause < 0:
                self._working = f"{window!r} of key {thaw(key)!r}"
            raise
        if self._combining and not last:
            self._table.touch_mutable(sessions, session)
        self._scope.key = NO_KEY
        output.source.append(cause)
        output.ends.append(len(output.values))
        output.stamps.append(session.end - 1)

    def _end(self, sessions: KeySessions, session: Session) -> None:
        """Forget all about a session."""
        key = sessions.key
        if self._clears:
            window = TimeWindow(session.start, session.end)
            function = self._windowing.function
            assert isinstance(function, (ProcessWindowFunction, ProcessAllWindowFunction))
            self._scope.key, self._firing._window = key, window
            self._working = f"{window!r} of key {thaw(key)!r}"
            function.clear(self._firing)
            self._scope.key = NO_KEY
        self._table.drop(sessions, session)
