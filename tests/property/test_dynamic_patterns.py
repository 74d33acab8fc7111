"""Patterns that change while a job runs against a plain computation: each event sees the patterns
that hold at its time, wherever documents come from and however the two streams are cut."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.cep import CEP, Pattern, disable_pattern, put_pattern, remove_pattern
from scurry.common import Row, Types, WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local

_EVENT = Types.ROW_NAMED(["key", "n", "at"], [Types.STRING(), Types.INT(), Types.LONG()])
#: a key and a number; or what is done to which pattern, with its bound, and to partial matches
items = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("ab"), st.integers(0, 9)),
        st.tuples(
            st.sampled_from(["put", "put", "put", "disable", "remove"]),
            st.sampled_from("pq"),
            st.integers(5, 8),
            st.sampled_from(["end", "finish"]),
        ),
    ),
    max_size=14,
)


def document(version: int, action: str, name: str, bound: int, fate: Any) -> str:
    """A number below 3, followed by one above the bound."""
    if action == "disable":
        return disable_pattern(name, version, partial_matches=fate)
    if action == "remove":
        return remove_pattern(name, version, partial_matches=fate)
    pattern = Pattern.begin("low").where("n < 3").followed_by("high").where(f"n > {bound}")
    return put_pattern(name, version, pattern, partial_matches=fate)


def expected(steps: list[Any]) -> list[Any]:
    """Each low event begins a match if a version holds, and the next event above its bound is the
    other one, unless a document has ended the match before."""
    found: list[Any] = []
    begun: list[tuple[str, int, int, str, int]] = []
    holds: dict[str, tuple[int, int, bool]] = {}
    for at, step in enumerate(steps):
        if len(step) == 4:
            action, name, bound, fate = step
            if action == "disable" and (name not in holds or holds[name][1] < 0):
                continue
            if fate == "end":
                begun = [one for one in begun if one[0] != name]
            if action == "put":
                holds[name] = at, bound, True
            elif action == "remove":
                holds[name] = at, -1, False
            else:
                holds[name] = at, holds[name][1], False
            continue
        key, n = step
        met = [one for one in begun if one[3] == key and n > one[2]]
        found += [(one[0], one[1], one[4], at) for one in met]
        begun = [one for one in begun if one not in met]
        if n < 3:
            begun += [(p, v, bound, key, at) for p, (v, bound, on) in holds.items() if on]
    return sorted(found)


def run(steps: list[Any], apart: bool, parallelism: int, **how: Any) -> list[Any]:
    """What the job finds, with events and documents in one source or in two."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda item, _: item.at if isinstance(item, Row) else item[0]
    )
    events = [Row(key=s[0], n=s[1], at=at) for at, s in enumerate(steps) if len(s) == 2]
    documents = [(at, document(at, *s)) for at, s in enumerate(steps) if len(s) == 4]
    if apart:
        rows: Any = env.from_collection(events, _EVENT).assign_timestamps_and_watermarks(strategy)
        texts = env.from_collection(documents).assign_timestamps_and_watermarks(strategy)
    else:
        both = sorted([*events, *documents], key=lambda one: one.at if type(one) is Row else one[0])
        source = env.from_collection(both).assign_timestamps_and_watermarks(strategy)
        rows = source.filter(lambda item: isinstance(item, Row))
        texts = source.filter(lambda item: not isinstance(item, Row))
    changes = texts.map(lambda item: item[1])
    matches = CEP.dynamic_patterns(rows.key_by(lambda row: row.key), changes)
    chosen = matches.select(
        lambda match: (match.pattern_id, match.version, match["low"][0].at, match["high"][0].at)
    )
    return sorted(collect_local(chosen, **how))


@settings(max_examples=30)
@given(items, st.booleans(), st.integers(1, 3), st.integers(1, 6), st.lists(st.integers(0, 5)))
def test_each_event_sees_the_patterns_of_its_time(
    steps: list[Any], apart: bool, parallelism: int, cuts: int, restarts: list[int]
) -> None:
    wanted = expected(steps)
    assert run(steps, apart, parallelism, cuts=cuts, restart=restarts[:2]) == wanted
