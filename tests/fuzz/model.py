"""The model: what Flink gives for a step, computed in plain Python, and what of it is certain.

``apply`` gives the stream of a step, or None if the step cannot stand there: its result would
depend on something that Flink leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.fuzz import model_keyed as keyed
from tests.fuzz import model_tables as tables
from tests.fuzz import patterns
from tests.fuzz.model_windows import WindowModel, grouped_in_windows, joined_in_windows
from tests.fuzz.records import CHANGEABLE, MODULUS, SHAPES, Fields
from tests.fuzz.steps import Step
from tests.fuzz.streams import MIN, Element, Stream, united

Result = Stream | None


def apply(step: Step, streams: list[Stream]) -> Result:
    """The stream that ``step`` makes of those of the steps before it."""
    inputs = [streams[number] for number in step.inputs]
    if any(stream.order == "open" for stream in inputs):
        return None
    made: Result = _STEPS[step.op](step, *inputs)
    if made is not None and step.args.get("chain"):
        return _move(step, made)
    return made


def _source(step: Step) -> Result:
    parts = step["partitions"]
    if step["kind"] in ("numbers", "generated", "files"):
        parts = [[record for part in parts for record in part]]
        if not parts[0]:
            return None
    streams = [
        Stream(_stamped(((record, record[1]) for record in part), step), shape=step["shape"])
        for part in parts
    ]
    if step["strategy"] is None:
        streams = [
            stream.but(
                elements=tuple(Element(e.record, None) for e in stream.elements), timed=False
            )
            for stream in streams
        ]
    if step.args.get("batch"):
        return _all_at_once(streams)
    if len(streams) > 1:
        return united(streams).but(siblings=False)
    return streams[0] if _one_lane(step) else streams[0].freed()


def _all_at_once(streams: list[Stream]) -> Stream:
    """In batch mode there is no watermark before the end of all input, so nothing is late; and the
    records of a key come in an order that Flink leaves open."""
    early = [
        stream.but(elements=tuple(element._replace(wm=MIN) for element in stream.elements))
        for stream in streams
    ]
    return united(early).but(siblings=False)


def _one_lane(step: Step) -> bool:
    """Whether one task reads all that the source has, in order. Otherwise each of some tasks reads
    a part of it, in order: a record's watermark is then at most what it would be with one task."""
    if step["kind"] in ("numbers", "generated"):
        return bool(step["lanes"] == 1)
    if step["kind"] == "files":
        whole = not step["split"] and step["format"] != "parquet"
        return step["lanes"] == 1 or (len(step["partitions"]) == 1 and whole)
    return True


def _stamped(records: Iterable[tuple[Fields, int]], step: Step) -> tuple[Element, ...]:
    """Records with timestamps, and the watermarks that the step's strategy makes of these."""
    kind, bound = step["strategy"] or ("bounded", 0)
    watermark, made = MIN, []
    for record, ts in records:
        made.append(Element(record, ts, watermark))
        if kind == "bounded" or record[2] % 2 == 0:
            watermark = max(watermark, ts - bound - 1)
    return tuple(made)


def _each(stream: Stream, change: Callable[[Fields], Iterable[Fields]], **traits: Any) -> Stream:
    made = tuple(
        Element(record, element.ts, element.wm)
        for element in stream.elements
        for record in change(element.record)
    )
    return stream.but(elements=made, **traits)


def _map(step: Step, stream: Stream) -> Result:
    added = _each(
        stream, lambda r: [(r[0], r[1], (r[2] + step["add"]) % MODULUS)], shape=step["shape"]
    )
    if step["how"] == "in place":
        return added.but(shape=stream.shape) if stream.shape in CHANGEABLE else None
    if step["how"] in ("ordered retry", "unordered retry"):
        answered = _each(stream, lambda r: [r] if r[2] % 7 else [])
        added = _map(Step("map", (), {**step.args, "how": "plain"}), answered) or added
    if step["how"] in ("unordered", "unordered retry"):
        return added.freed()
    if step["how"] == "columns":
        return (
            added.but(shape="typed row") if stream.shape in ("typed row", "typed tuple") else None
        )
    return added


def _filter(step: Step, stream: Stream) -> Result:
    return _each(stream, lambda r: [r] if r[2] % 3 != step["without"] else [])


def _flat_map(step: Step, stream: Stream) -> Result:
    def copies(record: Fields) -> Iterable[Fields]:
        k, t, v = record
        for number in range(v % 3):
            yield (k + number * step["spread"]) % 4, t, (v + number) % MODULUS

    made = _each(stream, copies, siblings=True, shape=step["shape"])
    return _rekeyed(made) if step["spread"] else made


