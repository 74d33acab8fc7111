"""Windows, assigners and evictors as values."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, Time
from scurry.common.errors import ProgramError
from scurry.common.keys import key_group
from scurry.common.windows import WindowKey
from scurry.datastream.window import (
    AfterAll,
    AfterCount,
    AfterWatermark,
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindowSerializer,
    PurgingTrigger,
    Repeatedly,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
)
from scurry.state.codecs.encoding import decode, encode
from scurry.state.tables.table import address, prefix_of

ms = Time.milliseconds
instants = st.integers(-(10**12), 10**12)


def test_a_time_window_is_its_span() -> None:
    window = TimeWindow(0, 10)
    assert (window.start, window.end, window.max_timestamp()) == (0, 10, 9)
    assert window == TimeWindow(0, 10)
    assert hash(window) == hash(TimeWindow(0, 10))
    assert window < TimeWindow(0, 11) < TimeWindow(1, 2)
    assert repr(window) == "TimeWindow(start=0, end=10)"
    assert window.intersects(TimeWindow(10, 12))
    assert not window.intersects(TimeWindow(11, 12))
    assert window.cover(TimeWindow(20, 30)) == TimeWindow(0, 30)


def test_count_and_global_windows_have_no_end() -> None:
    assert CountWindow(3).id == 3
    assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == (1 << 63) - 1
    assert repr(CountWindow(3)) == "CountWindow(id=3)"
    assert repr(GlobalWindow()) == "GlobalWindow"


@pytest.mark.parametrize(
    ("window", "serializer"),
    [
        (TimeWindow(-5, 7), TimeWindowSerializer()),
        (CountWindow(7), CountWindowSerializer()),
        (GlobalWindow(), GlobalWindowSerializer()),
    ],
)
def test_windows_survive_serializers_and_pickle(window: Any, serializer: Any) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    stream.seek(0)
    assert serializer.deserialize(stream) == serializer.deserialize(stream) == window
    copy = pickle.loads(pickle.dumps(window))
    assert copy == window
    assert type(copy) is type(window)


@pytest.mark.parametrize("key", [1, "a", ("a", 2), None, 2**70])
@pytest.mark.parametrize("window", [TimeWindow(-3, 4), TimeWindow(0, 2**64), CountWindow(1)])
def test_a_window_key_lives_in_the_key_group_of_its_key(key: Any, window: Any) -> None:
    place = WindowKey(key, window)
    again = decode(encode(place))
    assert again == place
    assert type(again) is WindowKey
    assert type(again[1]) is type(window)
    assert address(place, 128)[:2] == key_group(key, 128).to_bytes(2, "big")
    assert address(place, 128).startswith(prefix_of(key, 128))
    assert address(place, 128) != address((key, tuple(window)), 128)


@given(instants, st.integers(1, 1000), st.integers(-999, 999))
def test_tumbling_windows_partition_time(time: int, size: int, offset: int) -> None:
    offset %= size
    (window,) = TumblingEventTimeWindows(size, offset).assign_windows(None, time, None)
    assert window.start <= time < window.end == window.start + size
    assert (window.start - offset) % size == 0
    assert TimeWindow.get_window_start_with_offset(time, offset, size) == window.start


@given(instants, st.integers(1, 60), st.integers(1, 60))
def test_sliding_windows_are_all_that_contain_the_instant(time: int, size: int, slide: int) -> None:
    found = SlidingEventTimeWindows(size, slide, 0).assign_windows(None, time, None)
    starts = [s for s in range(time - size - slide, time + slide) if s % slide == 0]
    assert sorted(found) == [TimeWindow(s, s + size) for s in starts if s <= time < s + size]


class Groups:
    def __init__(self) -> None:
        self.found: dict[TimeWindow, set[TimeWindow]] = {}

    def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
        self.found[merge_result] = set(to_be_merged)


@given(st.sets(st.tuples(st.integers(0, 60), st.integers(1, 5)), max_size=12))
def test_merging_groups_are_the_connected_spans(pairs: set[tuple[int, int]]) -> None:
    windows = {TimeWindow(start, start + length) for start, length in pairs}
    groups = Groups()
    EventTimeSessionWindows.with_gap(ms(1)).merge_windows(windows, groups)
    covered: dict[TimeWindow, set[TimeWindow]] = {}
    for window in windows:
        whole = window
        while True:
            wider = whole
            for other in windows:
                if wider.intersects(other):
                    wider = wider.cover(other)
            if wider == whole:
                break
            whole = wider
        covered.setdefault(whole, set()).add(window)
    assert groups.found == {whole: group for whole, group in covered.items() if len(group) > 1}


def test_sizes_may_be_written_in_any_way() -> None:
    assert TumblingEventTimeWindows.of("5 s").size == 5000
    assert SlidingEventTimeWindows.of(Duration.of_seconds(2), Time.seconds(1)).slide == 1000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TumblingEventTimeWindows.of(ms(0)), "at least 1 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(5), ms(5)), "offset .* smaller than its slide"),
        (lambda: SlidingEventTimeWindows.of(ms(5), ms(-1)), "at least 1 ms"),
        (lambda: EventTimeSessionWindows.with_gap(ms(0)), "gap .* at least 1 ms, got 0 ms"),
        (lambda: EventTimeSessionWindows.with_dynamic_gap(5), "function of the element, got 5"),
        (lambda: CountTumblingWindowAssigner.of(0), "size of a count window .* got 0"),
        (lambda: CountTrigger.of(1.5), "whole number from 1 on, got 1.5"),
        (lambda: CountEvictor.of(True), "whole number from 1 on, got True"),
        (lambda: PurgingTrigger.of(3), "needs a Trigger, got 3"),
        (lambda: DeltaTrigger.of(1, 2), "function of .old, new."),
        (lambda: DeltaEvictor.of(1, 2), "function of .old, new."),
        (lambda: ContinuousEventTimeTrigger.of(ms(0)), "at least 1 ms"),
        (lambda: Repeatedly(CountTrigger.of(1)), "composed of AfterWatermark"),
        (AfterAll, "at least one condition"),
    ],
)
def test_bad_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        make()


def test_trigger_results_say_what_to_do() -> None:
    assert [(r.is_fire(), r.is_purge()) for r in TriggerResult] == [
        (False, False),
        (True, True),
        (True, False),
        (False, True),
    ]


def test_composed_triggers_are_values() -> None:
    assert AfterWatermark(early=AfterCount(2)) == AfterWatermark(early=AfterCount(2))
    assert AfterWatermark(early=AfterCount(2)) != AfterWatermark(late=AfterCount(2))
    assert hash(AfterCount(2)) == hash(AfterCount(2))
    assert repr(Repeatedly(AfterCount(2))) == "Repeatedly(condition=AfterCount(count=2))"


def test_a_time_evictor_leaves_elements_without_timestamps_alone() -> None:
    elements = [TimestampedValue("a", None), TimestampedValue("b", 9)]
    assert TimeEvictor.of(ms(1)).evict_before(elements, 2, None, None) == elements
