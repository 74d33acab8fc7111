"""Spark's schemas as types of elements, and back.

========================  ======================================  =======================
Spark                     type                                    element
========================  ======================================  =======================
boolean, string, ...      `BOOLEAN`, `STRING`, ...                bool, str, ...
byte, short, int, long    `BYTE`, `SHORT`, `INT`, `LONG`          int
float, double             `FLOAT`, `DOUBLE`                       float
binary                    `PRIMITIVE_ARRAY(BYTE)`                 bytes
decimal(p, s)             `DECIMAL(p, s)`                         Decimal
date, time                `SQL_DATE`, `SQL_TIME`                  date, time
timestamp                 `TIMESTAMP_LTZ`                         datetime in UTC
timestamp_ntz             `SQL_TIMESTAMP`                         datetime without zone
array, map                `LIST`, `MAP`                           list, dict
struct                    `ROW_NAMED`                             Row
========================  ======================================  =======================

Other types of Spark have no Arrow columns, or no Python values: they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as spark

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo
from scurry.common.column_types import DecimalTypeInfo, ZonedTimestampTypeInfo
from scurry.common.errors import ProgramError
from scurry.common.row_types import CompositeTypeInfo, RowTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.runtime.columns import VALUE

_SIMPLE: dict[type[spark.DataType], Callable[[], TypeInformation]] = {
    spark.BooleanType: Types.BOOLEAN,
    spark.ByteType: Types.BYTE,
    spark.ShortType: Types.SHORT,
    spark.IntegerType: Types.INT,
    spark.LongType: Types.LONG,
    spark.FloatType: Types.FLOAT,
    spark.DoubleType: Types.DOUBLE,
    spark.StringType: Types.STRING,
    spark.CharType: Types.STRING,
    spark.VarcharType: Types.STRING,
    spark.DateType: Types.SQL_DATE,
    spark.TimeType: Types.SQL_TIME,
    spark.TimestampNTZType: Types.SQL_TIMESTAMP,
    spark.TimestampType: ZonedTimestampTypeInfo,
    spark.BinaryType: lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}
_OF_LABEL: dict[str, Callable[[], spark.DataType]] = {
    "BOOLEAN": spark.BooleanType,
    "BYTE": spark.ByteType,
    "SHORT": spark.ShortType,
    "INT": spark.IntegerType,
    "LONG": spark.LongType,
    "FLOAT": spark.FloatType,
    "DOUBLE": spark.DoubleType,
    "STRING": spark.StringType,
    "CHAR": spark.StringType,
    "BIG_INT": lambda: spark.DecimalType(38, 0),
    "BIG_DEC": lambda: spark.DecimalType(38, 18),
    "SQL_DATE": spark.DateType,
    "LOCAL_DATE": spark.DateType,
    "SQL_TIME": spark.TimeType,
    "LOCAL_TIME": spark.TimeType,
    "SQL_TIMESTAMP": spark.TimestampNTZType,
    "LOCAL_DATE_TIME": spark.TimestampNTZType,
    "TIMESTAMP_LTZ": spark.TimestampType,
    "INSTANT": spark.TimestampType,
}


_TIME_TYPE = "spark.sql.timeType.enabled"


def type_of_schema(schema: spark.StructType) -> RowTypeInfo:
    """The type of a DataFrame's rows."""
    names = schema.fieldNames()
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProgramError(
            f"The DataFrame has two columns called {twice!r}: rename one, as with "
            "df.withColumnsRenamed or an alias."
        )
    return RowTypeInfo([_type_of(field.dataType, field.name) for field in schema], names)


def columns_of_schema(schema: spark.StructType) -> pa.Schema:
    """The Arrow columns of a DataFrame, as streams hold them and as files have them."""
    columns = type_of_schema(schema).arrow_type()
    assert columns is not None, "types of Spark's have columns"
    return pa.schema(list(columns))


def _type_of(kind: spark.DataType, path: str) -> TypeInformation:
    if type(kind) in _SIMPLE:
        return _SIMPLE[type(kind)]()
    if isinstance(kind, spark.DecimalType):
        return DecimalTypeInfo(kind.precision, kind.scale)
    if isinstance(kind, spark.ArrayType):
        return ListTypeInfo(_type_of(kind.elementType, f"{path}[]"))
    if isinstance(kind, spark.MapType):
        key = _type_of(kind.keyType, f"the keys of {path}")
        return MapTypeInfo(key, _type_of(kind.valueType, f"the values of {path}"))
    if isinstance(kind, spark.StructType):
        fields = [_type_of(field.dataType, f"{path}.{field.name}") for field in kind]
        return RowTypeInfo(fields, kind.fieldNames())
    raise ProgramError(
        f"The column {path!r} is of the type {kind.simpleString()}, which a stream cannot hold: "
        "cast it in the DataFrame, for instance to string, or leave it out."
    )


def schema_of_type(info: TypeInformation) -> spark.StructType:
    """The schema of a DataFrame of elements of that type; what has no fields is a column
    ``value``."""
    if not isinstance(info, CompositeTypeInfo):
        return spark.StructType([spark.StructField(VALUE, _spark_of(info, VALUE))])
    fields = zip(info.field_names(), info.field_types(), strict=True)
    return spark.StructType([spark.StructField(name, _spark_of(t, name)) for name, t in fields])


def check_for_files(session: SparkSession, schema: spark.StructType) -> None:
    """Raise if Spark could not read files of ``schema``."""
    if "time(" in schema.simpleString() and session.conf.get(_TIME_TYPE) != "true":
        raise ProgramError(
            f"The DataFrame would be {schema.simpleString()}, and this session of Spark does not "
            f"read the type time from files: set {_TIME_TYPE} to true, or make it a string."
        )


def _spark_of(info: TypeInformation, path: str) -> spark.DataType:
    if info.label in _OF_LABEL:
        return _OF_LABEL[info.label]()
    if isinstance(info, DecimalTypeInfo):
        return spark.DecimalType(info.precision, info.scale)
    if isinstance(info, PrimitiveArrayTypeInfo) and info._is_bytes():
        return spark.BinaryType()
    if isinstance(info, ListTypeInfo):
        return spark.ArrayType(_spark_of(info.elem_type, f"{path}[]"))
    if isinstance(info, MapTypeInfo):
        key, value = info._args()
        held = _spark_of(value, f"the values of {path}")
        return spark.MapType(_spark_of(key, f"the keys of {path}"), held)
    if isinstance(info, CompositeTypeInfo):
        return schema_of_type(info)
    raise ProgramError(
        f"{path!r} is of the type {info!r}, for which Spark has no column: give the schema of the "
        "DataFrame, as in schema='user string, total double', and elements that fit it."
    )
