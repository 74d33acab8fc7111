"""State as the user sees it: a descriptor names it, a handle reads and writes the current key's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.errors import ProgramError
from scurry.common.scalar_types import PickledBytesTypeInfo
from scurry.common.type_inference import infer_type
from scurry.common.type_information import TypeInformation
from scurry.state.ttl_config import StateTtlConfig

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class StateDescriptor:
    """Names a state within its operator and says what it holds."""

    def __init__(self, name: str, type_info: TypeInformation | Any = None) -> None:
        if not isinstance(name, str) or not name:
            raise ProgramError(
                f"A state needs a non-empty string as its name, got {name!r}. The name identifies "
                "the state in checkpoints, so keep it the same from version to version."
            )
        self.name = name
        #: The type of a value, of an element, or of a map's values; None if none was given.
        self.value_type = _type(name, type_info)
        self.ttl_config: StateTtlConfig | None = None
        self.migration: Callable[[Any], Any] | None = None
        self.queryable_name: str | None = None

    @property
    def type_info(self) -> TypeInformation:
        """The type of what the state holds for a key."""
        return _declared(self.value_type)

    def get_name(self) -> str:
        """The state's name, unique within its operator."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries of this state expire, also those that a checkpoint holds already."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise ProgramError(
                f"enable_time_to_live of state {self.name!r} needs a StateTtlConfig, got "
                f"{ttl_config!r}. Make one: StateTtlConfig.new_builder(Time.hours(1)).build()."
            )
        self.ttl_config = ttl_config

    def set_queryable(self, queryable_state_name: str) -> None:
        """Let the state be queried from outside while the job runs, under a name that no other
        state of the job has. Queries are answered if ``queryable-state.enable`` is set."""
        self.queryable_name = checked_queryable_name(queryable_state_name, f"state {self.name!r}")

    def is_queryable(self) -> bool:
        """Whether the state may be queried from outside."""
        return self.queryable_name is not None

    def get_queryable_state_name(self) -> str | None:
        """The name that queries use, None if the state cannot be queried."""
        return self.queryable_name

    def migrate_with(self, function: Callable[[Any], Any]) -> Self:
        """Convert values (or list elements, or map values) of a type that this program can no
        longer read. ``function`` is given them as plain data, dataclasses as dicts of their fields,
        and returns values of today's type; it is called when an old value is read, so it must stay
        in the program as long as old values may be stored. Returns the descriptor."""
        self.migration = function
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def checked_queryable_name(name: Any, what: str) -> str:
    """``name``, if queries can call ``what`` so."""
    if not isinstance(name, str) or not name:
        raise ProgramError(
            f"set_queryable of {what} needs a non-empty string, the name that queries use, got "
            f"{name!r}."
        )
    return name


def refuse_queryable(descriptor: StateDescriptor, operator: str, kind: str) -> None:
    """Raise :class:`ProgramError` if a state of a kind that cannot be queried is to be."""
    if descriptor.is_queryable():
        raise ProgramError(
            f"State {descriptor.name!r} of operator {operator!r} is {kind}, which belongs to no "
            "key and cannot be queried. Only keyed state can; leave set_queryable out."
        )


def _type(name: str, given: Any) -> TypeInformation | None:
    """A declared type: PyFlink's Types, or a Python annotation."""
    if given is None:
        return None
    found = infer_type(given)
    if isinstance(found, PickledBytesTypeInfo):
        if isinstance(given, TypeInformation) or given is Any or isinstance(given, type):
            return None
        raise ProgramError(
            f"The type of state {name!r} must be one of Types, such as Types.LONG(), or a Python "
            f"type, such as int or a dataclass, got {given!r}."
        )
    return found


def _declared(found: TypeInformation | None) -> TypeInformation:
    return PickledBytesTypeInfo() if found is None else found


