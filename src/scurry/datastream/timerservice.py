"""Timers, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.functions.contexts import TimerService

__all__ = ["TimerService"]
