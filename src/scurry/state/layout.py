"""State layouts: what an operator says about how its state is laid out.

A layout is made on the driver when the job is compiled, stored with every epoch, and compared when
a job starts on a checkpoint. Two layouts of the same kind, version and parameters are read alike.
Whether state of another layout can be carried over is decided by rules
(:mod:`scurry.checkpoint.carry_over`), never by trying to read it.
"""

from __future__ import annotations

import msgspec

#: What a parameter can be: something that JSON has, and that tells people what it is.
Parameter = str | int | bool


class StateLayout(msgspec.Struct, frozen=True):
    """How an operator lays out its state."""

    #: in words, such as "values by window"; state of another kind is in other tables
    kind: str
    #: of the format of the kind's tables
    version: int = 1
    #: everything else that what is stored depends on, and what people need to see it change
    parameters: dict[str, Parameter] = {}
    #: the lowest version that the operator which declares this layout can read
    reads_from: int = 1

    def of(self, name: str) -> Parameter:
        """A parameter; the empty word if the layout does not have it."""
        return self.parameters.get(name, "")
