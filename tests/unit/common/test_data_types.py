"""Types of SQL values: what they are, how they are written, what becomes what."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from scurry.common.data_types import (
    DataType,
    DataTypes,
    DecimalType,
    VarCharType,
    common_type,
    data_type_from_arrow,
    data_type_from_text,
    division_type,
    product_type,
    row_type_from_arrow,
    supports_explicit_cast,
    supports_implicit_cast,
    type_from_name,
)
from scurry.common.errors import TypeMismatchError

EVERY = [
    DataTypes.CHAR(3),
    DataTypes.VARCHAR(7),
    DataTypes.STRING(),
    DataTypes.BOOLEAN(False),
    DataTypes.BINARY(2),
    DataTypes.VARBINARY(5),
    DataTypes.BYTES(),
    DataTypes.DECIMAL(10, 2),
    DataTypes.TINYINT(),
    DataTypes.SMALLINT(),
    DataTypes.INT(False),
    DataTypes.BIGINT(),
    DataTypes.FLOAT(),
    DataTypes.DOUBLE(),
    DataTypes.DATE(),
    DataTypes.TIME(3),
    DataTypes.TIMESTAMP(3),
    DataTypes.TIMESTAMP(9, False),
    DataTypes.TIMESTAMP_LTZ(6),
    DataTypes.INTERVAL(DataTypes.DAY(3), DataTypes.SECOND(6)),
    DataTypes.INTERVAL(DataTypes.YEAR(4), DataTypes.MONTH()),
    DataTypes.INTERVAL(DataTypes.HOUR()),
    DataTypes.ARRAY(DataTypes.INT(False)),
    DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.DOUBLE())),
    DataTypes.MULTISET(DataTypes.STRING(), False),
    DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b`c", DataTypes.DATE())]
    ),
]


@pytest.mark.parametrize("data_type", EVERY, ids=str)
def test_a_type_says_itself_in_sql_and_is_read_again(data_type: DataType) -> None:
    assert data_type_from_text(str(data_type)) == data_type


@pytest.mark.parametrize("data_type", EVERY, ids=str)
def test_types_are_values(data_type: DataType) -> None:
    copy = pickle.loads(pickle.dumps(data_type))
    assert copy == data_type
    assert hash(copy) == hash(data_type)
    assert data_type.nullable() != data_type.not_null()
    assert data_type.not_null().nullable() == data_type.nullable()


@pytest.mark.parametrize("data_type", EVERY, ids=str)
def test_every_type_has_columns(data_type: DataType) -> None:
    assert pa.nulls(2, data_type.arrow_type()).null_count == 2


def test_the_unit_of_a_timestamp_column_follows_its_precision() -> None:
    assert DataTypes.TIMESTAMP(0).arrow_type() == pa.timestamp("ms")
    assert DataTypes.TIMESTAMP(6).arrow_type() == pa.timestamp("us")
    assert DataTypes.TIMESTAMP_LTZ(9).arrow_type() == pa.timestamp("ns", "UTC")


def test_types_of_arrow_columns() -> None:
    schema = pa.schema(
        [
            pa.field("i", pa.uint16(), nullable=False),
            ("t", pa.timestamp("us")),
            ("z", pa.timestamp("ns", "Europe/Berlin")),
            ("d", pa.dictionary(pa.int8(), pa.string())),
            ("m", pa.map_(pa.string(), pa.list_(pa.decimal128(5, 2)))),
        ]
    )
    assert str(row_type_from_arrow(schema)) == (
        "ROW<`i` INT NOT NULL, `t` TIMESTAMP(6), `z` TIMESTAMP_LTZ(9), `d` STRING, "
        "`m` MAP<STRING, ARRAY<DECIMAL(5, 2)>>>"
    )
    with pytest.raises(TypeMismatchError, match="month_day_nano_interval have no form in SQL"):
        data_type_from_arrow(pa.month_day_nano_interval())


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["INT NOT NULL", "BIGINT"], "BIGINT"),
        (["INT NOT NULL", "DECIMAL(2, 1) NOT NULL"], "DECIMAL(11, 1) NOT NULL"),
        (["DECIMAL(38, 2)", "DECIMAL(38, 10)"], "DECIMAL(38, 2)"),
        (["FLOAT", "DOUBLE"], "FLOAT"),
        (["DOUBLE", "FLOAT"], "DOUBLE"),
        (["BIGINT", "FLOAT"], "FLOAT"),
        (["FLOAT", "DECIMAL(2, 1)"], "DOUBLE"),
        (["CHAR(3) NOT NULL", "CHAR(3) NOT NULL"], "CHAR(3) NOT NULL"),
        (["CHAR(3)", "CHAR(5)"], "VARCHAR(5)"),
        (["NULL", "INT NOT NULL"], "INT"),
        (["TIMESTAMP(0)", "TIMESTAMP_LTZ(3)"], "TIMESTAMP_LTZ(3)"),
        (["ARRAY<INT NOT NULL>", "ARRAY<BIGINT>"], "ARRAY<BIGINT>"),
        (["INT", "STRING"], None),
        (["DATE", "TIMESTAMP(0)"], None),
    ],
)
def test_common_types_are_flinks(types: list[str], common: str | None) -> None:
    found = common_type(map(data_type_from_text, types))
    assert (None if found is None else str(found)) == common


def test_decimal_results_keep_six_digits_behind_the_point() -> None:
    wide = DecimalType(38, 18)
    assert product_type(wide, wide) == DecimalType(38, 6)
    assert division_type(DecimalType(10, 2), DecimalType(5, 1)) == DecimalType(17, 8)


@pytest.mark.parametrize(
    ("source", "target", "implicit", "explicit"),
    [
        ("INT", "BIGINT", True, True),
        ("BIGINT", "INT", False, True),
        ("CHAR(3)", "STRING", True, True),
        ("STRING", "VARCHAR(3)", True, True),
        ("CHAR(5)", "CHAR(3)", True, True),
        ("VARCHAR(3)", "CHAR(5)", False, True),
        ("BYTES", "VARBINARY(3)", True, True),
        ("VARBINARY(3)", "BINARY(5)", False, True),
        ("DOUBLE", "DECIMAL(5, 2)", True, True),
        ("DECIMAL(5, 2)", "INT", False, True),
        ("TIME(3)", "TIME(0)", True, True),
        ("TIMESTAMP_LTZ(3)", "DATE", False, True),
        ("STRING", "INT", False, True),
        ("INT", "STRING", False, True),
        ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", True, True),
        ("STRING", "ARRAY<INT>", False, False),
        ("BOOLEAN", "DATE", False, False),
        ("ARRAY<INT>", "ARRAY<BIGINT>", True, True),
        ("ARRAY<STRING>", "ARRAY<INT>", False, True),
        ("ROW<a INT>", "ROW<a INT, b INT>", False, False),
    ],
)
def test_what_can_be_cast(source: str, target: str, implicit: bool, explicit: bool) -> None:
    one, two = data_type_from_text(source), data_type_from_text(target)
    assert supports_implicit_cast(one, two) is implicit
    assert supports_explicit_cast(one, two) is explicit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BIGNIT", "there is no type BIGNIT; did you mean .*BIGINT"),
        ("DECIMAL(40, 2)", "the precision is between 1 and 38"),
        ("TIMESTAMP(10)", "the precision is between 0 and 9"),
        ("INT(5)", r"INT takes no number in parentheses, got \(5\)"),
        ("ARRAY<INT", "expected '>', found the end"),
        ("INT INT", "expected the end, found 'INT'"),
        ("INTERVAL DAY TO MONTH", "there is no type INTERVAL DAY TO MONTH"),
    ],
)
def test_texts_that_are_no_types_are_refused(text: str, message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        data_type_from_text(text)


def test_names_with_several_words() -> None:
    assert type_from_name("double  precision") == DataTypes.DOUBLE()
    assert type_from_name("TIMESTAMP WITH LOCAL TIME ZONE", [3], False) == DataTypes.TIMESTAMP_LTZ(
        3, False
    )
    assert type_from_name("VARCHAR", [5]) == VarCharType(5)
    assert type_from_name("DECIMAL") == DecimalType(10, 0)


def test_fields_of_a_row_type() -> None:
    row = DataTypes.ROW([DataTypes.INT(), DataTypes.STRING()])
    assert row.field_names() == ["f0", "f1"]
    assert row["f1"].data_type == DataTypes.STRING()
    assert len(row.add("g", DataTypes.DATE())) == 3
    with pytest.raises(KeyError, match="no field 'x' among"):
        row["x"]
    with pytest.raises(TypeMismatchError, match="must be a type such as"):
        DataTypes.ARRAY(int)  # type: ignore[arg-type]
