"""What is said of a state that is not there."""

from __future__ import annotations

import pytest

from scurry.checkpoint.epochs import Epoch
from scurry.common.errors import StateError
from scurry.state.inventory import OperatorRecord
from scurry.state_reader.missing import no_such_state, operator_of


def record(name: str, *states: str) -> OperatorRecord:
    return OperatorRecord("keyed", name, states=dict.fromkeys(states, "value"), stages=[1])


INVENTORY = {
    "count-orders": record("COUNT", "count", "timers of event time"),
    "sum": record("SUM", "total"),
    "sink": record("SINK"),
}
EPOCH = Epoch(0, {}, [], inventory=INVENTORY)


def test_an_operator_that_is_there() -> None:
    assert operator_of(EPOCH, "sum", "/place") is INVENTORY["sum"]


@pytest.mark.parametrize(
    ("uid", "meant"),
    [("count_order", " Did you mean 'count-orders'?"), ("SUM", "'sum'?"), ("x", "")],
)
def test_one_that_is_not(uid: str, meant: str) -> None:
    with pytest.raises(StateError) as failure:
        operator_of(EPOCH, uid, "/place")
    assert "There are: 'count-orders', 'sum'." in str(failure.value)
    assert str(failure.value).endswith(meant or "'sum'.")


def test_a_name_that_is_not_there_and_one_that_is_no_state_of_keys() -> None:
    found = INVENTORY["count-orders"]
    said = no_such_state(found, "count-orders", "coutn", ["count"])
    assert said.endswith("There are: 'count'. Did you mean 'count'?")
    assert "read_timers" in no_such_state(found, "count-orders", "timers of event time", ["count"])
    assert no_such_state(found, "count-orders", "x", []).endswith("There are none.")
