"""Every built-in function, compared with what Flink gave: values and types, NULLs and errors.

Each expression is evaluated twice: as a constant, and with its constants put into columns, so that
the way of whole columns is compared as well.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.sql.flink_values import FILES, evaluate, lifted, of_flink, recorded, resolve, same

from scurry.common.errors import ScurryError
from scurry.functions.expressions import Call, is_deterministic
from scurry.runtime.expressions import KERNELS
from scurry.runtime.expressions.choices import CHOICES

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['sql']}")
    for path in sorted(FILES.glob("*.json"))
    for case in recorded(path.stem)
]


@pytest.mark.parametrize("case", CASES)
def test_values_and_types_are_flinks(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ScurryError):
            evaluate(resolve(case["sql"]))
        return
    tree = resolve(case["sql"])
    assert str(tree.type) == case["type"]
    expected = of_flink(case["value"], tree.type)
    assert same(evaluate(tree)[0], expected), (evaluate(tree)[0], expected)
    if not is_deterministic(tree):
        return
    columns: list[pa.Scalar] = []
    moved = lifted(tree, columns)
    arrays = [pa.repeat(scalar, 2) for scalar in columns]
    names = [str(at) for at in range(len(arrays))]
    if not arrays:
        return
    batch = pa.RecordBatch.from_arrays(arrays, names)
    found = evaluate(moved, batch)
    assert len(found) == 2
    assert all(same(value, expected) for value in found), (found, expected)


#: functions that need what an expression alone does not have
_ELSEWHERE = {"CURRENT_WATERMARK"}


def test_every_supported_scalar_function_is_compared_with_flink() -> None:
    used: set[str] = set()
    for path in FILES.glob("*.json"):
        for case in recorded(path.stem):
            if "error" not in case:
                used |= {n.function for n in resolve(case["sql"]).walk() if isinstance(n, Call)}
    literals = {"DATE", "TIME", "TIMESTAMP"}
    assert (set(KERNELS) | set(CHOICES)) - used - literals == _ELSEWHERE
