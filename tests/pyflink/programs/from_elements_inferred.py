from __future__ import annotations

import datetime
import decimal

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements(
    [
        (1, 1.5, "a", True, datetime.date(2020, 1, 1), decimal.Decimal("1.5")),
        (2, 2.5, "b", False, datetime.date(2020, 1, 2), None),
    ],
    ["i", "f", "s", "b", "d", "n"],
)
table.print_schema()
table.execute().print()
rows = t_env.from_elements([Row(id=1, name="a"), Row(id=2, name="b")])
rows.print_schema()
lists = t_env.from_elements([([1, 2], {"a": 1.0}), ([], {})], ["l", "m"])
lists.print_schema()
lists.execute().print()
try:
    t_env.from_elements([], ["a"])
except Exception as error:
    print(isinstance(error, ValueError))
try:
    t_env.from_elements([(1, "a"), ("b", 2)], ["a", "b"])
except Exception as error:
    print(isinstance(error, TypeError))
t_env.from_elements([(datetime.datetime(2020, 1, 1, 10), datetime.time(1, 2))]).print_schema()
t_env.from_elements([{"b": 1, "a": "x"}]).print_schema()