def _rekey(step: Step, stream: Stream) -> Result:
    made = _each(stream, lambda r: [((r[0] + r[2]) % 4, r[1], r[2])], shape=step["shape"])
    return _rekeyed(made)


def _rekeyed(stream: Stream) -> Stream:
    """Records have other keys now, and the ties between keys are ties within keys."""
    if stream.order == "line":
        return stream.but(together=stream.ingress)
    return stream.freed()


def _split(step: Step, stream: Stream) -> Result:
    aside = _each(stream, lambda r: [r] if r[2] % 2 else [])
    return _each(stream, lambda r: [] if r[2] % 2 else [r]).but(aside=aside)


def _poison(step: Step, stream: Stream) -> Result:
    """What a function fails on goes aside, as it came."""
    if step["how"] == "keyed" and not stream.ordered:
        return None
    aside = _each(stream, lambda r: [] if r[2] % 3 else [r])
    good = _each(
        stream,
        lambda r: [(r[0], r[1], (r[2] + step["add"]) % MODULUS)] if r[2] % 3 else [],
        shape=step["shape"],
    )
    if step["how"] == "keyed":
        good, aside = _keyed(step, good, good.elements), _keyed(step, aside, aside.elements)
    elif step["how"] == "unordered":
        good, aside = good.freed(), aside.freed()
    return good.but(aside=aside)


def _linger(step: Step, stream: Stream) -> Result:
    """All records, some time later, without timestamps."""
    plain = tuple(Element(element.record, None) for element in stream.elements)
    made = Stream(plain, "free", timed=False, siblings=True, ingress=False, shape=step["shape"])
    return made.but(together=False)


def _reside(step: Step, stream: Stream) -> Result:
    """Windows of processing time, of which the last may never end: no record twice."""
    return stream.but(order="open", verdict="some")


def _aside(step: Step, stream: Stream) -> Result:
    return stream.aside


def _stamp(step: Step, stream: Stream) -> Result:
    if not stream.timed:
        return None
    made = tuple(
        Element((e.record[0], e.ts or 0, e.record[2]), e.ts, e.wm) for e in stream.elements
    )
    return stream.but(elements=made, shape=step["shape"])


def _move(step: Step, stream: Stream) -> Result:
    moved = stream.but(together=False, ingress=False)
    return moved.freed() if stream.siblings else moved


def _union(step: Step, *streams: Stream) -> Result:
    return united(list(streams)) if len({stream.timed for stream in streams}) == 1 else None


def _retime(step: Step, stream: Stream) -> Result:
    """Another strategy in the middle. Behind a hop each slot has a strategy of its own, so there
    only what is on time in any case is certain."""
    if stream.order != "line":
        return None
    stamped = _stamped(((e.record, e.record[1]) for e in stream.elements), step)
    made = stream.but(elements=stamped, timed=True)
    if stream.ingress:
        return made
    if stream.siblings or not made.on_time or step["strategy"][0] != "bounded":
        return None
    return made.but(order="key") if stream.together else made.freed()


def _numbered(step: Step, stream: Stream) -> Result:
    if stream.order != "line" or (stream.siblings and not stream.ingress):
        return None
    made = keyed.numbered(stream)
    return stream.but(elements=made, shape=step["shape"], ingress=False, together=True)


def _keyed(step: Step, stream: Stream, elements: tuple[Element, ...], **traits: Any) -> Stream:
    """Results of a keyed step that emits at most one record for each, in its place."""
    order = "line" if stream.order == "line" and not stream.siblings else "key"
    return stream.but(
        **{"elements": elements, "order": order, "together": True, "ingress": False, **traits}
    )


def _running(step: Step, stream: Stream) -> Result:
    if not stream.ordered:
        return None
    return _keyed(step, stream, keyed.running(stream), shape=step["shape"])


def _expiring(step: Step, stream: Stream) -> Result:
    if not (stream.ordered and stream.timed):
        return None
    made = keyed.expiring(stream, step["state"], step["ttl"], step["read"])
    return _keyed(step, stream, made, shape=step["shape"])


def _reduce(step: Step, stream: Stream) -> Result:
    return _keyed(step, stream, keyed.reducing(stream)) if stream.ordered else None


def _count_window(step: Step, stream: Stream) -> Result:
    if not stream.ordered:
        return None
    return _keyed(step, stream, keyed.counted(stream, step["size"]), timed=False)


