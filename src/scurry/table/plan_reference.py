"""Where a compiled plan lies: in a file, or in a text of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from scurry.common.errors import ProgramError
from scurry.common.unavailable import unavailable

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]

R = TypeVar("R", bound="PlanReference")


class PlanReference:
    """Made with :meth:`from_file`, :meth:`from_json_string` or :meth:`from_smile_bytes`."""

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """A plan that was written to a file."""
        if not isinstance(path, str | Path):
            raise ProgramError(f"from_file takes the path of a file, got {path!r}.")
        made: FilePlanReference = _of(FilePlanReference, Path(path))
        return made

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """A plan as a text of JSON."""
        if not isinstance(json_string, str):
            raise ProgramError(f"from_json_string takes a text of JSON, got {json_string!r}.")
        made: JsonContentPlanReference = _of(JsonContentPlanReference, json_string)
        return made

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """A plan as bytes, which are its JSON in UTF-8."""
        if not isinstance(smile_bytes, bytes | bytearray):
            raise ProgramError(f"from_smile_bytes takes bytes, got {smile_bytes!r}.")
        made: BytesContentPlanReference = _of(BytesContentPlanReference, bytes(smile_bytes))
        return made

    _held: object

    def text(self) -> str:
        """The JSON of the plan."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._held == getattr(other, "_held", None)

    def __hash__(self) -> int:
        return hash(self._held)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._held!r})"


class FilePlanReference(PlanReference):
    """A plan in a file."""

    _held: Path
    __init__ = unavailable("FilePlanReference", "make one with PlanReference.from_file")

    def get_file(self) -> str:
        """The path of the file."""
        return str(self._held)

    def text(self) -> str:
        try:
            return self._held.read_text(encoding="utf-8")
        except OSError as failure:
            raise ProgramError(f"The plan {self._held} cannot be read: {failure}.") from None


class JsonContentPlanReference(PlanReference):
    """A plan as a text."""

    _held: str
    __init__ = unavailable("JsonContentPlanReference", "use PlanReference.from_json_string")

    def get_content(self) -> str:
        """The JSON."""
        return self._held

    def text(self) -> str:
        return self._held


class BytesContentPlanReference(PlanReference):
    """A plan as bytes."""

    _held: bytes
    __init__ = unavailable("BytesContentPlanReference", "use PlanReference.from_smile_bytes")

    def get_content(self) -> bytes:
        """The bytes."""
        return self._held

    def text(self) -> str:
        return self._held.decode()


def _of(kind: type[R], held: object) -> R:
    made = object.__new__(kind)
    made._held = held
    return made
