"""When a task of a batch job may start: once any of its inputs is ready, or once all are."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """How many inputs must be ready before a task starts."""

    ANY = 0
    ALL = 1
