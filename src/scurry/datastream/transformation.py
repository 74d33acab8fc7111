"""Steps of a program under construction.

``stream.map(f).uid("m")`` names a step after it was made, so a step stays open until the program is
compiled. :func:`freeze` then turns steps into plan nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import scurry
from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.functions.dead_letters import POLICIES
from scurry.plan.nodes import Node, SideOutput

_PACKAGE = str(Path(scurry.__file__).parent)


class Transformation:
    """A step: the node it will become, and everything about it that may still change."""

    def __init__(
        self,
        kind: type[Node],
        name: str,
        inputs: Iterable[Transformation] = (),
        type_info: TypeInformation | None = None,
        declared: bool = False,
        **fields: Any,
    ) -> None:
        self.kind = kind
        self.name = name
        self.inputs = tuple(inputs)
        self.type_info = type_info
        self.declared = declared
        self.fields = fields
        self.uid: str | None = None
        self.named = False
        self.parallelism: int | None = None
        self.max_parallelism: int | None = None
        self.chaining = "chain"
        self.description = ""
        self.on_error: str | None = None
        self.location = caller()
        #: the step that names given to this one really mean: a source, for its watermarks
        self.part_of: Transformation | None = None

    def declared_type(self) -> TypeInformation | None:
        """The type of the elements if the program or the source says it, here or further up; None
        if it was read from an annotation."""
        if self.type_info is None:
            return None
        step: Transformation | None = self
        while step is not None:
            if step.declared or not step.inputs or step.kind is SideOutput:
                return self.type_info
            step = next((one for one in step.inputs if one.type_info is self.type_info), None)
        return None

    def set_name(self, name: str) -> None:
        """Name the step for people."""
        target = self if self.part_of is None else self.part_of
        target.name, target.named = name, True

    def set_uid(self, uid: str) -> None:
        """Name the step for good."""
        if not isinstance(uid, str) or not uid or any(sign in uid for sign in "\x1f>@"):
            raise ProgramError(
                f"{uid!r} cannot be the uid of {self.name!r} ({self.location}): a uid is a "
                "non-empty string without '>', '@' and control characters."
            )
        self.uid = uid
        if self.part_of is not None:
            self.part_of.uid, self.uid = uid, f"{uid}-watermarks"

    def set_parallelism(self, parallelism: int, what: str = "parallelism") -> None:
        """Say how many instances the step has."""
        if not isinstance(parallelism, int) or isinstance(parallelism, bool) or parallelism < 1:
            raise ProgramError(
                f"{parallelism!r} cannot be the {what} of {self.name!r} ({self.location}): it is "
                "a whole number from 1 on."
            )
        if what == "parallelism":
            target = self if self.part_of is None else self.part_of
            target.parallelism = parallelism
        else:
            self.max_parallelism = parallelism

    def set_on_error(self, policy: str) -> None:
        """Say what happens to an element on which the step fails."""
        if policy not in POLICIES:
            raise ProgramError(
                f"on_error({policy!r}) at {caller()}: it must be 'fail' or 'dead-letter'."
            )
        self.on_error = policy


def freeze(
    ends: Iterable[Transformation], instead: Mapping[Transformation, Transformation] | None = None
) -> list[Node]:
    """Plan nodes for ``ends`` and everything before them; a shared step becomes a shared node.
    Where a step's own output is read, the step that ``instead`` has for it takes its place."""
    made: dict[Transformation, Node] = {}
    ends = list(ends)
    pending = ends[::-1]
    while pending:
        step = pending[-1]
        inputs = inputs_of(step, instead or {})
        waiting = [source for source in inputs if source not in made]
        if waiting:
            pending.extend(reversed(waiting))
            continue
        pending.pop()
        if step not in made:
            made[step] = step.kind(
                name=step.name,
                inputs=tuple(made[source] for source in inputs),
                uid=step.uid,
                parallelism=step.parallelism,
                max_parallelism=step.max_parallelism,
                location=step.location,
                type_info=step.type_info,
                declared=step.declared,
                chaining=step.chaining,
                description=step.description,
                on_error=step.on_error,
                named=step.named,
                **step.fields,
            )
    return [made[end] for end in ends]


def inputs_of(
    step: Transformation, instead: Mapping[Transformation, Transformation]
) -> list[Transformation]:
    """What a step reads; side outputs come from the very step that has them."""
    if step.kind is SideOutput:
        return list(step.inputs)
    return [instead.get(source, source) for source in step.inputs]


def caller() -> str:
    """The file and line of the user's code that is running now."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
