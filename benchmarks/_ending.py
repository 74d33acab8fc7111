"""A benchmark that is ended takes with it what it has started.

Contenders are sessions of their own, so that all of their processes can be ended. Nobody else ends
them: not the terminal, and not whoever limits the time of a benchmark with ``timeout``.
"""

from __future__ import annotations

import signal
from typing import Any


def end_in_order() -> None:
    """From now on SIGTERM ends this process as Ctrl-C does, which cleans up on its way."""
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, _: Any) -> None:
    raise SystemExit(128 + number)
