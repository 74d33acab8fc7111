"""Connectors by their options: what is made of them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataType, DataTypes
from scurry.common.errors import ConfigurationError, FunctionError, ScurryError
from scurry.common.types import RowKind
from scurry.connectors.tables.kafka_rows import RecordColumns, RowRecords
from scurry.plan.nodes import Sink, Source
from scurry.table.catalog import Column, ObjectIdentifier, ResolvedSchema, UniqueConstraint
from scurry.table.factories import CONNECTORS, TableContext, make_sink, make_source
from scurry.table.table_environment import TableEnvironment
from scurry.testing.relations import changes_of
from scurry.testing.tables import changes_of_table

INT, STRING = DataTypes.INT(), DataTypes.STRING()
KAFKA = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "nowhere:1",
    "properties.group.id": "g",
    "format": "json",
}


def context(
    options: Mapping[str, str],
    columns: Mapping[str, DataType] | None = None,
    key: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    more: tuple[Column, ...] = (),
) -> TableContext:
    physical = [Column.physical(*one) for one in (columns or {"a": INT, "b": STRING}).items()]
    primary = UniqueConstraint.primary_key("PK", key) if key else None
    schema = ResolvedSchema((*physical, *more), (), primary)
    return TableContext(ObjectIdentifier("c", "d", "t"), schema, options, partitions)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "has no option 'connector'"),
        ({"connector": "kafak"}, "Did you mean 'kafka'"),
        ({"connector": "datagen", "rows-per-secnd": "1"}, "Did you mean 'rows-per-second'"),
        ({"connector": "datagen", "rows-per-second": "many"}, "rows-per-second"),
        ({"connector": "datagen", "fields.x.min": "1"}, "a column 'x', which the table has not"),
        ({"connector": "datagen", "fields.a.mim": "1"}, "Did you mean 'min'"),
        ({"connector": "datagen", "fields.a.kind": "sequence"}, "needs 'start' and 'end'"),
        ({"connector": "datagen", "fields.a.kind": "odd"}, "'random' or 'sequence', not 'odd'"),
        ({"connector": "filesystem", "format": "json"}, "lacks the option 'path'"),
        ({**KAFKA, "format": "jsn"}, "Did you mean 'json'"),
        ({**KAFKA, "json.ignore-errors": "true"}, "ignore-parse-errors"),
        ({**KAFKA, "json.ignore-parse-errors": "yes"}, "write true or false"),
        ({**KAFKA, "scan.startup.mode": "earlest"}, "one of earliest-offset"),
        ({**KAFKA, "scan.startup.mode": "timestamp"}, "scan.startup.timestamp-millis"),
        (
            {
                **KAFKA,
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "1",
            },
            "partition:0,offset:42",
        ),
        ({**KAFKA, "topic-pattern": "x"}, "either 'topic' or 'topic-pattern'"),
        ({**KAFKA, "value.format": "json"}, "the same option"),
        ({**KAFKA, "key.fields": "a"}, "'key.fields' needs 'key.format'"),
        ({**KAFKA, "key.fields": "x", "key.format": "raw"}, "the key column 'x'"),
        (
            {k: v for k, v in KAFKA.items() if not k.endswith("servers")},
            "lacks the option 'properties.bootstrap.servers'",
        ),
        (
            {**KAFKA, "json.ignore-parse-errors": "true", "json.fail-on-missing-field": "true"},
            "contradict",
        ),
        ({"connector": "jdbc", "url": "jdbc:mysql://x/y", "table-name": "t"}, "jdbc:postgresql"),
        ({"connector": "print"}, "can be written and not be read"),
    ],
)
def test_a_source_that_cannot_be_made_is_refused(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        make_source(context(options))


def test_a_sink_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="can be read and not be written"):
        make_sink(context({"connector": "datagen"}))
    upsert = {
        "connector": "upsert-kafka",
        "topic": "t",
        "properties.bootstrap.servers": "nowhere:1",
        "key.format": "json",
        "value.format": "json",
    }
    with pytest.raises(ConfigurationError, match="needs a primary key"):
        make_sink(context(upsert))
    with pytest.raises(ConfigurationError, match=r"sink\.transactional-id-prefix"):
        make_sink(context({**upsert, "sink.delivery-guarantee": "exactly-once"}, key=("a",)))
    with pytest.raises(ConfigurationError, match="cannot be the value format of upsert-kafka"):
        make_sink(context({**upsert, "value.format": "debezium-json"}, key=("a",)))


def test_metadata_columns_are_checked() -> None:
    def with_column(name: str, kind: DataType, key: str | None, virtual: bool) -> TableContext:
        return context(KAFKA, more=(Column.metadata(name, kind, key, virtual),))

    assert make_source(with_column("offset", DataTypes.BIGINT(), None, True)).row_type.names == [
        "a",
        "b",
        "offset",
    ]
    with pytest.raises(ConfigurationError, match="Did you mean 'timestamp'"):
        make_source(with_column("ts", DataTypes.TIMESTAMP(3), "timestmp", False))
    with pytest.raises(ConfigurationError, match="Declare it VIRTUAL"):
        make_sink(with_column("offset", DataTypes.BIGINT(), None, False))
    with pytest.raises(ConfigurationError, match="which cannot be cast"):
        make_source(with_column("offset", DataTypes.DATE(), None, True))


def test_every_option_of_every_connector_says_what_it_is_for() -> None:
    for factory in CONNECTORS.values():
        assert factory.doc.endswith(".")
        for one in factory.options:
            assert one.option.doc.endswith("."), one.key


def rows_of(options: Mapping[str, str], columns: Mapping[str, DataType]) -> list[Any]:
    made = make_source(context(options, columns))
    return changes_of(Source(name="t", source=made.source, uid="t"), parallelism=2)


def test_datagen_makes_the_same_rows_again() -> None:
    options = {
        "connector": "datagen",
        "rows-per-second": "1000000",
        "fields.id.kind": "sequence",
        "fields.id.start": "5",
        "fields.id.end": "24",
        "fields.n.min": "1",
        "fields.n.max": "3",
        "fields.s.length": "4",
        "fields.s.null-rate": "0.5",
    }
    columns = {
        "id": DataTypes.BIGINT(),
        "n": INT,
        "s": STRING,
        "list": DataTypes.ARRAY(DataTypes.DOUBLE()),
        "row": DataTypes.ROW([DataTypes.FIELD("x", DataTypes.BOOLEAN())]),
        "map": DataTypes.MAP(DataTypes.STRING(), INT),
    }
    rows = rows_of(options, columns)
    assert sorted(row[1] for row in rows) == list(range(5, 25))
    assert {row[2] for row in rows} == {1, 2, 3}
    texts = [row[3] for row in rows]
    assert None in texts
    assert all(text is None or len(text) == 4 for text in texts)
    assert {len(row[4]) for row in rows} == {3}
    assert sorted(map(repr, rows_of(options, columns))) == sorted(map(repr, rows))


def write_and_read(
    tmp_path: Path, form: str, columns: Mapping[str, DataType], partitions: tuple[str, ...] = ()
) -> list[Any]:
    options = {
        "connector": "datagen",
        "rows-per-second": "1000000",
        "number-of-rows": "20",
        "fields.b.length": "3",
        "fields.a.min": "0",
        "fields.a.max": "2",
    }
    made = make_source(context(options, columns))
    files = {"connector": "filesystem", "path": str(tmp_path / "out"), "format": form}
    source = Source(name="t", source=made.source, uid="t")
    sink = make_sink(context(files, columns, partitions=partitions))
    run(source, sink.sink)
    (tmp_path / "out").mkdir(exist_ok=True)
    back = make_source(context(files, columns, partitions=partitions))
    assert back.bounded
    read = changes_of(Source(name="r", source=back.source, uid="r"))
    assert sorted(read, key=repr) == sorted(changes_of(source), key=repr)
    return read


def run(source: Source, sink: Any) -> None:
    from scurry.compile.job import Settings, compile_job
    from scurry.plan.graph import Graph
    from scurry.testing.local import LocalJob

    graph = Graph.of("test", [Sink(name="sink", inputs=(source,), sink=sink, uid="sink")])
    with LocalJob(compile_job(graph, Settings(1))) as job:
        while not job.done and job.step():
            pass


@pytest.mark.parametrize("form", ["json", "csv", "avro", "parquet", "orc"])
def test_files_give_back_what_was_written(tmp_path: Path, form: str) -> None:
    columns = {"a": INT, "b": STRING, "c": DataTypes.DOUBLE()}
    assert len(write_and_read(tmp_path, form, columns)) == 20


def test_files_of_columns_are_compressed_as_the_table_says(tmp_path: Path) -> None:
    def written(form: str, options: Mapping[str, str]) -> Path:
        path = tmp_path / "-".join((form, *options.values()))
        files = {"connector": "filesystem", "path": str(path), "format": form, **options}
        made = make_source(context({"connector": "datagen", "number-of-rows": "3"}))
        run(Source(name="t", source=made.source, uid="t"), make_sink(context(files)).sink)
        return next(path.glob("part-*"))

    for chosen, found in (({}, "SNAPPY"), ({"parquet.compression": "GZIP"}, "GZIP")):
        file = pq.ParquetFile(written("parquet", chosen))
        assert file.metadata.row_group(0).column(0).compression == found
    for chosen, found in (({}, "ZLIB"), ({"orc.compress": "SNAPPY"}, "SNAPPY")):
        assert orc.ORCFile(written("orc", chosen)).compression == found


@pytest.mark.parametrize(
    ("form", "more", "kind", "complaint"),
    [
        ("orc", {"orc.compres": "ZLIB"}, INT, "Did you mean 'compress'"),
        ("parquet", {"parquet.compression": "zip"}, INT, "one of SNAPPY"),
        ("orc", {}, DataTypes.TIME(), "cannot hold the column 'a', which is TIME"),
        ("parket", {}, INT, "Did you mean 'parquet'"),
    ],
)
def test_files_of_columns_that_cannot_be_are_refused(
    tmp_path: Path, form: str, more: dict[str, str], kind: DataType, complaint: str
) -> None:
    table = context(
        {"connector": "filesystem", "path": str(tmp_path), "format": form, **more}, {"a": kind}
    )
    for make in (make_source, make_sink):
        with pytest.raises(ConfigurationError, match=complaint):
            make(table)


def test_a_damaged_file_of_orc_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.orc").write_bytes(b"ORC and nothing else")
    made = make_source(context({"connector": "filesystem", "path": str(tmp_path), "format": "orc"}))
    with pytest.raises(ScurryError, match=r"x\.orc' is not a complete ORC file"):
        changes_of(Source(name="t", source=made.source, uid="t"))


def test_partitions_are_directories(tmp_path: Path) -> None:
    write_and_read(tmp_path, "json", {"a": INT, "b": STRING}, ("a",))
    names = {path.name for path in (tmp_path / "out").iterdir() if path.name[0] not in "._"}
    assert names <= {"a=0", "a=1", "a=2"}
    (file, *_) = (tmp_path / "out").glob("a=*/part*")
    assert set(json.loads(file.read_text().splitlines()[0])) == {"b"}


def test_a_partition_without_a_value_has_the_name_that_the_table_gives_it(tmp_path: Path) -> None:
    directory = tmp_path / "b=none"
    directory.mkdir()
    (directory / "x.json").write_text('{"a": 1}\n')
    files = {"connector": "filesystem", "path": str(tmp_path), "format": "json"}
    for more, value in (({}, "none"), ({"partition.default-name": "none"}, None)):
        made = make_source(context({**files, **more}, partitions=("b",)))
        assert changes_of(Source(name="t", source=made.source, uid="t")) == [("+I", 1, value)]


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "orc", "avro"])
def test_queries_may_read_no_column_of_the_files(
    env: TableEnvironment, tmp_path: Path, form: str
) -> None:
    columns, path = {"a": INT, "b": STRING}, tmp_path / "out"
    write_and_read(tmp_path, form, columns, ("b",))
    env.execute_sql(
        "CREATE TABLE t (a INT, b STRING, f STRING METADATA FROM 'file.name' VIRTUAL) "
        f"PARTITIONED BY (b) WITH ('connector'='filesystem', 'path'='{path}', 'format'='{form}')"
    )
    for column in ("f", "b"):
        assert len(changes_of_table(env.sql_query(f"SELECT {column} FROM t"))) == 20


def test_files_are_chosen_by_a_pattern_of_their_whole_paths(tmp_path: Path) -> None:
    for number, name in enumerate(("x-1.json", "x-2.json", "y-1.json")):
        (tmp_path / name).write_text(f'{{"a": {number}}}\n')
    files = {"connector": "filesystem", "path": str(tmp_path), "format": "json"}
    for more in ({}, {"source.monitor-interval": "1 ms"}):
        made = make_source(context({**files, **more, "source.path.regex-pattern": ".*/x-[^/]*"}))
        position = made.source.enumerator(2).initial_position()
        plan = made.source.enumerator(2).plan(position, 100)
        assert {Path(one.what[0]).name for one in plan.ranges} == {"x-1.json", "x-2.json"}
    part = make_source(context({**files, "source.path.regex-pattern": "x-1.json"}))
    assert changes_of(Source(name="t", source=part.source, uid="t")) == []
    with pytest.raises(ConfigurationError, match="which is no regular expression"):
        make_source(context({**files, "source.path.regex-pattern": "x("}))


def test_a_malformed_line_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}\n{"a": \n')
    files = {"connector": "filesystem", "path": str(tmp_path), "format": "json"}
    made = make_source(context(files))
    with pytest.raises(FunctionError, match=r"line 2 .*not JSON.*ignore-parse-errors"):
        changes_of(Source(name="t", source=made.source, uid="t"))
    made = make_source(context({**files, "json.ignore-parse-errors": "true"}))
    assert changes_of(Source(name="t", source=made.source, uid="t")) == [("+I", 1, None)]


class Message:
    """A message of Kafka's client."""

    def __init__(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        self._key, self._value, self._offset = key, value, offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def offset(self) -> int:
        return self._offset

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000 + self._offset

    def headers(self) -> list[tuple[str, bytes]]:
        return [("h", b"x")]

    def __len__(self) -> int:
        return len(self._value or b"")


def decoder_of(made: Any) -> RecordColumns:
    columns: RecordColumns = made.source._columns
    return columns


def test_kafka_records_become_columns_with_metadata() -> None:
    more = (
        Column.metadata("o", DataTypes.BIGINT(), "offset", True),
        Column.metadata("headers", DataTypes.MAP(STRING, DataTypes.BYTES()), None, True),
    )
    made = make_source(context(KAFKA, more=more))
    batch = decoder_of(made).decode(
        [Message(None, b'{"a":1}', 7), Message(None, None, 8), Message(None, b'{"a":2}', 9)]
    )
    assert batch.columns is not None
    assert batch.columns.column("a").to_pylist() == [1, 2]
    assert batch.columns.column("o").to_pylist() == [7, 9]
    assert batch.columns.column("headers").to_pylist() == [[("h", b"x")]] * 2
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == [1007, 1009]


def test_a_malformed_record_names_its_offset() -> None:
    from scurry.common.errors import TypeMismatchError

    made = make_source(context(KAFKA))
    with pytest.raises(TypeMismatchError, match=r"offset 9 of t-0 cannot be read: not JSON"):
        decoder_of(made).decode([Message(None, b"{}", 8), Message(None, b"{", 9)])


UPSERT = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "nowhere:1",
    "key.format": "json",
    "value.format": "json",
}


