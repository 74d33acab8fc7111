"""Streams and Spark DataFrames: ``from_data_frame``, ``to_data_frame`` and ``foreach_batch``.

PySpark is imported only when one of these is called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError, shorten
from scurry.datastream.transformation import Transformation, caller
from scurry.functions.sink import Sink
from scurry.functions.source import Source
from scurry.plan import nodes

if TYPE_CHECKING:
    from scurry.connectors.data_frames.frames import DataFrame, SparkSession, StructType
    from scurry.datastream.plain_stream import DataStream


def source_of(frame: Any, available_now: bool, partitions: int | None) -> Source:
    """The source that reads a DataFrame."""
    from scurry.connectors.data_frames.frames import is_frame
    from scurry.connectors.data_frames.source import DataFrameSource

    if not is_frame(frame):
        raise ProgramError(
            f"from_data_frame({shorten(frame)}) at {caller()}: it takes a DataFrame of Spark; for "
            "other collections use from_collection(...)."
        )
    return DataFrameSource(frame, available_now, partitions)


def foreach_batch_sink(
    stream: DataStream, function: Callable[[DataFrame, int], object], schema: Any
) -> Sink:
    """The sink that calls ``function`` with the DataFrame of each micro-batch."""
    from scurry.connectors.data_frames.sink import ForeachBatchSink

    if not callable(function):
        raise ProgramError(
            f"foreach_batch({shorten(function)}) at {caller()}: it takes a function of a DataFrame "
            "and the number of its micro-batch."
        )
    session = _session(stream)
    return ForeachBatchSink(session, _schema(stream, schema, "foreach_batch"), function)


def run_to_data_frame(stream: DataStream, schema: Any) -> DataFrame:
    """Run the program, and return the records of ``stream`` as a static DataFrame."""
    from scurry.connectors.data_frames.sink import KeptFrameSink

    endless = _endless(stream._transformation)
    if endless is not None:
        raise ProgramError(
            f"to_data_frame() at {caller()} would never return, because {endless.name!r} "
            f"({endless.location}) has no end: give it a directory, and it returns a streaming "
            "DataFrame of what the job writes there, or use foreach_batch(...)."
        )
    session = _session(stream)
    sink = KeptFrameSink(session, _schema(stream, schema, "to_data_frame"))
    environment = stream.get_execution_environment()
    end = stream.sink_to(sink).name("To DataFrame")
    try:
        environment.start("To DataFrame").result()
    finally:
        environment.remove_sink(end._transformation)
    return sink.result()


def streaming_data_frame(stream: DataStream, schema: Any, directory: str) -> DataFrame:
    """End ``stream`` in Parquet files, and return a streaming DataFrame of them."""
    from scurry.connectors.data_frames.frames import files_of

    place = Path(directory.removeprefix("file://")).absolute()
    session = _session(stream)
    sink, frame = files_of(session, _schema(stream, schema, "to_data_frame"), place)
    stream.sink_to(sink).name("To DataFrame")
    return frame


def _session(stream: DataStream) -> SparkSession:
    """The session that DataFrames of a program belong to: the active one, or the one that its jobs
    run in."""
    from scurry.engine.spark.session import obtain_session

    configuration: Configuration = stream.get_execution_environment().get_configuration()
    settings = configuration.to_dict()
    return obtain_session({key: text for key, text in settings.items() if key.startswith("spark.")})


def _schema(stream: DataStream, given: Any, method: str) -> StructType:
    from scurry.connectors.data_frames.frames import schema_of

    step = stream._transformation
    if given is None and step.type_info is None:
        raise ProgramError(
            f"{method}(...) at {caller()} cannot know the columns, because {step.name!r} "
            f"({step.location}) says no type: give that step an output_type, or say "
            f"{method}(..., schema='user string, total double')."
        )
    found = schema_of(step.type_info if given is None else given)
    if found is None:
        raise ProgramError(
            f"{method}(schema={shorten(given)}) at {caller()}: a schema is a StructType, a text "
            "such as 'user string, total double', or a type such as Types.ROW_NAMED(...)."
        )
    return found


def _endless(step: Transformation) -> Transformation | None:
    """A source without an end that ``step`` reads, if there is one."""
    ahead, seen = [step], set[Transformation]()
    while ahead:
        current = ahead.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.kind is nodes.Source and not current.fields["source"].bounded:
            return current
        ahead.extend(current.inputs)
    return None
