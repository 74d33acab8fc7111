"""Everything that a job has on disk: where it lies, what is in it, and whether a program may go on
with it."""

from __future__ import annotations
