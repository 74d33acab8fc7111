"""Lengths and points of time, however they are written."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest

from scurry.common import Duration, Instant, Time
from scurry.common.errors import ConfigurationError
from scurry.common.time import milliseconds_of, parse_duration, parse_memory


def test_durations() -> None:
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440)
    assert Duration.of_seconds(2) == Duration.of_millis(2000) == Duration.of_nanos(2 * 10**9)
    assert Duration.of_nanos(1_999_999).to_milliseconds() == 1
    assert Duration.of_millis(5) < Duration.of_seconds(1)
    assert Duration.of(timedelta(microseconds=1500)) == Duration.of_nanos(1_500_000)
    assert Duration.of("1 min") == Duration.of(Time.minutes(1)) == Duration.of_minutes(1)
    assert Duration.of_millis(1500).to_timedelta() == timedelta(seconds=1.5)
    assert repr(Duration.of_seconds(1)) == "Duration.of_millis(1000)"
    assert repr(Duration.of_nanos(7)) == "Duration.of_nanos(7)"


def test_times() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440)
    assert Time.seconds(1).to_milliseconds() == 1000 == Time(1000).to_milliseconds()
    assert Time.of(timedelta(seconds=3)) == Time.milliseconds(3000)
    assert len({Time.seconds(1), Time(1000)}) == 1
    assert Time(1) != 1
    assert (str(Time(5)), repr(Time(5))) == ("5 ms", "Time.milliseconds(5)")
    assert pickle.loads(pickle.dumps(Time(5))) == Time(5)


def test_instants() -> None:
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert Instant.of_epoch_milli(-1).to_epoch_milli() == -1
    assert Instant.of_epoch_milli(1500).to_milliseconds() == 1500
    moment = datetime(2024, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    assert Instant.of_datetime(moment).to_datetime() == moment
    assert Instant(1, 2) > Instant(1, 1)
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    with pytest.raises(ValueError, match="no time zone"):
        Instant.of_datetime(moment.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("10 s", 10_000),
        ("500 ms", 500),
        ("1 min", 60_000),
        ("250", 250),
        (" 2h ", 7_200_000),
        ("3 DAYS", 259_200_000),
        ("1500 us", 1),
        ("5 µs", 0),
    ],
)
def test_duration_texts(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("64 mb", 64 << 20), ("1kb", 1024), ("2 g", 2 << 30), ("7", 7), ("1 tb", 1 << 40)],
)
def test_memory_texts(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "ten s", "10 parsecs", "-1 s", "1.5 s", "1 s 2 ms"])
def test_unreadable_texts(text: str) -> None:
    with pytest.raises(ConfigurationError, match="as a length of time: write a whole number"):
        parse_duration(text)
    with pytest.raises(ConfigurationError, match="as a size of memory: write a whole number"):
        parse_memory(text)


def test_every_way_to_write_a_length_of_time() -> None:
    spans = [Duration.of_seconds(1), Time.seconds(1), timedelta(seconds=1), "1 s"]
    assert [milliseconds_of(span) for span in spans] == [1000] * 4  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"got 1000 \(int\): write for example Duration"):
        milliseconds_of(1000)  # type: ignore[arg-type]
