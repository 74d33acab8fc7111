"""Running a program only as far as its first job, to see what job that is.

A program is a script that builds a job and starts it. Commands that want to know the job, and not
to run it, run the script up to the start of the job.
"""

from __future__ import annotations

from collections.abc import Callable

from scurry.compile.job import CompiledJob

_previewing = False


class _Started(BaseException):
    """Leads from the start of the job out of the program, past its ``except Exception``."""

    def __init__(self, job: CompiledJob) -> None:
        self.job = job


def first_job(program: Callable[[], object]) -> CompiledJob | None:
    """The first job that ``program`` would start; the job is not started, and the program ends
    there. None if the program ends before it starts one."""
    global _previewing
    _previewing = True
    try:
        program()
    except _Started as started:
        return started.job
    finally:
        _previewing = False
    return None


def stop_here(job: CompiledJob) -> None:
    """End the program if only ``job`` is wanted of it; does nothing otherwise."""
    if _previewing:
        raise _Started(job)
