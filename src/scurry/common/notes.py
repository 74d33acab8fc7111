"""What a program asks for and Scurry has no use for, said in the log, once.

A program that was written for Flink may arrange slots, load Java archives or tune Flink's buffers.
Such calls are accepted, so that the program runs as it is, and each of them leaves one line in the
log ``scurry.settings``, so that nobody waits for an effect that does not come.
"""

from __future__ import annotations

import logging

_log = logging.getLogger("scurry.settings")
_said: set[str] = set()


def first_time(subject: str) -> bool:
    """Whether this process has not asked about ``subject`` before."""
    if subject in _said:
        return False
    _said.add(subject)
    return True


def note_once(text: str) -> None:
    """Write ``text`` to the log unless this process has done so before."""
    if first_time(text):
        _log.warning(text)
