"""How many files and connections this process may have open."""

from __future__ import annotations

from contextlib import suppress

try:
    import resource
except ImportError:  # a system that has no such limit
    resource = None  # type: ignore[assignment]


def raise_descriptor_limit() -> None:
    """Let this process open as many files as the system allows it: usually it begins with 1024,
    which the runs of a few large tables exceed. Costs two calls of the system, and does nothing
    where the system does not allow it."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # some systems call the hard limit infinite, and allow less
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
