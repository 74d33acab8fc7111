"""Random programs and runs, drawn by Hypothesis, which makes what fails smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.fuzz.model import apply
from tests.fuzz.patterns import MATCHES, PATTERNS
from tests.fuzz.queries import AFTERWARDS, query
from tests.fuzz.records import KEYS, SHAPES
from tests.fuzz.steps import Program, Run, Step
from tests.fuzz.streams import Stream

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Case:
    """A program, and the model's streams of its steps."""

    def __init__(self, program: Program, streams: tuple[Stream, ...]) -> None:
        self.program = program
        self.streams = streams

    def __repr__(self) -> str:
        return repr(self.program)

    @property
    def shapes(self) -> list[str]:
        """The forms of the records of each step."""
        return [stream.shape for stream in self.streams]


shapes = st.sampled_from(SHAPES)
keys = st.sampled_from(KEYS)
degrees = st.sampled_from([None, None, None, 1, 2, 3])
chains = st.sampled_from([None, None, None, None, "head", "never"])
assigners = st.one_of(
    st.sampled_from([5, 10, 20]).map(lambda size: ("tumbling", size, size)),
    st.sampled_from([(10, 5), (20, 5), (9, 4), (5, 8)]).map(lambda s: ("sliding", *s)),
    st.sampled_from([3, 6]).map(lambda gap: ("session", gap, gap)),
    st.just(("own", 0, 0)),
)
gliding = st.sampled_from([("tumbling", 5, 5), ("sliding", 10, 5), ("sliding", 9, 4)])
table_windows = st.one_of(
    st.sampled_from([("tumbling", 5, 5), ("sliding", 10, 5), ("sliding", 20, 5)]),
    st.sampled_from([("cumulate", 12, 4), ("cumulate", 10, 5), ("session", 3, 3)]),
)
evictors = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    st.tuples(st.sampled_from(["count", "time", "delta"]), st.integers(1, 4), st.booleans()),
)
strategies = st.tuples(
    st.sampled_from(["bounded", "bounded", "bounded", "marked"]),
    st.sampled_from([0, 0, 3, 10, 100]),
)


@st.composite
def partitions(draw: Any, most: int) -> list[list[tuple[int, int, int]]]:
    """Records of some partitions, more or less in the order of time, numbered throughout."""
    number = 0
    made = []
    for _ in range(draw(st.integers(1, most))):
        least = draw(st.sampled_from([0, 4, 10]))
        moves = st.tuples(st.integers(0, 3), st.integers(-6, 12))
        steps = draw(st.lists(moves, min_size=least, max_size=20))
        time, part = 0, []
        for key, ahead in steps:
            time = max(0, time + ahead)
            part.append((key, time, number))
            number += 1
        made.append(part)
    return made


_KINDS = ["collection", "collection", "partitions", "partitions", "columns", "columns"]
_KINDS += ["numbers", "generated", "files"]


def source(draw: Draw, batch: bool) -> Step:
    kind = draw(st.sampled_from(_KINDS))
    shape = draw(shapes)
    if kind == "columns" and shape not in ("tuple", "typed row", "typed tuple"):
        shape = "typed row"
    strategy = draw(st.one_of(st.none(), strategies, strategies, strategies, strategies))
    parts = draw(partitions(3 if kind in ("partitions", "columns", "files") else 1))
    args = {"kind": kind, "shape": shape, "strategy": strategy, "partitions": parts}
    if kind in ("partitions", "columns"):
        args["ends"] = draw(st.booleans())
        args["idleness"] = draw(st.sampled_from([0, 0, 25])) if strategy else 0
    elif kind != "collection":
        args["lanes"] = draw(st.sampled_from([1, 1, None, 2]))
    if kind == "files":
        args["format"] = draw(st.sampled_from(["text", "csv", "json", "parquet", "gzip"]))
        args["split"] = draw(st.sampled_from([0, 0, 1, 30]))
    return Step("source", (), {**args, "batch": True} if batch else args)


def _window(draw: Draw) -> dict[str, Any]:
    return {
        "assigner": draw(assigners),
        "function": draw(
            st.sampled_from(
                [
                    "process",
                    "in order",
                    "aggregate",
                    "reduce",
                    "fold",
                    "sum",
                    "built-in",
                    "built-in",
                ]
            )
        ),
        "trigger": draw(st.sampled_from([None, None, None, None, 2, "own"])),
        "evictor": draw(evictors),
        "lateness": draw(st.sampled_from([0, 0, 4, 15])),
        "all": draw(st.sampled_from([False, False, False, False, True])),
        "key": draw(keys),
        "shape": draw(shapes),
    }


