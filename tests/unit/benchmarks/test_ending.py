"""A benchmark that is ended by a limit of time cleans up."""

from __future__ import annotations

import os
import signal

import pytest
from benchmarks._ending import end_in_order


def test_sigterm_ends_what_was_started() -> None:
    cleaned = False

    def measure() -> None:
        nonlocal cleaned
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            cleaned = True

    before = signal.getsignal(signal.SIGTERM)
    try:
        end_in_order()
        with pytest.raises(SystemExit, match="143"):
            measure()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert cleaned
