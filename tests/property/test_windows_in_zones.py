"""Windows of points in time in the time of a zone, about the moments when its clocks are set: what
they hold follows from what clocks show, however the input is cut."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.planner.tables import Tables

from scurry.planner.options import PlannerOptions
from scurry.testing.relations import table_of

#: zones with moments at which their clocks are set, in UTC
CLOCKS = {
    "America/New_York": ["2024-03-10 07:00", "2024-11-03 06:00"],
    "America/St_Johns": ["2006-10-29 02:31", "2024-11-03 04:30"],
    "Australia/Lord_Howe": ["2024-04-06 15:00", "2024-10-05 15:30"],
    "Asia/Kolkata": ["2024-01-01 00:00"],
    "Pacific/Apia": ["2011-12-30 10:00", "1969-12-31 23:00"],
}
MOMENTS = [(zone, moment) for zone, moments in CLOCKS.items() for moment in moments]
Row = tuple[int, str, datetime]
START = datetime.fromisoformat("1970-01-01 00:00")


@st.composite
def rows(draw: st.DrawFn, moment: str) -> list[Row]:
    """Rows of some hours about a moment, some of them behind others."""
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC) - timedelta(hours=3)
    found = []
    for number in range(draw(st.integers(1, 10))):
        at += timedelta(minutes=draw(st.sampled_from([0, 1, 17, 30, 45, 61])))
        back = timedelta(minutes=draw(st.sampled_from([0, 0, 0, 10, 50, 90])))
        found.append((number, draw(st.sampled_from("ab")), at - back))
    return found


def counted(found: list[Row], zone: str, size: int, slide: int) -> Counter[tuple[object, ...]]:
    """How many rows are in each window, by what clocks show."""
    length, step = timedelta(minutes=size), timedelta(minutes=slide)
    counts: Counter[tuple[object, ...]] = Counter()
    for _, key, at in found:
        shown = at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        start = START + (shown - START) // step * step
        while start + length > shown:
            counts[start, start + length, key] += 1
            start -= step
    return Counter((*window, count) for window, count in counts.items())


@given(st.data(), st.sampled_from(MOMENTS), st.sampled_from([(60, 30), (30, 30), (120, 40)]))
def test_windows_hold_what_clocks_say(
    data: st.DataObject, moment: tuple[str, str], lengths: tuple[int, int]
) -> None:
    zone, found = moment[0], data.draw(rows(moment[1]))
    cuts = data.draw(st.integers(1, 4))
    size, slide = lengths
    options = PlannerOptions(zone=zone)
    for behind in (0, 3):  # hours: with 3 no row is late
        made = Tables()
        made.create(
            "CREATE TABLE t (n INT, k STRING, ts TIMESTAMP_LTZ(3), "
            f"WATERMARK FOR ts AS ts - INTERVAL '{behind}' HOUR)",
            found,
        )
        sizes = f"INTERVAL '{slide}' MINUTE, INTERVAL '{size}' MINUTE(3)"
        query = (
            f"SELECT window_start, window_end, k, COUNT(*) FROM TABLE(HOP(TABLE t, "
            f"DESCRIPTOR(ts), {sizes})) GROUP BY window_start, window_end, k"
        )
        whole = table_of(made.changes(query, options))
        assert table_of(made.changes(query, options, cuts=cuts, crash={2})) == whole
        if behind:
            assert whole == counted(found, zone, size, slide)
