from __future__ import annotations

from pyflink.common import Row, RowKind

row = Row("Alice", 11)
print(row, repr(row), len(row), row[0], list(row))
named = Row(name="Alice", age=11)
print(named, named.name, named["age"], "name" in named, named.as_dict())
Person = Row("name", "age")
print(Person("Bob", 12), Person("Bob", 12).as_dict())
print(
    row == Row("Alice", 11),
    row == named,
    named == Row(name="Alice", age=11),
    hash(row) == hash(Row("Alice", 11)),
)
row[1] = 12
print(row)
print(named.age, named)
row.set_field_names(["n", "a"])
print(row.n, row.as_dict())
row.set_row_kind(RowKind.DELETE)
print(row.get_row_kind(), row, RowKind.UPDATE_BEFORE, [str(kind) for kind in RowKind])
print(Row.of_kind(RowKind.UPDATE_AFTER, 1, 2).get_row_kind(), Row(1, Row("x", 2)))
print(row.to_tuple() if hasattr(row, "to_tuple") else tuple(row))
try:
    Row(1, a=2)
except Exception as error:
    print(type(error).__name__)
nested = Row(a=1, b=Row(c=2, d=[Row(e=3)]))
print(nested.as_dict(True))
