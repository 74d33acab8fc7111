"""How the operator of a node is made: by a class and its arguments, chosen when a job is compiled.

Workers load it with the job. It stands alone so that they need not import what has chosen it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec


@dataclass(frozen=True)
class MakeOperator:
    """Makes an operator of ``kind`` for a spec; it travels to the workers inside the spec."""

    kind: type[Operator]
    arguments: tuple[Any, ...] = ()

    def __call__(self, spec: OperatorSpec) -> Operator:
        return self.kind(spec, *self.arguments)
