"""Fire detection: temperatures of sensors become warnings, and warnings become alarms.

Run it with ``python examples/fire_detection.py`` or ``scurry run examples/fire_detection.py``.

Sensors report a temperature every five seconds. Two readings of one sensor above 60 degrees, one
right behind the other, are a *warning*. A sensor may be wrong, or somebody opens an oven, so a
warning alone brings nobody to their feet. Two warnings of one sensor within half a minute, the
second one hotter than the first, are a *fire*.

Both are patterns, and the second one is looked for in what the first one finds. Their conditions
are expressions over the fields of events, so readings of a cold room are dropped as columns, before
any Python function sees them.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any

from scurry.cep import CEP, AfterMatchSkipStrategy, Pattern, last
from scurry.common import Duration, Types, WatermarkStrategy
from scurry.datastream import DataStream, StreamExecutionEnvironment
from scurry.table.expressions import col

HOT = 60.0
SENSORS = 40
#: Sensors of rooms in which something happens, with what it is.
FIRE, OVEN, DEFECT = 7, 12, 23


@dataclass(frozen=True)
class SensorEvent:
    """What a sensor reports; ``at`` is in milliseconds."""

    sensor_id: int
    temperature: float
    at: int


@dataclass(frozen=True)
class TemperatureWarning:
    """Two hot readings in a row, with the mean of both."""

    sensor_id: int
    temperature: float


def readings(minutes: int = 10, seed: int = 1) -> list[SensorEvent]:
    """What the sensors report, some of it up to three seconds late."""
    chance = random.Random(seed)
    made = []
    for second in range(0, 60 * minutes, 5):
        for sensor in range(SENSORS):
            heat = {
                FIRE: max(0, second - 200) * 0.8,
                OVEN: 45.0 if 100 <= second < 115 else 0.0,
                DEFECT: 70.0 if second % 60 == 0 else 0.0,
            }.get(sensor, 0.0)
            degrees = 20 + chance.random() * 2 + min(heat, 300)
            made.append(SensorEvent(sensor, round(degrees, 1), second * 1000))
    return sorted(made, key=lambda event: event.at + chance.randrange(3000))


def warnings_of(events: DataStream) -> DataStream:
    """Two hot readings of a sensor, one right behind the other."""
    hot_twice = (
        Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event())
        .where(col("temperature") > HOT)
        .next("second")
        .where(col("temperature") > HOT)
        .within(Duration.of_seconds(10))
    )
    return CEP.pattern(events.key_by(lambda event: event.sensor_id), hot_twice).select(
        warned, Types.DATACLASS(TemperatureWarning)
    )


def warned(match: dict[str, list[Any]]) -> TemperatureWarning:
    (first,), (second,) = match["first"], match["second"]
    mean = (first.temperature + second.temperature) / 2
    return TemperatureWarning(second.sensor_id, round(mean, 1))


def fires_of(warnings: DataStream) -> DataStream:
    """Two warnings of a sensor, the second one hotter than the first."""
    rising = (
        Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event())
        .next("second")
        .where(col("temperature") > last("first").temperature)
        .within(Duration.of_seconds(30))
    )
    return CEP.pattern(warnings.key_by(lambda warning: warning.sensor_id), rising).select(
        lambda match: (match["second"][0].sensor_id, match["second"][0].temperature),
        Types.TUPLE([Types.INT(), Types.DOUBLE()]),
    )


def fires(env: StreamExecutionEnvironment, events: list[SensorEvent]) -> DataStream:
    """The whole program."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(3)
    ).with_timestamp_assigner(lambda event, _: event.at)
    stream = env.from_collection(events, Types.DATACLASS(SensorEvent))
    return fires_of(warnings_of(stream.assign_timestamps_and_watermarks(strategy)))


def main() -> int:
    """Find the fire, and no other."""
    env = StreamExecutionEnvironment.get_execution_environment()
    found = sorted(fires(env, readings()).execute_and_collect())
    for sensor, degrees in found:
        print(f"Fire at sensor {sensor}: {degrees} degrees")
    burning = {sensor for sensor, _ in found}
    print("The fire was found." if burning == {FIRE} else f"Wrong: {burning} instead of {FIRE}.")
    return 0 if burning == {FIRE} else 1


if __name__ == "__main__":
    sys.exit(main())
