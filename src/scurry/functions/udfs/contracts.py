"""Functions that a user writes for SQL and tables, under PyFlink's names.

A `ScalarFunction` makes one value of the values of a row, a `TableFunction` any number of rows. An
`AggregateFunction` makes one value, a `TableAggregateFunction` rows, of the values of many rows;
both keep an accumulator, which `accumulate` changes for each row that comes, `retract` for each row
that is taken back, and `merge` when two sessions become one. An `AsyncScalarFunction` awaits a
service for each row; calls of the same micro-batch are under way at the same time.

Before its first call a function is opened, once for each copy of it, in the process that calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from scurry.common.data_types import DataType
from scurry.metrics import MetricGroup

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
]

T = TypeVar("T")
ACC = TypeVar("ACC")


class FunctionContext:
    """What a function can learn when it is opened: metrics, job parameters, where it runs."""

    def __init__(
        self,
        base_metric_group: MetricGroup | None = None,
        job_parameters: dict[str, str] | None = None,
        task_name: str = "",
        task_name_with_subtasks: str = "",
        number_of_parallel_subtasks: int = 1,
        max_number_of_parallel_subtasks: int = 1,
        index_of_this_subtask: int = 0,
        attempt_number: int = 0,
    ) -> None:
        self._metric_group = base_metric_group
        self._job_parameters = job_parameters or {}
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._parallelism = number_of_parallel_subtasks
        self._max_parallelism = max_number_of_parallel_subtasks
        self._index = index_of_this_subtask
        self._attempt = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Where the function registers counters, meters and gauges."""
        if self._metric_group is None:
            raise RuntimeError("metrics are not kept where this function is evaluated")
        return self._metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """The value of ``pipeline.global-job-parameters`` under `key`."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str:
        """The name of the operator that calls the function."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str:
        """The name of the operator with which of its parallel copies this is."""
        made = f"{self._task_name} ({self._index + 1}/{self._parallelism})#{self._attempt}"
        return self._task_name_with_subtasks or made

    def get_number_of_parallel_subtasks(self) -> int:
        """How many copies of the operator there are."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many copies there can ever be."""
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Which of the copies this is, from 0."""
        return self._index

    def get_attempt_number(self) -> int:
        """How often the job has been started again."""
        return self._attempt


class UserDefinedFunction:
    """What all functions of the user's have in common."""

    def open(self, function_context: FunctionContext) -> None:
        """Called once before the first value."""

    def close(self) -> None:
        """Called once after the last value, when the process lets go of the function."""

    def is_deterministic(self) -> bool:
        """Whether the same arguments always give the same result. A function that is not is called
        for every row, and never in advance for constants."""
        return True


class ScalarFunction(UserDefinedFunction, ABC):
    """Makes one value of the arguments. Declare it with `scurry.table.udf.udf`."""

    @abstractmethod
    def eval(self, *args: Any) -> object:
        """The result for the arguments of a row; None is NULL. A vectorised function is given a
        pandas Series, or an Arrow array, for each argument, and returns one."""


class AsyncScalarFunction(UserDefinedFunction, ABC):
    """Awaits one value for the arguments."""

    @abstractmethod
    async def eval(self, *args: Any) -> object:
        """The result for the arguments of a row."""


class TableFunction(UserDefinedFunction, ABC):
    """Makes rows of the arguments."""

    @abstractmethod
    def eval(self, *args: Any) -> object:
        """The rows for the arguments: an iterable or a generator of tuples, Rows, or single values
        if there is one column; None for no rows."""


class ImperativeAggregateFunction(UserDefinedFunction, ABC, Generic[T, ACC]):
    """What aggregate and table aggregate functions have in common."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """The accumulator of a group that has no rows yet."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Takes a row into the accumulator, in place."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Takes a row out of the accumulator again. Needed where the input has updates or deletes,
        and for bounded OVER windows."""
        raise RuntimeError(
            f"{type(self).__name__}.retract is needed, because rows of its input are taken back"
        )

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Takes other accumulators into this one. Needed for session windows and for aggregation in
        two phases."""
        raise RuntimeError(
            f"{type(self).__name__}.merge is needed, because groups of its input become one"
        )

    def get_result_type(self) -> DataType | str:
        """The type of results, unless the decorator says it."""
        raise RuntimeError(f"{type(self).__name__} has no result type: override get_result_type")

    def get_accumulator_type(self) -> DataType | str:
        """The type of accumulators, unless the decorator says it."""
        raise RuntimeError(
            f"{type(self).__name__} has no accumulator type: override get_accumulator_type"
        )


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Makes one value of many rows."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The result for what has been accumulated."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Makes rows of many rows, such as the two greatest of them."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The rows for what has been accumulated; they replace those of the last call."""
