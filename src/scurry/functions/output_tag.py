"""Side outputs: a named second exit of an operator.

A function sends an element there with ``yield tag, value`` (PyFlink's way) or
``ctx.output(tag, value)``; ``stream.get_side_output(tag)`` is the stream of what was sent. A value
sent to a tag that nobody reads is dropped, as in Flink.
"""

from __future__ import annotations

from scurry.common.copiers import hand_on
from scurry.common.errors import ProgramError
from scurry.common.typeinfo import RowTypeInfo, TypeInformation, Types


class OutputTag:
    """Names a side output. Two tags with the same id are the same side output.

    Without a type its elements travel pickled; a list of types stands for a row of them.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(
        self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None
    ) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ProgramError(
                f"OutputTag needs a non-empty string as tag_id, got {tag_id!r}. "
                "Give the side output a name, for example OutputTag('late')."
            )
        self.tag_id = tag_id
        if type_info is None:
            type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            type_info = RowTypeInfo(type_info)
        elif not isinstance(type_info, TypeInformation):
            raise ProgramError(
                f"OutputTag {tag_id!r} needs a type such as Types.STRING(), or a list of them for "
                f"a row, got {type_info!r}."
            )
        self.type_info: TypeInformation = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


hand_on(OutputTag)
