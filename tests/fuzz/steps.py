"""A random program as data: steps, and how they are run. Printed, it is something to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One step: what it does, to the streams of which earlier steps, and how exactly."""

    op: str
    inputs: tuple[int, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.args[name]

    def __str__(self) -> str:
        given = [f"s{number}" for number in self.inputs]
        given += [f"{name}={value!r}" for name, value in self.args.items()]
        return f"{self.op}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Program:
    """Steps in order. The streams numbered in ``sinks`` are written to a sink each."""

    steps: tuple[Step, ...]
    sinks: tuple[int, ...]

    @property
    def batch(self) -> bool:
        """Whether the program runs in batch mode: then all its sources say so."""
        return any(step.args.get("batch") for step in self.steps)

    def __repr__(self) -> str:
        lines = [f"s{number} = {step}" for number, step in enumerate(self.steps)]
        return "\n".join(["", *lines, *(f"sink(s{number})" for number in self.sinks)])


@dataclass(frozen=True)
class Run:
    """How a program is run; none of it may change the results."""

    parallelism: int = 1
    #: sizes of micro-batches, the last one repeating; None for one micro-batch
    cuts: tuple[int, ...] | None = None
    crash: tuple[int, ...] = ()
    restart: tuple[int, ...] = ()
    rescale: Mapping[int, int] = field(default_factory=dict)
    #: micro-batches in which another driver takes over; the one before wakes up and has to give up
    takeover: tuple[int, ...] = ()
    #: milliseconds of processing time between micro-batches
    tick: int = 0
    #: rounds of a micro-batch, as in the live engine; 0 for the engine of micro-batches
    rounds: int = 0
    #: whether copies of the process write the state after rounds
    copies: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
