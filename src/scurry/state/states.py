"""State as the user sees it: a descriptor names it, a handle reads and writes the current key's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from scurry.common.errors import ProgramError
from scurry.common.typeinfo import TypeInformation

T = TypeVar("T")


class StateDescriptor:
    """Names a state within its operator and says what it holds."""

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise ProgramError(
                f"A state needs a non-empty string as its name, got {name!r}. The name identifies "
                "the state in checkpoints, so keep it the same from version to version."
            )
        self.name = name
        self.type_info = type_info

    def get_name(self) -> str:
        """The state's name, unique within its operator."""
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class ValueStateDescriptor(StateDescriptor):
    """Describes a state of one value per key."""

    def __init__(self, name: str, value_type_info: TypeInformation | None = None) -> None:
        super().__init__(name, value_type_info)


class State(ABC):
    """A handle on a state, scoped to the key being processed."""

    @abstractmethod
    def clear(self) -> None:
        """Forget the current key's state."""


class ValueState(State, Generic[T]):
    """One value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """The current key's value, None if it has none."""

    @abstractmethod
    def update(self, value: Any) -> None:
        """Set the current key's value; None clears it."""
