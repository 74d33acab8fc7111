"""File sources: every record exactly once however the files are cut, and faults said plainly."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, Row, Types
from scurry.common.errors import FunctionError, JobError, NotSupportedError, ProgramError
from scurry.connectors.files.formats import FileFormat, MalformedFileError
from scurry.connectors.files.source import FileSource
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import (
    DEAD_LETTERS,
    FileEnumeratorProvider,
    StreamFormat,
)
from scurry.datastream.formats.avro import AvroReaderFormat, AvroSchema
from scurry.datastream.formats.csv import CsvReaderFormat, CsvSchema
from scurry.datastream.formats.json import JsonLinesFormat
from scurry.datastream.formats.parquet import ParquetColumnarRowInputFormat
from scurry.functions.source import Source, SourceEnumerator
from scurry.testing import collect_local
from scurry.testing.local import run_local
from scurry.testing.sinks import ListSink

TEXT = StreamFormat.text_line_format()


def text(*paths: Path | str) -> Any:
    return FileSource.for_record_stream_format(TEXT, *map(str, paths))


def rows_of(source: Source, what: Any) -> list[Any]:
    rows: list[Any] = []
    for batch in source.read(what):
        rows += batch.columns.to_pylist() if batch.rows is None else batch.rows  # type: ignore[union-attr]
    return rows


def drain(source: Source, parallelism: int = 2, max_records: int = 10**9) -> dict[str, list[Any]]:
    """All records by lane, one micro-batch after the other, with a restart before each."""
    position = source.enumerator(parallelism).initial_position()
    found: dict[str, list[Any]] = {}
    while True:
        plan = source.enumerator(parallelism).plan(json.loads(json.dumps(position)), max_records)
        for item in plan.ranges:
            found.setdefault(item.partition, []).extend(rows_of(source, item.what))
        position = plan.position
        if plan.finished:
            return found


def everything(source: Source, **options: int) -> list[Any]:
    return [row for lane in drain(source, **options).values() for row in lane]


def run(source: Source, cuts: Any = None, crash: tuple[int, ...] = (), parallelism: int = 2) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    return collect_local(env.from_source(source), cuts=cuts, crash=crash)


# --- text ----------------------------------------------------------------------------------


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=9)),
    split=st.integers(1, 40),
    records=st.integers(1, 7),
    ended=st.booleans(),
)
def test_any_split_and_cut_gives_every_line_once(
    lines: list[str], split: int, records: int, ended: bool, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("lines") / "in.txt"
    content = "\n".join(lines) + ("\n" if ended and lines else "")
    path.write_bytes(content.encode())
    expected = content.split("\n")
    if expected[-1] == "":
        expected.pop()
    source = text(path).set_split_size(split).build()
    assert Counter(everything(source, max_records=records)) == Counter(expected)
    unsplit = text(path).set_file_enumerator(
        FileEnumeratorProvider.default_non_splittable_file_enumerator()
    )
    assert everything(unsplit.build(), max_records=records) == expected


def test_files_of_a_directory_are_dealt_to_as_many_lanes_as_tasks(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "er.txt").write_text("deep\n")
    (tmp_path / ".hidden").write_text("no\n")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "x").write_text("no\n")
    (tmp_path / "empty.txt").touch()
    assert drain(text(tmp_path).build()) == {"0": ["0", "2", "4"], "1": ["1", "3", "deep"]}


def test_a_lane_that_has_ended_no_longer_holds_the_watermark_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n")
    enumerator = text(tmp_path).build().enumerator(2)
    plan = enumerator.plan(enumerator.initial_position(), 2)
    assert (plan.ended, plan.finished) == ({"1"}, False)


def test_line_ends_of_windows_and_a_missing_last_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\r\ntwo\rhalf\r\nlast")
    assert run(text(tmp_path).build()) == ["one", "", "two\rhalf", "last"]


def test_other_charsets(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("süß\n".encode("latin-1"))
    latin = FileSource.for_record_stream_format(
        StreamFormat.text_line_format("latin-1"), str(tmp_path)
    )
    assert run(latin.build()) == ["süß"]
    with pytest.raises(ProgramError, match=r"utf-16.*Convert the files to UTF-8"):
        StreamFormat.text_line_format("utf-16")
    with pytest.raises(ProgramError, match="unknown charset 'klingon'"):
        StreamFormat.text_line_format("klingon")


def test_compressed_files_are_read_whole(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.writelines(f"{n}\n" for n in range(1000))
    assert run(text(tmp_path).build(), cuts=10) == [str(n) for n in range(1000)]


def test_a_cut_off_compressed_file_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(b"line\n" * 100_000)
    (tmp_path / "a.gz").write_bytes(whole[:-20])
    with pytest.raises(FunctionError, match=r"a\.gz.* is damaged or not finished"):
        run(text(tmp_path).build())


def test_a_cut_of_the_input_changes_nothing_on_the_way_through_a_job(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(20)))
    whole = Counter(run(text(tmp_path).build()))
    assert whole == Counter(f"{name}{n}" for name in "abc" for n in range(20))
    assert Counter(run(text(tmp_path).build(), cuts=7, crash=(0, 2))) == whole


def test_a_line_of_the_wrong_charset_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\n" * 10 + b"b\xff\xfed\n" + b"good\n" * 10)
    with pytest.raises(FunctionError, match=r"a\.txt', line 11 \(byte 50\): .*utf-8.*codec"):
        run(text(tmp_path).build())


def test_a_missing_path_is_found_when_the_program_is_built(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"no file or directory '.*nowhere'"):
        text(tmp_path / "nowhere").build()
    with pytest.raises(ProgramError, match="at least one path"):
        text().build()
    with pytest.raises(NotSupportedError, match=r"s3://bucket/x.*'s3' is not one"):
        text("s3://bucket/x").build()
    assert text(tmp_path.as_uri()).build().bounded


def test_a_file_that_disappears_before_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n")
    source = text(path).build()
    enumerator = source.enumerator(1)
    plan = enumerator.plan(enumerator.initial_position(), 10)
    path.unlink()
    with pytest.raises(MalformedFileError, match=r"a\.txt' has disappeared.*put it back"):
        rows_of(source, plan.ranges[0].what)
    path.write_text("")
    with pytest.raises(MalformedFileError, match="has become shorter"):
        rows_of(source, plan.ranges[0].what)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n")
    path.chmod(0)
    with pytest.raises(MalformedFileError, match="may not be read"):
        text(path).build().enumerator(1).initial_position()


def test_the_plan_for_thousands_of_files_is_small(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"events-2024-05-{number:05d}.txt").write_text("x\n")
    enumerator = text(tmp_path).build().enumerator(2)
    plan = enumerator.plan(enumerator.initial_position(), 100)
    assert len(json.dumps(plan.position)) < 30_000
    assert len(plan.ranges) == 100
    everything_left = enumerator.plan(plan.position, 10**9)
    assert len(everything_left.ranges) == 2000


def test_formats_go_with_the_right_method(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"Use FileSource\.for_record_stream_format"):
        FileSource.for_bulk_file_format(TEXT, str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="'text' is not a StreamFormat"):
        FileSource.for_record_stream_format("text", str(tmp_path))  # type: ignore[arg-type]


# --- monitoring ----------------------------------------------------------------------------


class Watcher:
    """A monitored source, driven step by step; a restart loses all but the position."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.restart()
        self.position = self.enumerator.initial_position()

    def restart(self) -> None:
        self.enumerator: SourceEnumerator = self.source.enumerator(2)

    def step(self, max_records: int = 10**9) -> list[Any]:
        plan = self.enumerator.plan(self.position, max_records)
        assert not plan.finished
        if plan.ranges:
            self.position = plan.position
        return [row for item in plan.ranges for row in rows_of(self.source, item.what)]