_HOWS = ["plain", "plain", "plain", "in place", "in place", "columns", "columns"]
_HOWS += ["ordered", "unordered", "ordered retry", "unordered retry"]


def _map(draw: Draw) -> dict[str, Any]:
    how = draw(st.sampled_from(_HOWS))
    chain = draw(chains) if how in ("plain", "in place") else None
    return {"how": how, "add": draw(st.integers(1, 9)), "shape": draw(shapes), "chain": chain}


def _changes(draw: Draw) -> dict[str, Any]:
    return {"query": query(draw), "afterwards": draw(st.sampled_from(AFTERWARDS))}


#: The arguments of steps with one input.
ONE_INPUT: dict[str, Callable[[Draw], dict[str, Any]]] = {
    "map": _map,
    "filter": lambda draw: {"without": draw(st.integers(0, 2)), "chain": draw(chains)},
    "flat_map": lambda draw: {
        "spread": draw(st.integers(0, 1)), "shape": draw(shapes), "chain": draw(chains)
    },
    "rekey": lambda draw: {"shape": draw(shapes), "chain": draw(chains)},
    "split": lambda draw: {},
    "poison": lambda draw: {
        "how": draw(
            st.sampled_from(["map", "flat_map", "process", "keyed", "ordered", "unordered"])
        ),
        "add": draw(st.integers(0, 9)), "key": draw(keys), "shape": draw(shapes),
    },
    "linger": lambda draw: {
        "delay": draw(st.sampled_from([0, 10, 70, 1000])), "key": draw(keys),
        "shape": draw(shapes), "parallelism": draw(degrees),
    },
    "reside": lambda draw: {"size": draw(st.sampled_from([1, 20, 100])), "key": draw(keys)},
    "expiring": lambda draw: {
        "state": draw(st.sampled_from(["value", "list", "map", "reducing"])),
        "ttl": draw(st.sampled_from([1, 5, 20])), "read": draw(st.booleans()),
        "key": draw(keys), "shape": draw(shapes), "parallelism": draw(degrees),
    },
    "aside": lambda draw: {},
    "stamp": lambda draw: {"shape": draw(shapes), "chain": draw(chains)},
    "move": lambda draw: {
        "how": draw(st.sampled_from(["rebalance", "shuffle", "rescale", "custom"])),
        "parallelism": draw(degrees),
    },
    "retime": lambda draw: {"strategy": draw(strategies)},
    "numbered": lambda draw: {"shape": draw(shapes), "union": draw(st.booleans())},
    "running": lambda draw: {
        "state": draw(st.sampled_from(["value", "list", "map", "reducing", "aggregating"])),
        "key": draw(keys), "shape": draw(shapes), "parallelism": draw(degrees),
    },
    "reduce": lambda draw: {"key": draw(keys), "parallelism": draw(degrees)},
    "count_window": lambda draw: {"key": draw(keys), "size": draw(st.integers(1, 4))},
    "changing": lambda draw: {"key": draw(keys), "parallelism": draw(degrees)},
    "sorting": lambda draw: {
        "key": draw(keys), "shape": draw(shapes), "parallelism": draw(degrees)
    },
    "pattern": lambda draw: {
        "pattern": draw(st.sampled_from(sorted(PATTERNS))),
        "conditions": draw(st.sampled_from(["python", "expressions", "documents"])),
        "key": draw(keys), "shape": draw(shapes), "parallelism": draw(degrees),
    },
    "delaying": lambda draw: {
        "delay": draw(st.sampled_from([0, 1, 5, 20])), "key": draw(keys), "shape": draw(shapes),
        "parallelism": draw(degrees),
    },
    "totals": lambda draw: {"key": draw(keys), "parallelism": draw(degrees)},
    "audit": lambda draw: {"key": draw(keys), "size": draw(st.sampled_from([3, 10]))},
    "window": _window,
    "select": lambda draw: {
        "add": draw(st.integers(0, 9)), "without": draw(st.integers(0, 2)), "shape": draw(shapes),
        "timed": draw(st.sampled_from([True, True, False])),
    },
    "table_window": lambda draw: {
        "assigner": draw(table_windows), "shape": draw(shapes),
        "all": draw(st.sampled_from([False, False, False, True])),
    },
    "over": lambda draw: {"back": draw(st.sampled_from([None, 0, 5])), "shape": draw(shapes)},
    "match": lambda draw: {
        "query": draw(st.sampled_from(sorted(MATCHES))), "shape": draw(shapes)
    },
    "changes": _changes,
}  # fmt: skip
#: The arguments of steps with two.
TWO_INPUTS: dict[str, Callable[[Draw], dict[str, Any]]] = {
    "connect": lambda draw: {"key": draw(keys), "shape": draw(shapes)},
    "broadcast": lambda draw: {"key": draw(keys), "shape": draw(shapes)},
    "interval_join": lambda draw: {
        "key": draw(keys), "shape": draw(shapes),
        "between": draw(st.sampled_from([(-3, 3), (0, 5), (-8, -1)])),
    },
    "window_join": lambda draw: {
        "key": draw(keys), "shape": draw(shapes), "size": draw(st.sampled_from([4, 10]))
    },
    "co_group": lambda draw: {
        "key": draw(keys), "shape": draw(shapes), "assigner": draw(gliding)
    },
    "table_join": lambda draw: {
        "between": draw(st.sampled_from([(-3, 3), (0, 5), (-8, -1)])), "shape": draw(shapes),
        "time": draw(st.sampled_from(["left", "right", "none"])),
    },
    "changes_of_two": _changes,
    "late_pairs": lambda draw: {
        "key": draw(keys), "size": draw(st.sampled_from([3, 10])),
        "lateness": draw(st.sampled_from([0, 4])),
    },
}  # fmt: skip
_OFTEN = ["union", "union", "union", "window", "window", "window", "running", "sorting", "aside"]
_OPS = [*ONE_INPUT, *TWO_INPUTS, *_OFTEN]
#: Steps whose results are others in batch mode, in ways that the model does not tell.
_STREAMING = {
    "totals", "linger", "reside", "select", "table_window", "over", "match", "table_join",
    "changes", "changes_of_two", "reduce",
}  # fmt: skip
_BATCH_OPS = [op for op in _OPS if op not in _STREAMING]
#: More records than this are not worth waiting for.
_MOST = 150


