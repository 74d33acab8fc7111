"""The environment: where programs begin and how they are run.

Settings come, later ones winning, from the configuration given to
:meth:`StreamExecutionEnvironment.get_execution_environment`, from ``scurry run`` (environment
variables), and from the setters. Keys that begin with ``spark.`` go to Spark; the others are
Flink's, plus a few of Scurry's own (:mod:`scurry.common.options`).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.execution_config import ExecutionConfig
from scurry.common.io import InputFormat
from scurry.common.job_client import JobClient
from scurry.common.job_execution_result import JobExecutionResult
from scurry.common.options import checkpoints, execution, kept, state
from scurry.common.options.spelling import check_keys
from scurry.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from scurry.common.spark_version import check_spark_version
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.compile.explain import describe_plan, explain
from scurry.compile.job import CompiledJob, Settings, compile_job
from scurry.connectors.collection import CollectionSource
from scurry.datastream import previews, unstarted
from scurry.datastream.cached_stream import CachedDataStream, StreamCache
from scurry.datastream.checkpointing_mode import mode_of
from scurry.datastream.data_frames import source_of
from scurry.datastream.execution_mode import RuntimeExecutionMode
from scurry.datastream.job_settings import JobSettings
from scurry.datastream.plain_stream import DataStream
from scurry.datastream.stream_graph import draw
from scurry.datastream.transformation import Transformation, freeze, inputs_of
from scurry.engine.interruption import interruptible
from scurry.functions.source import Source
from scurry.plan import nodes
from scurry.plan.graph import Graph
from scurry.runtime.conform import as_elements
from scurry.state.backends import StateSettings

if TYPE_CHECKING:
    from scurry.connectors.data_frames.frames import DataFrame

__all__ = ["StreamExecutionEnvironment"]

_log = logging.getLogger("scurry.program")


class StreamExecutionEnvironment(JobSettings):
    """Builds streams from sources and runs what was built."""

    _watcher: ClassVar[Callable[[Any], None] | None] = None

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration()
        if configuration is not None:
            self._configuration.add_all(configuration)
        self._read_environment()
        self._config = ExecutionConfig(self._configuration)
        self._slot_sharing_groups = {}
        self._sinks: list[Transformation] = []
        #: the steps of this program of which no job was made yet
        self._steps: dict[Transformation, None] = {}
        self._in_tables: set[Transformation] = set()
        self._caches: list[StreamCache] = []
        self._on_progress: Callable[[Any], None] | None = None
        self._restart_strategy: RestartStrategyConfiguration = RestartStrategies.fall_back_restart()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """An environment on the active SparkSession; if there is none, on a local one that is made
        when the first job starts (``spark.master`` in the configuration names another master)."""
        return StreamExecutionEnvironment(configuration)

    def _read_environment(self) -> None:
        """What ``scurry run`` was told on its command line."""
        for key, value in json.loads(os.environ.get("SCURRY_CONF") or "{}").items():
            self._configuration.set_string(key, value)
        if os.environ.get("SCURRY_MASTER"):
            self._configuration.set_string("spark.master", os.environ["SCURRY_MASTER"])
        if os.environ.get("SCURRY_PARALLELISM"):
            execution.PARALLELISM.write(self._configuration, os.environ["SCURRY_PARALLELISM"])

    def get_config(self) -> ExecutionConfig:
        """Settings of this environment's jobs."""
        return self._config

    def get_configuration(self) -> Configuration:
        """The same settings, as keys and values."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Take over settings."""
        self._configuration.add_all(configuration)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """How many slots operators get that do not say otherwise."""
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The parallelism that was set, or that of the machine."""
        wanted = self._config.get_parallelism()
        return wanted if wanted > 0 else self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """The number of key groups; it cannot change while state lives."""
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1 if the default is left in place."""
        return self._config.get_max_parallelism()

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Choose between streaming (the default), batch, and automatic: batch if all sources are
        bounded. See :class:`RuntimeExecutionMode`."""
        execution.RUNTIME_MODE.write(self._configuration, execution_mode.name)
        return self

    def set_restart_strategy(self, strategy: RestartStrategyConfiguration) -> None:
        """What to do when the job fails; without it ``restart-strategy.type`` of the configuration
        decides, and without that the first failure ends the job."""
        if not isinstance(strategy, RestartStrategyConfiguration):
            raise ProgramError(
                f"set_restart_strategy needs one of RestartStrategies, got {strategy!r}."
            )
        self._restart_strategy = strategy

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """The strategy that was set; one that leaves it to the configuration if none was."""
        return self._restart_strategy

    @classmethod
    def watch(cls, callback: Callable[[Any], None] | None) -> None:
        """Have ``callback`` called with the progress of all jobs of this process that are started
        from now on; None ends that."""
        StreamExecutionEnvironment._watcher = callback

    def on_progress(self, callback: Callable[[Any], None]) -> None:
        """Have ``callback`` called with the job's progress after every micro-batch, and every other
        second while the job waits for a server: ``progress.waiting`` then says for which."""
        self._on_progress = callback

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """A stream of values the program already has."""
        if isinstance(collection, (str, bytes)) or not isinstance(collection, Iterable):
            raise ProgramError(
                f"from_collection needs a collection of elements, got {collection!r}."
            )
        declared = _type(type_info)
        elements = _conforming(list(collection), declared)
        source = CollectionSource(elements, declared)
        return self._source(source, "Collection Source", declared)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str | None = None,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A stream of what a source reads."""
        if not isinstance(source, Source):
            raise ProgramError(
                f"from_source needs a Source, got {source!r} ({type(source).__name__})."
            )
        if not isinstance(watermark_strategy, WatermarkStrategy | None):
            raise ProgramError(
                f"from_source needs a WatermarkStrategy, got {watermark_strategy!r} "
                f"({type(watermark_strategy).__name__})."
            )
        if not isinstance(source_name, str | None):
            raise ProgramError(f"The name of a source is a text, got {source_name!r}.")
        name = source_name or type(source).__name__
        stream = self._source(source, name, _type(type_info) or source.type_info)
        if watermark_strategy is None or _does_nothing(watermark_strategy):
            return stream
        timed = stream.assign_timestamps_and_watermarks(watermark_strategy)
        timed._transformation.part_of = stream._transformation
        timed._transformation.fields["of_source"] = True
        return timed

    def from_data_frame(
        self,
        data_frame: DataFrame,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str | None = None,
        *,
        available_now: bool = False,
        partitions: int | None = None,
    ) -> DataStream:
        """A stream of the rows of a Spark DataFrame, each exactly once.

        It is read as so many partitions at the same time, each of which keeps the rows of some of
        Spark's partitions in their order. Without a number there are as many as the job reads in
        parallel; but a DataFrame that was sorted as a whole (``orderBy``), or that is streaming, is
        one partition, and comes in its order.

        A streaming DataFrame is read as long as the job runs, or with ``available_now`` until all
        that was there at the start has come. Its rows land in the job's checkpoint on their way;
        see ``docs/howto/dataframes.md``."""
        source = source_of(data_frame, available_now, partitions)
        return self.from_source(source, watermark_strategy, source_name or "DataFrame")

    def add_source(
        self,
        source_func: Any,
        source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A stream of what a :class:`Source` reads, or of what a function of no arguments returns
        (it is called once, when the program is built)."""
        if isinstance(source_func, Source):
            return self.from_source(source_func, None, source_name, type_info)
        if callable(source_func):
            return self.from_collection(source_func(), type_info).name(source_name)
        raise ProgramError(
            f"add_source needs a Source or a function that returns elements, got {source_func!r}."
        )

    def create_input(
        self, input_format: InputFormat, type_info: TypeInformation | None = None
    ) -> DataStream:
        """A stream of what an input format holds."""
        if not isinstance(input_format, InputFormat):
            raise ProgramError(f"create_input needs an InputFormat, got {input_format!r}.")
        declared = type_info or input_format.get_produced_type()
        return self.from_source(input_format.source(), None, "Custom File Source", declared)

    def _source(self, source: Source, name: str, declared: TypeInformation | None) -> DataStream:
        step = Transformation(nodes.Source, f"Source: {name}", (), declared, source=source)
        step.single = isinstance(source, CollectionSource)
        return DataStream(self, step)

    def dead_letters(self) -> DataStream:
        """The stream of all elements that operators failed on, as :class:`DeadLetter`; see
        :mod:`scurry.functions.dead_letters`."""
        return DataStream(self, Transformation(nodes.AllDeadLetters, "Dead Letters"))

    def cached(self, stream: DataStream) -> CachedDataStream:
        """``stream`` with a cache of its own."""
        found = CachedDataStream(self, stream._transformation)
        found._cache = StreamCache(stream._transformation)
        self._caches.append(found._cache)
        return found

    def add_step(self, step: Transformation) -> None:
        """A stream or a sink was made."""
        self._steps[step] = None
        wanted = self._config.get_parallelism()
        if step.built_with is None and wanted > 0:
            step.built_with = wanted

    def add_table(self, step: Transformation) -> None:
        """A stream has become a table, whose statements run it."""
        self._in_tables.add(step)

    def add_sink(self, step: Transformation) -> None:
        """A stream has ended in a sink."""
        self._sinks.append(step)
        unstarted.built(self, step)

    def remove_sink(self, step: Transformation) -> None:
        """Take a sink out of the program."""
        if step in self._sinks:
            self._sinks.remove(step)
        if not self._sinks:
            unstarted.used(self)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program to its end; for unbounded sources that is until it is interrupted.

        Ctrl-C and SIGTERM end it after the micro-batch under way
        (:mod:`scurry.engine.interruption`)."""
        client = self.execute_async(job_name)
        with interruptible(self._name_of(job_name), client.cancel) as interruption:
            result = client.result()
        interruption.conclude()
        return result

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program and return at once."""
        self._tell_of_dead_ends()
        return self.start(job_name)

    def _tell_of_dead_ends(self) -> None:
        """Name streams that lead to no sink: Scurry, unlike Flink, does not run them."""
        reached = self._reached()
        read = {source for step in self._steps for source in step.inputs} | self._in_tables
        for step in self._steps:
            if self._sinks and step not in reached and step not in read:
                _log.warning(
                    "%r (%s) leads to no sink, so it is not run: end it with sink_to(...) or "
                    "print(); if only its effects matter, with "
                    "sink_to(scurry.connectors.memory.DiscardingSink()).",
                    *(step.name, step.location),
                )
        self._steps = {}

    def start(self, job_name: str | None = None) -> JobClient:
        """Start what leads to a sink, whatever else there is."""
        # PySpark is imported only when something really runs
        check_spark_version()
        from scurry.engine.spark.launch import launch

        unwritten = self._unwritten_caches()
        job = self._compile(job_name, [cache.writer() for cache in unwritten])
        previews.stop_here(job)
        running = launch(job.runnable, self._configuration, self._restart_strategy, self._told())
        self._sinks = []
        client = JobClient(running)
        for cache in unwritten:
            cache.written_by(client)
        return client

    def execute_steps(
        self, steps: Sequence[Transformation], job_name: str, parallelism: int | None = None
    ) -> JobClient:
        """Start a job of just these sinks, whatever else the program has built; what it has built
        waits for its own ``execute``."""
        with self._only(steps, parallelism):
            return self.execute_async(job_name)

    def describe_steps(self, steps: Sequence[Transformation]) -> str:
        """The program that ends in just these sinks, as JSON."""
        with self._only(steps, None):
            return self.describe_plan()

    @contextmanager
    def _only(self, steps: Sequence[Transformation], parallelism: int | None) -> Iterator[None]:
        others, degree = self._sinks, self._config.get_parallelism()
        self._sinks = list(steps)
        if parallelism is not None:
            self._config.set_parallelism(parallelism)
        try:
            yield
        finally:
            self._sinks = others
            if parallelism is not None:
                self._config.set_parallelism(degree)

    def _told(self) -> Callable[[Any], None] | None:
        """Whoever wants to know how far a job is."""
        watcher, own = StreamExecutionEnvironment._watcher, self._on_progress
        if watcher is None or own is None:
            return own or watcher

        def both(progress: Any) -> None:
            own(progress)
            watcher(progress)

        return both

    def explain(self) -> str:
        """The program as a tree, with stages and uids, and what works on columns."""
        return explain(self._compile(None))

    def get_execution_plan(self) -> str:
        """The program as Flink draws it, as JSON; see :mod:`scurry.datastream.stream_graph`. What
        Scurry runs is told by :meth:`describe_plan`."""
        if self._sinks:
            self._compile(None)
        steps = dict.fromkeys([*self._steps, *self._reached()])
        ends = [step for step in steps if step.kind is not nodes.Source]
        chaining = kept.PYTHON_CHAINING.read(self._configuration)
        cached = [cache.step for cache in self._caches]
        return draw(ends, self.get_parallelism(), chaining, cached)

    def describe_plan(self) -> str:
        """What is run, as JSON: operators with their inputs, stages, states and uids."""
        return describe_plan(self._compile(None))

    def _compile(
        self, job_name: str | None, more_sinks: Sequence[Transformation] = ()
    ) -> CompiledJob:
        unstarted.used(self)
        check_keys(self._configuration)
        self._check_slot_sharing_groups()
        name = self._name_of(job_name)
        ends = [*self._sinks, *more_sinks]
        graph = Graph.of(name, freeze(ends, self._cached_steps()))
        return compile_job(graph, self._settings())

    def _name_of(self, job_name: str | None) -> str:
        return job_name or execution.JOB_NAME.read(self._configuration)

    def _cached_steps(self) -> dict[Transformation, Transformation]:
        """The steps whose records are kept, with the sources that read them."""
        return {
            cache.step: source for cache in self._caches if (source := cache.source()) is not None
        }

    def _unwritten_caches(self) -> list[StreamCache]:
        """The caches of what the next job computes."""
        reached = self._reached()
        return [cache for cache in self._caches if cache.step in reached]

    def _reached(self) -> dict[Transformation, None]:
        """The steps that the next job runs, those of the ends first."""
        instead = self._cached_steps()
        reached: dict[Transformation, None] = {}
        ahead = list(self._sinks)
        while ahead:
            step = ahead.pop()
            if step not in reached:
                reached[step] = None
                ahead += inputs_of(step, instead)
        return reached

    def _check_slot_sharing_groups(self) -> None:
        """As in Flink, a group has one set of resources, whoever gives it."""
        known = dict(self._slot_sharing_groups)
        for step in self._reached():
            group = step.slot_sharing_group
            if group is None or group.get_cpu_cores() is None:
                continue
            if known.setdefault(group.get_name(), group) != group:
                raise ProgramError(
                    f"The slot sharing group {group.get_name()!r} of {step.name!r} "
                    f"({step.location}) has other resources than the group of the same name had "
                    "before: give a group its resources once."
                )

    def _settings(self) -> Settings:
        configuration = self._configuration
        max_parallelism = self._config.get_max_parallelism()
        return Settings(
            parallelism=self.get_parallelism(),
            max_parallelism=max_parallelism if max_parallelism > 0 else execution.KEY_GROUPS,
            parameters=self._config.get_global_job_parameters(),
            chaining=self.is_chaining_enabled(),
            mode=execution.RUNTIME_MODE.read(configuration),
            state=self._state_settings(),
            vectorised=execution.VECTORISED.read(configuration),
            combining=execution.COMBINING.read(configuration),
            guarantee=mode_of(configuration).guarantee,
            on_error=execution.ON_ERROR.read(configuration),
            on_other_history=execution.ON_OTHER_HISTORY.read(configuration),
            object_reuse=self._config.is_object_reuse_enabled(),
            generated_uids=self._config.has_auto_generated_uids_enabled(),
            engine=execution.ENGINE.read(configuration),
            interval=_interval_of(configuration),
        )

    def _state_settings(self) -> StateSettings:
        return StateSettings(
            state.STATE_BACKEND.read(self._configuration),
            state.STATE_CACHE.read(self._configuration),
            state.COMPACT_ABOVE.read(self._configuration),
            state.RUNS_ABOVE.read(self._configuration),
            state.FILES_ABOVE.read(self._configuration),
        )

    def close(self) -> None:
        """Forget everything that was built and not run, and what streams keep."""
        self._sinks, self._steps = [], {}
        unstarted.used(self)
        for cache in self._caches:
            cache.invalidate()
        self._caches = []


def _interval_of(configuration: Configuration) -> int | None:
    """Milliseconds between two checkpoints, None if nothing was said, or there is no interval."""
    live = execution.ENGINE.read(configuration) == execution.LIVE
    return checkpoints.CHECKPOINT_INTERVAL.read(configuration) if live else None


def _type(declared: Any) -> TypeInformation | None:
    if declared is None or isinstance(declared, TypeInformation):
        return declared
    return Types.of(declared)


def _conforming(elements: list[Any], declared: TypeInformation | None) -> list[Any]:
    if declared is None:
        return elements
    for at, element in enumerate(elements):
        complaint = declared.check(element)
        if complaint is not None:
            raise TypeMismatchError(f"Element {at} of the collection: {complaint}.")
    return as_elements(elements, declared)


def _does_nothing(strategy: WatermarkStrategy) -> bool:
    return strategy.kind == "none" and strategy.assigner is None