@pytest.fixture
def watcher(tmp_path: Path) -> Watcher:
    return Watcher(text(tmp_path).monitor_continuously(Duration.of_millis(0)).build())


def test_new_files_and_new_lines_are_read_once(watcher: Watcher, tmp_path: Path) -> None:
    assert watcher.step() == []
    (tmp_path / "a").write_text("1\n2\n")
    assert watcher.step() == ["1", "2"]
    (tmp_path / "b").write_text("3\n")
    with (tmp_path / "a").open("a") as file:
        file.write("4\n")
    assert sorted(watcher.step()) == ["3", "4"]
    watcher.restart()
    watcher.position = json.loads(json.dumps(watcher.position))
    assert watcher.step() == []
    assert not watcher.source.bounded


def test_half_a_line_waits_for_its_end(watcher: Watcher, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntw")
    assert watcher.step() == ["one"]
    assert watcher.step() == []
    with path.open("a") as file:
        file.write("o\nthree")
    assert watcher.step() == ["two"]


def test_limited_batches_read_a_growing_file_in_order(watcher: Watcher, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"{n}\n" for n in range(10)))
    found = []
    while step := watcher.step(max_records=3):
        found += step
        watcher.restart()
    assert found == [str(n) for n in range(10)]


def test_lanes_stay_when_files_go(watcher: Watcher, tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).write_text(f"{name}\n")
    assert sorted(watcher.step()) == ["a", "b", "c", "d"]
    (tmp_path / "a").unlink()
    with (tmp_path / "b").open("a") as file:
        file.write("b2\n")
    plan = watcher.enumerator.plan(watcher.position, 10)
    assert [item.partition for item in plan.ranges] == ["1"]
    assert watcher.enumerator.partitions() == ["0", "1"]


