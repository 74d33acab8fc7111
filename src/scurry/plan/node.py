"""What all plan nodes have: inputs, names, and *traits*, facts that passes ask for.

A pass that treats some kinds of nodes differently asks the node, not for its class: a kind of node
that is added later says what it is in its own class, and no pass has a list to be extended. Traits
that hold for a whole class are class attributes, those that depend on what the program says are
properties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from scurry.common.changelog import ChangelogMode, mode_of_union
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.functions.checkpointed import CheckpointedFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A step of the program."""

    #: how many inputs, from the first on, must be keyed
    keyed_inputs: ClassVar[int] = 0
    #: whether what comes out are records that came in, unchanged
    hands_on: ClassVar[bool] = False
    #: whether it gives records their timestamps and watermarks
    gives_time: ClassVar[bool] = False

    name: str
    inputs: tuple[Node, ...] = ()
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    #: the user's file and line
    location: str = ""
    type_info: TypeInformation | None = None
    #: whether the user declared ``type_info``, so that values are checked against it
    declared: bool = False
    #: "chain", "head" (start a new chain here) or "never"
    chaining: str = "chain"
    description: str = ""
    #: "fail" or "dead-letter", None for what the job says
    on_error: str | None = None
    #: whether the user chose ``name``
    named: bool = False

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the records that come out, None where they are not known for sure, or
        there is no column type for them."""
        if self.declared:
            return schema_of(self.type_info)
        schemas = [source.schema for source in self.inputs] if self.hands_on else []
        return schemas[0] if schemas and all(one == schemas[0] for one in schemas) else None

    @property
    def changelog(self) -> ChangelogMode | None:
        """Which kinds of changes the records that come out can be, None where that is not known:
        functions of the user's may return Rows of any kind."""
        return mode_of_union(source.changelog for source in self.inputs) if self.hands_on else None

    @property
    def names_failures(self) -> bool:
        """Whether it can tell which element made user code fail, as dead letters need."""
        return False


@dataclass(frozen=True, eq=False, kw_only=True)
class Operator(Node):
    """A node that runs."""

    #: whether operators of this class always keep something
    keeps: ClassVar[bool] = False
    #: how many inputs there are that must not be mixed up
    input_count: ClassVar[int] = 1
    #: whether the order of records matters, here or behind
    needs_order: ClassVar[bool] = True

    @property
    def functions(self) -> tuple[Any, ...]:
        """The user's functions, those inside adapters included."""
        return with_inner(getattr(self, "function", None))

    @property
    def stateful(self) -> bool:
        """Whether the operator keeps something that must be found again after a restart."""
        return self.keeps or any(isinstance(f, CheckpointedFunction) for f in self.functions)

    @property
    def may_be_combined(self) -> bool:
        """Whether it does with what records of a key come to, in place of the records."""
        return False


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionOperator(Operator):
    """An operator that calls a function of the user's with one element at a time."""

    @property
    def names_failures(self) -> bool:
        return True


def with_inner(*functions: Any) -> tuple[Any, ...]:
    """``functions``, and those that adapters among them call."""
    found = [f for f in functions if f is not None]
    inner = (getattr(f, "function", None) for f in found)
    return (*found, *(f for f in inner if f is not None))


def schema_of(type_info: TypeInformation | None) -> pa.Schema | None:
    """The columns of elements of a type: one for each field, or a single one called ``value``."""
    arrow = None if type_info is None else type_info.arrow_type()
    if arrow is None:
        return None
    if isinstance(type_info, CompositeTypeInfo):
        return pa.schema(list(arrow))
    return pa.schema([("value", arrow)])