def _changing(step: Step, stream: Stream) -> Result:
    if not stream.ordered or stream.shape not in CHANGEABLE:
        return None
    return _keyed(step, stream, keyed.changing(stream), order="key", siblings=True)


def _totals(step: Step, stream: Stream) -> Result:
    """The running sums of a key, in any order: from one to the next, each value once."""
    return stream.but(order="open", verdict="totals")


def _audit(step: Step, stream: Stream) -> Result:
    """Every record goes into its window, or aside; into its window if even its own partition's
    watermark has not passed that."""
    if not stream.timed:
        return None
    made = []
    for (k, _, v), ts, wm in stream.elements:
        assert ts is not None
        last = ts // step["size"] * step["size"] + step["size"] - 1
        made.append(Element((k, last, v), ts, wm))
    return stream.but(elements=tuple(made), order="open", verdict="audit")


def _by_timers(step: Step, stream: Stream, elements: tuple[Element, ...]) -> Stream:
    made = _keyed(step, stream, elements, order="key", shape=step["shape"])
    return made.but(siblings=not stream.on_time)


def _decided(stream: Stream) -> bool:
    """Whether an operator with timers gives the same for any order that Flink allows."""
    return stream.timed and (stream.ordered or stream.on_time)


def _sorting(step: Step, stream: Stream) -> Result:
    return _by_timers(step, stream, keyed.sorting(stream)) if _decided(stream) else None


def _pattern(step: Step, stream: Stream) -> Result:
    if not _decided(stream) or (step["conditions"] != "python" and stream.shape not in SHAPES):
        return None
    if step["conditions"] == "documents" and not stream.on_time:
        # the watermark of the documents, too, decides who is late
        return None
    pattern = patterns.PATTERNS[step["pattern"]](patterns.of_values(lambda v: v))
    return _by_timers(step, stream, patterns.matches(stream, pattern)).but(siblings=True)


def _delaying(step: Step, stream: Stream) -> Result:
    if not _decided(stream):
        return None
    return _by_timers(step, stream, keyed.delaying(stream, step["delay"]))


def _window(step: Step, stream: Stream) -> Result:
    sensitive = step["trigger"] is not None or step["function"] in ("in order", "sum", "fold")
    evictor = step.args.get("evictor")
    if evictor and step["function"] in ("sum", "built-in"):
        return None
    sensitive = sensitive or (evictor is not None and evictor[0] != "time")
    session = step["assigner"][0] == "session"
    certain = stream.ordered and not (session and step["function"] in ("in order", "sum", "fold"))
    # windows that overlap are reduced in slices, which is the same for an associative function only
    certain = certain and (step["function"], step["assigner"][0]) != ("fold", "sliding")
    if step["all"]:
        certain = certain and stream.order == "line" and not stream.siblings
        sensitive = sensitive or not stream.on_time
    if not _decided(stream) or (sensitive and not certain):
        return None
    if session and not stream.ordered and _touching(stream, step):
        return None
    if step["function"] == "sum" and stream.shape not in ("tuple", "typed tuple", "typed row"):
        return None
    if step["function"] == "built-in" and (
        stream.shape not in ("tuple", "typed tuple", "typed row") or step["all"]
    ):
        return None
    results, late = WindowModel(step).run(stream)
    kept = step["function"] == "sum"
    made = _by_timers(step, stream, results)
    if step["assigner"][0] == "own":
        # windows of several sizes may end at the same instant, and then fire in any order
        made = made.freed()
    aside = _keyed(step, stream, late)
    return made.but(shape=stream.shape if kept else step["shape"], aside=aside)


def _touching(stream: Stream, step: Step) -> bool:
    """Whether sessions would begin just where others end: they are one if the later record comes
    before the watermark that ends the earlier session, and two if it comes after that."""
    moments = {
        (0 if step["all"] else element.record[0], element.ts)
        for element in stream.elements
        if element.ts is not None
    }
    return any((k, ts + step["assigner"][1]) in moments for k, ts in moments)


def _connect(step: Step, left: Stream, right: Stream) -> Result:
    if not (left.meets and right.meets):
        return None
    made = keyed.sorting_both(left, right)
    return Stream(made, "key", shape=step["shape"], ingress=False)


def _broadcast(step: Step, stream: Stream, rules: Stream) -> Result:
    if not (stream.meets and rules.meets):
        return None
    return Stream(keyed.ruled(stream, rules), "key", shape=step["shape"], ingress=False)


