"""The catalogue of built-in functions: calls are typed, or refused with what would fit."""

from __future__ import annotations

import pickle

import pytest

from scurry.common.data_types import DataTypes, data_type_from_text
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.functions.builtin import BUILT_INS, Status, resolve, resolve_aggregate, resolve_cast
from scurry.functions.expressions import (
    Call,
    InputRef,
    Literal,
    is_constant,
    is_deterministic,
    references,
    remap,
)


def column(index: int, text: str) -> InputRef:
    return InputRef(index, data_type_from_text(text))


def test_operands_are_cast_to_what_the_function_takes() -> None:
    call = resolve("+", (column(0, "INT NOT NULL"), column(1, "BIGINT")))
    assert str(call) == "(CAST($0 AS BIGINT) + $1)"
    assert call.type == DataTypes.BIGINT()
    assert call.operands[0].type == DataTypes.BIGINT(False)


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("UPPER", ["INT"], r"UPPER does not take \(INT\); it is called as UPPER\(STRING\)"),
        ("LPAD", ["STRING"], r"called as LPAD\(STRING, INT, STRING\)"),
        ("ROUND", ["STRING"], r"called as ROUND\(NUMERIC \[, INT\]\)"),
        ("UPER", ["STRING"], "there is no function UPER; did you mean UPPER"),
        ("=", ["INT", "STRING"], "cannot be compared, which needs a CAST on one side"),
        ("SUM", ["INT"], "cannot stand where the value of one row is needed"),
        ("CASE", ["BOOLEAN", "INT", "STRING"], "the results have no common type: INT, STRING"),
        ("ARRAY_CONTAINS", ["ARRAY<INT>", "STRING"], "the elements are INT"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, types: list[str], message: str) -> None:
    operands = [column(at, text) for at, text in enumerate(types)]
    with pytest.raises(ProgramError, match=message):
        resolve(name, operands)


def test_functions_that_are_missing_say_why() -> None:
    with pytest.raises(NotSupportedError, match="BITMAP_BUILD is not supported: bitmaps are not"):
        resolve("BITMAP_BUILD", (column(0, "STRING"),))


def test_casts_that_do_not_exist_are_refused() -> None:
    assert resolve_cast(column(0, "INT"), DataTypes.STRING(), True).type == DataTypes.STRING()
    with pytest.raises(ProgramError, match="values of BOOLEAN cannot be cast to DATE"):
        resolve_cast(column(0, "BOOLEAN"), DataTypes.DATE())


def test_aggregates_are_typed_as_flinks() -> None:
    entry, operands, result = resolve_aggregate("sum", (column(0, "DECIMAL(10, 2)"),))
    assert (entry.name, result) == ("SUM", DataTypes.DECIMAL(38, 2))
    assert operands == (column(0, "DECIMAL(10, 2)"),)
    assert resolve_aggregate("AVG", (column(0, "INT NOT NULL"),))[2] == DataTypes.INT()
    assert resolve_aggregate("COUNT", ())[2] == DataTypes.BIGINT(False)
    with pytest.raises(ProgramError, match="UPPER is no aggregate"):
        resolve_aggregate("UPPER", (column(0, "STRING"),))


def test_every_entry_is_documented_and_every_gap_has_a_reason() -> None:
    for entry in BUILT_INS:
        assert entry.syntax, entry
        assert entry.says, entry
        assert bool(entry.reason) == (entry.status is not Status.SUPPORTED), entry


def test_more_than_two_hundred_functions_are_supported() -> None:
    assert sum(entry.status is Status.SUPPORTED for entry in BUILT_INS) >= 200


def test_questions_about_trees() -> None:
    tree = resolve("+", (column(2, "INT"), Literal(1, DataTypes.INT(False))))
    assert references(tree) == {2}
    assert str(remap(tree, {2: 0})) == "($0 + 1)"
    assert not is_constant(tree)
    assert is_constant(Literal(1, DataTypes.INT()))
    random = resolve("RAND", ())
    assert not is_deterministic(random)
    assert not is_constant(random)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert {tree: 1}[Call("+", tree.operands, tree.type, span="elsewhere")] == 1
