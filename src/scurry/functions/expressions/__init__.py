"""Typed expression trees: `trees` has the nodes, `rewriting` what can be asked and done."""

from __future__ import annotations

from scurry.functions.expressions.rewriting import (
    conjuncts,
    is_constant,
    is_deterministic,
    references,
    remap,
    rewrite,
)
from scurry.functions.expressions.trees import (
    AsyncSettings,
    Call,
    Expression,
    InputRef,
    Literal,
    SessionExpression,
    UdfCall,
)

__all__ = [
    "AsyncSettings",
    "Call",
    "Expression",
    "InputRef",
    "Literal",
    "SessionExpression",
    "UdfCall",
    "conjuncts",
    "is_constant",
    "is_deterministic",
    "references",
    "remap",
    "rewrite",
]
