"""How a built-in function may be called, and the type of its result.

A `Signature` is a list of parameters, some of them optional, the last perhaps repeated, and a rule
for the type of the result. The rule sees the arguments, because the result can depend on a constant
among them, as in ``ROUND(x, 2)``. Unless a rule says otherwise, a result is nullable if one of the
arguments is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scurry.common.data_types import DataType
from scurry.functions.builtin.parameters import FAMILIES, Family
from scurry.functions.expressions import Call, Expression

__all__ = ["Result", "Signature", "any_nullable", "cast_to", "fixed", "nullable", "signature"]

Result = Callable[[Sequence[Expression]], DataType]


def any_nullable(operands: Sequence[Expression]) -> bool:
    """Whether one of the operands may be NULL."""
    return any(operand.type.is_nullable for operand in operands)


def fixed(result: DataType) -> Result:
    """The rule for a type that does not depend on the arguments, only its nullability does."""
    return lambda operands: result.with_nullability(any_nullable(operands))


def nullable(result: DataType) -> Result:
    """The rule for a type that is nullable whatever the arguments are."""
    return lambda operands: result.nullable()


def cast_to(operand: Expression, target: DataType) -> Expression:
    """The operand as a value of `target`, nullability apart."""
    if operand.type.nullable() == target.nullable():
        return operand
    kept = target.with_nullability(operand.type.is_nullable)
    return Call("CAST", (operand,), kept, span=operand.span)


@dataclass(frozen=True)
class Signature:
    """One way to call a function."""

    parameters: tuple[Family, ...]
    optional: int
    variadic: bool
    result: Result

    def apply(self, operands: Sequence[Expression]) -> tuple[Expression, ...] | None:
        """The operands, cast where that is needed, or None if they do not fit."""
        families = self._families(len(operands))
        if families is None:
            return None
        adapted: list[Expression] = []
        for operand, family in zip(operands, families, strict=True):
            target = family.adapt(operand.type)
            if target is None:
                return None
            adapted.append(cast_to(operand, target))
        return tuple(adapted)

    def _families(self, count: int) -> tuple[Family, ...] | None:
        most = len(self.parameters)
        if self.variadic and count >= most:
            return self.parameters + (self.parameters[-1],) * (count - most)
        return self.parameters[:count] if most - self.optional <= count <= most else None

    def describe(self, name: str) -> str:
        """The signature as documentation and messages write it: ``LPAD(STRING, INT, STRING)``."""
        needed = len(self.parameters) - self.optional
        labels = [family.label for family in self.parameters]
        text = ", ".join(labels[:needed])
        for at, label in enumerate(labels[needed:]):
            text += f" [, {label}" if at or needed else f"[{label}"
        text += "]" * self.optional
        return f"{name}({text}{', ...' if self.variadic else ''})"


def signature(text: str, result: Result | DataType) -> Signature:
    """A signature written in short: ``string, int [, string]``, ``any, ...``."""
    words = re.findall(r"\w+|\.\.\.|\[", text)
    optional_from = words.index("[") if "[" in words else len(words)
    names = [word for word in words if word not in ("[", "...")]
    optional = sum(1 for at, w in enumerate(words) if at > optional_from and w not in ("[", "..."))
    rule = fixed(result) if isinstance(result, DataType) else result
    return Signature(tuple(FAMILIES[n] for n in names), optional, "..." in words, rule)
