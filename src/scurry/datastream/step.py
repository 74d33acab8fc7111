"""What streams and sinks have in common: a step of the program that can be named and sized.

Partitionings, unions and ``key_by`` arrange records and are no operators. Flink refuses to name or
to size them, and so does Scurry: what was meant is the operator before or after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.notes import note_once
from scurry.datastream.slot_sharing_group import SlotSharingGroup
from scurry.datastream.transformation import Transformation, caller
from scurry.plan import nodes

if TYPE_CHECKING:
    from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment

S = TypeVar("S", bound="Step")

_NO_OPERATORS = (nodes.KeyBy, nodes.Union, nodes.Partition)
_PLACED_BY_SPARK = (
    "slot_sharing_group is accepted and has no effect: Spark places tasks itself, and its own "
    "settings size its executors."
)
_KEY_GROUPS_OF_THE_JOB = (
    "set_max_parallelism of an operator bounds that operator's parallelism and nothing else: the "
    "number of key groups is the job's, pipeline.max-parallelism."
)
_NO_BUFFERS = (
    "set_buffer_timeout is accepted and has no effect: operators hand on whole batches, with no "
    "buffers between them."
)


class Step:
    """A step of the program."""

    def __init__(
        self, environment: StreamExecutionEnvironment, transformation: Transformation
    ) -> None:
        self._environment = environment
        self._transformation = transformation
        environment.add_step(transformation)

    def name(self: S, name: str) -> S:
        """Give the operator a name for people: in ``explain()``, metrics and errors."""
        self._operator("name").set_name(name)
        return self

    def uid(self: S, uid: str) -> S:
        """Give the operator an identity for life. State is found again by it after a restart."""
        self._operator("uid").set_uid(uid)
        return self

    def set_uid_hash(self: S, uid_hash: str) -> S:
        """Give the operator an identity of 32 hexadecimal digits, as Flink makes them of uids. It
        is the operator's uid unless the operator has one."""
        self._operator("set_uid_hash").set_uid_hash(uid_hash)
        return self

    def set_parallelism(self: S, parallelism: int) -> S:
        """How many instances of the operator run; each one is one slot. -1 leaves it to the
        environment."""
        self._operator("set_parallelism").set_parallelism(parallelism)
        return self

    def set_description(self: S, description: str) -> S:
        """Say more about the operator than its name does."""
        if not isinstance(description, str):
            raise ProgramError(
                f"set_description({description!r}) at {caller()}: a description is a text."
            )
        self._operator("set_description").description = description
        return self

    def disable_chaining(self: S) -> S:
        """Run the operator in a stage of its own, apart from what comes before and after it."""
        self._operator("disable_chaining").chaining = "never"
        return self

    def slot_sharing_group(self: S, slot_sharing_group: str | SlotSharingGroup) -> S:
        """Accepted, has no effect: Spark places tasks. Two groups of one name with different
        resources are refused when the job is built, as in Flink."""
        step = self._operator("slot_sharing_group")
        if not isinstance(slot_sharing_group, str | SlotSharingGroup):
            raise ProgramError(
                f"slot_sharing_group({slot_sharing_group!r}) at {caller()}: it is the name of a "
                "group or a SlotSharingGroup."
            )
        if isinstance(slot_sharing_group, SlotSharingGroup):
            step.slot_sharing_group = slot_sharing_group
        else:
            step.slot_sharing_group = SlotSharingGroup.builder(slot_sharing_group).build()
        note_once(_PLACED_BY_SPARK)
        return self

    def _operator(self, method: str) -> Transformation:
        """The operator of which ``method`` sets something; refused where the step is none."""
        step = self._transformation
        if step.kind in _NO_OPERATORS:
            raise NotSupportedError(
                f"{method}() of {step.name!r} ({step.location}): this step arranges records and is "
                f"no operator. Call {method}() on the operator before or after it."
            )
        return step


class StreamStep(Step):
    """A step that others follow."""

    def set_max_parallelism(self: S, max_parallelism: int) -> S:
        """The most instances the operator may have. The number of key groups is the job's."""
        self._operator("set_max_parallelism").set_max_parallelism(max_parallelism)
        note_once(_KEY_GROUPS_OF_THE_JOB)
        return self

    def force_non_parallel(self: S) -> S:
        """Exactly one instance, for good."""
        self._operator("force_non_parallel").force_non_parallel()
        return self

    def set_buffer_timeout(self: S, timeout_millis: int) -> S:
        """Accepted, has no effect: operators hand on whole batches, without buffers."""
        self._operator("set_buffer_timeout")
        whole = isinstance(timeout_millis, int) and not isinstance(timeout_millis, bool)
        if not whole or timeout_millis < -1:
            raise ProgramError(
                f"set_buffer_timeout({timeout_millis!r}) at {caller()}: it must be milliseconds "
                "from 0 on, or -1."
            )
        note_once(_NO_BUFFERS)
        return self

    def start_new_chain(self: S) -> S:
        """Begin a new stage with this operator."""
        self._operator("start_new_chain").chaining = "head"
        return self