def test_many_changes_are_folded_into_the_list(watcher: Watcher, tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / str(number)).write_text("x\n")
    assert len(watcher.step()) == 250
    for number in range(250):
        with (tmp_path / str(number)).open("a") as file:
            file.write("y\n")
        assert watcher.step() == ["y"]
    assert len(watcher.position["since"]) <= 200
    watcher.restart()
    assert watcher.step() == []


def test_a_monitored_file_that_shrinks_or_goes_unread_stops_the_job(
    watcher: Watcher, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\nhalf")
    assert watcher.step() == ["one", "two"]
    content = path.read_text()
    path.unlink()
    with pytest.raises(JobError, match="has disappeared, and only 8 of 12"):
        watcher.step()
    path.write_text(content)
    watcher.restart()
    path.write_text("one\n")
    with pytest.raises(JobError, match="has become shorter: 8 of it were read, it now ends at 4"):
        watcher.step()


def test_directories_are_looked_at_once_per_interval(tmp_path: Path) -> None:
    watcher = Watcher(text(tmp_path).monitor_continuously(Duration.of_hours(1)).build())
    assert watcher.step() == []
    (tmp_path / "a").write_text("1\n")
    assert watcher.step() == []
    with pytest.raises(ProgramError, match=r"takes a Duration .* got 5"):
        text(tmp_path).monitor_continuously(5)


def test_an_unfinished_parquet_file_is_waited_for(tmp_path: Path) -> None:
    form = ParquetColumnarRowInputFormat()
    builder = FileSource.for_bulk_file_format(form, str(tmp_path))
    watcher = Watcher(builder.monitor_continuously(Duration.of_millis(0)).build())
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "_draft")
    whole = (tmp_path / "_draft").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-10])
    assert watcher.step() == []
    (tmp_path / "a.parquet").write_bytes(whole)
    assert watcher.step() == [{"n": 1}, {"n": 2}]


# --- CSV -----------------------------------------------------------------------------------


def people(**settings: Any) -> CsvSchema:
    builder = CsvSchema.builder().add_number_column("id").add_string_column("name")
    for name, value in settings.items():
        getattr(builder, name)(value)
    return builder.build()


