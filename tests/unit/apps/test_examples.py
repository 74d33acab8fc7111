"""The programs of ``examples`` find what they say they find, however their input is cut."""

from __future__ import annotations

from typing import Any

import pytest
from examples import fire_detection, login_fraud

from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local


@pytest.mark.parametrize("how", [{}, {"cuts": 700, "restart": [1]}], ids=repr)
def test_the_fire_is_found(how: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    readings = fire_detection.readings(minutes=6)
    found = list(collect_local(fire_detection.fires(env, readings), **how))
    assert {sensor for sensor, _ in found} == {fire_detection.FIRE}
    degrees = [degrees for _, degrees in sorted(found)]
    assert degrees == sorted(degrees)
    assert len(degrees) > 2


@pytest.mark.parametrize("how", [{}, {"cuts": 3, "crash": [2]}, {"rescale": {0: 3}}], ids=repr)
def test_who_guesses_is_found(how: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    found = sorted(collect_local(login_fraud.alarms(env), **how))
    assert [one for one in found if one[0] != "bad rule"] == login_fraud.EXPECTED
    ((_, _, error),) = [one for one in found if one[0] == "bad rule"]
    assert "Expected `object | null`, got `str` - at `$.pattern`" in error
