"""The sources of random programs: collections, partitions, numbers, generators and files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.partitions import Partitions
from tests.fuzz.records import ROW_TYPE, Fields, declared, fields, shaped
from tests.fuzz.steps import Step

from scurry.common import Duration, Types, WatermarkStrategy
from scurry.common.watermark_strategy import WatermarkGenerator
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.datagen import DataGeneratorSource
from scurry.datastream.connectors.file_system import FileSource, StreamFormat
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.data_stream import DataStream
from scurry.datastream.formats.csv import CsvReaderFormat, CsvSchema
from scurry.datastream.formats.json import JsonLinesFormat
from scurry.datastream.formats.parquet import ParquetColumnarRowInputFormat


class Marked(WatermarkGenerator):
    """Even values carry the watermark."""

    def __init__(self, bound: int) -> None:
        self.bound = bound

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if fields(event)[2] % 2 == 0:
            output.emit_watermark(event_timestamp - self.bound - 1)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def strategy_of(step: Step) -> WatermarkStrategy:
    kind, bound = step["strategy"]
    if kind == "bounded":
        made = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    else:
        made = WatermarkStrategy.for_generator(lambda: Marked(bound))
    if step.args.get("idleness"):
        made = made.with_idleness(Duration.of_millis(step["idleness"]))
    return made.with_timestamp_assigner(lambda record, _: fields(record)[1])


class SourceBuilder:
    """Adds the source of a step to an environment; files are written into ``folder``."""

    def __init__(self, env: StreamExecutionEnvironment, folder: Path) -> None:
        self.env, self.folder = env, folder

    def build(self, step: Step) -> DataStream:
        """The stream of a source, with timestamps if the step has a strategy."""
        strategy = None if step["strategy"] is None else strategy_of(step)
        if step["kind"] in ("partitions", "columns"):
            return self.env.from_source(Partitions(step), strategy, "partitions")
        stream = getattr(self, f"_{step['kind']}")(step)
        if step.args.get("lanes"):
            stream = stream.set_parallelism(step["lanes"])
        if step["kind"] in ("numbers", "files"):
            stream = _made(step, stream)
        return stream if strategy is None else stream.assign_timestamps_and_watermarks(strategy)

    def _collection(self, step: Step) -> DataStream:
        records = [shaped(step["shape"], *record) for record in step["partitions"][0]]
        return self.env.from_collection(records, declared(step["shape"]))

    def _numbers(self, step: Step) -> DataStream:
        source = NumberSequenceSource(0, len(step["partitions"][0]) - 1)
        return self.env.from_source(source, None, "numbers")

    def _generated(self, step: Step) -> DataStream:
        records, shape = step["partitions"][0], step["shape"]
        source = DataGeneratorSource(
            lambda number: shaped(shape, *records[number]), len(records), None, declared(shape)
        )
        return self.env.from_source(source, None, "generated")

    def _files(self, step: Step) -> DataStream:
        folder = self.folder / str(len(list(self.folder.iterdir())))
        folder.mkdir()
        for number, part in enumerate(step["partitions"]):
            WRITERS[step["format"]](folder / str(number), part)
        builder = FORMATS[step["format"]](str(folder))
        if step["split"]:
            builder = builder.set_split_size(step["split"])
        return self.env.from_source(builder.build(), None, "files")


def _made(step: Step, stream: DataStream) -> DataStream:
    """The records of what a source of another type gives."""
    shape = step["shape"]
    if step["kind"] == "numbers":
        records = step["partitions"][0]
        made: Callable[[Any], Any] = lambda number: shaped(shape, *records[number])  # noqa: E731
    elif step["format"] in ("text", "gzip"):
        made = lambda line: shaped(shape, *json.loads(line))  # noqa: E731
    else:
        made = lambda row: shaped(shape, *fields(row))  # noqa: E731
    return stream.map(made, declared(shape))


def _text(path: Path, part: list[Fields]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in part))


def _gzip(path: Path, part: list[Fields]) -> None:
    with gzip.open(f"{path}.gz", "wt") as file:
        file.write("".join(f"{json.dumps(record)}\n" for record in part))


def _csv(path: Path, part: list[Fields]) -> None:
    path.write_text("".join(f"{k},{t},{v}\n" for k, t, v in part))


def _json(path: Path, part: list[Fields]) -> None:
    lines = (json.dumps({"k": k, "t": t, "v": v}) for k, t, v in part)
    path.write_text("".join(f"{line}\n" for line in lines))


def _parquet(path: Path, part: list[Fields]) -> None:
    arrays = [pa.array([record[at] for record in part], pa.int64()) for at in range(3)]
    pq.write_table(pa.table(arrays, names=["k", "t", "v"]), path, row_group_size=4)


def _csv_schema() -> Any:
    builder = CsvSchema.builder()
    for name in ("k", "t", "v"):
        builder = builder.add_number_column(name, Types.LONG())
    return builder.build()


WRITERS: dict[str, Callable[[Path, list[Fields]], None]] = {
    "text": _text,
    "gzip": _gzip,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
FORMATS: dict[str, Callable[[str], Any]] = {
    "text": lambda path: FileSource.for_record_stream_format(StreamFormat.text_line_format(), path),
    "gzip": lambda path: FileSource.for_record_stream_format(StreamFormat.text_line_format(), path),
    "csv": lambda path: FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(_csv_schema()), path
    ),
    "json": lambda path: FileSource.for_record_stream_format(JsonLinesFormat(ROW_TYPE), path),
    "parquet": lambda path: FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(ROW_TYPE), path
    ),
}
