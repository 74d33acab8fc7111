"""DataFrames of results: the columns have the types that PyFlink's have."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.common.types import Row
from scurry.table.frames import data_frame

INT, STRING = DataTypes.INT(), DataTypes.STRING()
PAIR = DataTypes.ROW([DataTypes.FIELD("x", INT), DataTypes.FIELD("y", STRING)])
MOMENT = datetime.fromisoformat("2024-01-31T12:00:00")


@pytest.mark.parametrize(
    ("kind", "values", "dtype", "shown"),
    [
        (INT, [1, 2], "int32", [1, 2]),
        (INT, [1, None], "float64", None),
        (INT, [None], "float64", None),
        (DataTypes.TINYINT(), [1], "int8", [1]),
        (DataTypes.BIGINT(), [1], "int64", [1]),
        (DataTypes.FLOAT(), [1.5], "float32", [1.5]),
        (DataTypes.BOOLEAN(), [True], "bool", [True]),
        (DataTypes.DECIMAL(5, 2), [Decimal("1.50")], "object", [Decimal("1.50")]),
        (DataTypes.DATE(), [date(2024, 1, 31)], "object", [date(2024, 1, 31)]),
        (DataTypes.TIMESTAMP(3), [MOMENT], "datetime64[ms]", [MOMENT]),
        (DataTypes.MAP(STRING, INT), [{"a": 1}], "object", [[("a", 1)]]),
        (PAIR, [Row(1, "a")], "object", [{"x": 1, "y": "a"}]),
        (DataTypes.TIMESTAMP_LTZ(3), [MOMENT.replace(tzinfo=UTC)], None, None),
        (INT, [], "object", []),
    ],
)
def test_columns_have_arrows_types(
    kind: DataType, values: list[Any], dtype: str | None, shown: list[Any] | None
) -> None:
    frame = data_frame(RowType.of(["c"], [kind]), [(value,) for value in values])
    assert list(frame.columns) == ["c"]
    if dtype is not None:
        assert str(frame.dtypes["c"]) == dtype
    if shown is not None:
        assert frame["c"].tolist() == shown


def test_columns_may_have_one_name() -> None:
    frame = data_frame(RowType.of(["a", "b"], [INT, STRING]), [(1, "x"), (2, None)])
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", None]}
