"""What a running function can see and do: its subtask, its state, its timers."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn

from scurry.common.errors import ProgramError
from scurry.common.values import StateValue
from scurry.metrics.metricbase import MetricGroup
from scurry.state.states import (
    AggregatingState,
    AggregatingStateDescriptor,
    BagState,
    BagStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    SetState,
    SetStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)


class TimeDomain(enum.Enum):
    """Which clock a timer follows."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Clocks and timers of the current key."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Processing time in milliseconds: the instant the micro-batch was planned, so a re-run
        of the batch sees the same value."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The running watermark at the current element, in milliseconds."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Have ``on_timer`` called for the current key once processing time reaches
        ``timestamp``. One timer per key and timestamp, however often it is registered."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Have ``on_timer`` called for the current key once the watermark reaches
        ``timestamp``. A timer at or below the current watermark fires as the watermark next
        moves."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget that timer of the current key, if there is one."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget that timer of the current key, if there is one."""


class KeyedStateStore(ABC):
    """Access to the state of the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[StateValue]:
        """The value state of that name, scoped to whatever key is being processed."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[StateValue]:
        """The list state of that name, scoped likewise."""

    @abstractmethod
    def get_map_state(
        self, state_descriptor: MapStateDescriptor
    ) -> MapState[StateValue, StateValue]:
        """The map state of that name, scoped likewise."""

    @abstractmethod
    def get_set_state(self, state_descriptor: SetStateDescriptor) -> SetState[StateValue]:
        """The set state of that name, scoped likewise."""

    @abstractmethod
    def get_bag_state(self, state_descriptor: BagStateDescriptor) -> BagState[StateValue]:
        """The bag state of that name, scoped likewise."""

    @abstractmethod
    def get_reducing_state(
        self, state_descriptor: ReducingStateDescriptor
    ) -> ReducingState[StateValue]:
        """The reducing state of that name, scoped likewise."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[StateValue, StateValue]:
        """The aggregating state of that name, scoped likewise."""


class RuntimeContext(KeyedStateStore):
    """Given to ``open``: the function's place in the job, and its state."""

    def __init__(
        self,
        task_name: str,
        uid: str,
        index: int,
        parallelism: int,
        max_parallelism: int,
        job_parameters: Mapping[str, str],
        metrics: MetricGroup,
    ) -> None:
        self._task_name = task_name
        self._uid = uid
        self._index = index
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._job_parameters = dict(job_parameters)
        self._metrics = metrics

    def get_task_name(self) -> str:
        """The operator's name."""
        return self._task_name

    def get_operator_unique_id(self) -> str:
        """The operator's uid, under which its state is stored."""
        return self._uid

    def get_number_of_parallel_subtasks(self) -> int:
        """How many instances of this function the job has."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups, the most instances the job could ever have."""
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Which of the instances this is, from 0."""
        return self._index

    def get_attempt_number(self) -> int:
        """Always 0: a retried Spark task re-enters the instance its worker already has."""
        return 0

    def get_task_name_with_subtasks(self) -> str:
        """``name (index/total)`` with the index counted from 1, as Flink shows it."""
        return f"{self._task_name} ({self._index + 1}/{self._parallelism})"

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """A global job parameter."""
        return self._job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """Where the function registers its metrics; see ``JobClient.get_metrics``."""
        return self._metrics


class FunctionContext(RuntimeContext):
    """Context of functions that run outside a keyed stream: they have no keyed state."""

    def _refuse(self, state_descriptor: StateDescriptor) -> NoReturn:
        raise ProgramError(
            f"Keyed state {state_descriptor.name!r} was asked for in {self._task_name!r} "
            f"(uid {self._uid!r}), which does not run on a keyed stream. "
            "Call key_by(...) before the operator that needs state."
        )

    get_state = get_list_state = get_map_state = get_set_state = get_bag_state = _refuse
    get_reducing_state = get_aggregating_state = _refuse