def test_upsert_kafka_reads_rows_by_key() -> None:
    made = make_source(context(UPSERT, key=("a",)))
    assert made.changelog is ChangelogMode.UPSERT
    batch = decoder_of(made).decode(
        [
            Message(b'{"a":1}', b'{"a":1,"b":"x"}', 1),
            Message(b'{"a":2}', None, 2),
            Message(b'{"a":1}', b'{"a":1,"b":"y"}', 3),
        ]
    )
    assert batch.columns is not None
    assert batch.kinds is not None
    assert batch.columns.to_pylist() == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
        {"a": 1, "b": "y"},
    ]
    after, delete = RowKind.UPDATE_AFTER.value, RowKind.DELETE.value
    assert batch.kinds.tolist() == [after, delete, after]


def test_upsert_kafka_writes_rows_by_key() -> None:
    made = make_sink(context({**UPSERT, "value.fields-include": "EXCEPT_KEY"}, key=("a",)))
    assert made.changelog is ChangelogMode.UPSERT
    assert made.key == ("a",)
    records: RowRecords = made.sink._records  # type: ignore[attr-defined]
    columns = pa.record_batch({"a": pa.array([1, 1, 2], pa.int32()), "b": ["x", "y", "z"]})
    kinds = pa.array([kind.value for kind in (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER)])
    out = records.encode(columns, pa.concat_arrays([kinds, pa.array([3])]).to_numpy().astype("i1"))
    assert out.keys == [b'{"a":1}', b'{"a":1}', b'{"a":2}']
    assert out.values == [None, b'{"b":"y"}', None]


def test_print_writes_rows_as_flink_does(capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"a": INT, "f": DataTypes.DOUBLE()}
    made = make_sink(context({"connector": "print", "print-identifier": "p"}, columns))
    batch = pa.record_batch({"a": pa.array([1, None], pa.int32()), "f": [1e20, 2.5]})
    made.sink.receive(0, 1, [(batch, None)])  # type: ignore[attr-defined]
    assert capsys.readouterr().out == "p> +I[1, 1.0E20]\np> +I[null, 2.5]\n"