#: A source for programs that have none with a record in it.
_LITTLE = Step(
    "source",
    (),
    {"kind": "collection", "shape": "tuple", "strategy": ("bounded", 0), "partitions": [[]]},
)


@st.composite
def cases(draw: Any, most_steps: int = 14, batch: bool | None = None) -> Case:
    """A program of some sources and some steps that the model can follow."""
    if batch is None:
        batch = draw(st.sampled_from([False] * 9 + [True]))
    steps: list[Step] = []
    streams: list[Stream] = []

    def take(step: Step) -> bool:
        made = apply(step, streams)
        if made is None or len(made.elements) > _MOST:
            return False
        steps.append(step)
        streams.append(made)
        return True

    for _ in range(draw(st.integers(1, 3))):
        take(source(draw, batch))
    if not steps:
        take(_LITTLE)
    for _ in range(draw(st.integers(1, most_steps))):
        op = draw(st.sampled_from(_BATCH_OPS if batch else _OPS))
        # later streams are more interesting, and earlier ones make branches
        inputs = st.integers(0, len(steps) - 1).map(lambda back: len(steps) - 1 - back)
        if op == "union":
            chosen = draw(st.lists(inputs, min_size=2, max_size=3))
            take(Step(op, tuple(chosen), {}))
        elif op in TWO_INPUTS:
            take(Step(op, (draw(inputs), draw(inputs)), TWO_INPUTS[op](draw)))
        else:
            take(Step(op, (draw(inputs),), ONE_INPUT[op](draw)))
            if streams[-1].aside is not None and draw(st.booleans()):
                take(Step("aside", (len(steps) - 1,), {}))
    used = {number for step in steps for number in step.inputs}
    ends = [number for number in range(len(steps)) if number not in used]
    more = draw(st.lists(st.integers(0, len(steps) - 1), max_size=2))
    return Case(Program(tuple(steps), tuple(sorted({*ends, *more}))), tuple(streams))


batches = st.integers(0, 8)
settings = st.fixed_dictionaries(
    {},
    optional={
        "state.backend": st.just("memory"),
        "scurry.state.runs-above": st.just("0"),
        "state.backend.cache-size": st.sampled_from(["0", "1"]),
        "scurry.state.compact-above": st.just("0"),
        "scurry.windows.vectorised": st.just("false"),
        "scurry.windows.combine-before-hop": st.just("false"),
    },
)
runs = st.builds(
    Run,
    parallelism=st.integers(1, 3),
    cuts=st.none() | st.lists(st.integers(1, 7), min_size=1, max_size=5).map(tuple),
    crash=st.lists(batches, max_size=2).map(tuple),
    restart=st.lists(batches, max_size=2).map(tuple),
    rescale=st.dictionaries(batches, st.integers(1, 4), max_size=2),
    takeover=st.lists(batches, max_size=2).map(tuple),
    tick=st.sampled_from([0, 0, 10, 60]),
    rounds=st.sampled_from([0, 0, 1, 3]),
    copies=st.booleans(),
    settings=settings,
)
