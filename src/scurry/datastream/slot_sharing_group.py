"""Slot sharing groups: which operators share a slot of Flink's task managers, and its size.

Spark places tasks itself, and its own settings size its executors. So a group can be built, given
to operators and read again; it has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import total_ordering

from scurry.common.errors import ProgramError

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = (("gb", 30), ("mb", 20), ("kb", 10))


@total_ordering
class MemorySize:
    """A number of bytes, to be seen in larger units, which are rounded down."""

    def __init__(self, bytes_size: int | None = None) -> None:
        if isinstance(bytes_size, bool) or not isinstance(bytes_size, int) or bytes_size < 0:
            raise ProgramError(
                f"MemorySize needs a whole number of bytes from 0 on, got {bytes_size!r}."
            )
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """So many times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """The size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """The size in units of 1024 bytes."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """The size in units of 1024 kibibytes."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """The size in units of 1024 mebibytes."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """The size in units of 1024 gibibytes."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            raise ProgramError(f"A MemorySize is compared with {other!r}, which is not one.")
        return self._bytes < other._bytes

    def __str__(self) -> str:
        """As Flink writes it: in the largest unit, up to gb, of which it is a whole number."""
        for unit, bits in _UNITS:
            if self._bytes and self._bytes % (1 << bits) == 0 and self._bytes < 1 << 40:
                return f"{self._bytes >> bits} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize(bytes_size={self._bytes})"


@dataclass(frozen=True)
class _Resources:
    """The size of a group's slots. Sizes that were not given are zero if any was given."""

    cpu_cores: float
    task_heap_memory: MemorySize
    task_off_heap_memory: MemorySize
    managed_memory: MemorySize
    external: dict[str, float] = field(default_factory=dict)


class SlotSharingGroup:
    """A name and, if they were given, the resources of the slots; made by :meth:`builder`."""

    def __init__(self, name: str, resources: _Resources | None) -> None:
        self._name = name
        self._resources = resources

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Begin a group of that name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The name of the group."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """The cores of a slot; None if no resources were given."""
        return self._resources.cpu_cores if self._resources else None

    def get_task_heap_memory(self) -> MemorySize | None:
        """The heap of a slot; None if no resources were given."""
        return self._resources.task_heap_memory if self._resources else None

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """The memory beside the heap; None if no resources were given."""
        return self._resources.task_off_heap_memory if self._resources else None

    def get_managed_memory(self) -> MemorySize | None:
        """The memory that Flink manages; None if no resources were given."""
        return self._resources.managed_memory if self._resources else None

    def get_external_resources(self) -> dict[str, float]:
        """Resources by names of the user's own."""
        return dict(self._resources.external) if self._resources else {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SlotSharingGroup):
            return NotImplemented
        return (self._name, self._resources) == (other._name, other._resources)

    def __hash__(self) -> int:
        return hash(self._name)

    class Builder:
        """A group under construction; setters return the builder."""

        def __init__(self, name: str) -> None:
            if not isinstance(name, str):
                raise ProgramError(f"The name of a slot sharing group is a text, got {name!r}.")
            self._name = name
            self._cpu_cores: float | None = None
            self._heap: MemorySize | None = None
            self._off_heap: MemorySize | None = None
            self._managed: MemorySize | None = None
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the cores of a slot; they must be positive."""
            if isinstance(cpu_cores, bool) or not isinstance(cpu_cores, int | float):
                raise ProgramError(f"The CPU cores are a number, got {cpu_cores!r}.")
            if cpu_cores <= 0:
                raise ProgramError(f"The CPU cores must be positive, got {cpu_cores!r}.")
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap of a slot; it must be positive."""
            self._heap = _size("task heap memory", task_heap_memory)
            if not self._heap.get_bytes():
                raise ProgramError("The task heap memory must be positive, got 0 bytes.")
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap of a slot in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Set the memory beside the heap."""
            self._off_heap = _size("task off-heap memory", task_off_heap_memory)
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the memory beside the heap in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory that Flink manages."""
            self._managed = _size("managed memory", managed_memory)
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory that Flink manages in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set a resource by a name of the user's own; a later value replaces an earlier one."""
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Finish the group. Whoever gives any resource must give cores and heap."""
            if self._cpu_cores is not None and self._heap is not None:
                nothing = MemorySize(0)
                resources = _Resources(
                    self._cpu_cores,
                    self._heap,
                    self._off_heap or nothing,
                    self._managed or nothing,
                    dict(self._external),
                )
                return SlotSharingGroup(self._name, resources)
            given = (self._cpu_cores, self._heap, self._off_heap, self._managed)
            if self._external or any(value is not None for value in given):
                raise ProgramError(
                    f"The slot sharing group {self._name!r} has some resources, but not both CPU "
                    "cores and task heap memory: set these two, or none at all."
                )
            return SlotSharingGroup(self._name, None)


def _size(what: str, size: object) -> MemorySize:
    if not isinstance(size, MemorySize):
        raise ProgramError(f"The {what} is a MemorySize, got {size!r}.")
    return size