class ValueStateDescriptor(StateDescriptor):
    """Describes a state of one value per key."""

    def __init__(self, name: str, value_type_info: TypeInformation | Any = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Describes a state of a list per key."""

    def __init__(self, name: str, elem_type_info: TypeInformation | Any = None) -> None:
        super().__init__(name, elem_type_info)

    @property
    def type_info(self) -> TypeInformation:
        return ListTypeInfo(_declared(self.value_type))


class MapStateDescriptor(StateDescriptor):
    """Describes a state of a map per key; entries are read and written one by one."""

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | Any = None,
        value_type_info: TypeInformation | Any = None,
    ) -> None:
        super().__init__(name, value_type_info)
        self.key_type_info = _type(name, key_type_info)

    @property
    def type_info(self) -> TypeInformation:
        return MapTypeInfo(_declared(self.key_type_info), _declared(self.value_type))


class SetStateDescriptor(StateDescriptor):
    """Describes a state of a set per key."""

    def __init__(self, name: str, elem_type_info: TypeInformation | Any = None) -> None:
        super().__init__(name, elem_type_info)


class BagStateDescriptor(StateDescriptor):
    """Describes a state of a bag per key: elements may occur several times, order means nothing."""

    def __init__(self, name: str, elem_type_info: TypeInformation | Any = None) -> None:
        super().__init__(name, elem_type_info)


class ReducingStateDescriptor(StateDescriptor):
    """Describes a state that combines all values added to a key into one of their type."""

    def __init__(
        self, name: str, reduce_function: Any, type_info: TypeInformation | Any = None
    ) -> None:
        super().__init__(name, type_info)
        if not callable(getattr(reduce_function, "reduce", reduce_function)):
            raise ProgramError(
                f"The state {name!r} needs a ReduceFunction, or a function of two values, to "
                f"combine them, got {reduce_function!r}."
            )
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """The function that combines two values."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes a state that aggregates all values added to a key."""

    def __init__(
        self, name: str, agg_function: Any, state_type_info: TypeInformation | Any = None
    ) -> None:
        super().__init__(name, state_type_info)
        if not callable(getattr(agg_function, "create_accumulator", None)):
            raise ProgramError(
                f"The state {name!r} needs an AggregateFunction, got {agg_function!r}."
            )
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function that aggregates."""
        return self.agg_function


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


class AppendingState(State, Generic[IN, OUT]):
    """A state that values are added to, and that gives what became of them."""

    @abstractmethod
    def get(self) -> OUT | None:
        """What the current key's state has come to."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value."""


class MergingState(AppendingState[IN, OUT]):
    """An appending state of which two can be made one."""


class ListState(MergingState[T, Iterable[T]], Generic[T]):
    """A list per key. Adding never reads."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The current key's elements, in the order they were added."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Append an element."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append elements."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapState(State, Generic[K, V]):
    """A map per key. Reading or writing an entry touches that entry only; entries are listed in
    an order that depends on nothing but their keys."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of an entry, None if there is none."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set an entry."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V] | Iterable[tuple[K, V]]) -> None:
        """Set entries, given as a dict or as pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Delete an entry, if it is there."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is an entry."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries of the current key."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys of all entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values of all entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the current key has no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that is the same in every instance of an operator, and may be read. Entries are listed
    in an order that depends on nothing but their keys."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of an entry, None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is an entry."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys of all entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values of all entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """The same for the elements of the broadcast stream, which may also write it."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set an entry."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V] | Iterable[tuple[K, V]]) -> None:
        """Set entries, given as a dict or as pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Delete an entry, if it is there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class SetState(State, Generic[T]):
    """A set per key. Adding and removing never read, and cost one element however large the set
    is; elements are listed in an order that depends on nothing but themselves."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Put an element in; nothing changes if it is there."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Put elements in."""

    @abstractmethod
    def remove(self, value: T) -> None:
        """Take an element out, if it is there."""

    @abstractmethod
    def contains(self, value: T) -> bool:
        """Whether an element is in the current key's set; reads that element only."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """All elements of the current key's set."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the current key's set has no elements."""

    def __contains__(self, value: T) -> bool:
        return self.contains(value)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class BagState(State, Generic[T]):
    """A bag per key: a list whose order nobody relies on. Adding never reads."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Put an element in, once more if it is there."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Put elements in."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """All elements of the current key's bag, each as often as it was added."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the current key's bag has no elements."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class ReducingState(MergingState[T, T], Generic[T]):
    """All values added to a key, reduced to one."""

    @abstractmethod
    def get(self) -> T | None:
        """The reduced value, None if nothing was added."""

    @abstractmethod
    def add(self, value: T) -> None:
        """Reduce a value into the state."""


class AggregatingState(MergingState[IN, OUT]):
    """All values added to a key, aggregated."""

    @abstractmethod
    def get(self) -> OUT | None:
        """The aggregate's result, None if nothing was added."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Aggregate a value into the state."""
