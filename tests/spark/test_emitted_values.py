"""What is emitted is a value, on Spark too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scurry.common import Types
from scurry.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import CountTrigger, GlobalWindows


@dataclass
class Account:
    key: str
    balance: int = 0


class Balance(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("account"))

    def process_element(self, value: Account, ctx: Any) -> Iterable[Account]:
        held = self.state.value() or Account(value.key)
        held.balance += value.balance
        self.state.update(held)
        yield held


class Sum(AggregateFunction):
    def create_accumulator(self) -> Account:
        return Account("a")

    def add(self, value: Account, accumulator: Account) -> Account:
        accumulator.balance += value.balance
        return accumulator

    def get_result(self, accumulator: Account) -> Account:
        return accumulator

    def merge(self, one: Account, other: Account) -> Account:
        return Account("a", one.balance + other.balance)


def add(one: Account, other: Account) -> Account:
    one.balance += other.balance
    return one


def spoil(account: Account) -> Account:
    account.balance = -1
    return account


def named(name: str) -> Callable[[Account], tuple[str, int]]:
    return lambda account: (name, account.balance)


def test_objects_that_change_after_they_were_emitted(
    collect_cut: Callable[..., list[Any]],
) -> None:
    """A state's value, a reduce's argument and an accumulator that are yielded and changed, and a
    map that changes what another branch reads."""

    def build(env: StreamExecutionEnvironment) -> Any:
        source = env.from_collection([Account("a", n) for n in (10, 20, 30)])
        keyed = source.key_by(lambda a: a.key, key_type=Types.STRING())
        parts = [
            keyed.process(Balance()).map(named("state")),
            keyed.reduce(add).map(named("reduce")),
            keyed.window(GlobalWindows.create())
            .trigger(CountTrigger.of(1))
            .aggregate(Sum())
            .map(named("aggregate")),
            source.map(spoil).map(named("spoilt")),
            source.map(named("beside")),
        ]
        return parts[0].union(*parts[1:])

    found: dict[str, list[int]] = {}
    for name, balance in collect_cut(build):
        found.setdefault(name, []).append(balance)
    # the records of a branch without keys are spread over the slots of the sink
    found["beside"].sort()
    assert found == {
        "state": [10, 30, 60],
        "reduce": [10, 30, 60],
        "aggregate": [10, 30, 60],
        "spoilt": [-1, -1, -1],
        "beside": [10, 20, 30],
    }
