"""The agenda: which aligned windows fire and end, compared with a loop over all windows."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from scurry.runtime.windowing.agenda import Agenda


def passed(agenda: Agenda, watermark: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Take the agenda to ``watermark``: (when, which) for the windows that fired, and the slices
    that were retired."""
    fired: list[tuple[int, int]] = []
    retired: list[int] = []
    while agenda.next_due <= watermark:
        due = agenda.next_due
        fired += [(due, window) for window in agenda.fired()]
        for window in agenda.ended():
            retired += agenda.retired(window)
    return fired, retired


def test_a_tumbling_window_fires_and_ends_with_its_last_millisecond() -> None:
    agenda = Agenda(size=10, slide=10, offset=0, lateness=0, whole=True)
    agenda.announce(20, MIN_WATERMARK)
    assert agenda.next_due == 29
    assert agenda.slices_of(20) == [20]
    assert passed(agenda, 28) == ([], [])
    assert passed(agenda, 29) == ([(29, 20)], [20])
    assert agenda.slices_of(20) == []
    assert agenda.next_due > MAX_WATERMARK


def test_sliding_windows_share_slices() -> None:
    agenda = Agenda(size=10, slide=4, offset=0, lateness=0, whole=False)
    assert agenda.step == 2
    # [0, 10) and [4, 14) contain [8, 10), and so does [8, 18)
    assert list(agenda.windows_over(8)) == [8, 4, 0]
    agenda.announce(8, MIN_WATERMARK)
    agenda.announce(12, MIN_WATERMARK)
    assert agenda.slices_of(0) == [8]
    assert agenda.slices_of(4) == [8, 12]
    assert agenda.slices_of(12) == [12]
    assert passed(agenda, 13) == ([(9, 0), (13, 4)], [])
    assert passed(agenda, 17) == ([(17, 8)], [8]), "the last window over [8, 10) has ended"
    assert passed(agenda, 21) == ([(21, 12)], [12])


def test_an_announcement_behind_the_watermark_only_concerns_windows_that_are_still_open() -> None:
    agenda = Agenda(size=10, slide=10, offset=0, lateness=5, whole=True)
    agenda.announce(0, watermark=9)
    assert agenda.next_due == 14, "the window has fired, and ends 5 ms later"
    assert passed(agenda, 14) == ([], [0])
    agenda.announce(0, watermark=14)
    assert agenda.next_due > MAX_WATERMARK, "the window has ended"


def test_a_window_is_announced_once_however_often_its_slices_are() -> None:
    agenda = Agenda(size=10, slide=10, offset=3, lateness=0, whole=True)
    for _ in range(3):
        agenda.announce(13, MIN_WATERMARK)
    assert passed(agenda, 100) == ([(22, 13)], [13])


def test_a_window_past_the_last_instant_ends_there() -> None:
    agenda = Agenda(size=1000, slide=1000, offset=0, lateness=0, whole=True)
    start = MAX_WATERMARK - MAX_WATERMARK % 1000
    agenda.announce(start, MIN_WATERMARK)
    assert agenda.next_due == MAX_WATERMARK
    assert passed(agenda, MAX_WATERMARK) == ([(MAX_WATERMARK, start)], [start])


def test_after_a_reset_nothing_is_known() -> None:
    agenda = Agenda(size=10, slide=5, offset=0, lateness=0, whole=False)
    agenda.announce(5, MIN_WATERMARK)
    agenda.reset()
    assert agenda.next_due > MAX_WATERMARK
    assert agenda.slices_of(0) == []


@given(
    size=st.integers(1, 12),
    slide=st.integers(1, 15),
    offset=st.integers(-20, 20),
    lateness=st.sampled_from([0, 3]),
    times=st.lists(st.integers(-60, 60), min_size=1, max_size=8),
    steps=st.lists(st.integers(0, 20), max_size=8),
)
def test_windows_fire_in_the_order_of_time_and_slices_live_as_long_as_their_windows(
    size: int, slide: int, offset: int, lateness: int, times: list[int], steps: list[int]
) -> None:
    offset %= slide
    agenda = Agenda(size, slide, offset, lateness, whole=False)
    step = gcd(size, slide)
    slices = {time - (time - offset) % step for time in times}
    windows = {
        window
        for window in range(-200, 201)
        if (window - offset) % slide == 0
        and any(window <= start and start + step <= window + size for start in slices)
    }
    # with a slide beyond the size some slices are in no window: operators leave such elements out
    covered = {s for s in slices if any(w <= s < w + size for w in windows)}
    for start in sorted(covered):
        agenda.announce(start, MIN_WATERMARK)
    watermark = -100
    found: list[tuple[int, int]] = []
    for move in [*steps, 400]:
        watermark += move
        fired, _ = passed(agenda, watermark)
        found += fired
        open_windows = [w for w in windows if w + size - 1 + lateness > watermark]
        needed = {s for s in covered if any(w <= s < w + size for w in open_windows)}
        assert agenda.announced == needed
    assert found == sorted((window + size - 1, window) for window in windows)


@pytest.mark.parametrize("whole", [True, False])
def test_each_firing_is_named_once(whole: bool) -> None:
    agenda = Agenda(size=10, slide=10, offset=0, lateness=20, whole=whole)
    agenda.announce(0, MIN_WATERMARK)
    assert passed(agenda, 9)[0] == [(9, 0)]
    assert passed(agenda, 28) == ([], [])
    assert passed(agenda, 29) == ([], [0])
