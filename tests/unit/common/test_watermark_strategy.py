"""A watermark strategy is a value that says what the engine is to do."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from scurry.common import (
    Duration,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from scurry.common.errors import ConfigurationError


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class Collected(WatermarkOutput):
    def __init__(self) -> None:
        self.watermarks: list[int] = []
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)


class Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event == "mark":
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(-1)


def plus(value: int, record_timestamp: int) -> int:
    return value + record_timestamp


def test_kinds() -> None:
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    assert (monotonous.kind, monotonous.out_of_orderness_ms) == ("bounded", 0)
    for span in (Duration.of_seconds(5), timedelta(seconds=5), "5 s"):
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(span)
        assert (bounded.kind, bounded.out_of_orderness_ms) == ("bounded", 5000)
    assert WatermarkStrategy.no_watermarks().kind == "none"


def test_with_methods_leave_the_original_alone_but_for_the_assigner() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    assigner = FirstField()
    full = (
        plain.with_timestamp_assigner(assigner)
        .with_idleness(Duration.of_seconds(1))
        .with_watermark_alignment("g", Duration.of_seconds(2))
    )
    assert (plain.assigner, plain.idleness_ms, plain.alignment) == (assigner, None, None)
    assert (full.assigner, full.idleness_ms, full.alignment) == (assigner, 1000, ("g", 2000, 1000))
    exact = plain.with_watermark_alignment("g", "1 s", Duration.of_millis(5))
    assert exact.alignment == ("g", 1000, 5)


def test_generators() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated)
    assert strategy.kind == "generator"
    assert strategy.generator_factory is not None
    generator, output = strategy.generator_factory(), Collected()
    generator.on_event("x", 1, output)
    generator.on_event("mark", 2, output)
    generator.on_periodic_emit(output)
    assert output.watermarks == [2, -1]
    with pytest.raises(ConfigurationError, match="pass the class itself or a lambda"):
        WatermarkStrategy.for_generator(Punctuated())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "timestamp"),
    [
        (FirstField(), 3),
        (lambda element: element[0] * 2, 6),
        (lambda element, record_timestamp: record_timestamp, 100),
        (lambda *arguments: len(arguments), 2),
        (max, 3),
        (len, 1),
    ],
)
def test_functions_serve_as_assigners(function: Any, timestamp: int) -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(function)
    assert strategy.assigner is not None
    assert strategy.assigner.extract_timestamp([3], 100) == timestamp


def test_wrapped_functions_survive_pickling() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(plus)
    again = pickle.loads(pickle.dumps(strategy))
    assert again == strategy
    assert again.assigner.extract_timestamp(1, 2) == 3


def test_refusals() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(ConfigurationError, match=r"must accept \(element\) or"):
        strategy.with_timestamp_assigner(lambda: 1)
    with pytest.raises(ConfigurationError, match="got 'ts'"):
        strategy.with_timestamp_assigner("ts")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="idle timeout must be longer than 0 ms"):
        strategy.with_idleness(Duration.of_millis(0))
    with pytest.raises(ConfigurationError, match="watermark drift must be longer"):
        strategy.with_watermark_alignment("g", timedelta(0))
    with pytest.raises(ConfigurationError, match="update interval must be longer"):
        strategy.with_watermark_alignment("g", "1 s", timedelta(0))
    with pytest.raises(ConfigurationError, match="needs a span of 0 ms or more, got -1 ms"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1))
    with pytest.raises(ConfigurationError, match=r"got 5 \(int\)"):
        WatermarkStrategy.for_bounded_out_of_orderness(5)  # type: ignore[arg-type]