def csv(path: Path, schema: CsvSchema) -> Any:
    return FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path))


def test_csv_records_are_named_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,Ann\n2,"Bo, the ""Great"""\n,\n')
    assert run(csv(tmp_path, people()).build()) == [
        Row(id=1, name="Ann"),
        Row(id=2, name='Bo, the "Great"'),
        Row(id=None, name=""),
    ]


NAMES = st.text(st.characters(codec="ascii", exclude_characters="\r\0"), max_size=6)


@given(names=st.lists(NAMES, min_size=1), records=st.integers(1, 5))
def test_quoted_line_feeds_never_cut_a_record(
    names: list[str], records: int, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    quoted = [name.replace('"', '""') for name in names]
    path.write_text("".join(f'{n},"{name}"\n' for n, name in enumerate(quoted)), newline="")
    source = csv(path, people()).set_split_size(5).build()
    expected = [{"id": n, "name": name} for n, name in enumerate(names)]
    assert everything(source, max_records=records) == expected


def test_escaped_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('1,"a\\"b\nc"\n2,"d\\\\"\n')
    source = csv(tmp_path, people(set_escape_char="\\")).build()
    assert everything(source, max_records=1) == [
        {"id": 1, "name": 'a"b\nc'},
        {"id": 2, "name": "d\\"},
    ]


def test_csv_settings(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_columns_from(people())
        .add_boolean_column("ok")
        .add_number_column("x", Types.DOUBLE())
        .add_array_column("tags", "|")
        .add_array_column("sizes", "|", Types.LONG())
        .set_column_separator(";")
        .set_null_value("-")
        .set_use_header()
        .set_strict_headers()
        .set_allow_comments()
        .disable_quote_char()
        .build()
    )
    (tmp_path / "a.csv").write_text(
        'id;name;ok;x;tags;sizes\n# a remark\n1;"A";true;1.5;a|b;1|2\n-;-;-;-;;\n'
    )
    assert run(csv(tmp_path, schema).build()) == [
        Row(id=1, name='"A"', ok=True, x=1.5, tags=["a", "b"], sizes=[1, 2]),
        Row(id=None, name=None, ok=None, x=None, tags=[], sizes=[]),
    ]
    assert len(schema) == 6


def test_a_header_is_skipped_once_per_file_even_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,A\n2,B\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"id,name\n3,C\n"))
    source = csv(tmp_path, people(set_use_header=True)).build()
    assert [row["id"] for row in everything(source, max_records=1)] == [1, 2, 3]


def test_a_header_of_other_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,nom\n1,A\n")
    schema = people(set_use_header=True, set_strict_headers=True)
    with pytest.raises(FunctionError, match=r"header names the columns \['id', 'nom'\]"):
        run(csv(tmp_path, schema).build())


@pytest.mark.parametrize("bad", ["x,Ann", "3", "3,Ann,extra"])
def test_a_malformed_csv_record_is_named(tmp_path: Path, bad: str) -> None:
    (tmp_path / "a.csv").write_text("1,A\n2,B\n" + bad + "\n4,D\n")
    with pytest.raises(FunctionError, match=r"a\.csv', line 3 \(byte 8\): not a record") as caught:
        run(csv(tmp_path, people()).build())
    assert bad in str(caught.value)


def test_faults_of_a_csv_schema() -> None:
    with pytest.raises(ProgramError, match="at least one column"):
        CsvSchema.builder().build()
    with pytest.raises(ProgramError, match="'id' is used twice"):
        CsvSchema.builder().add_string_column("id").add_string_column("id").build()
    with pytest.raises(ProgramError, match=r"set_quote_char takes one ASCII character, got '\"\"'"):
        CsvSchema.builder().set_quote_char('""')
    with pytest.raises(ProgramError, match=r"Types\.STRING\(\) is no number"):
        CsvSchema.builder().add_number_column("n", Types.STRING())
    with pytest.raises(NotSupportedError, match="exactly the columns"):
        CsvSchema.builder().set_any_property_name("rest")