def _interval_join(step: Step, left: Stream, right: Stream) -> Result:
    if not (left.meets and right.meets):
        return None
    lower, upper = step["between"]
    found = keyed.pairs(left, right, lambda one, other: lower <= other - one <= upper)
    made = keyed.in_time((keyed.paired(a, b), max(a.ts or 0, b.ts or 0)) for a, b in found)
    return _joined(made, step)


def _window_join(step: Step, left: Stream, right: Stream) -> Result:
    if not (left.meets and right.meets):
        return None
    size = step["size"]
    found = joined_in_windows(left, right, size)
    made = keyed.in_time(
        (keyed.paired(a, b), (a.ts or 0) // size * size + size - 1) for a, b in found
    )
    return _joined(made, step)


def _co_group(step: Step, left: Stream, right: Stream) -> Result:
    if not (left.meets and right.meets):
        return None
    made = keyed.in_time(grouped_in_windows(left, right, step["assigner"]))
    return Stream(made, "key", shape=step["shape"], ingress=False)


def _late_pairs(step: Step, left: Stream, right: Stream) -> Result:
    """As an audit, of two sides: a record goes into its window if its own partition's watermark has
    not passed that by more than the lateness."""
    if not (left.timed and right.timed):
        return None
    made, size = [], step["size"]
    for side, stream in enumerate((left, right)):
        for (k, _, v), ts, wm in stream.elements:
            assert ts is not None
            last = ts // size * size + size - 1
            made.append(Element((k, last, 2 * v + side), ts, wm - step["lateness"]))
    return Stream(tuple(made), "open", verdict="audit", shape="tuple")


def _select(step: Step, stream: Stream) -> Result:
    if step["timed"] and not stream.timed:
        return None
    kept = _each(stream, lambda r: [r] if r[2] % 3 != step["without"] else [])
    made = _each(
        kept, lambda r: [(r[0], r[1], (r[2] + step["add"]) % MODULUS)], shape=step["shape"]
    )
    return made if step["timed"] else made.but(timed=False)


def _match(step: Step, stream: Stream) -> Result:
    if not _decided(stream):
        return None
    _, pattern = patterns.MATCHES[step["query"]]
    of_values = pattern(patterns.of_values(lambda v: v))
    made = patterns.matches(stream, of_values, patterns.measured)
    return _by_timers(step, stream, made).but(siblings=True)


def _table_window(step: Step, stream: Stream) -> Result:
    if not _decided(stream):
        return None
    if step["all"] and not stream.on_time and (stream.order != "line" or stream.siblings):
        return None
    if step["assigner"][0] == "session" and not stream.ordered and _touching(stream, step):
        return None
    return _by_timers(step, stream, tables.windowed(step, stream))


def _over(step: Step, stream: Stream) -> Result:
    if not stream.meets:
        return None
    return _joined(keyed.in_time(tables.over(stream, step["back"])), step)


def _table_join(step: Step, left: Stream, right: Stream) -> Result:
    if not (left.meets and right.meets):
        return None
    made = tables.joined(step, left, right)
    if step["time"] == "none":
        return _joined(made, step).but(timed=False)
    return Stream(made, "key", shape=step["shape"], ingress=False)


def _changes(step: Step, *streams: Stream) -> Result:
    made = tables.table(step, streams)
    return None if made is None else Stream(made, "open", verdict="table", shape="row")


def _joined(elements: tuple[Element, ...], step: Step) -> Stream:
    made = Stream(elements, "free", shape=step["shape"], ingress=False, siblings=True)
    return made.freed()


_STEPS: dict[str, Callable[..., Result]] = {
    "source": _source,
    "map": _map,
    "filter": _filter,
    "flat_map": _flat_map,
    "rekey": _rekey,
    "split": _split,
    "poison": _poison,
    "linger": _linger,
    "reside": _reside,
    "expiring": _expiring,
    "aside": _aside,
    "stamp": _stamp,
    "move": _move,
    "union": _union,
    "retime": _retime,
    "numbered": _numbered,
    "running": _running,
    "reduce": _reduce,
    "count_window": _count_window,
    "changing": _changing,
    "totals": _totals,
    "audit": _audit,
    "sorting": _sorting,
    "pattern": _pattern,
    "delaying": _delaying,
    "window": _window,
    "connect": _connect,
    "broadcast": _broadcast,
    "interval_join": _interval_join,
    "window_join": _window_join,
    "co_group": _co_group,
    "late_pairs": _late_pairs,
    "select": _select,
    "table_window": _table_window,
    "match": _match,
    "over": _over,
    "table_join": _table_join,
    "changes": _changes,
    "changes_of_two": _changes,
}
