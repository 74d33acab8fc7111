"""Timers, under the module name PyFlink has for them."""

from scurry.functions.contexts import TimerService

__all__ = ["TimerService"]