# --- JSON ----------------------------------------------------------------------------------


@dataclass
class Reading:
    sensor: str
    value: float


def json_lines(path: Path, kind: Any = None) -> Source:
    return FileSource.for_record_stream_format(JsonLinesFormat(kind), str(path)).build()


def test_json_lines_as_dicts_rows_and_dataclasses(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"sensor": "a", "value": 1.5}\n{"sensor": "b"}\n')
    assert run(json_lines(tmp_path))[0] == {"sensor": "a", "value": 1.5}
    row = Types.ROW_NAMED(["sensor", "value"], [Types.STRING(), Types.DOUBLE()])
    assert run(json_lines(tmp_path, row)) == [
        Row(sensor="a", value=1.5),
        Row(sensor="b", value=None),
    ]
    (tmp_path / "a.jsonl").write_text('{"sensor": "a", "value": 1.5}\n')
    assert run(json_lines(tmp_path, Reading)) == [Reading("a", 1.5)]


def test_nested_json(tmp_path: Path) -> None:
    inner = Types.ROW_NAMED(["n"], [Types.INT()])
    kind = Types.ROW_NAMED(
        ["list", "map"], [Types.LIST(inner), Types.MAP(Types.STRING(), Types.LONG())]
    )
    (tmp_path / "a").write_text('{"list": [{"n": 1}], "map": {"k": 2}}\n')
    assert run(json_lines(tmp_path, kind)) == [Row(list=[Row(n=1)], map={"k": 2})]


@pytest.mark.parametrize("bad", ['{"sensor": 1, "value": 2}', '{"sensor": ', "[]", '{"value": 1}'])
def test_a_malformed_json_line_is_named(tmp_path: Path, bad: str) -> None:
    good = '{"sensor": "a", "value": 1}\n'
    (tmp_path / "a").write_text(good * 4 + bad + "\n" + good)
    with pytest.raises(FunctionError, match=r"a', line 5 \(byte 112\): not the JSON"):
        run(json_lines(tmp_path, Reading))


def test_a_type_that_json_cannot_give_is_refused() -> None:
    with pytest.raises(ProgramError, match="JsonLinesFormat cannot make"):
        JsonLinesFormat(Types.PICKLED_BYTE_ARRAY())


# --- Parquet and Avro ----------------------------------------------------------------------


