"""Expressions on columns: typed trees compiled to functions of Arrow record batches.

`compiler` walks a tree and finds the kernel of each call in the table of `kernels`; `choices` are
the functions that evaluate their operands for some rows only. The kernels are in modules by family:
`numbers`, `mathematics`, `comparisons`, `texts`, `patterns`, `casts`, `moments`, `clocks`,
`collections_of_values`, `json_functions`, `hashes`, ... `udf_calls` calls functions of the user's.
"""

from __future__ import annotations

from scurry.runtime.expressions import (  # the kernels register themselves
    casts,
    clocks,
    collections_of_values,
    comparisons,
    hashes,
    java_printf,
    json_functions,
    mathematics,
    moments,
    patterns,
    str_maps,
    texts,
    type_names,
)
from scurry.runtime.expressions.compiler import (
    CompiledExpression,
    compile_expression,
    compile_predicate,
    compile_projection,
    may_fail,
)
from scurry.runtime.expressions.context import EvaluationContext
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.kernels import KERNELS

FAMILIES = (
    casts,
    clocks,
    collections_of_values,
    comparisons,
    hashes,
    java_printf,
    json_functions,
    mathematics,
    moments,
    patterns,
    str_maps,
    texts,
    type_names,
)

__all__ = [
    "FAMILIES",
    "KERNELS",
    "CompiledExpression",
    "EvaluationContext",
    "EvaluationError",
    "compile_expression",
    "compile_predicate",
    "compile_projection",
    "may_fail",
]
