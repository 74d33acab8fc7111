"""Patterns that cannot be."""

from __future__ import annotations

from scurry.common.errors import ProgramError


class MalformedPatternError(ProgramError):
    """A pattern contradicts itself, or asks for what no automaton can find."""