def test_row_groups_are_read_side_by_side(tmp_path: Path) -> None:
    table = pa.table({"n": list(range(10)), "s": [str(n) for n in range(10)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    form = ParquetColumnarRowInputFormat(["s", "n"])
    lanes = drain(FileSource.for_bulk_file_format(form, str(tmp_path)).build())
    assert [row["n"] for row in lanes["0"]] == [0, 1, 2, 6, 7, 8]
    assert lanes["1"][0] == {"s": "3", "n": 3}
    assert run(ParquetSource(tmp_path, columns=["n"], element=tuple), parallelism=1) == [
        (n,) for n in range(10)
    ]


def test_faults_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"nothing of the kind")
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(), str(tmp_path)).build()
    with pytest.raises(MalformedFileError, match="not a complete Parquet file"):
        run(source)
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    with pytest.raises(MalformedFileError, match=r"a damaged Parquet file: .*write it again"):
        run(source)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    form = ParquetColumnarRowInputFormat(["m"])
    with pytest.raises(FunctionError, match=r"has no column 'm': it has \['n'\]"):
        run(FileSource.for_bulk_file_format(form, str(tmp_path)).build())
    with pytest.raises(ProgramError, match="Rows, tuples or dataclasses"):
        ParquetColumnarRowInputFormat("n")
    with pytest.raises(ProgramError, match="found no Parquet file"):
        ParquetSource(tmp_path / "nowhere")


SCHEMA = AvroSchema.parse_string(
    '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
)


def write_avro(path: Path, count: int) -> list[dict[str, int]]:
    rows = [{"n": n} for n in range(count)]
    with path.open("wb") as file:
        fastavro.writer(file, SCHEMA.parsed, rows, sync_interval=20)
    return rows


def avro(path: Path, schema: AvroSchema | None = None) -> Any:
    return FileSource.for_bulk_file_format(AvroReaderFormat(schema), str(path))


def test_blocks_of_avro_files_are_read_side_by_side(tmp_path: Path) -> None:
    rows = write_avro(tmp_path / "a.avro", 500)
    source = avro(tmp_path).set_split_size(100).build()
    lanes = drain(source, max_records=20)
    assert len(lanes) == 2
    assert sorted(row["n"] for lane in lanes.values() for row in lane) == list(range(500))
    assert run(avro(tmp_path, SCHEMA).build(), cuts=30) == rows


def test_an_avro_file_that_grows(tmp_path: Path) -> None:
    rows = write_avro(tmp_path / "_whole", 100)
    whole = (tmp_path / "_whole").read_bytes()
    watcher = Watcher(avro(tmp_path).monitor_continuously(Duration.of_millis(0)).build())
    found = []
    for size in (3, 60, 200, len(whole) - 1, len(whole)):
        (tmp_path / "a.avro").write_bytes(whole[:size])
        found += watcher.step()
        assert found == rows[: len(found)]
    assert found == rows


def test_faults_of_avro_files(tmp_path: Path) -> None:
    write_avro(tmp_path / "a.avro", 100)
    whole = (tmp_path / "a.avro").read_bytes()
    (tmp_path / "a.avro").write_bytes(whole[:-5])
    with pytest.raises(MalformedFileError, match="damaged or not finished: the block at byte"):
        run(avro(tmp_path).build())
    (tmp_path / "a.avro").write_bytes(b"not Avro at all")
    with pytest.raises(MalformedFileError, match="is not an Avro file"):
        run(avro(tmp_path).build())
    with pytest.raises(ProgramError, match="an Avro schema is JSON"):
        AvroSchema.parse_string("record")
    with pytest.raises(ProgramError, match="not an Avro schema"):
        AvroSchema.parse_string('{"type": "nonsense"}')


def test_formats_travel(tmp_path: Path) -> None:
    import pickle

    forms: list[Callable[[], FileFormat]] = [
        lambda: JsonLinesFormat(Types.ROW_NAMED(["n"], [Types.LONG()])),
        lambda: AvroReaderFormat(SCHEMA),
        lambda: CsvReaderFormat(people()),
    ]
    for make in forms:
        assert type(pickle.loads(pickle.dumps(make()))) is type(make())


def test_malformed_records_become_dead_letters_and_none_is_lost(tmp_path: Path) -> None:
    lines = [f"{n},n{n}" if n % 7 else f"bad {n}" for n in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = csv(tmp_path, people()).set_bad_records("dead-letter").build()
    stream = env.from_source(source)
    good, bad = ListSink(), ListSink()
    stream.sink_to(good)
    stream.get_side_output(DEAD_LETTERS).sink_to(bad)
    run_local(env, cuts=9, crash=[1])
    assert [row.id for row in good.values] == [n for n in range(100) if n % 7]
    assert [letter.record for letter in bad.values] == [
        f"bad {n}\n".encode() for n in range(0, 100, 7)
    ]
    assert [letter.line for letter in bad.values] == list(range(1, 101, 7))
    letter = bad.values[1]
    assert (letter.path, letter.offset) == (str(tmp_path / "a.csv"), len("\n".join(lines[:7])) + 1)
    assert "not a record of this schema" in letter.error


def test_what_set_bad_records_refuses(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="takes 'fail' or 'dead-letter', got 'ignore'"):
        text(tmp_path).set_bad_records("ignore")
    with pytest.raises(ProgramError, match="such files end the job"):
        avro(tmp_path).set_bad_records("dead-letter")
