"""One built-in function or operator: an entry of the catalogue."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scurry.common.data_types import DataType
from scurry.functions.builtin.signatures import Signature
from scurry.functions.expressions import Expression

__all__ = ["BuiltIn", "Kind", "Resolver", "Status"]

#: what a function with a rule of its own answers: its operands, cast, and the type of the result;
#: a text if the operands do not fit, which says why
Resolver = Callable[[Sequence[Expression]], "tuple[Sequence[Expression], DataType] | str"]


class Kind(enum.Enum):
    """What a function makes its result of."""

    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    TABLE = "table"
    WINDOW = "window"


class Status(enum.Enum):
    """Whether Scurry has the function; the others have a reason."""

    SUPPORTED = "supported"
    NOTIMPL = "not implemented"
    NEVER = "never"


@dataclass(frozen=True)
class BuiltIn:
    """A function: its name and other names, its place in the reference, and how it is called.

    `syntax` is how SQL writes it and `says` what it gives. A function has signatures or, where
    those cannot say it, a `resolver`. One that is not `deterministic` is evaluated for each row.
    One that `fails` on some values must not be evaluated for rows that do not need it.
    """

    name: str
    family: str
    syntax: str
    says: str
    signatures: tuple[Signature, ...] = ()
    resolver: Resolver | None = None
    aliases: tuple[str, ...] = ()
    kind: Kind = Kind.SCALAR
    status: Status = Status.SUPPORTED
    reason: str = ""
    deterministic: bool = True
    fails: bool = False
