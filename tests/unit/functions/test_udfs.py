"""Declaring functions for SQL and tables."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from scurry.common.data_types import DataType, DataTypes
from scurry.common.errors import ProgramError
from scurry.functions.udfs import (
    AggregateFunction,
    FunctionContext,
    ScalarFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper

INT, BIGINT, STRING = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.STRING()


class Doubling(ScalarFunction):
    def eval(self, value: int) -> int:
        return 2 * value


class Dice(ScalarFunction):
    def is_deterministic(self) -> bool:
        return False

    def eval(self) -> int:
        return 4


class Total(AggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> DataType | str:
        return "BIGINT"


def test_a_decorated_function_knows_its_types() -> None:
    @udf(input_types=["INT", BIGINT], result_type="BIGINT")
    def add(i: int, j: int) -> int:
        return i + j

    overload, arguments = add.resolve([INT, INT])
    assert arguments == (INT, BIGINT)
    assert overload.result_types == (BIGINT,)
    assert (add.name, add.kind, add.deterministic) == ("add", "scalar", True)


def test_without_argument_types_arguments_stay_what_they_are() -> None:
    anything = udf(lambda *values: 1, result_type=INT)
    assert anything.resolve([STRING, DataTypes.DATE()])[1] == (STRING, DataTypes.DATE())


def test_overloads_are_tried_in_order() -> None:
    twice = udf(lambda v: v + v, overloads=[([INT], INT), ([STRING], STRING)])
    assert twice.resolve([STRING])[0].result_types == (STRING,)
    with pytest.raises(ProgramError, match=r"cannot be called with \(DATE\); it takes \(INT\) or"):
        twice.resolve([DataTypes.DATE()])


def test_varargs_repeat_the_last_type() -> None:
    total = udf(lambda *values: sum(values), input_types=[BIGINT], result_type=BIGINT)
    assert total.resolve([INT, INT, BIGINT])[1] == (BIGINT,) * 3
    assert total.resolve([])[1] == ()


def test_function_objects_say_whether_they_are_deterministic() -> None:
    assert udf(Doubling(), result_type=INT).deterministic
    assert not udf(Dice(), result_type=INT).deterministic
    with pytest.raises(
        ProgramError, match=r"deterministic=True, but its is_deterministic\(\) says"
    ):
        udf(Dice(), result_type=INT, deterministic=True)


def test_async_functions_are_found_out() -> None:
    async def look_up(key: str) -> str:
        return key

    assert udf(look_up, result_type=STRING).kind == "async"


def test_tables_and_aggregates() -> None:
    split = udtf(lambda text: text.split(), result_types=[STRING])
    assert (split.kind, split.overloads[0].result_types) == ("table", (STRING,))
    total = udaf(Total(), accumulator_type="ARRAY<BIGINT>")
    assert total.overloads[0].result_types == (BIGINT,)
    assert total.accumulator_type == DataTypes.ARRAY(BIGINT)
    mean = udaf(lambda v: v.mean(), result_type="DOUBLE", func_type="pandas").function()
    accumulator = mean.create_accumulator()
    mean.accumulate(accumulator, 1)
    mean.accumulate(accumulator, 2)
    assert mean.get_value(accumulator) == 1.5
    assert mean.get_value([(float("nan"),)]) is None


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: udf(Doubling, result_type=INT), "of a class, give an instance"),
        (lambda: udf(Doubling()), "the type of the results of .* is not declared"),
        (lambda: udf(Doubling(), result_type=int), "a type such as DataTypes.BIGINT"),
        (lambda: udf(Doubling(), result_type=INT, func_type="fast"), "must be one of general"),
        (lambda: udaf(lambda v: v, result_type=INT), "needs func_type='pandas'"),
        (lambda: udtaf(Total(), func_type="pandas"), "must be general"),
    ],
)
def test_wrong_declarations_are_refused(declare: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        declare()


def test_missing_methods_say_why_they_are_needed() -> None:
    total = Total()
    with pytest.raises(RuntimeError, match="retract is needed, because rows"):
        total.retract([1], 1)
    with pytest.raises(RuntimeError, match="merge is needed, because groups"):
        total.merge([1], [[2]])


def test_a_context_tells_where_a_function_runs() -> None:
    context = FunctionContext(None, {"k": "v"}, "Calc", "", 4, 128, 2, 1)
    assert context.get_job_parameter("k", "d") == "v"
    assert context.get_job_parameter("x", "d") == "d"
    assert context.get_task_name_with_subtasks() == "Calc (3/4)#1"


def test_declared_functions_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(udf(Doubling(), result_type=INT)))
    assert again.function().eval(2) == 4


def test_a_call_on_columns_needs_the_table_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UserDefinedFunctionWrapper, "build_call", None)
    with pytest.raises(ProgramError, match=r"import scurry\.table to call it"):
        udf(Doubling(), result_type=INT)(1)
