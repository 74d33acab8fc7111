"""Steps of a program under construction.

``stream.map(f).uid("m")`` names a step after it was made, so a step stays open until the program is
compiled. :func:`freeze` then turns steps into plan nodes.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import scurry
from scurry.common.errors import ProgramError
from scurry.common.notes import note_once
from scurry.common.options.execution import GREATEST_PARALLELISM
from scurry.common.type_information import TypeInformation
from scurry.datastream.slot_sharing_group import SlotSharingGroup
from scurry.functions.dead_letters import POLICIES
from scurry.plan.nodes import Node, SideOutput

_PACKAGE = str(Path(scurry.__file__).parent)
#: What Flink makes of a uid.
_HASH = re.compile("[0-9a-fA-F]{32}")
#: The parallelism that leaves the choice to the environment.
_DEFAULT = -1
_numbers = itertools.count()


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
        #: its place among all steps, in the order in which they were made
        self.number = next(_numbers)
        #: what Flink calls it where that is not its name
        self.peer = ""
        #: what Flink says more about it
        self.details = ""
        #: whether it is a sink that was added, not one that a stream was sent to
        self.legacy = False
        self.inputs = tuple(inputs)
        self.type_info = type_info
        self.declared = declared
        self.fields = fields
        self.uid: str | None = None
        self.named = False
        self.parallelism: int | None = None
        #: the parallelism of the environment when the step was made, which Flink's plan shows
        self.built_with: int | None = None
        #: how many instances the step has if nobody says it
        self.usual: int | None = None
        self.max_parallelism: int | None = None
        #: whether the step has one instance for good
        self.single = False
        self.slot_sharing_group: SlotSharingGroup | None = None
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

    def set_name(self, name: str | None) -> None:
        """Name the step for people; None leaves the name as it is."""
        if name is None:
            return
        if not isinstance(name, str):
            raise ProgramError(
                f"{name!r} cannot be the name of {self.name!r} ({self.location}): a name is a text."
            )
        target = self if self.part_of is None else self.part_of
        target.name, target.named, target.peer = name, True, ""

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

    def set_uid_hash(self, uid_hash: str) -> None:
        """Name the step for good by the hash that Flink makes of a uid, unless it has a uid."""
        if not isinstance(uid_hash, str) or not _HASH.fullmatch(uid_hash):
            raise ProgramError(
                f"{uid_hash!r} cannot be the uid hash of {self.name!r} ({self.location}): it is a "
                "text of 32 hexadecimal digits."
            )
        if self.uid is None:
            self.set_uid(uid_hash)
        else:
            note_once("set_uid_hash is accepted and has no effect on an operator that has a uid.")

    def set_parallelism(self, parallelism: int) -> None:
        """Say how many instances the step has; -1 leaves it to the environment."""
        target = self if self.part_of is None else self.part_of
        if parallelism == _DEFAULT and not target.single:
            target.parallelism = None
            return
        target.parallelism = target._checked("parallelism", parallelism)

    def set_max_parallelism(self, max_parallelism: int) -> None:
        """Say how many instances the step may have at the most."""
        self.max_parallelism = self._checked("max parallelism", max_parallelism)

    def force_non_parallel(self) -> None:
        """Let the step have one instance, whatever is said later."""
        target = self if self.part_of is None else self.part_of
        target.parallelism, target.max_parallelism, target.single = 1, 1, True

    def _checked(self, what: str, value: int) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 1 <= value <= GREATEST_PARALLELISM:
            raise ProgramError(
                f"{value!r} cannot be the {what} of {self.name!r} ({self.location}): it is a whole "
                f"number from 1 to {GREATEST_PARALLELISM}."
            )
        if self.single and value != 1:
            raise ProgramError(
                f"{value!r} cannot be the {what} of {self.name!r} ({self.location}), which is not "
                "parallel: it has one instance."
            )
        return value

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
                parallelism=step.parallelism or step.usual,
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
