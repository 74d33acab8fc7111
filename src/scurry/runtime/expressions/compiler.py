"""From a typed tree to a function of record batches.

Compiling walks the tree once. Each call gets its kernel; the operands are evaluated first, except
for the functions that choose (CASE, IF, COALESCE, AND, OR, ...), which evaluate an operand only for
the rows that need it. A subtree without columns is computed once, at its first use, and is then one
value for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.data_types import (
    BigIntType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
)
from scurry.functions.builtin import find
from scurry.functions.expressions import (
    Call,
    Expression,
    InputRef,
    Literal,
    UdfCall,
    is_constant,
)
from scurry.runtime.expressions.choices import CHOICES
from scurry.runtime.expressions.context import EvaluationContext
from scurry.runtime.expressions.errors import EvaluationError, at_span
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import KERNELS
from scurry.runtime.expressions.literals import scalar_of
from scurry.runtime.expressions.udf_calls import OpenedFunction, udf_kernel
from scurry.runtime.failures import ElementFailed

__all__ = ["CompiledExpression", "compile_expression", "compile_predicate", "compile_projection"]

Node = Callable[[Frame], Datum]
#: How many digits whole numbers have at most.
_DIGITS: dict[type[DataType], int] = {TinyIntType: 3, SmallIntType: 5, IntType: 10, BigIntType: 19}
Predicate = Callable[[pa.RecordBatch, EvaluationContext], pa.Array]


class CompiledExpression:
    """A function of record batches: called with one, and the surroundings, it gives the column of
    the expression's values. Functions of the user's are opened at the first call; `close` closes
    them."""

    def __init__(self, tree: Expression) -> None:
        self.tree = tree
        self._functions: list[OpenedFunction] = []
        self._node = _Compiler(self._functions).compile(tree)

    def __call__(self, batch: pa.RecordBatch, context: EvaluationContext) -> pa.Array:
        return self.on_frame(Frame.of(batch, context))

    def on_frame(self, frame: Frame) -> pa.Array:
        """The column for the rows of a frame."""
        return as_array(self._node(frame), frame.count)

    def close(self) -> None:
        """Close the functions of the user's that were opened."""
        for function in self._functions:
            function.close()


def compile_expression(tree: Expression) -> CompiledExpression:
    """The function that gives the column of the tree's values for a batch of rows."""
    return CompiledExpression(tree)


def compile_projection(
    trees: Sequence[Expression], names: Sequence[str]
) -> Callable[[pa.RecordBatch, EvaluationContext], pa.RecordBatch]:
    """The function that gives, for a batch of rows, a batch with the trees' values as columns."""
    compiled = [compile_expression(tree) for tree in trees]
    fields = [pa.field(n, t.type.arrow_type()) for n, t in zip(names, trees, strict=True)]
    schema = pa.schema(fields)

    def project(batch: pa.RecordBatch, context: EvaluationContext) -> pa.RecordBatch:
        frame = Frame.of(batch, context)
        columns = [one.on_frame(frame) for one in compiled]
        if not columns:
            empty = pa.array([{}] * batch.num_rows, pa.struct([]))
            return pa.RecordBatch.from_struct_array(empty)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return project


def compile_predicate(tree: Expression) -> Predicate:
    """The function that gives a mask of the rows for which the tree is TRUE; UNKNOWN is false."""
    column = compile_expression(tree)
    return lambda batch, context: pc.fill_null(column(batch, context), False)


def may_fail(tree: Expression) -> bool:
    """Whether the tree could fail on some row; then it is evaluated where it is needed only."""
    return any(_fails(node) for node in tree.walk())


def _fails(node: Expression) -> bool:
    if isinstance(node, UdfCall):
        return True
    entry = find(node.function) if isinstance(node, Call) else None
    if entry is None or not entry.fails:
        return False
    return entry.name != "CAST" or not _widens(node.operands[0].type, node.type)


def _widens(source: DataType, target: DataType) -> bool:
    """Whether every number of one type is one of the other."""
    digits = _DIGITS.get(type(source))
    if digits is None:
        return isinstance(source, FloatType) and isinstance(target, DoubleType)
    if isinstance(target, DecimalType):
        return digits <= target.precision - target.scale
    return isinstance(target, DoubleType) or digits <= _DIGITS.get(type(target), 0)


class _Compiler:
    """Compiles one tree; gathers the functions of the user's in it."""

    def __init__(self, functions: list[OpenedFunction]) -> None:
        self._functions = functions

    def compile(self, tree: Expression) -> Node:
        if isinstance(tree, InputRef):
            index = tree.index
            return lambda rows: rows.column(index)
        if isinstance(tree, Literal):
            value = scalar_of(tree)
            return lambda rows: value
        node = self._call(tree)
        return _once(node) if is_constant(tree) else node

    def _call(self, tree: Expression) -> Node:
        operands = [self.compile(operand) for operand in tree.operands]
        if isinstance(tree, UdfCall):
            opened = OpenedFunction(tree)
            self._functions.append(opened)
            return _located(tree, _eager(udf_kernel(opened), operands, tree.type.arrow_type()))
        assert isinstance(tree, Call), tree
        choose = CHOICES.get(tree.function)
        if choose is not None:
            return choose(tree, operands, [may_fail(operand) for operand in tree.operands])
        build = KERNELS.get(tree.function)
        if build is None:
            raise EvaluationError(f"there is no way to compute {tree.function} for rows")
        return _located(tree, _eager(build(tree), operands, tree.type.arrow_type()))


def _once(node: Node) -> Node:
    """A node that is the same for all rows, computed when it is first needed."""
    found: dict[str, pa.Scalar] = {}

    def evaluate(rows: Frame) -> Datum:
        zone = rows.context.zone
        if zone not in found:
            found[zone] = as_array(node(Frame((), 1, rows.context)), 1)[0]
        return found[zone]

    return evaluate


def _eager(compute: Callable[..., Datum], operands: Sequence[Node], wanted: pa.DataType) -> Node:
    def evaluate(rows: Frame) -> Datum:
        made = compute(rows, *[operand(rows) for operand in operands])
        return made if made.type == wanted else made.cast(wanted)

    return evaluate


def _located(tree: Expression, node: Node) -> Node:
    """The node, whose failures say where in the query they come from."""

    def evaluate(rows: Frame) -> Datum:
        try:
            return node(rows)
        except EvaluationError as failure:
            if failure.located:
                raise
            raise at_span(failure, tree.span, str(tree)) from failure.__cause__
        except ElementFailed as failure:
            raise at_span(failure, tree.span, str(tree)) from failure.__cause__
        except (ArithmeticError, ValueError, TypeError, LookupError, pa.ArrowException) as failure:
            raise at_span(failure, tree.span, str(tree)) from failure

    return evaluate
